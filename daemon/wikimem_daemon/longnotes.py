"""Long notes are read in a thread: one of 5 MB would hold the event loop, and every query, for a second or more."""

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass

from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.pages.reading import read_page
from wikimem.search.prepared import Prepared, prepare
from wikimem.search.shelf import fresh_texts
from wikimem.threads import in_own_thread

LONG_BYTES = 200_000  # some 30 ms of work
_HEADING_BYTES = 250  # an item costs about as much as so many bytes of text
LONG_EDITED_BYTES = 2 * LONG_BYTES  # of a note that was read before half is known; a thread would take longer for it
_MOST_MISSED = 3  # a note that is saved faster than it is read is read on the spot now and then
_MOMENT_S = 0.02


class BeingRead(Exception):
    """A long note is being read; it is to be looked at again when `LongNotes.wait` returns."""


@dataclass(frozen=True, slots=True)
class _Key:
    """What a reading is of: another layout may read the same bytes in another way."""

    path: str
    digest: bytes
    layout: Layout


class LongNotes:
    """Reads one long note at a time, ahead of the look that serves it."""

    def __init__(self) -> None:
        self._key: _Key | None = None
        self._found: tuple[Page, Prepared] | None = None
        self._task: asyncio.Task[None] | None = None
        self._missed = 0

    @property
    def reading(self) -> str | None:
        """The path of the note that is being read."""
        return self._key.path if self._task is not None and self._key is not None else None

    def has_read(self, path: str) -> bool:
        """Say whether a reading of the note at `path` waits to be taken."""
        return self._task is None and self._key is not None and self._key.path == path

    def check(self, path: str) -> None:
        """Raise `BeingRead` for the note that is being read, before anybody opens it for nothing."""
        if path == self.reading:
            raise BeingRead

    def begin(self, path: str, data: bytes, layout: Layout, before: Page | None) -> None:
        """See to it that a note is read before it is served. Raises `BeingRead` while it is not."""
        if not _is_long(data, LONG_BYTES if before is None else LONG_EDITED_BYTES):
            return
        if self._task is not None:
            raise BeingRead
        key = _key(path, data, layout)
        if key == self._key:
            return
        self._missed = self._missed + 1 if self._key is not None and self._key.path == path else 0
        if self._missed > _MOST_MISSED:
            return
        self._key, self._found = key, None
        self._task = asyncio.create_task(self._read(path, data, layout, before))
        raise BeingRead

    def take(self, path: str, data: bytes, layout: Layout, before: Page | None) -> tuple[Page, Prepared | None]:
        """Return a note as it was read ahead, or read it here and now."""
        if not self.has_read(path):
            return read_page(path, data, layout, before), None
        key, self._key = self._key, None
        found, self._found = self._found, None
        return found if found and key == _key(path, data, layout) else (read_page(path, data, layout, before), None)

    async def wait(self) -> None:
        """Wait until the note is read, or for a moment: other work may have come."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=_MOMENT_S)

    async def _read(self, path: str, data: bytes, layout: Layout, before: Page | None) -> None:
        def read() -> tuple[Page, Prepared]:
            page = read_page(path, data, layout, before)
            return page, prepare(fresh_texts(page, before))

        # What breaks our code breaks it again in the look that follows, which withholds the file.
        with suppress(Exception):
            self._found = await in_own_thread(read, "wikimem-long-note")
        self._task = None


def _is_long(data: bytes, limit: int) -> bool:
    """Say whether a note is too much work for one moment of the loop: its bytes count, and its headings."""
    return len(data) >= limit or (
        # Each needs two bytes, so most notes need not be counted through.
        len(data) // 2 * _HEADING_BYTES >= limit and len(data) + data.count(b"\n#") * _HEADING_BYTES >= limit
    )


def _key(path: str, data: bytes, layout: Layout) -> _Key:
    return _Key(path, hashlib.sha256(data).digest(), layout)
