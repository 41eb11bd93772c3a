"""The parts of a file that are served as items: where each stands, what it is called, what it says."""

import re
from dataclasses import dataclass

from wikimem.text.decoding import REPLACEMENT, decode, is_utf8
from wikimem.text.document import Document, Heading, Span
from wikimem.text.metadata import Metadata, looks_like_metadata, parse_metadata
from wikimem.text.names import collapse, fold_name, path_stem_of
from wikimem.text.problems import Problem

_NOT_UTF8 = re.compile("[\udc80-\udcff]|%(?=[0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Part:
    """One stretch of a file that is an item.

    `heading` is None for a preamble. `start` is where the part begins (its heading), `body` what its content is read
    from. `lead` is text of the heading's line that belongs to the content, `content_line` the line on which the rest
    of the content begins.
    """

    name: str
    heading: Heading | None
    start: int
    body: Span
    content: str
    metadata: Metadata | None
    line: int
    content_line: int
    lead: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def key(self) -> str:
        """The form under which the name matches."""
        return fold_name(self.name)


def heading_name(text: bytes) -> str:
    """Return the item name of a heading's text: white space collapsed, percent form for bytes that are not UTF-8."""
    if not is_utf8(text):
        escaped = _NOT_UTF8.sub(_percent, text.decode("utf-8", "surrogateescape"))
        return collapse(escaped.replace("\x00", REPLACEMENT))
    return collapse(decode(text))


def _percent(found: re.Match[str]) -> str:
    return f"%{found[0].encode('utf-8', 'surrogateescape')[0]:02X}"


def part_of(doc: Document, heading: Heading, end: int, name: str, lead: str = "") -> Part:
    """Read the part below a heading."""
    body = Span(heading.end, end)
    content, metadata, skipped, problems = read_body(doc.data[body.start : body.end], heading.line + 1)
    return Part(
        name=name,
        heading=heading,
        start=heading.start,
        body=body,
        content=f"{lead}\n\n{content}".strip() if lead else content,
        metadata=metadata,
        line=heading.line,
        content_line=heading.line + 1 + skipped,
        lead=lead,
        problems=problems,
    )


def read_body(data: bytes, line: int) -> tuple[str, Metadata | None, int, tuple[Problem, ...]]:
    """Return content, metadata, the number of lines above the content, and problems; `line` is that of `data`.

    The metadata comment counts only as the last non-blank line; a malformed one is content, and reported.
    """
    text = decode(data)
    content = text.strip()
    skipped = text.count("\n", 0, len(text) - len(text.lstrip()))
    if not content.endswith("-->"):
        return content, None, skipped, ()
    above, _, last = content.rpartition("\n")
    metadata = parse_metadata(last)
    if metadata is None:
        if not looks_like_metadata(last):
            return content, None, skipped, ()
        problem = Problem(
            "malformed-metadata",
            line + skipped + content.count("\n"),
            "the provenance comment cannot be read, so it counts as text of the item",
            "write it as `<!-- wikimem: owner=… | source=… | ts=… -->`",
        )
        return content, None, skipped, (problem,)
    problems: tuple[Problem, ...] = ()
    if any(key == "ts" for key, _ in metadata.extra):
        problem = Problem(
            "invalid-timestamp",
            line + skipped + content.count("\n"),
            "the `ts` of the provenance comment is no time, so the item has none",
            "write it as 2026-07-10T03:00:00+00:00",
        )
        problems = (problem,)
    return above.rstrip(), metadata, skipped, problems


def wiki_parts(doc: Document, category: str, *, preamble: bool) -> tuple[Part, ...]:
    """Return every item of a wiki file in document order, duplicates and (if wanted) the preamble included."""
    parts: list[Part] = []
    first = _preamble_part(doc, category) if preamble else None
    if first is not None:
        parts.append(first)
    for section in doc.sections:
        name = heading_name(section.heading.text)
        if name:
            parts.append(part_of(doc, section.heading, section.end, name))
    return tuple(parts)


def note_title(category: str) -> str:
    """Return the title that Obsidian shows for a wiki file: its file name."""
    return collapse(decode(path_stem_of(category).rsplit("/", 1)[-1].encode("utf-8", "surrogateescape")))


def _preamble_part(doc: Document, category: str) -> Part | None:
    """Return the prose above the first `##` (or a whole note without any) as an item under the note's title.

    The title is the level 1 heading that the prose starts with, else the file's name.
    """
    end = doc.sections[0].start if doc.sections else len(doc.data)
    start, name = doc.body_start, note_title(category)
    title = doc.headings[0] if doc.headings and doc.headings[0].level == 1 else None
    if title is not None and title.start < end and not doc.data[start : title.start].strip():
        start, name = title.end, heading_name(title.text) or name
    line = title.line if title is not None and start == title.end else 1
    first = _line_at(doc.data, start)
    content, metadata, skipped, problems = read_body(doc.data[start:end], first)
    if not content or not name:
        return None
    return Part(
        name=name,
        heading=None,
        start=start,
        body=Span(start, end),
        content=content,
        metadata=metadata,
        line=line if line > 1 else first + skipped if start != (title.end if title else -1) else line,
        content_line=first + skipped,
        problems=problems,
    )


def _line_at(data: bytes, offset: int) -> int:
    before = data[:offset]
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")


def served(parts: tuple[Part, ...]) -> tuple[tuple[Part, ...], tuple[Problem, ...]]:
    """Return the parts that are served, of one name only the last, and a problem for each of the others."""
    last: dict[str, Part] = {part.key: part for part in parts}
    if len(last) == len(parts):
        return parts, ()
    problems = tuple(_duplicate(part, last[part.key].line) for part in parts if last[part.key] is not part)
    return tuple(part for part in parts if last[part.key] is part), problems


def _duplicate(part: Part, line: int) -> Problem:
    what = "the name" if part.heading is not None else "the note's title"
    fate = "the next write of the item keeps the last one only" if part.heading is not None else "no write touches it"
    return Problem(
        "duplicate-name",
        part.line,
        f"{what} {part.name!r} stands again in line {line}: only that item is served",
        f"rename one of them, or merge the texts; {fate}",
    )
