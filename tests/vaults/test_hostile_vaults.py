"""Every hostile vault by name: what is served, what is reported, and what an edit leaves alone."""

import pytest

from tests.vaults.hostile import VAULTS, HostileVault
from wikimem.pages.day import add_entry
from wikimem.pages.edits import EMPTY_COMMENT
from wikimem.pages.items import DiaryItem, RecallItem
from wikimem.pages.reading import read_page
from wikimem.pages.wiki import put_item, remove_item
from wikimem.text.document import Document

BLANKS = b" \t\r\n"
NEW = "A new text.\n\n- with a list"


def by_name(vault: HostileVault) -> str:
    return vault.name


@pytest.mark.parametrize("vault", VAULTS, ids=by_name)
def test_it_serves_what_it_should(vault: HostileVault) -> None:
    pages = [read_page(path, data, vault.layout) for path, data in vault.files.items()]
    assert {one.address: one.content for page in pages for one in page.items} == vault.items


@pytest.mark.parametrize("vault", VAULTS, ids=by_name)
def test_it_reports_what_it_should(vault: HostileVault) -> None:
    pages = [read_page(path, data, vault.layout) for path, data in vault.files.items()]
    found = {page.path: [one.kind for one in page.problems] for page in pages if page.problems}
    assert found == vault.problems
    for page in pages:
        for problem in page.problems:
            assert problem.message[-1:] not in (".", "")
            assert problem.hint[-1:] not in (".", "")
            assert 0 <= problem.line <= vault.files[page.path].count(b"\n") + vault.files[page.path].count(b"\r") + 1


@pytest.mark.parametrize("vault", VAULTS, ids=by_name)
def test_adding_keeps_every_byte_that_was_there(vault: HostileVault) -> None:
    for path, data in vault.files.items():
        place = vault.layout.classify(path)
        if place.kind == "wiki":
            edit = put_item(data, place.category, RecallItem(place.category, "brand new", NEW))
            assert edit.data is not None
            assert edit.data.startswith(data)
            assert bool(edit.problems) == (Document.parse(data).open_tail is not None)
        elif place.kind == "diary":
            edit = add_entry(data, place.category, DiaryItem(place.category, "12:00", NEW))
            assert edit.data is not None
            assert edit.item is not None
            assert edit.item.content == NEW
            sections = Document.parse(edit.data).sections
            added = next(one for one in sections if one.heading.line == edit.item.line)
            rest = edit.data[: added.start] + edit.data[added.end :]
            assert rest.rstrip(BLANKS) == data.rstrip(BLANKS)


@pytest.mark.parametrize("vault", VAULTS, ids=by_name)
def test_updating_or_removing_an_item_leaves_the_others_as_they_are(vault: HostileVault) -> None:
    for path, data in vault.files.items():
        place = vault.layout.classify(path)
        if place.kind != "wiki":
            continue
        preamble = vault.layout.preamble_items
        items = read_page(path, data, vault.layout).items
        for one in items:
            others = [other for other in items if other.address != one.address]
            new = RecallItem(place.category, one.name, NEW)
            edit = put_item(data, place.category, new, preamble_items=preamble)
            assert edit.data is not None
            assert edit.replaced[-1] == one
            served = read_page(path, edit.data, vault.layout).items
            assert [other for other in served if other.address != one.address] == others
            assert edit.item is not None
            assert (edit.item.name, edit.item.content) == (one.name, NEW)
            edit = remove_item(data, place.category, one.name, preamble_items=preamble)
            assert edit.replaced[-1] == one
            left = list(read_page(path, edit.data, vault.layout).items) if edit.data is not None else []
            assert left == others


def test_every_vault_has_a_name_of_its_own() -> None:
    assert len({vault.name for vault in VAULTS}) == len(VAULTS)
    assert EMPTY_COMMENT not in str(VAULTS)
