"""The diary: entries are only ever added; reading a window of days."""

from collections.abc import Callable
from datetime import date as Date  # noqa: N812 - `date` is a parameter here
from datetime import datetime, tzinfo
from typing import Protocol

from wikimem.errors import InvalidInput
from wikimem.pages.day import add_entry, diary_items, local_entry
from wikimem.pages.items import DiaryItem, RecallItem
from wikimem.pages.journal import JournalEntry
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.store.writelog import NotedWrite, WrittenText
from wikimem.store.writing import Planned, Writer


class DayPages(Protocol):
    """What the diary needs from the store."""

    @property
    def layout(self) -> Layout:
        """Where days lie."""

    def page_paths(self) -> list[str]:
        """Return every page's path."""

    def read_page(self, path: str) -> Page | None:
        """Return one page as read."""

    def written_under(self, key: str) -> NotedWrite | None:
        """Return the write that was done under an idempotency key."""

    def check_writable(self, path: str, data: bytes | None, yours: str) -> None:
        """Refuse bytes that no write may be based on."""

    def check_size(self, path: str, data: bytes | None) -> None:
        """Refuse a file that would be too large to be read again."""


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
        detail: str | None = None,
        idempotency_key: str | None = None,
    ) -> DiaryItem:
        """Add one entry to its day, after the last one that is not later, and return it as it now reads.

        Without `ts`, `date` and `time` it is now, on the local calendar. `detail` is a note for the journal. A call
        with the `idempotency_key` of one in the last ten minutes adds nothing and returns that one's entry. Raises
        `InvalidInput` for a time that does not exist, `InvalidContent`, `Conflict`, `StorageError`.
        """
        with self._writer.locked():
            before = self._pages.written_under(idempotency_key) if idempotency_key else None
            if before is not None and before.text is not None:
                return _entry_of(before.address, before.text)
            now = self._writer.now()
            day, minute, instant = local_entry(_instant(ts), date, time, now, self._timezone())
            path = self._pages.layout.diary_path(day)
            entry = DiaryItem(day, minute, content, owner, source_conv, instant)

            def plan(data: bytes | None) -> Planned:
                self._pages.check_writable(path, data, content)
                edit = add_entry(data, day, entry, link_style=self._pages.layout.link_style)
                self._pages.check_size(path, edit.data)
                if edit.item is None:
                    raise InvalidInput("the entry does not read back", hint="simplify its markup")
                line = JournalEntry(
                    ts=now.isoformat(),
                    action="diary",
                    date=day,
                    time=minute,
                    owner=owner,
                    source_conv=source_conv,
                    detail=detail,
                )
                return Planned(edit.data, (), line, edit.item.address, written_text(edit.item), problems=edit.problems)

            planned = self._writer.apply(path, plan, key=idempotency_key)
        if planned.text is None:
            raise InvalidInput("the entry does not read back", hint="simplify its markup")
        return _entry_of(planned.address, planned.text)

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


def written_text(item: RecallItem) -> WrittenText:
    """Return an item's text as the write log keeps it."""
    return WrittenText(item.name, item.content, item.hash, item.owner, item.source_conv, item.ts)


def _entry_of(address: str, text: WrittenText) -> DiaryItem:
    day, _, rest = address.partition(":")
    ordinal = int(rest.partition("#")[2] or 1)
    return DiaryItem(day, text.name, text.content, text.owner, text.source_conv, text.ts, ordinal)


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
