"""Inline tags and block ids, by Obsidian's rules (obsidian.md, section 2)."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

from wikimem.text.code_spans import CodeMap, code_map
from wikimem.text.comments import find_marks, pair

_STOP = "\\s\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\\[\\]\\\\"
_TAG = re.compile(rf"#([^{_STOP}]+)")
_BLOCK_ID = re.compile(r"(?:^|[ \t])\^([A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)
_DIGITS = re.compile(r"[0-9/]+\Z")


def inline_tags(text: str) -> tuple[str, ...]:
    """Return the tags of `text`, lower case and without `#`, each once, in order; those in code and `$$` left out."""
    if "#" not in text:
        return ()
    found = [(tag.start(1), tag[1]) for tag in _TAG.finditer(text) if _may_start(text, tag.start())]
    if not found:
        return ()
    hidden = _Hidden(text)
    names = (name.strip("/").lower() for start, name in found if not _DIGITS.match(name) and not hidden(start))
    return tuple(dict.fromkeys(name for name in names if name))


def block_ids(text: str) -> tuple[str, ...]:
    """Return the block ids of `text` in lower case, each once: ` ^id` at the end of a line that is no heading."""
    if "^" not in text:
        return ()
    found = [(block.start(1), block[1].lower()) for block in _BLOCK_ID.finditer(text)]
    if not found:
        return ()
    hidden = _Hidden(text)
    return tuple(dict.fromkeys(name for start, name in found if not hidden(start) and not _is_heading(text, start)))


def tag_matches(item_tags: Iterable[str], wanted: str) -> bool:
    """Tell whether an item with `item_tags` has the tag `wanted`: a nested tag (`a/b`) has its parents (`a`) too."""
    tag = wanted.strip().removeprefix("#").strip("/").lower()
    return any(own == tag or own.startswith(f"{tag}/") for own in item_tags)


def _may_start(text: str, position: int) -> bool:
    """Tell whether a tag may start here: after white space or at the start, marks of emphasis aside."""
    if position and text[position - 1] in "*_=":
        position -= 1
        while position and text[position - 1] == text[position]:
            position -= 1
    return not position or text[position - 1].isspace()


def _is_heading(text: str, position: int) -> bool:
    return text.startswith("#", text.rfind("\n", 0, position) + 1)


class _Hidden:
    """Tells whether a position stands in code or between `$$`, in logarithmic time."""

    __slots__ = ("code", "ends", "starts")

    def __init__(self, text: str) -> None:
        self.code: CodeMap = code_map(text)
        marks = find_marks(text, self.code) if "$$" in text else []
        formulas = ((a.start, b.start) for a, b in pair(marks)[0] if a.text == "$$")
        spans = sorted((*_inline_code(self.code), *formulas))
        self.starts = [start for start, _ in spans]
        self.ends = list(accumulate((end for _, end in spans), max))

    def __call__(self, position: int) -> bool:
        index = bisect_right(self.starts, position) - 1
        return (index >= 0 and position < self.ends[index]) or self.code.fence_end(position) is not None


def _inline_code(code: CodeMap) -> Iterator[tuple[int, int]]:
    reached = 0
    for start, length in sorted((start, length) for length, starts in code.runs.items() for start in starts):
        if start >= reached and code.fence_end(start) is None:
            end = code.inline_end(start, length)
            if end is not None:
                yield start, end
                reached = end
