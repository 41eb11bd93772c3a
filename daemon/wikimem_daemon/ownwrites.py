"""Knowing our own writes again, by the hash of their bytes and never by a time window.

A person may save the same file 50 ms after the daemon wrote it; a window would take that save for our echo.
"""

from collections import deque
from collections.abc import Callable, Iterator
from threading import Lock

from wikimem.store.files import FileRead, Files, Stamp, WalkFault, WriteMode, bytes_hash

_KEPT = 4
_MAX_PATHS = 10_000
REMOVED = ""


class OwnWrites:
    """The hashes of what this process wrote lately, a few a path. Thread-safe: writes run in worker threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._hashes: dict[str, deque[str]] = {}

    def expect(self, path: str, data_hash: str) -> None:
        """Remember a write that is about to be done (`REMOVED`: the file is about to go)."""
        with self._lock:
            self._hashes.setdefault(path, deque(maxlen=_KEPT)).append(data_hash)
            while len(self._hashes) > _MAX_PATHS:
                del self._hashes[next(iter(self._hashes))]

    def claim(self, path: str, data_hash: str) -> bool:
        """Say whether these bytes are ours; what is older than them can no longer come."""
        with self._lock:
            known = self._hashes.get(path)
            if known is None or data_hash not in known:
                return False
            while known.popleft() != data_hash:
                pass
            if not known:
                del self._hashes[path]
            return True


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

    def write(self, path: str, data: bytes, *, based_on: str | None) -> Stamp:
        """As in `Files`."""
        self._own.expect(path, bytes_hash(data))
        return self._files.write(path, data, based_on=based_on)

    def remove(self, path: str, *, based_on: str) -> None:
        """As in `Files`."""
        self._own.expect(path, REMOVED)
        self._files.remove(path, based_on=based_on)

    def walk(
        self, prefix: str = "", *, suffix: str = ".md", report: Callable[[WalkFault], None] | None = None
    ) -> Iterator[tuple[str, Stamp]]:
        """As in `Files`."""
        return self._files.walk(prefix, suffix=suffix, report=report)
