"""Edits as bytes: what is put where, and the proof that nothing else changed its meaning."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from wikimem.errors import InvalidContent
from wikimem.pages.items import RecallItem
from wikimem.text.decoding import BOM, encode
from wikimem.text.document import Document, Section
from wikimem.text.frontmatter import find_frontmatter
from wikimem.text.metadata import Metadata, render_metadata
from wikimem.text.problems import Problem

# Ends a list or paragraph where nothing else can: read as provenance without fields, so it is no content.
EMPTY_COMMENT = "<!-- wikimem: -->"
_ENDS_BLANK = re.compile(rb"(?:\A|\n|\r(?!\n))[ \t]*(?:\r\n|\n|\r)\Z")
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Edit:
    """What an edit makes of a file.

    `data` is the new file (None: delete it), `replaced` the texts that are no longer in it, in document order, the
    last of them the one that was served. `item` is the touched item as it will be read (None after a removal).
    """

    data: bytes | None
    replaced: tuple[RecallItem, ...] = ()
    problems: tuple[Problem, ...] = ()
    item: RecallItem | None = None


def render_part(heading: str | None, content: str, comment: str | None) -> str:
    """Return an item in the seed's form, without a final line end; `heading` is None for its body alone."""
    pieces = [piece for piece in (heading, content or None, comment) if piece is not None]
    return "\n\n".join(pieces)


def comment_for(metadata: Metadata, *, needed: bool) -> str | None:
    """Return the metadata comment; where an end is needed, one without fields rather than none."""
    return render_metadata(metadata) or (EMPTY_COMMENT if needed else None)


def ends_line(data: bytes) -> bool:
    """Tell whether what follows `data` starts a line."""
    return not data or data == BOM or data.endswith((b"\n", b"\r"))


def with_blank_line(data: bytes, newline: bytes) -> bytes:
    """Return `data` followed by what is missing so that a blank line, or the file's start, precedes what comes next."""
    if not data or data == BOM:
        return data
    if not ends_line(data):
        data = glued(data, newline)
    return data if _ENDS_BLANK.search(data) else glued(data, newline)


def glued(data: bytes, more: bytes) -> bytes:
    r"""Return both, kept apart: a `\n` after a lone `\r` would make one line end of the two."""
    if data.endswith(b"\r") and more.startswith(b"\n"):
        return data + b"\r" + more
    return data + more


def closed(doc: Document) -> tuple[bytes, tuple[Problem, ...]]:
    """Return the file with what is open at its end closed, and the problem that reports it."""
    if doc.open_tail is None:
        return doc.data, ()
    data = doc.data if ends_line(doc.data) else glued(doc.data, doc.newline)
    line = doc.problems[0].line if doc.problems else 0
    closer = doc.closer.decode("ascii")
    problem = Problem(
        f"closed-{doc.open_tail}",
        line,
        f"what starts here was never closed; a line {closer} was put at the end of the file before the new item",
        "move the closing line to where it belongs",
    )
    return data + doc.closer + doc.newline, (problem,)


def appended(data: bytes, block: str, newline: bytes, *, final_newline: bool) -> bytes:
    """Return `data` with a block at its end, which is the only place without a blank line after it."""
    result = glued(with_blank_line(data, newline), encode(block, newline))
    return result + newline if final_newline else result


def inserted(data: bytes, position: int, block: str, newline: bytes) -> bytes:
    """Return `data` with a block before the heading that starts at `position`."""
    before = with_blank_line(data[:position], newline)
    return before + encode(block, newline) + newline + newline + data[position:]


def replaced_body(data: bytes, start: int, end: int, body: str, newline: bytes) -> bytes:
    """Return `data` with the body of an item replaced; the blank lines that ended it stay."""
    head, old = data[:start], data[start:end]
    trailing = _trailing(old)
    if body:
        if head and head != BOM:
            head = glued(head, newline) if ends_line(head) else glued(glued(head, newline), newline)
        head += encode(body, newline)
    elif old.strip() and (first := _LINE_END.match(trailing)):
        trailing = trailing[first.end() :]  # it ended the last line of a text that is gone
    if end < len(data):
        for _ in range((2 if body else 1) - len(_LINE_END.findall(trailing))):
            trailing = glued(trailing, newline)
    return glued(head, trailing) + data[end:]


def _trailing(body: bytes) -> bytes:
    """Return the line ends, and blanks between them, that close a body."""
    blanks = body[len(body.rstrip(b" \t\r\n")) :]
    first = _LINE_END.search(blanks)
    return blanks[first.start() :] if first else b""


def removed(doc: Document, start: int, end: int) -> Document | None:
    """Return the file without an item, None when the rest would then mean something else.

    An end is put in the item's place only where one is needed.
    """
    gone = [section for section in doc.sections if section.start == start]
    for needed in (False, True):
        left = Document.parse(cut(doc.data, start, end, doc.newline, needed=needed))
        if is_kept(raw_sections(doc, gone), raw_sections(left)):
            return left
    return None


def cut(data: bytes, start: int, end: int, newline: bytes, *, needed: bool) -> bytes:
    """Return `data` without an item. With the file's last one goes the blank line that set it off.

    Where an end is `needed` (the heading kept a list above it apart from an indented heading below it) a comment
    without fields stays in its place.
    """
    if end < len(data):
        if needed:
            return inserted(data[:start] + data[end:], start, EMPTY_COMMENT, newline)
        return data[:start] + data[end:]
    kept = data[:start]
    if kept != BOM and _ENDS_BLANK.search(kept):
        kept = _without_last_line_end(kept)
        kept = kept.rstrip(b" \t") if not ends_line(kept) else kept
    return kept if ends_line(data) else _without_last_line_end(kept)


def _without_last_line_end(data: bytes) -> bytes:
    for ending in (b"\r\n", b"\n", b"\r"):
        if data.endswith(ending):
            return data[: -len(ending)]
    return data


def is_kept(old: Sequence[bytes], new: Sequence[bytes], *, closer: bytes = b"") -> bool:
    """Tell whether the untouched sections are the same before and after an edit, what it had to close aside.

    This is the last line of defence, not a rule that content is written against: it holds when the scanner and the
    cleaning agree, and turns their disagreement into a refused write instead of a changed note.
    """
    endings = {b"", closer, EMPTY_COMMENT.encode()}
    return len(old) == len(new) and all(
        after.startswith(before.rstrip()) and after[len(before.rstrip()) :].strip() in endings
        for before, after in zip(old, new, strict=True)
    )


def not_apart(data: bytes) -> InvalidContent:
    """Return the error for content that this file cannot hold without meaning something else afterwards."""
    if find_frontmatter(data)[2]:
        return InvalidContent(
            "the file opens properties with `---` and never closes them; a line `---` in the content would",
            hint="close the properties at the top of the file, then write again",
        )
    return InvalidContent("the content would change what the rest of the file means", hint="simplify its markup")


def raw_sections(doc: Document, left_out: Sequence[Section] = ()) -> list[bytes]:
    """Return the bytes of every section but those left out."""
    starts = {section.start for section in left_out}
    return [doc.data[section.start : section.end] for section in doc.sections if section.start not in starts]
