"""`%%` comments and `$$` formulas: only pairs count, and only marks that do not stand in code.

Pairs are looked for in the section first (from one level 1 or 2 heading line to the next, shown or not): a comment
that is whole within its section hides nothing outside it, whatever stands in the rest of the file. Only a mark that
finds no partner in its own section pairs with the next such mark of a later one, and hides the headings between. So
an item with balanced marks can be added anywhere without changing what another item means. A mark in a heading line
pairs within that line only. One that finds no partner at all opens nothing.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from wikimem.text.blocks import Blocks
from wikimem.text.code_spans import CodeMap, code_map

_MARK = re.compile(r"`+|%%|\$\$")
_HTML = re.compile(r"`+|<!--")
_BLANKED = bytes(0x0A if byte == 0x0A else 0x20 for byte in range(256))
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True, slots=True)
class Mark:
    """A `%%` or `$$` outside code."""

    text: str
    start: int


Range = tuple[int, int]


def find_marks_in_file(buffer: bytes, blocks: Blocks, start: int = 0) -> list[Mark]:
    """Return the marks of a scanned buffer from `start` on; their offsets are bytes."""
    parts = [buffer[:start].translate(_BLANKED)]
    position = start
    for block in blocks.opaque:  # a fence or a backtick in an HTML block opens no code
        if block.kind == "html":
            parts += [buffer[position : block.start], buffer[block.start : block.end].translate(_BLANKED)]
            position = block.end
    parts.append(buffer[position:])
    # Latin-1 gives one character per byte, so the offsets that come back are those of the buffer.
    text = b"".join(parts).decode("latin-1")
    return find_marks(text, code_map(text), [(block.start, block.end) for block in blocks.opaque])


def find_marks(text: str, code: CodeMap, opaque: Sequence[Range] = ()) -> list[Mark]:
    """Return the marks of `text` that stand in no code and in none of the `opaque` ranges, in order."""
    if "%%" not in text and "$$" not in text:
        return []
    found: list[Mark] = []
    closed = sorted((*opaque, *code.fences))
    index = position = 0
    while (token := _MARK.search(text, position)) is not None:
        start, position = token.start(), token.end()
        while index < len(closed) and closed[index][1] <= start:
            index += 1
        if index < len(closed) and closed[index][0] <= start:
            position = max(position, closed[index][1])
        elif token[0][0] == "`":
            position = code.inline_end(start, position - start) or position
        elif token[0] == "%%" or not _escaped(text, start):
            found.append(Mark(token[0], start))
    return found


def _escaped(text: str, position: int) -> bool:
    before = text[:position] if position < 64 else text[position - 64 : position]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def pair(marks: Sequence[Mark]) -> tuple[list[tuple[Mark, Mark]], list[Mark]]:
    """Pair marks from left to right (inside a pair the other kind means nothing); return pairs and what is left."""
    pairs: list[tuple[Mark, Mark]] = []
    left: list[Mark] = []
    following = _next_of_kind(marks)
    index = 0
    while index < len(marks):
        partner = following[index]
        if partner is None:
            left.append(marks[index])
            index += 1
        else:
            pairs.append((marks[index], marks[partner]))
            index = partner + 1
    return pairs, left


def _next_of_kind(marks: Sequence[Mark]) -> list[int | None]:
    following: list[int | None] = [None] * len(marks)
    seen: dict[str, int] = {}
    for index in range(len(marks) - 1, -1, -1):
        following[index] = seen.get(marks[index].text)
        seen[marks[index].text] = index
    return following


def outside(marks: Sequence[Mark], lines: Sequence[Range]) -> list[Mark]:
    """Return the marks that stand in none of the (ordered) lines."""
    starts = [start for start, _ in lines]
    indexes = (bisect_right(starts, mark.start) - 1 for mark in marks)
    return [mark for mark, i in zip(marks, indexes, strict=True) if i < 0 or mark.start >= lines[i][1]]


def hidden_ranges(marks: Sequence[Mark], lines: Sequence[Range], sections: Sequence[int]) -> list[Range]:
    """Return what pairs hide. `lines` are the heading lines, `sections` the offsets at which a section starts."""
    by_section: dict[int, list[Mark]] = {}
    for mark in outside(marks, lines):
        by_section.setdefault(bisect_right(sections, mark.start), []).append(mark)
    ranges: list[Range] = []
    left: list[Mark] = []
    for section in sorted(by_section):
        pairs, unpaired = pair(by_section[section])
        ranges += [(first.start, last.start + 2) for first, last in pairs]
        left += unpaired
    ranges += [(first.start, last.start + 2) for first, last in pair(left)[0]]
    return sorted(ranges)


def visible_text(content: str) -> str:
    """Return `content` without `%%` comments and HTML comments (those in code stay): the text that is indexed."""
    comments = "%%" in content
    if not comments and "<!--" not in content:
        return content
    code = code_map(content)
    ranges = _html_comments(content, code)
    if comments:
        pairs, _ = pair(find_marks(content, code, ranges))
        ranges = sorted([*ranges, *((a.start, b.start + 2) for a, b in pairs if a.text == "%%")])
    kept: list[str] = []
    position = 0
    for start, end in ranges:
        if start >= position:
            kept.append(content[position:start])
        position = max(position, end)
    kept.append(content[position:])
    return "".join(kept)


def _html_comments(text: str, code: CodeMap) -> list[Range]:
    """Return the HTML comments outside code: one that starts a line may hold blank lines or never end."""
    found: list[Range] = []
    position = 0
    while (token := _HTML.search(text, position)) is not None:
        start, position = token.start(), token.end()
        if (fence_end := code.fence_end(start)) is not None:
            position = max(position, fence_end)
        elif token[0].startswith("`"):
            position = code.inline_end(start, len(token[0])) or position
        elif (end := _comment_end(text, start)) is not None:
            found.append((start, end))
            position = end
    return found


def _comment_end(text: str, start: int) -> int | None:
    line_start = text.rfind("\n", 0, start) + 1
    block = not text[line_start:start].strip(" ") and start - line_start <= 3
    close = text.find("-->", start + 2)
    if close < 0:
        return len(text) if block else None
    if not block and _BLANK_LINE.search(text, start, close):
        return None
    return close + 3
