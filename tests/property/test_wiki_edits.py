"""An edit touches the item that it names, and reads back as it was cleaned."""

import contextlib
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.property.strategies import (
    any_bytes,
    bodies,
    cleaned,
    contents,
    files,
    files_with_item,
    item_names,
    provenance,
)
from wikimem.errors import InvalidContent, NotFound
from wikimem.pages.edits import EMPTY_COMMENT
from wikimem.pages.items import RecallItem
from wikimem.pages.layout import Layout
from wikimem.pages.parts import heading_name
from wikimem.pages.reading import git_marker_line, read_page
from wikimem.pages.wiki import clean_content, put_item, read_wiki_page, remove_item
from wikimem.text.document import Document
from wikimem.text.names import fold_name

LAYOUT = Layout()
PATH = "wiki/notes.md"


def item(name: str, content: str, owner: str | None = None) -> RecallItem:
    return RecallItem("notes", name, content, owner)


@given(any_bytes())
def test_reading_never_raises_and_hands_out_proper_text(data: bytes) -> None:
    for path in (PATH, "diary/2026-07-21.md"):
        for layout in (LAYOUT, Layout(preamble_items=True)):
            page = read_page(path, data, layout)
            for one in page.items:
                one.content.encode("utf-8")
                one.name.encode("utf-8")
                assert "\x00" not in one.content
                assert "\r" not in one.content
                assert one.content == one.content.strip()
    git_marker_line(data)


@given(files(), bodies(max_lines=4), files(), st.booleans())
def test_reading_an_edited_file_gives_the_same_page_whatever_is_known_of_it(
    data: bytes, more: bytes, other: bytes, above: bool
) -> None:
    edited = more + data if above else data + more
    for path in (PATH, "diary/2026-07-21.md"):
        for before in (data, other):
            known = read_page(path, before, LAYOUT)
            # `repr`: two pages are equal also where the lines of their items differ.
            assert repr(read_page(path, edited, LAYOUT, known)) == repr(read_page(path, edited, LAYOUT))


@given(any_bytes())
def test_reading_gives_every_name_once(data: bytes) -> None:
    names = [fold_name(one.name) for one in read_wiki_page(PATH, data, LAYOUT).items]
    assert len(names) == len(set(names))


@given(contents())
def test_cleaning_twice_changes_nothing_more(content: str) -> None:
    once = cleaned(content)
    assert clean_content(once) == once


@given(files(), item_names(), contents(), provenance())
def test_what_is_put_reads_back_as_it_was_cleaned(data: bytes, name: str, content: str, owner: str | None) -> None:
    expected = cleaned(content, data)
    edit = put_item(data, "notes", item(name, content, owner))
    assert edit.data is not None
    found = [one for one in read_wiki_page(PATH, edit.data, LAYOUT).items if fold_name(one.name) == fold_name(name)]
    assert [one.content for one in found] == [expected]
    assert edit.item == found[0]


@given(item_names(), contents(), provenance())
def test_a_new_file_holds_the_one_item(name: str, content: str, owner: str | None) -> None:
    expected = cleaned(content)
    edit = put_item(None, "notes", item(name, content, owner))
    assert edit.data is not None
    assert edit.data.startswith(b"# notes\n\n## ")
    assert edit.data.endswith(b"\n")
    assert [one.content for one in read_wiki_page(PATH, edit.data, LAYOUT).items] == [expected]


@given(files(), item_names(), contents())
def test_a_new_item_leaves_every_byte_before_it_alone(data: bytes, name: str, content: str) -> None:
    cleaned(content, data)
    known = {fold_name(one.name) for one in read_wiki_page(PATH, data, LAYOUT).items}
    assume(fold_name(name) not in known)
    edit = put_item(data, "notes", item(name, content))
    assert edit.data is not None
    assert edit.data.startswith(data)
    assert not edit.replaced
    assert edit.data.endswith((b"\n", b"\r")) == (data.endswith((b"\n", b"\r")) or data in (b"", b"\xef\xbb\xbf"))


@given(files_with_item(), contents())
def test_an_update_leaves_every_byte_outside_the_item_alone(data: bytes, content: str) -> None:
    cleaned(content, data)
    doc = Document.parse(data)
    named = [section for section in doc.sections if heading_name(section.heading.text)]
    for index, section in enumerate(named):
        name = heading_name(section.heading.text)
        same = [one for one in named if fold_name(heading_name(one.heading.text)) == fold_name(name)]
        if same[-1] is not section or len(same) > 1:
            continue
        edit = put_item(data, "notes", item(name, content))
        assert edit.data is not None
        assert edit.data.startswith(data[: section.heading.end].rstrip(b"\r\n")), index
        assert edit.data.endswith(data[section.end :])
        after = Document.parse(edit.data)
        assert len(after.sections) == len(doc.sections)


@given(files_with_item(), contents())
def test_updating_collapses_the_duplicates_of_that_name_only(data: bytes, content: str) -> None:
    cleaned(content, data)
    doc = Document.parse(data)
    names = [fold_name(heading_name(section.heading.text)) for section in doc.sections]
    if "a" not in names:  # something above it is left open
        return
    edit = put_item(data, "notes", item("a", content))
    assert edit.data is not None
    after = Document.parse(edit.data)
    last = len(names) - 1 - names[::-1].index("a")
    kept = [index for index, name in enumerate(names) if name != "a" or index == last]
    assert [fold_name(heading_name(section.heading.text)) for section in after.sections] == [names[i] for i in kept]
    assert len(edit.replaced) == names.count("a")
    for old, new in zip(kept, after.sections, strict=True):
        if old != last:
            before = doc.sections[old]
            raw = edit.data[new.start : new.end].rstrip(b" \t\r\n")
            # Where a list would swallow an indented heading that is now next to it, it is ended by this comment.
            ended = raw.removesuffix(EMPTY_COMMENT.encode()).rstrip(b" \t\r\n")
            assert data[before.start : before.end].rstrip(b" \t\r\n") in (raw, ended)


@given(st.one_of(files(), files_with_item()), item_names())
def test_a_removal_leaves_every_other_item_alone(data: bytes, name: str) -> None:
    before = read_wiki_page(PATH, data, LAYOUT)
    try:
        edit = remove_item(data, "notes", name)
    except NotFound:
        assert fold_name(name) not in {fold_name(one.name) for one in before.items}
        return
    others = [one for one in before.items if fold_name(one.name) != fold_name(name)]
    if edit.data is None:
        assert not others
        return
    assert list(read_wiki_page(PATH, edit.data, LAYOUT).items) == others


@given(files(), item_names(), contents())
def test_adding_and_removing_gives_back_the_same_bytes(data: bytes, name: str, content: str) -> None:
    cleaned(content, data)
    assume(re.search(rb"[^ \t\r\n][ \t]*(?:\r\n|\n|\r)?\Z", data))
    assume(data.strip() and Document.parse(data).open_tail is None)
    known = {fold_name(one.name) for one in read_wiki_page(PATH, data, LAYOUT).items}
    assume(fold_name(name) not in known)
    added = put_item(data, "notes", item(name, content)).data
    assert added is not None
    removed = remove_item(added, "notes", name).data
    assert removed == data or (removed is None and not known)


@given(any_bytes(), item_names(), contents())
def test_only_the_documented_errors_are_raised(data: bytes, name: str, content: str) -> None:
    with contextlib.suppress(InvalidContent):
        put_item(data, "notes", item(name, content))
    with contextlib.suppress(NotFound):
        remove_item(data, "notes", name)


def test_content_that_would_close_open_properties_is_refused() -> None:
    with pytest.raises(InvalidContent, match="never closes"):
        put_item(b"---\nnever: closed\n## a\n", "notes", item("a", "x\n\n---"))


EDITS = st.lists(st.tuples(st.sampled_from(("a", "b", "Café", "x y")), st.none() | contents()), max_size=6)


@given(st.one_of(files(), files_with_item()), EDITS)
def test_after_any_edits_a_file_holds_what_a_dictionary_would(data: bytes, edits: list[tuple[str, str | None]]) -> None:
    def read(current: bytes | None) -> dict[str, str]:
        items = read_wiki_page(PATH, current, LAYOUT).items if current is not None else ()
        return {fold_name(one.name): one.content for one in items}

    if Document.parse(data).open_tail is not None:  # the first new item would close it, in the last item
        return
    current: bytes | None = data
    model = read(current)
    for name, content in edits:
        key = fold_name(name)
        if content is None:
            edit = remove_item(current, "notes", name) if current is not None and key in model else None
            current = edit.data if edit is not None else current
            model.pop(key, None)
        else:
            with contextlib.suppress(InvalidContent):
                cleaned_content = clean_content(content)
                current = put_item(current, "notes", item(name, content)).data
                model[key] = cleaned_content
        assert read(current) == model


@given(files(), contents())
def test_a_preamble_is_edited_like_an_item_and_costs_no_other(data: bytes, content: str) -> None:
    layout = Layout(preamble_items=True)
    before = read_wiki_page(PATH, data, layout).items
    headed = read_wiki_page(PATH, data, LAYOUT).items
    if not before or before[0] in headed:
        return
    try:
        expected = clean_content(content)
        edit = put_item(data, "notes", item(before[0].name, content), preamble_items=True)
    except InvalidContent:
        return
    assert edit.data is not None
    assert edit.replaced == before[:1]
    after = read_wiki_page(PATH, edit.data, layout).items
    if expected:
        assert (after[0].name, after[0].content) == (before[0].name, expected)
    assert [one.content for one in after[bool(expected) :]] == [one.content for one in headed]
    edit = remove_item(data, "notes", before[0].name, preamble_items=True)
    left = read_wiki_page(PATH, edit.data, LAYOUT).items if edit.data is not None else ()
    assert left == headed
