"""The diary: where an entry goes, under which day and minute, and what is whose."""

import time
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from wikimem.errors import InvalidContent, InvalidInput
from wikimem.pages.day import add_entry, diary_items, local_entry, read_day_page
from wikimem.pages.items import DiaryItem
from wikimem.pages.layout import Layout

DAY = "2026-07-21"
# `seeds/001`, "Diary files (diary/)", as upstream writes it.
SEED = """# 2026-07-21

## 14:30

他说换了工作，去了一家做机器人的公司，语气很兴奋。[[work:current-job]]

<!-- wikimem: owner=user:xnne | source=conv_20260721 | ts=2026-07-21T06:30:00+00:00 -->

## 22:10

睡前提到有点担心新工作压力大。
"""


def add(data: str | None, time: str, content: str) -> str:
    edit = add_entry(None if data is None else data.encode(), DAY, DiaryItem(DAY, time, content))
    assert edit.data is not None
    return edit.data.decode()


def entries(data: str) -> list[tuple[str, str]]:
    page = read_day_page(f"diary/{DAY}.md", data.encode(), Layout())
    return [(entry.time, entry.content) for entry in diary_items(page)]


def test_the_seeds_day_is_read_and_written_to_the_byte() -> None:
    first, second = diary_items(read_day_page(f"diary/{DAY}.md", SEED.encode(), Layout()))
    assert (first.address, second.address) == ("2026-07-21:14:30", "2026-07-21:22:10")
    assert first.ts == "2026-07-21T06:30:00+00:00"
    once = add_entry(None, DAY, first).data
    assert once is not None
    twice = add_entry(once, DAY, second).data
    assert twice is not None
    assert twice.decode() == SEED


def test_an_earlier_entry_goes_before_and_a_later_one_after() -> None:
    assert [time for time, _ in entries(add(SEED, "09:00", "x"))] == ["09:00", "14:30", "22:10"]
    assert [time for time, _ in entries(add(SEED, "18:00", "x"))] == ["14:30", "18:00", "22:10"]
    assert add(SEED, "23:00", "x") == SEED + "\n## 23:00\n\nx\n"
    assert add(SEED, "09:00", "x") == SEED.replace("## 14:30", "## 09:00\n\nx\n\n## 14:30")


def test_entries_of_one_minute_keep_the_order_in_which_they_came() -> None:
    data = add(add(SEED, "14:30", "second"), "14:30", "third")
    page = read_day_page(f"diary/{DAY}.md", data.encode(), Layout())
    assert [one.address for one in page.items] == [f"{DAY}:14:30", f"{DAY}:14:30#2", f"{DAY}:14:30#3", f"{DAY}:22:10"]
    assert [content for _, content in entries(data)[1:3]] == ["second", "third"]


def test_the_edit_hands_back_the_entry_with_its_ordinal() -> None:
    edit = add_entry(SEED.encode(), DAY, DiaryItem(DAY, "14:30", "x", "o"))
    assert edit.item is not None
    assert (edit.item.address, edit.item.content, edit.item.owner) == (f"{DAY}:14:30#2", "x", "o")


def test_a_persons_own_sections_stay_where_they_are() -> None:
    data = "# Tuesday\n\n## Tasks\n\n- [ ] x\n\n## 14:30 Lunch\n\nnice\n\n## Evening\n\ny"
    assert add(data, "15:00", "z") == data.replace("## Evening", "## 15:00\n\nz\n\n## Evening")
    assert add(data, "10:00", "z") == data.replace("## 14:30", "## 10:00\n\nz\n\n## 14:30")
    assert add("## Tasks\n\n- [ ] x\n", "10:00", "z") == "## Tasks\n\n- [ ] x\n\n## 10:00\n\nz\n"


def test_entries_out_of_order_are_not_moved() -> None:
    data = "## 14:00\n\na\n\n## 09:00\n\nb\n\n## 16:00\n\nc\n"
    assert [time for time, _ in entries(add(data, "15:00", "x"))] == ["14:00", "09:00", "15:00", "16:00"]
    assert [time for time, _ in entries(add(data, "08:00", "x"))] == ["08:00", "14:00", "09:00", "16:00"]


def test_what_follows_the_time_in_a_heading_is_served_with_the_entry() -> None:
    data = "## 14:30 Lunch [[people:ann]]\n\nnice\n\n## 15:00 – 16:00 Call\n\n## 17:00\n\nx\n"
    assert entries(data) == [("14:30", "Lunch [[people:ann]]\n\nnice"), ("15:00", "– 16:00 Call"), ("17:00", "x")]
    (link,) = read_day_page(f"diary/{DAY}.md", data.encode(), Layout()).links
    assert (link.source, link.line, link.link.start) == (f"{DAY}:14:30", 1, 6)


@pytest.mark.parametrize("heading", ["24:00", "9:05", "14:60", "14:30:15", "14:30pm", "1430", "at 14:30"])
def test_a_heading_that_is_no_time_is_a_persons_section(heading: str) -> None:
    assert entries(f"## {heading}\n\nx\n") == []


def test_nothing_of_a_person_is_touched_by_a_line_of_their_day() -> None:
    data = "---\nmood: fine\n---\r\n# Tue\r\n\r\n## 09:00\r\nx"
    assert add(data, "10:00", "y") == data + "\r\n\r\n## 10:00\r\n\r\ny"


@pytest.mark.parametrize("time", ["24:00", "9:05", "x", "", "14:30 Lunch", "14:30\n"])
def test_a_time_that_is_none_is_refused(time: str) -> None:
    with pytest.raises(InvalidInput):
        add(None, time, "x")


def test_an_entry_cannot_forge_provenance_or_start_another_entry() -> None:
    with pytest.raises(InvalidContent):
        add(None, "10:00", "x\n\n<!-- wikimem: owner=root -->")
    assert entries(add(None, "10:00", "x\n\n## 11:00\n\ny")) == [("10:00", "x\n\n### 11:00\n\ny")]


def test_a_time_of_provenance_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput):
        add_entry(None, DAY, DiaryItem(DAY, "10:00", "x", ts="soon"))


BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("now", "day", "minute"),
    [
        ("2026-07-20T21:59:59+00:00", "2026-07-20", "23:59"),
        ("2026-07-20T22:00:00+00:00", "2026-07-21", "00:00"),
        ("2026-03-29T00:59:00+00:00", "2026-03-29", "01:59"),
        ("2026-03-29T01:00:00+00:00", "2026-03-29", "03:00"),
        ("2026-10-25T00:30:00+00:00", "2026-10-25", "02:30"),
        ("2026-10-25T01:30:00+00:00", "2026-10-25", "02:30"),
        ("2026-10-25T22:59:00+00:00", "2026-10-25", "23:59"),
        ("2026-10-25T23:00:00+00:00", "2026-10-26", "00:00"),
    ],
)
def test_now_is_filed_under_the_local_day_and_minute(now: str, day: str, minute: str) -> None:
    assert local_entry(None, None, None, at(now), BERLIN) == (day, minute, now)


def test_an_instant_is_filed_where_it_was_and_kept_as_utc() -> None:
    ts = at("2026-07-21T06:30:59.9+02:00")
    assert local_entry(ts, None, None, at("2030-01-01T00:00:00+00:00"), ZoneInfo("Asia/Tokyo")) == (
        "2026-07-21",
        "13:30",
        "2026-07-21T04:30:59+00:00",
    )


def test_an_instant_without_an_offset_is_utc_wherever_the_host_is(monkeypatch: pytest.MonkeyPatch) -> None:
    naive = at("2026-07-21T06:30:00")
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        found = local_entry(naive, None, None, naive, BERLIN)
    time.tzset()
    assert found == ("2026-07-21", "08:30", "2026-07-21T06:30:00+00:00")


def test_an_instant_with_an_offset_is_filed_by_the_given_zone() -> None:
    naive = at("2026-07-21T06:30:00+00:00")
    assert local_entry(naive, None, None, naive, BERLIN) == ("2026-07-21", "08:30", "2026-07-21T06:30:00+00:00")


@pytest.mark.parametrize(
    ("date", "time", "expected"),
    [
        ("2026-07-21", "14:30", ("2026-07-21", "14:30", "2026-07-21T12:30:00+00:00")),
        (None, "14:30", ("2026-01-15", "14:30", "2026-01-15T13:30:00+00:00")),
        ("2026-07-21", None, ("2026-07-21", "10:20", "2026-07-21T08:20:30+00:00")),
        ("2026-10-25", "02:30", ("2026-10-25", "02:30", "2026-10-25T00:30:00+00:00")),
        ("2026-03-29", "02:30", ("2026-03-29", "02:30", "2026-03-29T01:30:00+00:00")),
    ],
)
def test_a_date_and_time_are_wall_clock(date: str | None, time: str | None, expected: tuple[str, str, str]) -> None:
    assert local_entry(None, date, time, at("2026-01-15T09:20:30+00:00"), BERLIN) == expected


def test_a_date_and_time_beside_an_instant_say_only_where_it_is_filed() -> None:
    ts = at("2026-07-21T06:30:00+00:00")
    assert local_entry(ts, "2026-07-20", "23:59", ts, UTC) == ("2026-07-20", "23:59", "2026-07-21T06:30:00+00:00")


@pytest.mark.parametrize(
    ("date", "time"),
    [("2026-02-30", None), ("20260721", None), ("2026-7-1", None), (None, "24:00"), (None, "9:05"), ("", None)],
)
def test_what_is_no_day_or_time_is_refused(date: str | None, time: str | None) -> None:
    with pytest.raises(InvalidInput):
        local_entry(None, date, time, at("2026-01-15T09:20:30+00:00"), UTC)


def test_the_ends_of_the_calendar_are_refused_rather_than_crossed() -> None:
    with pytest.raises(InvalidInput):
        local_entry(
            datetime.max.replace(tzinfo=UTC), None, None, at("2026-01-15T09:20:30+00:00"), timezone(timedelta(hours=14))
        )
