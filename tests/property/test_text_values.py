"""Names, addresses, metadata, frontmatter, tags and day formats, over everything that can be thought of."""

import os
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.property.strategies import contents, files, provenance
from wikimem.errors import InvalidAddress, InvalidCategory, InvalidInput, InvalidName
from wikimem.pages.day import local_entry
from wikimem.pages.day_format import parse_day_format
from wikimem.pages.journal import JournalEntry, read_lines, render_line
from wikimem.pages.layout import Layout
from wikimem.text.comments import visible_text
from wikimem.text.frontmatter import read_frontmatter
from wikimem.text.metadata import Metadata, clean_value, parse_metadata, render_metadata
from wikimem.text.names import (
    Address,
    category_of,
    collapse,
    fold_heading,
    fold_name,
    is_day,
    parse_address,
    path_stem_of,
    sanitize_item_name,
    validate_category,
)
from wikimem.text.tags import block_ids, inline_tags, tag_matches

YEARS = (datetime(1990, 1, 1), datetime(2060, 1, 1))  # noqa: DTZ001 - hypothesis takes naive bounds
DAYS = st.dates(date(1970, 1, 1), date(2068, 12, 31))
FORMATS = (
    "YYYY-MM-DD",
    "YYYYMMDD",
    "YYYY/MM/YYYY-MM-DD",
    "YYYY/MM-MMMM/DD-dddd",
    "dddd, MMMM Do YYYY",
    "D. MMM YY",
    "YY-M-D",
    "[Day] DDDD [of] YYYY",
    "YYYY-DDD",
    "YYYY [week] W, MM-DD",
    "GGGG-[W]WW-E YYYY-MM-DD",
    "GGGG-[W]WW-E",
    "GG/W dddd",
    "GGGG WW d",
    "Q YYYY Mo Do",
    "[YYYY] YYYY.MM.DD",
)


def file_names() -> st.SearchStrategy[str]:
    """Path stems as `os.fsdecode` gives them: any bytes but NUL."""
    raw = st.one_of(
        st.binary(min_size=1, max_size=12), st.text("%:2026-07-31/é\n AF", min_size=1, max_size=12).map(str.encode)
    )
    return raw.map(lambda name: os.fsdecode(name.replace(b"\0", b"")) or "x")


@given(file_names())
@example("2026-07-21")
@example("%32026-07-21")
@example("a:b")
@example("100%25")
@example("caf\udce9")
def test_every_file_has_one_category_and_its_way_back(stem: str) -> None:
    category = category_of(stem)
    assert path_stem_of(category) == stem
    assert ":" not in category
    assert "\n" not in category
    assert not is_day(category)
    category.encode("utf-8")


@given(file_names(), file_names())
def test_no_two_files_share_a_category(one: str, other: str) -> None:
    assume(one != other)
    assert category_of(one) != category_of(other)


@given(st.text("%0123456789ABCDEFabcdef:/x", max_size=12))
def test_a_category_that_no_file_has_is_refused(category: str) -> None:
    try:
        stem = path_stem_of(category)
    except InvalidCategory:
        return
    assert category_of(stem) == category


@given(file_names(), st.text(min_size=1, max_size=20))
def test_an_address_reads_back(stem: str, name: str) -> None:
    address = Address(category_of(stem), collapse(name))
    assume(address.name and address.category.strip())
    assert parse_address(str(address)) == address


@given(DAYS, st.integers(0, 23), st.integers(0, 59), st.integers(1, 5))
def test_a_diary_address_reads_back(day: date, hour: int, minute: int, ordinal: int) -> None:
    address = Address(day.isoformat(), f"{hour:02}:{minute:02}", ordinal)
    assert parse_address(str(address)) == address


@given(st.text(max_size=30))
def test_reading_an_address_raises_nothing_but_its_error(text: str) -> None:
    try:
        parse_address(text)
    except InvalidAddress:
        return


@given(st.text(st.characters(), max_size=30))
def test_a_name_that_may_be_written_stays_as_it_is_sanitized(name: str) -> None:
    try:
        clean = sanitize_item_name(name)
    except InvalidName:
        return
    assert sanitize_item_name(clean) == clean
    assert fold_name(fold_name(clean)) == fold_name(clean)


@given(st.text(max_size=30))
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold_name(fold_name(text)) == fold_name(text)
    assert fold_heading(fold_heading(text)) == fold_heading(text)


@given(st.text(max_size=12))
def test_a_new_category_is_its_own_key(category: str) -> None:
    try:
        validate_category(category)
    except InvalidCategory:
        return
    assert category_of(category) == category


@given(provenance(), provenance(), st.datetimes(), st.sampled_from(((), (("mood", "fine"),))))
def test_metadata_reads_back(
    owner: str | None, source: str | None, moment: datetime, extra: tuple[tuple[str, str], ...]
) -> None:
    ts = moment.replace(tzinfo=UTC).isoformat(timespec="seconds")
    line = render_metadata(Metadata(owner, source, ts, extra))
    assert line is not None
    assert "\n" not in line
    expected = Metadata(clean_value(owner or "") or None, clean_value(source or "") or None, ts, extra)
    assert parse_metadata(line) == expected


@given(st.text(max_size=60), contents())
def test_reading_metadata_never_raises(text: str, content: str) -> None:
    parse_metadata(text)
    parse_metadata(f"<!-- wikimem: {text} -->")
    parse_metadata(content)


@given(st.one_of(st.binary(max_size=120), files()))
@example(b"---\n{{date}}: x\n---\n")
@example(b"---\n" + b"[" * 5000 + b"\n---\n")
@example(b"---\nwhen: 2026-13-45\n---\n")
@example(b"---\n&a [*a]\n---\n")
def test_reading_frontmatter_never_raises(data: bytes) -> None:
    for candidate in (data, b"---\n" + data + b"\n---\n"):
        found = read_frontmatter(candidate)
        assert all(tag == tag.lower() and not any(char.isspace() for char in tag) for tag in found.tags)


@given(contents())
def test_tags_ids_and_visible_text_never_raise(content: str) -> None:
    for tag in inline_tags(content):
        assert tag_matches((tag,), tag)
        assert tag_matches((tag,), "#" + tag.partition("/")[0])
    block_ids(content)
    shown = visible_text(content)
    assert len(shown) <= len(content)


@pytest.mark.parametrize("text", FORMATS)
def test_a_day_format_maps_every_day_to_one_path_and_back(text: str) -> None:
    form = parse_day_format(text)
    assert form is not None
    first = date(1999, 12, 25)
    paths = {form.path(day): day for day in (first + timedelta(days=number) for number in range(0, 9000, 3))}
    assert len(paths) == 3000
    for path, day in paths.items():
        assert form.day(path) == day


@given(st.sampled_from(FORMATS), st.text("0123456789/-YMD abcdefJnuary", max_size=20))
def test_a_path_that_is_no_day_is_none(text: str, path: str) -> None:
    form = parse_day_format(text)
    assert form is not None
    day = form.day(path)
    assert day is None or form.path(day) == path


@given(st.text("YMDdoWGQE[]/-. Hmx", max_size=12))
def test_any_format_names_days_or_is_refused(text: str) -> None:
    form = parse_day_format(text)
    if form is not None:
        day = date(2026, 7, 21)
        assert form.day(form.path(day)) == day


@given(st.text("abc/.-_(){}[]~#*? %\n", max_size=20), st.lists(st.text("ab/*?[]!-.", max_size=8), max_size=3))
def test_any_path_has_a_place_under_any_globs(path: str, globs: list[str]) -> None:
    place = Layout(ignore=tuple(globs), wiki_dir=".").classify(f"{path}.md")
    assert (place.kind == "wiki") == bool(place.category)


@given(
    st.datetimes(*YEARS),
    st.sampled_from(("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")),
)
def test_an_entry_without_a_time_is_filed_under_the_local_minute(moment: datetime, zone: str) -> None:
    now = moment.replace(tzinfo=UTC)
    day, minute, ts = local_entry(None, None, None, now, ZoneInfo(zone))
    assert (day, minute) == (f"{now.astimezone(ZoneInfo(zone)):%Y-%m-%d}", f"{now.astimezone(ZoneInfo(zone)):%H:%M}")
    assert datetime.fromisoformat(ts) == now.replace(microsecond=0)


@given(st.one_of(st.none(), st.text(max_size=12)), st.one_of(st.none(), st.text(max_size=6)), st.datetimes())
def test_a_date_or_time_that_is_none_is_refused(day: str | None, time: str | None, now: datetime) -> None:
    try:
        found = local_entry(None, day, time, now, UTC)
    except InvalidInput:
        return
    assert is_day(found[0])


@given(st.text(), st.text(max_size=5), st.one_of(st.none(), st.text(st.characters(), max_size=10)))
def test_a_journal_line_reads_back(ts: str, action: str, detail: str | None) -> None:
    entry = JournalEntry(ts.replace("\0", ""), action.replace("\0", ""), file="a", detail=detail)
    line = render_line(entry)
    assert line.count(b"\n") == 1
    entries, problems = read_lines(line)
    assert not problems
    assert entries[0].file == "a"


@given(st.binary(max_size=80))
def test_reading_a_journal_never_raises(data: bytes) -> None:
    read_lines(data)
    read_lines(b'{"ts": "x", "action": "add"}\n' + data)
