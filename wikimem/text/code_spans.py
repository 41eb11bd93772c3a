"""Where code stands in a text: fenced blocks, and the blocks within which backticks pair.

A scanner of lines, after CommonMark: a fence may stand in a quote or a list item, a list marker may precede an opening
fence but never a closing one, a fence ends with the quote or item that holds it, and an unclosed one runs to the end.
"""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import lru_cache

Span = tuple[int, int]

# Only these three end a line: U+2028, U+0085 and form feed do not, whatever `str.splitlines` says.
_LINE = re.compile(r"([^\n\r]*)(?:\r\n|\n|\r|\Z)")
# Runs of lines that need no look at their parts: text that opens nothing, and blank lines.
_PLAIN = re.compile(r"(?:[^ \t\n\r>\-*+0-9`~|#][^\n\r]*+(?:\r\n|\n|\r|\Z))++")
_BLANK = re.compile(r"(?:[ \t]*+(?:\r\n|\n|\r))++")
_MAY_FENCE = re.compile(r"(?:\A|[\n\r])[ \t>\-*+0-9.)]*+(?:`{3}|~{3})")
_QUOTE = re.compile(r"[ \t]*>[ \t]?")
_MARKER = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$)")
_INDENT = re.compile(r"[ \t]*")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_RUN = re.compile(r"`+")
_MAX_INDENT = 3  # four blanks and more make indented code


class CodeMap:
    """The fences of a text, in order, and its inline code; a backtick run pairs within one inline block.

    `runs` has where backtick runs start, by their length. Without a fence the blocks are looked for only when a run
    and the next of its length stand in different lines, which is rare.
    """

    __slots__ = ("_blocks", "_text", "fences", "runs")

    def __init__(self, text: str = "") -> None:
        self._text = text
        self._blocks: tuple[Span, ...] | None = None
        self.fences: tuple[Span, ...] = ()
        self.runs: dict[int, list[int]] = {}
        if "`" in text:
            for run in _RUN.finditer(text):
                start, end = run.span()
                self.runs.setdefault(end - start, []).append(start)
        if ("```" in text or "~~~" in text) and _MAY_FENCE.search(text):
            self.fences, self._blocks = _scanned(text)

    def fence_end(self, position: int) -> int | None:
        """Return the end of the fence that holds `position`, or None."""
        return _end_around(self.fences, position) if self.fences else None

    def inline_end(self, start: int, length: int) -> int | None:
        """Return the end of the code span that a run of `length` backticks at `start` opens, None if none closes it."""
        starts = self.runs.get(length, [])
        index = bisect_left(starts, start + length)
        if index == len(starts):
            return None
        end = starts[index]
        if self._blocks is None:
            if self._text.find("\n", start, end) < 0 and self._text.find("\r", start, end) < 0:
                return end + length  # a line lies in one block
            _, self._blocks = _scanned(self._text)
        block_end = _end_around(self._blocks, start)
        return None if block_end is None or end >= block_end else end + length


@lru_cache(maxsize=2)
def code_map(text: str) -> CodeMap:
    """Find the fences and inline code of `text`; kept a moment, because links, tags and ids are read one by one."""
    return CodeMap(text)


def _scanned(text: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return the fences and the inline blocks of a text, line by line."""
    scanner = _Scanner()
    position, end = 0, len(text)
    while position < end:
        if scanner.fence is None:
            if run := _PLAIN.match(text, position):
                scanner.plain(position)
                position = run.end()
                continue
            if run := _BLANK.match(text, position):
                scanner.blank(position)
                position = run.end()
                continue
        elif scanner.fence.quotes == scanner.fence.column == 0:
            position = scanner.to_fence_end(text, position)
            continue
        line = _LINE.match(text, position)
        assert line is not None  # noqa: S101 - the pattern matches anything
        scanner.line(line[1], position, line.end())
        position = line.end()
    scanner.finish(end)
    return tuple(scanner.fences), tuple(scanner.blocks)


@lru_cache(maxsize=64)
def _closing_fence(mark: str, length: int) -> re.Pattern[str]:
    """Return what closes a fence at the margin: as many of the same mark or more, nothing else on the line."""
    return re.compile(rf"[\n\r][ \t]{{0,{_MAX_INDENT}}}{mark}{{{length},}}[ \t]*(?:\r\n|\n|\r|\Z)")


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

    def plain(self, start: int) -> None:
        """Take lines at the margin that open nothing: they end lists and quotes, and belong to one block."""
        self.quotes = 0
        self.columns.clear()
        if self.block_start is None:
            self.block_start = start

    def blank(self, start: int) -> None:
        """Take blank lines: they end the block and quotes, but no list."""
        if self.quotes:
            self.quotes = 0
            self.columns.clear()
        self._close_block(start)

    def to_fence_end(self, text: str, position: int) -> int:
        """Close the open fence, which stands at the margin; return where the text goes on."""
        fence = self.fence
        assert fence is not None  # noqa: S101 - the caller looked
        closing = _closing_fence(fence.mark, fence.length).search(text, position - 1)  # from its line end
        end = closing.end() if closing else len(text)
        self.fences.append((fence.start, end))
        self.fence = None
        return end

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
