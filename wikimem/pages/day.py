"""A day of the diary: `## HH:MM` sections are entries, every other section is the person's own.

What follows the time in a heading (`## 14:30 Lunch`) is the first paragraph of the entry's content, so it is found
and shown with it.
"""

import re
from datetime import UTC, datetime, tzinfo
from datetime import date as Date  # noqa: N812 - `date` is an argument here
from datetime import time as Time  # noqa: N812 - so is `time`

from wikimem.errors import InvalidInput
from wikimem.pages.building import build_page
from wikimem.pages.cleaning import LinkStyle, clean_content
from wikimem.pages.edits import (
    Edit,
    appended,
    closed,
    comment_for,
    ends_line,
    inserted,
    is_kept,
    not_apart,
    raw_sections,
    render_part,
)
from wikimem.pages.items import DiaryItem, RecallItem
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.pages.parts import Part, heading_name, part_of
from wikimem.text.document import Document
from wikimem.text.metadata import Metadata, given_ts

_ENTRY = re.compile(r"((?:[01][0-9]|2[0-3]):[0-5][0-9])(?:(?![0-9:]|[^\W_])(.*))?\Z", re.DOTALL)
_TIME = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]\Z")


def day_parts(doc: Document) -> tuple[Part, ...]:
    """Return the entries of a day file in document order, each under its `HH:MM`."""
    parts: list[Part] = []
    for section in doc.sections:
        entry = _ENTRY.match(heading_name(section.heading.text))
        if entry is not None:
            parts.append(part_of(doc, section.heading, section.end, entry[1], (entry[2] or "").strip()))
    return tuple(parts)


def read_day_page(path: str, data: bytes, layout: Layout, before: Page | None = None) -> Page:
    """Read a day file; entries of one minute are told apart by their ordinal, from 1 in document order."""
    day = layout.classify(path).category
    doc = Document.parse(data)
    parts = day_parts(doc)
    ordinals = dict(zip((part.start for part in parts), _ordinals(parts), strict=True))

    def make_item(part: Part, tags: tuple[str, ...]) -> RecallItem:
        return _item(day, part, ordinals[part.start], tags)

    return build_page(path, "diary", day, doc, parts, make_item=make_item, before=before)


def _ordinals(parts: tuple[Part, ...]) -> list[int]:
    counts: dict[str, int] = {}
    ordinals: list[int] = []
    for part in parts:
        counts[part.name] = counts.get(part.name, 0) + 1
        ordinals.append(counts[part.name])
    return ordinals


def _item(day: str, part: Part, ordinal: int, tags: tuple[str, ...] = ()) -> RecallItem:
    known = part.metadata or Metadata()
    return RecallItem(
        day,
        part.name,
        part.content,
        known.owner,
        known.source_conv,
        known.ts,
        tags,
        part.line,
        ordinal,
    )


def diary_items(page: Page) -> tuple[DiaryItem, ...]:
    """Return a diary page's entries, in document order."""
    return tuple(
        DiaryItem(item.category, item.name, item.content, item.owner, item.source_conv, item.ts, item.ordinal)
        for item in page.items
    )


def add_entry(data: bytes | None, day: str, entry: DiaryItem, *, link_style: LinkStyle = "keep") -> Edit:
    """Return the day's file with one more entry, after the last one that is not later than it; nothing is moved.

    `data` None makes a new file with the day as its title. Raises `InvalidContent`, `InvalidInput`.
    """
    if not _TIME.match(entry.time):
        raise InvalidInput(f"{entry.time!r} is no time of day", hint="write HH:MM, 00:00 to 23:59")
    content = clean_content(entry.content, link_style=link_style)
    doc = Document.parse(data if data is not None else f"# {day}\n".encode())
    for needed in (False, True):
        edit = _added(doc, day, entry, content, needed=needed)
        if edit is not None:
            return edit
    raise not_apart(data or b"")


def _added(doc: Document, day: str, entry: DiaryItem, content: str, *, needed: bool) -> Edit | None:
    metadata = Metadata(entry.owner, entry.source_conv, given_ts(entry.ts))
    block = render_part(f"## {entry.time}", content, comment_for(metadata, needed=needed))
    position = _position(doc, entry.time)
    index = sum(section.start < position for section in doc.sections)
    closer = b""
    if position == len(doc.data):
        start, problems = closed(doc)
        closer = doc.closer if doc.open_tail else b""
        result = appended(start, block, doc.newline, final_newline=ends_line(doc.data))
    else:
        problems = ()
        result = inserted(doc.data, position, block, doc.newline)
    new = Document.parse(result)
    parts = [part for part in day_parts(new) if len(new.sections) > index and part.start == new.sections[index].start]
    if len(parts) != 1 or parts[0].content != content or parts[0].name != entry.time:
        return None
    if not is_kept(raw_sections(doc), raw_sections(new, [new.sections[index]]), closer=closer):
        return None
    ordinals = dict(zip((part.start for part in day_parts(new)), _ordinals(day_parts(new)), strict=True))
    return Edit(result, (), problems, _item(day, parts[0], ordinals[parts[0].start]))


def _position(doc: Document, time: str) -> int:
    """Return where an entry belongs: after the last that is not later, else before the first, else at the end."""
    entries = day_parts(doc)
    earlier = [part for part in entries if part.name <= time]
    if earlier:
        return earlier[-1].body.end
    return entries[0].start if entries else len(doc.data)


def local_entry(
    ts: datetime | None, date: str | None, time: str | None, now: datetime, tz: tzinfo
) -> tuple[str, str, str]:
    """Return day, `HH:MM` and UTC instant of an entry, on the calendar of `tz`.

    `ts` (without an offset: UTC) or `now` says when it happened; `date` and `time` say under which day and minute it
    is filed. Given alone, they also say the instant: a time that occurs twice (clocks set back) is the first of the
    two, one that never occurs (clocks set forward) is read with the offset from before. Raises `InvalidInput`.
    """
    day = _read_date(date)
    minute = _read_time(time)
    instant = ts if ts is not None else now
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    try:
        local = instant.astimezone(tz)
        wall = datetime.combine(day or local.date(), minute or local.time(), tzinfo=None)
        if ts is None and (day is not None or minute is not None):
            instant = wall.replace(tzinfo=tz, fold=0)
        utc = instant.astimezone(UTC).replace(microsecond=0)
    except (OverflowError, ValueError):
        raise InvalidInput(f"{instant.isoformat()} is outside the calendar") from None
    return wall.date().isoformat(), f"{wall:%H:%M}", utc.isoformat()


def _read_date(text: str | None) -> Date | None:
    if text is None:
        return None
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        try:
            return Date.fromisoformat(text)
        except ValueError:
            pass
    raise InvalidInput(f"{text!r} is no day", hint="write YYYY-MM-DD")


def _read_time(text: str | None) -> Time | None:
    if text is None:
        return None
    if not _TIME.match(text):
        raise InvalidInput(f"{text!r} is no time of day", hint="write HH:MM, 00:00 to 23:59")
    return Time(int(text[:2]), int(text[3:]))
