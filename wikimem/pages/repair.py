"""Fixes of links as plain data: where in a file which bytes stand, and what is to stand there instead.

A plan is made from the bytes of files and applied to just these: every fix says the hash of the file that it was
made from, and touches only the bytes in which a link names its target.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from wikimem.pages.page import Page, PageLink
from wikimem.pages.page_links import file_text
from wikimem.pages.relations import Relation
from wikimem.text.decoding import replace_improper
from wikimem.text.frontmatter import find_frontmatter
from wikimem.text.link_forms import target_span
from wikimem.text.links import Link, find_links
from wikimem.text.property_links import property_links

_LINE = re.compile(rb"([^\n\r]*)(?:\r\n|\n|\r|\Z)")


@dataclass(frozen=True, slots=True)
class Fix:
    """One target to rewrite: bytes `start` to `end` of the file at `path`, which read `old`, become `new`.

    `based_on` is the sha256 of the whole file that the offsets belong to. `source` is the address of the item that
    the link stands in, None outside any; `line` is 1-based. `target` is what the link names now, as read, and `goal`
    the address (or category) that it will lead to.
    """

    path: str
    start: int
    end: int
    old: bytes
    new: bytes
    based_on: str
    source: str | None
    line: int
    target: str
    goal: str


@dataclass(frozen=True, slots=True)
class Left:
    """A link that is not rewritten, and why; `suggestion` is what it could lead to, if that is known."""

    path: str
    line: int
    target: str
    reason: str
    suggestion: str | None = None


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """Everything that a repair would do: fixes in notes, relations to rewrite, and what stays as it is."""

    fixes: tuple[Fix, ...] = ()
    relations: tuple[tuple[Relation, Relation], ...] = ()
    left: tuple[Left, ...] = ()

    def by_path(self) -> dict[str, tuple[Fix, ...]]:
        """Return the fixes of each file, in the order of their places."""
        found: dict[str, list[Fix]] = {}
        for fix in sorted(self.fixes, key=lambda fix: (fix.path, fix.start)):
            found.setdefault(fix.path, []).append(fix)
        return {path: tuple(fixes) for path, fixes in found.items()}


@dataclass(frozen=True, slots=True)
class Located:
    """A link of a page and the bytes of the file in which its target is written."""

    place: PageLink
    start: int
    end: int


def hash_of(data: bytes) -> str:
    """Return what a fix says that it is based on."""
    return hashlib.sha256(data).hexdigest()


def locate_links(page: Page, data: bytes) -> Iterator[tuple[PageLink, Located | None]]:
    """Yield every link of a page with its place in the file's bytes, None where that cannot be told for sure."""
    contents: Mapping[str, str] = {item.address: item.content for item in page.items}
    lines = _lines(data)
    searched: dict[int, int] = {}
    for place in page.links:
        content = contents.get(place.source, "") if place.source is not None else None
        yield place, _locate(place, content, data, lines, searched)


def quoted_form(data: bytes, located: Located, target: str, written: str) -> str | None:
    """Return how `written`, which names `target`, is to be put where a link's target stands; None if it cannot be.

    In a property it stands within quotes, which a quote in a name would end: all properties of the note would be lost.
    The form is taken that YAML reads as just this link, every other one as before.
    """
    span, before, _ = find_frontmatter(data)
    if span is None or not span.start <= located.start < span.end:
        return written
    links = _property_targets(before)
    for form in (written, written.replace("'", "''"), written.replace("\\", "\\\\").replace('"', '\\"')):
        put = form.encode("utf-8", "surrogateescape")
        _, block, _ = find_frontmatter(data[: located.start] + put + data[located.end :])
        changed = _property_targets(block)
        pairs = [(old, new) for old, new in zip(links, changed, strict=False) if old != new]
        if len(links) == len(changed) and pairs == [(located.place.link.target, target)]:
            return form
    return None


def _property_targets(block: bytes) -> list[str]:
    return [link.target for link in property_links(replace_improper(file_text(block)))]


def apply_fixes(data: bytes, fixes: Iterable[Fix]) -> bytes:
    """Return the file with the fixes made; raise `ValueError` when it is not the file that they were made from."""
    parts: list[bytes] = []
    done = 0
    for fix in sorted(fixes, key=lambda fix: fix.start):
        if data[fix.start : fix.end] != fix.old or fix.start < done:
            raise ValueError(f"{fix.path} is not the file that the fix of line {fix.line} was made from")
        parts += (data[done : fix.start], fix.new)
        done = fix.end
    return b"".join((*parts, data[done:]))


def _locate(
    place: PageLink, content: str | None, data: bytes, lines: list[tuple[int, bytes]], searched: dict[int, int]
) -> Located | None:
    """Find a link's target by its line and the text that it was read from; a link never crosses a line end."""
    if not 1 <= place.line <= len(lines):
        return None
    start, raw = lines[place.line - 1]
    line = raw.decode("utf-8", "surrogateescape")
    if content is None:
        before = data[:start].decode("utf-8", "surrogateescape")
        column, written = place.link.start - len(before), line[place.link.start - len(before) :]
        written = written[: place.link.end - place.link.start]
    else:
        written = content[place.link.start : place.link.end]
        column = place.link.start - (content.rfind("\n", 0, place.link.start) + 1)
        # The first line of a content is stripped, and may stand behind a diary entry's time.
        column = next((c for c in _columns(line, column, written, searched.get(start, 0))), -1)
    if column < 0 or line[column : column + len(written)] != written or not written:
        return None
    searched[start] = column + len(written)
    found = _read_again(written, place.link)
    if found is None:
        return None
    first, last = target_span(written, found)
    offset = start + _size(line[:column])
    return Located(place, offset + _size(written[:first]), offset + _size(written[:last]))


def _columns(line: str, column: int, written: str, after: int) -> Iterator[int]:
    """Yield where in a line the text may stand: where its content says, else the only place behind the last one."""
    for shift in (0, len(line) - len(line.lstrip())):
        if line.startswith(written, column + shift) and column + shift >= after:
            yield column + shift
    if line.count(written, after) == 1:
        yield line.index(written, after)


def _read_again(written: str, link: Link) -> Link | None:
    """Read a link's own text: what is found there must be the link, or the place is not the one."""
    for found in find_links(written):
        if found.start == 0 and replace(found, start=link.start, end=link.end) == link:
            return found
    return None


def _lines(data: bytes) -> list[tuple[int, bytes]]:
    r"""Return the offset and the bytes of every line; `\n`, `\r\n` and `\r` end one."""
    return [(match.start(), match[1]) for match in _LINE.finditer(data)]


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
