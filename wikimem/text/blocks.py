r"""The line scanner: which lines are headings, and which only look like them.

CommonMark's block rules as far as they decide that: fences, HTML blocks, indented code, list items and quotes at the
top level. What stands inside a list item or a quote can hide nothing outside it, because a line that is not indented
ends the item and every block in it; so only the outermost item's content column is kept.

The buffer has `\n` line ends only (`flatten_line_ends` keeps the length), so offsets are those of the file.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from wikimem.text.html_blocks import find_html_block

TailKind = Literal["fence", "comment", "html"]

# A run of lines whose first byte can open nothing: the bulk of prose is passed over in one match.
_PLAIN = re.compile(rb"(?:[^ \t\n#`~<>*+_=0-9-][^\n]*+(?:\n|\Z))++")
# The same for list items at the margin, and for indented lines below them, whose text can open nothing.
_ITEM_TEXT = rb"(?:[^ \t\n#`~<>*+_=0-9-]|\*{1,3}[^ \t\n*])[^\n]*+(?:\n|\Z)"
_ITEMS = re.compile(rb"(?:([-+*]|[0-9]{1,9}[.)]) %b)++" % _ITEM_TEXT)
_ITEM_LINES = {column: re.compile(rb"(?: {%d,}+(?:[-*+] )?%b)++" % (column, _ITEM_TEXT)) for column in (2, 3)}
# What a run of blank lines, of indented lines below an item, or of items can begin with.
_BLANK_BYTES, _ITEM_BYTES = frozenset(b" \t\n"), frozenset(b"-+*0123456789")
_LINE = re.compile(rb"([ \t]*+)([^\n]*+)(?:\n|\Z)")
_BLANKS = re.compile(rb"(?:[ \t]*+\n)++")
_HEADING = re.compile(rb"(#{1,6})(?:[ \t]+(.*))?\Z", re.DOTALL)
_FENCE = re.compile(rb"(?:(`{3,})[^`]*|(~{3,}).*)\Z", re.DOTALL)
_SETEXT = re.compile(rb"(?:=+|-+)[ \t]*\Z")
_RULE = re.compile(rb"(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})\Z")
_MARKER = re.compile(rb"([-+*]|[0-9]{1,9}[.)])(?:([ \t]+)|\Z)")
_PREFIX = re.compile(rb"(?:>|[-+*][ \t]|[0-9]{1,9}[.)][ \t]|[ \t])*")

_NONE, _TOP, _INNER = 0, 1, 2  # no paragraph open; one at the top level; one in a quote or list item


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading line (a setext heading: its paragraph and underline). `text` is without marks, as bytes.

    `start` is the offset of its line, `end` the offset after the line's end; `line` is 1-based.
    """

    level: int
    start: int
    end: int
    line: int
    text: bytes
    setext: bool = False


@dataclass(frozen=True, slots=True)
class Tail:
    """A block that is still open where the file ends: its kind, first line, and the line that closes it."""

    kind: TailKind
    line: int
    closer: bytes


@dataclass(frozen=True, slots=True)
class Opaque:
    """A block in which nothing is Markdown."""

    kind: Literal["fence", "html", "indented"]
    start: int
    end: int


@dataclass(slots=True)
class Blocks:
    """What the scan found, in document order."""

    headings: list[Heading] = field(default_factory=list)
    opaque: list[Opaque] = field(default_factory=list)
    tail: Tail | None = None


def flatten_line_ends(data: bytes) -> bytes:
    r"""Return `data` of the same length with `\r\n` as a blank and `\n`, and a lone `\r` as `\n`."""
    if b"\r" not in data:
        return data
    return data.replace(b"\r\n", b" \n").replace(b"\r", b"\n")


def scan(buffer: bytes, start: int = 0) -> Blocks:
    """Scan the lines of `buffer` from the offset `start` of a line."""
    scanner = _Scanner(buffer, start)
    scanner.run()
    return scanner.found


def heading_text(rest: bytes) -> bytes:
    """Return a heading's text without the closing marks, given what follows the opening ones."""
    text = rest.strip(b" \t")
    bare = text.rstrip(b"#")
    return bare.rstrip(b" \t") if not bare or bare.endswith((b" ", b"\t")) else text


class _Scanner:
    """Walks over the lines; `column` is the content column of the open outermost list item (0: none is open)."""

    __slots__ = (
        "buffer",
        "column",
        "counted",
        "empty_item",
        "fence",
        "found",
        "html",
        "line",
        "paragraph",
        "position",
        "top",
    )

    def __init__(self, buffer: bytes, start: int) -> None:
        self.buffer = buffer
        self.position = start
        self.found = Blocks()
        self.paragraph = _NONE
        self.top = start  # where the open top-level paragraph starts
        self.column = 0
        self.empty_item = False  # a list marker with nothing after it: a blank line ends that item
        self.fence = b""  # the marks of a fence that is open inside a list item or quote
        self.html: bytes | None = None  # what closes an HTML block there (b"": a blank line)
        self.line, self.counted = 1, 0  # the line number at the offset `counted`

    def run(self) -> None:
        buffer, size = self.buffer, len(self.buffer)
        plain, line, blanks, items = _PLAIN.match, _LINE.match, _BLANKS.match, _ITEMS.match
        while self.position < size:
            first = buffer[self.position]
            if first in _BLANK_BYTES:
                run = blanks(buffer, self.position)
                if run is not None:
                    self._blank()
                    self.position = run.end()
                    continue
                if self.column and self._item_lines():
                    continue
            elif first in _ITEM_BYTES:
                run = items(buffer, self.position)
                if run is not None and self._items(run):
                    continue
            elif (run := plain(buffer, self.position)) is not None:
                self._text(self.position)
                self.position = run.end()
                continue
            found = line(buffer, self.position)
            if found is None:  # pragma: no cover - the pattern matches every line
                break
            self._other(found)

    def _text(self, start: int) -> None:
        if self.paragraph == _NONE:
            self._leave()
            self.paragraph, self.top = _TOP, start

    def _items(self, run: re.Match[bytes]) -> bool:
        """Take a run of simple list items, unless they number on a paragraph and so belong to it."""
        if self.paragraph == _TOP and not self.buffer.startswith((b"-", b"+", b"*", b"1.", b"1)"), run.start()):
            return False
        self._leave()
        self.column, self.paragraph, self.position = len(run[1]) + 1, _INNER, run.end()
        return True

    def _item_lines(self) -> bool:
        """Take a run of simple lines below a list item."""
        lines = _ITEM_LINES.get(self.column)
        run = lines.match(self.buffer, self.position) if lines and not self.fence and self.html is None else None
        if run is None:
            return False
        self.empty_item, self.paragraph, self.position = False, _INNER, run.end()
        return True

    def _blank(self) -> None:
        self.paragraph = _NONE
        if self.html == b"":
            self.html = None
        if self.empty_item:
            self.column, self.empty_item = 0, False
        if not self.column:
            self.fence, self.html = b"", None  # a quote ends at a blank line

    def _other(self, found: re.Match[bytes]) -> None:
        """Take a line that is indented or starts with a byte that may open a block."""
        start, body, end = self.position, found[2], found.end()
        self.position = end
        if not body:
            self._blank()
            return
        indent = _columns(found[1])
        if self.column and indent >= self.column:
            self._inside(body)
        elif indent >= 4:
            self._indented(start, end)
        else:
            self._block(found, indent)

    def _inside(self, body: bytes) -> None:
        """Take a line of a list item or quote: only whether a paragraph stays open matters outside it."""
        self.empty_item = False
        prefix = _PREFIX.match(body)
        rest = body[prefix.end() if prefix else 0 :].rstrip(b" \t")
        is_text = rest and not self._in_inner_block(rest) and not _HEADING.match(rest) and not _RULE.match(rest)
        self.paragraph = _INNER if is_text else _NONE

    def _in_inner_block(self, rest: bytes) -> bool:
        """Tell whether a line belongs to a fence or HTML block inside a list item or quote; open and close these."""
        if self.fence:
            if len(rest) >= len(self.fence) and rest == self.fence[:1] * len(rest):
                self.fence = b""
            return True
        if self.html is not None:
            if self.html and self.html in rest.lower():
                self.html = None
            return True
        fence = _FENCE.match(rest)
        if fence is not None:
            self.fence = fence[1] or fence[2]
            return True
        html = find_html_block(rest, 0, in_paragraph=self.paragraph == _INNER) if rest.startswith(b"<") else None
        if html is not None:
            self.html = b"" if html.until_blank else html.closer
        return html is not None

    def _indented(self, start: int, end: int) -> None:
        if self.paragraph == _NONE:
            self._leave()
            self.found.opaque.append(Opaque("indented", start, end))

    def _block(self, found: re.Match[bytes], indent: int) -> None:
        start, body, end = found.start(), found[2], found.end()
        first = body[:1]
        if (
            (first == b"#" and self._heading(body, start, end))
            or (first in b"`~" and self._fence(body, start, end))
            or (first == b"<" and self._html(start, found.start(2)))
            or (first in b"-=" and self.paragraph == _TOP and self._setext(body, start, end))
            or (first in b"-_*" and self._rule(body))
            or (first in b"-+*0123456789" and self._item(body, indent))
        ):
            return
        if first == b">":
            if self.column:
                self._leave()
            self._inside(body)
        else:
            self._text(start)

    def _leave(self) -> None:
        """End the paragraph and the list item: a block has begun at the top level."""
        self.paragraph, self.column, self.empty_item = _NONE, 0, False
        self.fence, self.html = b"", None

    def _heading(self, body: bytes, start: int, end: int) -> bool:
        marks = _HEADING.match(body)
        if marks is None:
            return False
        self._leave()
        text = heading_text(marks[2] or b"")
        self.found.headings.append(Heading(len(marks[1]), start, end, self._line_at(start), text))
        return True

    def _setext(self, body: bytes, start: int, end: int) -> bool:
        if not _SETEXT.match(body):
            return False
        text = b" ".join(self.buffer[self.top : start].split())
        level = 1 if body.startswith(b"=") else 2
        self.found.headings.append(Heading(level, self.top, end, self._line_at(self.top), text, setext=True))
        self._leave()
        return True

    def _rule(self, body: bytes) -> bool:
        if not _RULE.match(body):
            return False
        self._leave()
        return True

    def _item(self, body: bytes, indent: int) -> bool:
        marker = _MARKER.match(body)
        if marker is None:
            return False
        rest = body[marker.end() :]
        # CommonMark: within a paragraph only a bullet with text, or the number 1, starts a list.
        if self.paragraph == _TOP and (not rest or (marker[1][:-1] or b"1") not in (b"1", b"01", b"001")):
            return False
        self._leave()
        after = indent + len(marker[1])
        blanks = _columns(marker[2] or b"", after)
        self.column = after + (blanks if rest and blanks <= 4 else 1)
        if rest:
            self._inside(rest)
            if blanks > 4:
                self.fence, self.html = b"", None
                self.paragraph = _NONE  # indented code in the item
        else:
            self.empty_item = True
        return True

    def _fence(self, body: bytes, start: int, end: int) -> bool:
        fence = _FENCE.match(body)
        if fence is None:
            return False
        self._leave()
        marks = fence[1] or fence[2]
        closing = _closing_fence(marks).search(self.buffer, end)
        if closing is None:
            self.found.tail = Tail("fence", self._line_at(start), marks)
        self._skip("fence", start, closing.end() if closing else len(self.buffer))
        return True

    def _html(self, start: int, mark: int) -> bool:
        block = find_html_block(self.buffer, mark, in_paragraph=self.paragraph != _NONE)
        if block is None:
            return False
        self._leave()
        if block.closer is not None:
            kind: TailKind = "comment" if block.closer == b"-->" else "html"
            self.found.tail = Tail(kind, self._line_at(start), block.closer)
        self._skip("html", start, block.end)
        return True

    def _skip(self, kind: Literal["fence", "html"], start: int, end: int) -> None:
        self.found.opaque.append(Opaque(kind, start, end))
        self.position = end

    def _line_at(self, offset: int) -> int:
        self.line += self.buffer.count(b"\n", self.counted, offset)
        self.counted = offset
        return self.line


@lru_cache(maxsize=64)
def _closing_fence(marks: bytes) -> re.Pattern[bytes]:
    """Return what closes a fence: at least as many of the same mark, nothing else on the line."""
    mark = re.escape(marks[:1])
    return re.compile(rb"^ {0,3}%b{%d,}[ \t]*(?:\n|\Z)" % (mark, len(marks)), re.MULTILINE)


def _columns(blanks: bytes, start: int = 0) -> int:
    """Return how wide blanks and tabs are from the column `start`; tab stops are four apart."""
    if b"\t" not in blanks:
        return len(blanks)
    column = start
    for byte in blanks:
        column += 4 - column % 4 if byte == 0x09 else 1
    return column - start
