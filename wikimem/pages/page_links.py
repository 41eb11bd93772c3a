"""The links of a page, each with the item that it stands in and its line in the file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from wikimem.pages.page import Page, PageLink
from wikimem.pages.parts import Part
from wikimem.text.decoding import replace_improper
from wikimem.text.document import Document
from wikimem.text.frontmatter import find_frontmatter, yaml_start
from wikimem.text.links import Link, find_links, find_links_with_problems
from wikimem.text.problems import Problem
from wikimem.text.property_links import property_links

Gap = tuple[int, int, int]


class _LineCounter:
    """Line numbers of ascending offsets in one pass: counting from the start for each link would be quadratic."""

    __slots__ = ("line", "position", "returns", "text")

    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self.returns = "\r" in text
        self.position = 0
        self.line = line

    def at(self, offset: int) -> int:
        if offset < self.position:
            self.line -= self._ends(offset, self.position)
        else:
            self.line += self._ends(self.position, offset)
        self.position = offset
        return self.line

    def _ends(self, start: int, end: int) -> int:
        ends = self.text.count("\n", start, end)
        if self.returns:
            ends += self.text.count("\r", start, end) - self.text.count("\r\n", start, end)
        return ends


def known_links(page: Page | None) -> dict[str, list[Link]]:
    """Return the links of a page's items by content. Looking for links is half of reading a page.

    An edit changes one item of many: what the others link to is known from the page before it. A page with problems
    gives nothing, for they would have to be found again.
    """
    if page is None or page.problems:
        return {}
    links: dict[str, list[Link]] = {item.address: [] for item in page.items}
    for place in page.links:
        if place.source is not None:
            links[place.source].append(place.link)
    return {item.content: links[item.address] for item in page.items}


def item_links(part: Part, address: str, known: Mapping[str, list[Link]]) -> tuple[list[PageLink], list[Problem]]:
    """Return the links in an item's content, and what is wrong with those that are none."""
    if "[" not in part.content and "<" not in part.content:
        return [], []
    same = known.get(part.content)
    found, problems = find_links_with_problems(part.content) if same is None else (same, [])
    skipped = len(part.lead) + 2 if part.lead else 0
    counter = _LineCounter(part.content[skipped:], part.content_line)
    lines = (part.line if link.start < skipped else counter.at(link.start - skipped) for link in found)
    links = [PageLink(address, link, line) for link, line in zip(found, lines, strict=True)]
    return links, [replace(problem, line=_problem_line(part, problem.line)) for problem in problems]


def _problem_line(part: Part, line: int) -> int:
    """Return the line in the file of a line of the content, from 1; a lead and its blank line are no lines of it."""
    if not part.lead:
        return part.content_line + line - 1
    return part.line if line <= 2 else part.content_line + line - 3


def outside_links(doc: Document, gaps: Sequence[Gap]) -> Iterator[PageLink]:
    """Yield the links of headings, preamble and properties; their offsets are in `file_text` of the file."""
    yield from _property_links(doc)
    line, counted, characters = 1, 0, 0
    for start, end, _ in gaps:
        if doc.data.find(b"[", start, end) < 0 and doc.data.find(b"<knowledge", start, end) < 0:
            continue
        text = file_text(doc.data[start:end])
        found = find_links(text)
        if not found:
            continue
        before = file_text(doc.data[counted:start])
        line = _LineCounter(before, line).at(len(before))
        characters += len(before)
        counted = start
        counter = _LineCounter(text, line)
        for link in found:
            shifted = replace(link, start=link.start + characters, end=link.end + characters)
            yield PageLink(None, shifted, counter.at(link.start))


def _property_links(doc: Document) -> Iterator[PageLink]:
    """Yield the links of the properties."""
    span, yaml, _ = find_frontmatter(doc.data)
    if span is None or b"[" not in yaml:
        return
    first = file_text(doc.data[: yaml_start(doc.data)])
    # As the properties are read: YAML allows neither NUL nor half of a surrogate pair. The length stays.
    block = replace_improper(file_text(yaml))
    counter = _LineCounter(block, _LineCounter(first, 1).at(len(first)))
    for link in property_links(block):
        shifted = replace(link, start=link.start + len(first), end=link.end + len(first))
        yield PageLink(None, shifted, counter.at(link.start))


def file_text(data: bytes) -> str:
    """Return a file's text for offsets outside items: every byte kept (surrogates), line ends as they are."""
    return data.decode("utf-8", "surrogateescape")
