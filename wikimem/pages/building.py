"""From parts to a page: items with tags, headings, block ids, links, problems."""

from collections.abc import Callable, Iterator, Sequence

from wikimem.pages.items import RecallItem
from wikimem.pages.page import Page, PageHeading, PageKind, PageLink
from wikimem.pages.page_links import Gap, item_links, known_links, outside_links
from wikimem.pages.parts import Part
from wikimem.text.blocks import Heading
from wikimem.text.decoding import decode, is_utf8
from wikimem.text.document import Document
from wikimem.text.frontmatter import Frontmatter, read_frontmatter
from wikimem.text.names import collapse
from wikimem.text.problems import Problem
from wikimem.text.tags import block_ids, inline_tags

MakeItem = Callable[[Part, tuple[str, ...]], RecallItem]


def build_page(
    path: str,
    kind: PageKind,
    category: str,
    doc: Document,
    parts: Sequence[Part],
    *,
    make_item: MakeItem,
    problems: Sequence[Problem] = (),
    before: Page | None = None,
) -> Page:
    """Put a page together from the parts that are served. `before`, as the file was last read, spares work."""
    frontmatter = read_frontmatter(doc.data)
    gaps = tuple(_gaps(doc, parts))
    page_tags = _page_tags(doc, frontmatter, gaps)
    items: list[RecallItem] = []
    blocks: list[tuple[str, str]] = []
    links: list[PageLink] = []
    addresses: list[str] = []
    found = [*frontmatter.problems, *doc.problems, *problems]
    known = known_links(before)
    for part in parts:
        item = make_item(part, _item_tags(page_tags, part))
        items.append(item)
        address = item.address
        addresses.append(address)
        blocks += ((block, address) for block in block_ids(part.content))
        found += part.problems
        own, wrong = item_links(part, address, known)
        links += own
        found += wrong
    links += outside_links(doc, gaps)
    links.sort(key=lambda link: link.line)
    return Page(
        path=path,
        kind=kind,
        category=category,
        items=tuple(items),
        tags=page_tags,
        aliases=frontmatter.aliases,
        headings=tuple(_headings(doc, parts, addresses)),
        blocks=tuple(blocks),
        links=tuple(links),
        problems=tuple(sorted([*found, *_file_problems(doc)], key=lambda problem: problem.line)),
    )


def _gaps(doc: Document, parts: Sequence[Part]) -> Iterator[Gap]:
    """Yield what lies outside the items' content: start, end, and where the next item's heading begins."""
    position = doc.body_start
    for part in parts:
        # Text in a heading line that belongs to the content (`## 14:30 Lunch [[x]]`) is read with it.
        yield position, part.start if part.lead else part.body.start, part.start
        position = part.body.end
    yield position, len(doc.data), len(doc.data)


def _page_tags(doc: Document, frontmatter: Frontmatter, gaps: Sequence[Gap]) -> tuple[str, ...]:
    """Return the note's own tags: those of the frontmatter, and inline ones that stand in no item."""
    tags = dict.fromkeys(frontmatter.tags)
    for start, _, heading in gaps:
        if heading > start and doc.data.find(b"#", start, heading) >= 0:
            tags.update(dict.fromkeys(inline_tags(decode(doc.data[start:heading]))))
    return tuple(tags)


def _item_tags(page_tags: tuple[str, ...], part: Part) -> tuple[str, ...]:
    own = inline_tags(part.content)
    if part.heading is not None and b"#" in part.heading.text and not part.lead:
        own = (*inline_tags(decode(part.heading.text)), *own)
    return tuple(dict.fromkeys((*page_tags, *own))) if own else page_tags


def _line_ends(data: bytes) -> int:
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def _headings(doc: Document, parts: Sequence[Part], addresses: Sequence[str]) -> Iterator[PageHeading]:
    everything: Sequence[Heading] = doc.headings
    if doc.setext:
        everything = sorted((*doc.headings, *doc.setext), key=lambda heading: heading.start)
    index = 0
    for heading in everything:
        while index < len(parts) and parts[index].body.end <= heading.start:
            index += 1
        inside = index < len(parts) and parts[index].start <= heading.start
        text = collapse(decode(heading.text))
        if inside and text == parts[index].name:
            text = parts[index].name  # one string of the two: there is one for each item of a vault
        yield PageHeading(text, heading.level, heading.line, addresses[index] if inside else None)


def _file_problems(doc: Document) -> Iterator[Problem]:
    for section in doc.sections:
        if not section.heading.text:
            yield Problem(
                "empty-name",
                section.heading.line,
                "this heading has no text, so what stands below it has no name and is not served",
                "write a name after the `##`",
            )
    if not is_utf8(doc.data):
        line = 1
        try:
            doc.data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = 1 + _line_ends(doc.data[: error.start])
        message = (
            "the file is not UTF-8; the bytes that are not show as \N{REPLACEMENT CHARACTER}, and stay as they are"
        )
        yield Problem("not-utf8", line, message, "save the file as UTF-8")
    if b"\x00" in doc.data:
        line = 1 + _line_ends(doc.data[: doc.data.index(b"\x00")])
        message = "the file holds NUL bytes; they show as \N{REPLACEMENT CHARACTER}"
        yield Problem("nul-bytes", line, message, "check that this is a text file")
