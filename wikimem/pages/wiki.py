"""A wiki RecallFile: read as a page, edited item by item."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from wikimem.errors import NotFound
from wikimem.pages.building import build_page
from wikimem.pages.cleaning import LinkStyle, clean_content
from wikimem.pages.edits import (
    Edit,
    appended,
    closed,
    comment_for,
    ends_line,
    is_kept,
    not_apart,
    raw_sections,
    removed,
    render_part,
    replaced_body,
)
from wikimem.pages.items import RecallItem
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.pages.parts import Part, heading_name, note_title, served, wiki_parts
from wikimem.text.document import Document, Section
from wikimem.text.metadata import Metadata, given_ts
from wikimem.text.names import category_of, fold_name, sanitize_item_name

__all__ = ["Edit", "clean_content", "put_item", "read_wiki_page", "remove_item"]


def read_wiki_page(path: str, data: bytes, layout: Layout, before: Page | None = None) -> Page:
    """Read a wiki file; of items with one name the last is served. `before` is what it was, to spare work."""
    category = layout.classify(path).category or category_of(path.removesuffix(".md"))
    doc = Document.parse(data)
    parts, problems = served(wiki_parts(doc, category, preamble=layout.preamble_items))
    make_item = partial(_item, category)
    return build_page(path, "wiki", category, doc, parts, make_item=make_item, problems=problems, before=before)


def put_item(
    data: bytes | None,
    category: str,
    item: RecallItem,
    *,
    link_style: LinkStyle = "keep",
    preamble_items: bool = False,
) -> Edit:
    """Return the file with `item` added, or put in the place of the one whose name matches.

    `data` None makes a new file. An item keeps its heading's bytes and its place, earlier duplicates of its name go.
    Raises `InvalidName` for a new name that cannot be written, `InvalidInput` for a `ts` that is no time,
    `InvalidContent` as `clean_content` does and for content that this file cannot hold.
    """
    content = clean_content(item.content, link_style=link_style, category=category)
    doc = Document.parse(data if data is not None else f"# {note_title(category)}\n".encode())
    matching = _matching(doc, category, item.name, preamble=preamble_items)
    for needed in (False, True):
        if matching:
            edit = _replaced(doc, category, item, content, matching, needed=needed)
        else:
            edit = _added(doc, category, item, content, needed=needed)
        if edit is not None:
            return edit
    raise not_apart(data or b"")


def remove_item(data: bytes, category: str, name: str, *, preamble_items: bool = False) -> Edit:
    """Return the file without the item, and without earlier duplicates of its name.

    `Edit.data` is None when nothing of a person's is left: then the file goes. Raises `NotFound`.
    """
    doc = Document.parse(data)
    matching = _matching(doc, category, name, preamble=preamble_items)
    if not matching:
        raise NotFound(f"there is no item {category}:{name}", hint=f"list them with `wikimem ls {category}`")
    replaced = tuple(_item(category, part) for part in matching)
    left = _without(doc, matching)
    if left is None:
        raise not_apart(data)
    return Edit(None if _is_bare(left, category) else left.data, replaced)


def _matching(doc: Document, category: str, name: str, *, preamble: bool) -> list[Part]:
    """Return the parts under a name; a preamble only where no heading has it, for its text is no duplicate."""
    key = fold_name(name)
    matching = [part for part in wiki_parts(doc, category, preamble=preamble) if part.key == key]
    return [part for part in matching if part.heading is not None] or matching


def _without(doc: Document, parts: Sequence[Part]) -> Document | None:
    left: Document | None = doc
    for part in reversed(parts):
        if left is not None and part.heading is None:
            left = Document.parse(replaced_body(left.data, part.body.start, part.body.end, "", left.newline))
        elif left is not None:
            left = removed(left, part.start, part.body.end)
    return left


def _item(category: str, part: Part, tags: tuple[str, ...] = ()) -> RecallItem:
    known = part.metadata or Metadata()
    return RecallItem(category, part.name, part.content, known.owner, known.source_conv, known.ts, tags, part.line)


def _metadata(item: RecallItem, before: Metadata | None) -> Metadata:
    """Return the new provenance: the item's own, and the keys in the old comment that this program does not know."""
    extra = tuple((key, value) for key, value in before.extra if key != "ts") if before else ()
    return Metadata(item.owner, item.source_conv, given_ts(item.ts), extra)


def _replaced(
    doc: Document, category: str, item: RecallItem, content: str, matching: list[Part], *, needed: bool
) -> Edit | None:
    last = matching[-1]
    comment = comment_for(_metadata(item, last.metadata), needed=needed)
    body = render_part(None, content, comment)
    result = replaced_body(doc.data, last.body.start, last.body.end, body, doc.newline)
    new = _without(Document.parse(result), matching[:-1])
    if new is None:
        return None
    name = last.name
    touched = [part for part in wiki_parts(new, category, preamble=last.heading is None) if part.key == last.key]
    if len(touched) != 1 or touched[0].content != content:
        return None
    if not is_kept(raw_sections(doc, _sections_of(doc, matching)), raw_sections(new, _sections_of(new, touched))):
        return None
    replaced = tuple(_item(category, part) for part in matching)
    return Edit(new.data, replaced, (), replace(_item(category, touched[0]), name=name))


def _added(doc: Document, category: str, item: RecallItem, content: str, *, needed: bool) -> Edit | None:
    name = sanitize_item_name(item.name)
    start, problems = closed(doc)
    block = render_part(f"## {name}", content, comment_for(_metadata(item, None), needed=needed))
    result = appended(start, block, doc.newline, final_newline=ends_line(doc.data))
    new = Document.parse(result)
    if not new.sections or heading_name(new.sections[-1].heading.text) != name:
        return None
    touched = [part for part in wiki_parts(new, category, preamble=False) if part.start == new.sections[-1].start]
    if len(touched) != 1 or touched[0].content != content:
        return None
    if not is_kept(raw_sections(doc), raw_sections(new, new.sections[-1:]), closer=doc.closer):
        return None
    return Edit(result, (), problems, _item(category, touched[0]))


def _sections_of(doc: Document, parts: list[Part]) -> list[Section]:
    starts = {part.start for part in parts if part.heading is not None}
    return [section for section in doc.sections if section.start in starts]


def _is_bare(doc: Document, category: str) -> bool:
    """Tell whether nothing of a person's is left: no properties, and at most the title that a new file gets."""
    rest = doc.data[doc.bom :].strip()
    if not rest:
        return True
    if len(doc.headings) != 1 or doc.headings[0].level != 1 or rest != doc.data[doc.headings[0].start :].strip():
        return False
    heading = doc.headings[0]
    if doc.data[heading.end :].strip():
        return False
    return _title_key(heading_name(heading.text)) == _title_key(note_title(category))


def _title_key(title: str) -> str:
    return fold_name(title.replace("_", " ").replace("-", " ")).casefold()
