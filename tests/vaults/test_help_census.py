"""The golden census of the 172 notes of the Obsidian help: checked by eye once, and held since.

`python -m tests.vaults.test_help_census` in the repository's root writes the file anew; look at what changed.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vaults.census import census, pages_of
from wikimem.pages.items import RecallItem
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.pages.reading import read_page
from wikimem.pages.wiki import clean_content, put_item, remove_item
from wikimem.text.names import is_day

ROOT = Path(__file__).parents[2]
NOTES = ROOT.parent / "shared" / "data" / "vaults" / "obsidian-help-en"
GOLDEN = Path(__file__).with_name("help_census.json")
HEADINGS_ONLY = Layout(wiki_dir=".")
WITH_PREAMBLES = Layout(wiki_dir=".", preamble_items=True)

pytestmark = pytest.mark.skipif(not NOTES.is_dir(), reason="the help notes are not beside the repository")


def taken() -> dict[str, Any]:
    return {
        "headings_only": census(pages_of(NOTES, HEADINGS_ONLY)),
        "with_preambles": census(pages_of(NOTES, WITH_PREAMBLES)),
    }


@pytest.fixture(scope="module")
def notes() -> list[tuple[Page, bytes]]:
    return [(page, (NOTES / page.path).read_bytes()) for page in pages_of(NOTES, HEADINGS_ONLY)]


def test_the_help_notes_are_read_as_they_were_when_they_were_checked() -> None:
    assert taken() == json.loads(GOLDEN.read_text())


def test_no_note_of_the_help_is_taken_for_a_day(notes: list[tuple[Page, bytes]]) -> None:
    assert not any(is_day(page.category) for page, _ in notes)


def test_what_the_help_notes_say_can_be_written_and_changes_nothing(notes: list[tuple[Page, bytes]]) -> None:
    for page, data in notes:
        for one in page.items:
            assert clean_content(one.content) == one.content
            edit = put_item(data, page.category, one)
            assert edit.data is not None
            assert edit.replaced == (one,)
            served = read_page(page.path, edit.data, HEADINGS_ONLY)
            assert served.items == page.items


def test_adding_to_a_help_note_and_removing_it_gives_back_the_bytes(notes: list[tuple[Page, bytes]]) -> None:
    for page, data in notes:
        added = put_item(data, page.category, RecallItem(page.category, "a new one", "Text.\n\n- x"))
        assert added.data is not None
        assert added.data.startswith(data)
        removed = remove_item(added.data, page.category, "a new one")
        assert removed.data is not None
        assert removed.data.rstrip() == data.rstrip()
        if not data.rstrip(b"\r\n").endswith(b" ") and not data.endswith((b"\n\n", b"\n\r\n")):
            assert removed.data == data


def test_removing_an_item_of_a_help_note_leaves_the_others(notes: list[tuple[Page, bytes]]) -> None:
    for page, data in notes:
        for one in {page.items[0], page.items[-1]} if page.items else ():
            edit = remove_item(data, page.category, one.name)
            left = read_page(page.path, edit.data, HEADINGS_ONLY).items if edit.data is not None else ()
            assert left == tuple(other for other in page.items if other is not one)


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(taken(), indent=1) + "\n")
