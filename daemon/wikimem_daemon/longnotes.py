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
from wikimem_daemon.threads import in_thread

LONG_BYTES = 200_000  # some 30 ms of work
LONG_EDITED_BYTES = 2 * LONG_BYTES  # of a note that was read before half is known; a thread would take longer for it


class BeingRead(Exception):
    """A long note is being read; it is to be looked at again when `LongNotes.wait` returns."""


@dataclass(frozen=True, slots=True)
class _Key:
    """What a reading is of. The layout counts by identity: another one may read the same bytes in another way."""

    path: str
    digest: bytes
    layout: int


class LongNotes:
    """Reads one long note at a time, ahead of the look that serves it."""

    def __init__(self) -> None:
        self._key: _Key | None = None
        self._found: tuple[Page, Prepared | None] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def reading(self) -> bool:
        """Whether a note is being read."""
        return self._task is not None

    def begin(self, path: str, data: bytes, layout: Layout, before: Page | None) -> None:
        """See to it that a note is read before it is served. Raises `BeingRead` while it is not."""
        if len(data) < (LONG_BYTES if before is None else LONG_EDITED_BYTES):
            return
        key = _key(path, data, layout)
        if key == self._key and not self.reading:
            return
        self._key, self._found = key, None
        self._task = asyncio.create_task(self._read(path, data, layout, before))
        raise BeingRead

    def take(self, path: str, data: bytes, layout: Layout, before: Page | None) -> tuple[Page, Prepared | None]:
        """Return a note as it was read ahead, or read it here and now."""
        found = None
        if len(data) >= LONG_BYTES and self._key == _key(path, data, layout):
            found, self._key, self._found = self._found, None, None
        return found or (read_page(path, data, layout, before), None)

    async def wait(self) -> None:
        """Wait until the note is read."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def _read(self, path: str, data: bytes, layout: Layout, before: Page | None) -> None:
        def read() -> tuple[Page, Prepared]:
            page = read_page(path, data, layout, before)
            return page, prepare(fresh_texts(page, before))

        # What breaks our code breaks it again in the look that follows, which withholds the file.
        with suppress(Exception):
            self._found = await in_thread(read, "wikimem-long-note")
        self._task = None


def _key(path: str, data: bytes, layout: Layout) -> _Key:
    return _Key(path, hashlib.sha256(data).digest(), id(layout))
