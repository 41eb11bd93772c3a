"""Inline tags and block ids, by Obsidian's rules (obsidian.md, section 2)."""

import re
from collections.abc import Iterable

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
    hidden = _code_and_formulas(text)
    names = (name.strip("/").lower() for start, name in found if not _DIGITS.match(name) and not hidden(start))
    return tuple(dict.fromkeys(name for name in names if name))


def block_ids(text: str) -> tuple[str, ...]:
    """Return the block ids of `text` in lower case, each once: ` ^id` at the end of a line that is no heading."""
    if "^" not in text:
        return ()
    found = [(block.start(1), block[1].lower()) for block in _BLOCK_ID.finditer(text)]
    if not found:
        return ()
    hidden = _code_and_formulas(text)
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


class _code_and_formulas:  # noqa: N801 - reads as the predicate that it is
    """Tells whether a position stands in code or between `$$`."""

    __slots__ = ("code", "formulas")

    def __init__(self, text: str) -> None:
        self.code: CodeMap = code_map(text)
        marks = find_marks(text, self.code) if "$$" in text else []
        self.formulas = [(a.start, b.start) for a, b in pair(marks)[0] if a.text == "$$"]

    def __call__(self, position: int) -> bool:
        return (
            self.code.fence_end(position) is not None
            or _in_inline_code(self.code, position)
            or any(start < position < end for start, end in self.formulas)
        )


def _in_inline_code(code: CodeMap, position: int) -> bool:
    runs = sorted((start, length) for length, starts in code.runs.items() for start in starts if start < position)
    reached = 0
    for start, length in runs:
        if start >= reached and code.fence_end(start) is None:
            reached = code.inline_end(start, length) or reached
    return reached > position
