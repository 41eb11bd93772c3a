"""The diary: entries are only ever added; reading a window of days."""

from collections.abc import Callable
from datetime import date as Date  # noqa: N812 - `date` is a parameter here
from datetime import datetime, tzinfo
from typing import Protocol

from wikimem.errors import InvalidInput
from wikimem.pages.day import add_entry, diary_items, local_entry, read_day_page
from wikimem.pages.items import DiaryItem
from wikimem.pages.journal import JournalEntry
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.store.writing import Planned, Writer


class DayPages(Protocol):
    """What the diary needs from the store."""

    layout: Layout

    def page_paths(self) -> list[str]:
        """Every page's path."""

    def read_page(self, path: str) -> Page | None:
        """One page as read."""


class DiaryStore:
    """The event layer of one vault."""

    def __init__(self, pages: DayPages, writer: Writer, *, timezone: Callable[[], tzinfo]) -> None:
        self._pages = pages
        self._writer = writer
        self._timezone = timezone

    def append(
        self,
        content: str,
        *,
        ts: datetime | str | None = None,
        date: str | None = None,
        time: str | None = None,
        owner: str | None = None,
        source_conv: str | None = None,
    ) -> DiaryItem:
        """Add one entry to its day, after the last one that is not later, and return it as it now reads.

        Without `ts`, `date` and `time` it is now, on the local calendar. Raises `InvalidInput` for a time that does
        not exist, `InvalidContent`, `StorageError`.
        """
        now = self._writer.clock()
        day, minute, instant = local_entry(_instant(ts), date, time, now, self._timezone())
        layout = self._pages.layout
        path = layout.diary_path(day)
        entry = DiaryItem(day, minute, content, owner, source_conv, instant)
        line = JournalEntry(
            ts=now.isoformat(timespec="seconds"),
            action="diary",
            date=day,
            time=minute,
            owner=owner,
            source_conv=source_conv,
        )
        planned = self._writer.apply(path, lambda data: Planned(add_entry(data, day, entry).data, (), line))
        written = diary_items(read_day_page(path, planned.data or b"", layout))
        return [one for one in written if one.time == minute][-1]

    def days(self) -> list[str]:
        """Return the days that have a file, oldest first."""
        layout = self._pages.layout
        places = (layout.classify(path) for path in self._pages.page_paths())
        return sorted({place.category for place in places if place.kind == "diary"})

    def window(self, start: str, end: str) -> list[DiaryItem]:
        """Return the entries of the days from `start` to `end`, both included, oldest first.

        Raises `InvalidInput` when these are no days or stand the wrong way round.
        """
        first, last = _day(start), _day(end)
        if last < first:
            raise InvalidInput(f"the window ends ({end}) before it starts ({start})", hint="give the earlier day first")
        found: list[DiaryItem] = []
        for path in self._pages.page_paths():
            place = self._pages.layout.classify(path)
            if place.kind == "diary" and first.isoformat() <= place.category <= last.isoformat():
                page = self._pages.read_page(path)
                found += diary_items(page) if page else ()
        return sorted(found, key=lambda one: (one.date, one.time))


def _day(text: str) -> Date:
    try:
        return Date.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is no day", hint="write it as YYYY-MM-DD") from None


def _instant(ts: datetime | str | None) -> datetime | None:
    if ts is None or isinstance(ts, datetime):
        return ts
    try:
        return datetime.fromisoformat(ts)
    except ValueError:
        raise InvalidInput(f"{ts!r} is no instant", hint="write it as 2026-07-21T06:30:00+00:00") from None
