"""Where code stands in a text: fenced blocks, and the blocks within which backticks pair.

A scanner of lines, after CommonMark: a fence may stand in a quote or a list item, a list marker may precede an opening
fence but never a closing one, a fence ends with the quote or item that holds it, and an unclosed one runs to the end.
"""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

Span = tuple[int, int]

# Only these three end a line: U+2028, U+0085 and form feed do not, whatever `str.splitlines` says.
_LINE = re.compile(r"([^\n\r]*)(?:\r\n|\n|\r|\Z)")
_QUOTE = re.compile(r"[ \t]*>[ \t]?")
_MARKER = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$)")
_INDENT = re.compile(r"[ \t]*")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_RUN = re.compile(r"`+")
_MAX_INDENT = 3  # four blanks and more make indented code


@dataclass(frozen=True, slots=True)
class CodeMap:
    """The fences of a text and its inline blocks, both in order; a backtick run pairs within one inline block."""

    fences: tuple[Span, ...] = ()
    blocks: tuple[Span, ...] = ()
    runs: dict[int, list[int]] = field(default_factory=dict)  # run length -> where such runs start

    def fence_end(self, position: int) -> int | None:
        """Return the end of the fence that holds `position`, or None."""
        return _end_around(self.fences, position)

    def inline_end(self, start: int, length: int) -> int | None:
        """Return the end of the code span that a run of `length` backticks at `start` opens, None if none closes it."""
        block_end = _end_around(self.blocks, start)
        starts = self.runs.get(length, [])
        index = bisect_left(starts, start + length)
        if block_end is None or index == len(starts) or starts[index] >= block_end:
            return None
        return starts[index] + length


def code_map(text: str) -> CodeMap:
    """Find the fences and inline blocks of `text`; a text without backtick or tilde fence costs nothing."""
    if "`" not in text and "~~~" not in text:
        return CodeMap()
    scanner = _Scanner()
    for match in _LINE.finditer(text):
        if match.start() < len(text):
            scanner.line(match[1], match.start(), match.end())
    scanner.finish(len(text))
    runs: dict[int, list[int]] = {}
    for run in _RUN.finditer(text):
        runs.setdefault(run.end() - run.start(), []).append(run.start())
    return CodeMap(tuple(scanner.fences), tuple(scanner.blocks), runs)


def _end_around(spans: tuple[Span, ...], position: int) -> int | None:
    index = bisect_right(spans, position, key=lambda span: span[0]) - 1
    return spans[index][1] if index >= 0 and position < spans[index][1] else None


@dataclass(frozen=True, slots=True)
class _Fence:
    """An open fence: its run of marks, and the quote depth and content column that hold it."""

    mark: str
    length: int
    start: int
    quotes: int
    column: int


@dataclass(slots=True)
class _Scanner:
    """Walks over the lines and keeps what is open: a fence, a block, the content columns of list items."""

    fences: list[Span] = field(default_factory=list)
    blocks: list[Span] = field(default_factory=list)
    fence: _Fence | None = None
    block_start: int | None = None
    quotes: int = 0
    columns: list[int] = field(default_factory=list)

    def line(self, line: str, start: int, end: int) -> None:
        """Take the next line, given without its line end; `start` and `end` are its offsets, line end included."""
        if self.fence is not None:
            if self._stays_in(self.fence, line, end):
                return
            self.fences.append((self.fence.start, start))
            self.fence = None
        position, column = self._containers(line, start)
        if position == len(line):
            self._close_block(start)
        else:
            self._text(line, start, end, position, column)

    def finish(self, end: int) -> None:
        """Close what the end of the text closes."""
        if self.fence is not None:
            self.fences.append((self.fence.start, end))
        self._close_block(end)

    def _stays_in(self, fence: _Fence, line: str, end: int) -> bool:
        quotes, after = _strip_quotes(line, fence.quotes)
        position = _skip(_INDENT, line, after)
        column = position - after
        if quotes < fence.quotes or (position < len(line) and column < fence.column):
            return False
        run = line[position:].rstrip(" \t")
        if len(run) >= fence.length and run == fence.mark * len(run) and column - fence.column <= _MAX_INDENT:
            self.fences.append((fence.start, end))
            self.fence = None
        return True

    def _containers(self, line: str, start: int) -> tuple[int, int]:
        """Step over quote and list marks; return where the text starts, and its column within the innermost quote."""
        quotes, after = _strip_quotes(line, None)
        if quotes > self.quotes:
            self._close_block(start)
        if quotes != self.quotes:
            self.columns.clear()
        self.quotes = quotes
        position = _skip(_INDENT, line, after)
        column = position - after
        if position < len(line):
            while self.columns and self.columns[-1] > column:
                self.columns.pop()
        while self._indent(column) <= _MAX_INDENT and (marker := _MARKER.match(line, position)):
            self._close_block(start)
            position, column = marker.end(), column + _width(marker[0])
            self.columns.append(column)
            inner, after = _strip_quotes(line, None, position)
            if inner:
                self.quotes += inner
                self.columns.clear()
                position, column = _skip(_INDENT, line, after), 0
        return position, column

    def _text(self, line: str, start: int, end: int, position: int, column: int) -> None:
        fence = _FENCE.match(line, position)
        if fence is not None and self._indent(column) <= _MAX_INDENT:
            self._close_block(start)
            run = fence[1] or fence[2]
            self.fence = _Fence(run[0], len(run), start, self.quotes, self.columns[-1] if self.columns else 0)
        elif line.startswith("|", position) or _HEADING.match(line, position):
            self._close_block(start)
            self.blocks.append((start, end))
        elif self.block_start is None:
            self.block_start = start

    def _indent(self, column: int) -> int:
        return column - (self.columns[-1] if self.columns else 0)

    def _close_block(self, end: int) -> None:
        if self.block_start is not None:
            self.blocks.append((self.block_start, end))
            self.block_start = None


def _skip(pattern: re.Pattern[str], line: str, position: int) -> int:
    match = pattern.match(line, position)
    return match.end() if match else position


def _width(marker: str) -> int:
    """Return how many columns a list marker takes; of more than four blanks only one belongs to it (CommonMark)."""
    bare = len(marker.rstrip(" \t"))
    return bare + 1 if len(marker) - bare > _MAX_INDENT + 1 or len(marker) == bare else len(marker)


def _strip_quotes(line: str, limit: int | None, position: int = 0) -> tuple[int, int]:
    """Return how many quote marks stand before the text, and where they end (in a fence, more of them are code)."""
    depth = 0
    while (limit is None or depth < limit) and (mark := _QUOTE.match(line, position)):
        depth, position = depth + 1, mark.end()
    return depth, position
