"""A note as spans of its own bytes: frontmatter, headings, sections, what is open at the end.

Nothing here raises on content. Offsets are bytes of the file as it is; `line` counts from 1.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from wikimem.text.blocks import Blocks, Heading, Opaque, Tail, TailKind, flatten_line_ends, scan
from wikimem.text.comments import find_marks_in_file, hidden_ranges, visible_text
from wikimem.text.decoding import BOM
from wikimem.text.frontmatter import Span, find_frontmatter
from wikimem.text.problems import Problem

__all__ = ["Document", "Heading", "Opaque", "Section", "Span", "TailKind", "visible_text"]

_OPEN_NAMES = {"fence": "code fence", "comment": "HTML comment", "html": "HTML block"}


@dataclass(frozen=True, slots=True)
class Section:
    """A level 2 heading and what stands below it, up to the next heading of level 1 or 2."""

    heading: Heading
    end: int

    @property
    def start(self) -> int:
        """The offset of the heading's line."""
        return self.heading.start

    @property
    def body(self) -> Span:
        """What follows the heading's line, blank lines included."""
        return Span(self.heading.end, self.end)


@dataclass(frozen=True, slots=True)
class Document:
    r"""The parts of one file.

    `bom` is the length of the byte order mark (0 or 3), `newline` the line end that the file uses most. `headings`
    are all ATX headings at the top level (in no code, HTML block, comment, formula, quote or list), `setext` the
    underlined ones, which start no item. `opaque` are the blocks without Markdown. `open_tail` is what is still open
    at the end of the file, `closer` the line that closes it.
    """

    data: bytes
    bom: int
    newline: bytes
    frontmatter: Span | None
    headings: tuple[Heading, ...]
    setext: tuple[Heading, ...]
    sections: tuple[Section, ...]
    opaque: tuple[Opaque, ...]
    open_tail: TailKind | None
    closer: bytes
    problems: tuple[Problem, ...]

    @property
    def body_start(self) -> int:
        """Where the text begins, after BOM and frontmatter."""
        return self.frontmatter.end if self.frontmatter else self.bom

    @classmethod
    def parse(cls, data: bytes) -> "Document":
        """Scan a whole file."""
        frontmatter, _, _ = find_frontmatter(data)
        bom = len(BOM) if data.startswith(BOM) else 0
        buffer = flatten_line_ends(data)
        start = frontmatter.end if frontmatter else bom
        blocks = scan(buffer, start)
        shown = _shown(buffer, blocks, start)
        headings = tuple(heading for heading in shown if not heading.setext)
        return cls(
            data=data,
            bom=bom,
            newline=newline_of(data),
            frontmatter=frontmatter,
            headings=headings,
            setext=tuple(heading for heading in shown if heading.setext),
            sections=_sections(headings, len(data)),
            opaque=tuple(blocks.opaque),
            open_tail=blocks.tail.kind if blocks.tail else None,
            closer=blocks.tail.closer if blocks.tail else b"",
            problems=_problems(blocks.tail),
        )


def newline_of(data: bytes) -> bytes:
    r"""Return the line end that `data` uses most; `\n` when it has none or as many of each."""
    if b"\r" not in data:
        return b"\n"
    both = data.count(b"\r\n")
    counts = {b"\n": data.count(b"\n") - both, b"\r\n": both, b"\r": data.count(b"\r") - both}
    return max(counts, key=lambda newline: counts[newline])


def _shown(buffer: bytes, blocks: Blocks, start: int) -> Sequence[Heading]:
    """Return the headings that no `%%` comment and no `$$` formula hides."""
    if not blocks.headings or (b"%%" not in buffer and b"$$" not in buffer):
        return blocks.headings
    lines = [(heading.start, heading.end) for heading in blocks.headings if not heading.setext]
    starts = [heading.start for heading in blocks.headings if heading.level <= 2 and not heading.setext]
    ranges = hidden_ranges(find_marks_in_file(buffer, blocks, start), lines, starts)
    firsts = [start for start, _ in ranges]
    furthest = _running_max([end for _, end in ranges])

    def hidden(heading: Heading) -> bool:
        index = bisect_right(firsts, heading.start) - 1
        return index >= 0 and heading.start < furthest[index]

    return [heading for heading in blocks.headings if not hidden(heading)]


def _running_max(values: Sequence[int]) -> list[int]:
    result: list[int] = []
    for value in values:
        result.append(max(value, result[-1]) if result else value)
    return result


def _sections(headings: Sequence[Heading], size: int) -> tuple[Section, ...]:
    sections: list[Section] = []
    end = size
    for heading in reversed(headings):
        if heading.level == 2:
            sections.append(Section(heading, end))
        if heading.level <= 2:
            end = heading.start
    return tuple(reversed(sections))


def _problems(tail: Tail | None) -> tuple[Problem, ...]:
    if tail is None:
        return ()
    what = _OPEN_NAMES[tail.kind]
    closer = tail.closer.decode("ascii")
    problem = Problem(
        f"unclosed-{tail.kind}",
        tail.line,
        f"the {what} that starts here is never closed: all that follows belongs to it",
        f"close it with a line {closer}",
    )
    return (problem,)
