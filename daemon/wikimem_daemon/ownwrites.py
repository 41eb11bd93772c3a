"""Knowing our own writes again, by the hash of their bytes and never by a time window.

A person may save the same file 50 ms after the daemon wrote it; a window would take that save for our echo.
"""

from collections import deque
from collections.abc import Iterator
from threading import Lock
from typing import NamedTuple

from wikimem.store.files import FileRead, Files, WriteMode, bytes_hash
from wikimem.store.stamps import Stamp
from wikimem.store.walking import IsRead, Report

_KEPT = 4
_MAX_PATHS = 10_000
REMOVED = ""
UNKNOWN = "?"


class _Write(NamedTuple):
    data_hash: str
    based_on: str


class OwnWrites:
    """What this process wrote lately, a few writes a path. Thread-safe: writes run in worker threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._writes: dict[str, deque[_Write]] = {}

    def expect(self, path: str, data_hash: str, based_on: str = UNKNOWN) -> None:
        """Remember a write that is about to be done on bytes of the hash `based_on`.

        `REMOVED` stands for a file that is about to go, and for one that was not there.
        """
        with self._lock:
            self._writes.setdefault(path, deque(maxlen=_KEPT)).append(_Write(data_hash, based_on))
            while len(self._writes) > _MAX_PATHS:
                del self._writes[next(iter(self._writes))]

    def claim(self, path: str, data_hash: str, known: str = UNKNOWN) -> bool:
        """Say whether the step from the `known` bytes to these is ours; what is older than it can no longer come.

        It is not when our write was based on others: somebody saved in between, and what that save replaced is in
        nobody's history yet.
        """
        with self._lock:
            writes = self._writes.get(path, deque())
            if all(one.data_hash != data_hash for one in writes):
                return False
            taken = [writes.popleft()]
            while taken[-1].data_hash != data_hash:
                taken.append(writes.popleft())
            if not writes:
                del self._writes[path]
        based_on = taken.pop().based_on
        for earlier in reversed(taken):
            if earlier.data_hash == based_on:
                based_on = earlier.based_on
        return known == based_on or UNKNOWN in (known, based_on)


class AnnouncingFiles:
    """The store's files, saying what is written before it is, so that no event can come before its cause is known."""

    def __init__(self, files: Files, own: OwnWrites) -> None:
        self._files = files
        self._own = own

    @property
    def write_mode(self) -> WriteMode:
        """As in `Files`."""
        return self._files.write_mode

    def read(self, path: str) -> FileRead:
        """As in `Files`."""
        return self._files.read(path)

    def stamp(self, path: str) -> Stamp:
        """As in `Files`."""
        return self._files.stamp(path)

    def target(self, path: str) -> str:
        """As in `Files`."""
        return self._files.target(path)

    def write(self, path: str, data: bytes, *, based_on: str | None) -> Stamp:
        """As in `Files`."""
        self._own.expect(path, bytes_hash(data), REMOVED if based_on is None else based_on)
        return self._files.write(path, data, based_on=based_on)

    def remove(self, path: str, *, based_on: str) -> None:
        """As in `Files`."""
        self._own.expect(path, REMOVED, based_on)
        self._files.remove(path, based_on=based_on)

    def walk(
        self,
        prefix: str = "",
        *,
        suffix: str = ".md",
        report: Report | None = None,
        is_read: IsRead | None = None,
    ) -> Iterator[tuple[str, Stamp]]:
        """As in `Files`."""
        return self._files.walk(prefix, suffix=suffix, report=report, is_read=is_read)
