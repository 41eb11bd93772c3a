"""A diary entry goes where its time belongs, and nothing else moves."""

from hypothesis import given
from hypothesis import strategies as st

from tests.property.strategies import cleaned, contents, files, provenance, times
from wikimem.pages.day import add_entry, day_parts, diary_items, read_day_page
from wikimem.pages.edits import EMPTY_COMMENT
from wikimem.pages.items import DiaryItem
from wikimem.pages.layout import Layout
from wikimem.text.document import Document

DAY = "2026-07-21"
PATH = f"diary/{DAY}.md"


@given(files(), times(), contents(), provenance())
def test_an_entry_reads_back_and_every_other_section_stays(
    data: bytes, time: str, content: str, owner: str | None
) -> None:
    expected = cleaned(content, data)
    before = Document.parse(data)
    edit = add_entry(data, DAY, DiaryItem(DAY, time, content, owner))
    assert edit.data is not None
    assert edit.item is not None
    after = Document.parse(edit.data)
    assert len(after.sections) == len(before.sections) + 1
    page = read_day_page(PATH, edit.data, Layout())
    assert edit.item in page.items
    assert (edit.item.name, edit.item.content) == (time, expected)
    raw = [
        edit.data[section.start : section.end] for section in after.sections if section.heading.line != edit.item.line
    ]
    kept = [data[section.start : section.end] for section in before.sections]
    endings = (b"", EMPTY_COMMENT.encode(), before.closer)
    for old, new in zip(kept, raw, strict=True):
        assert new.startswith(old.rstrip(b" \t\r\n"))
        assert new[len(old.rstrip(b" \t\r\n")) :].strip(b" \t\r\n") in endings


@given(files(), times(), contents())
def test_an_entry_stands_after_the_last_that_is_not_later(data: bytes, time: str, content: str) -> None:
    cleaned(content, data)
    before = [part.name for part in day_parts(Document.parse(data))]
    edit = add_entry(data, DAY, DiaryItem(DAY, time, content))
    assert edit.data is not None
    after = [part.name for part in day_parts(Document.parse(edit.data))]
    place = max((index + 1 for index, other in enumerate(before) if other <= time), default=0)
    assert after == [*before[:place], time, *before[place:]]


@given(times(), contents())
def test_a_new_day_starts_with_its_title(time: str, content: str) -> None:
    expected = cleaned(content)
    edit = add_entry(None, DAY, DiaryItem(DAY, time, content))
    assert edit.data is not None
    assert edit.data.startswith(f"# {DAY}\n\n## {time}".encode())
    assert [entry.content for entry in diary_items(read_day_page(PATH, edit.data, Layout()))] == [expected]


@given(contents(), st.lists(times(), max_size=4))
def test_entries_made_here_are_in_the_order_of_the_seed(content: str, minutes: list[str]) -> None:
    cleaned(content)
    data: bytes | None = None
    for number, time in enumerate(minutes):
        data = add_entry(data, DAY, DiaryItem(DAY, time, f"{number} {content}")).data
    entries = diary_items(read_day_page(PATH, data or b"", Layout()))
    told = [(entry.time, int(entry.content[0])) for entry in entries]
    assert told == sorted((time, number) for number, time in enumerate(minutes))
