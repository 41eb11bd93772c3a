"""Files: the port through which everything reads and writes the vault, and the disk behind it."""

# ruff: noqa: PTH116, PTH118
# Names on disk need not be UTF-8, and every call here is exactly one step.

import errno
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wikimem.store.atomic import Replacer, WriteMode
from wikimem.store.based_on import Stale, bytes_hash
from wikimem.store.kernel import Kernel
from wikimem.store.lingering import Shelter
from wikimem.store.stamps import Stamp, stamp_of
from wikimem.store.steps import step
from wikimem.store.walking import IsRead, Report, Walk, WalkFault, is_inside, raise_unreadable

__all__ = [
    "DiskFiles",
    "FileRead",
    "Files",
    "OutsideVault",
    "Stale",
    "WalkFault",
    "WriteMode",
    "bytes_hash",
]

_READ_TRIES = 200
_READ_PAUSE_S = 0.002


@dataclass(frozen=True, slots=True)
class FileRead:
    """Bytes and the stamp that was the same before and after they were read. `read_at_ns` is wall time."""

    data: bytes
    stamp: Stamp
    read_at_ns: int

    @property
    def hash(self) -> str:
        """The sha256 of the bytes, which a write says that it is based on."""
        return bytes_hash(self.data)


class OutsideVault(PermissionError):
    """The path leads out of the vault, through a symbolic link or by its spelling."""


class Files(Protocol):
    """A tree of files below one root. Paths are relative, `/`-separated, undecodable bytes as surrogates."""

    @property
    def write_mode(self) -> WriteMode:
        """`lease` when a write sees every editor; `basic` when it looks again later instead."""

    def read(self, path: str) -> FileRead:
        """Return one regular file. Raises `OSError` as the system does (`FileNotFoundError` when it is not there)."""

    def stamp(self, path: str) -> Stamp:
        """Return a file's stamp without reading it. Raises `OSError`."""

    def target(self, path: str) -> str:
        """Return the path below the root that links lead to from `path`; itself where they lead nowhere or out."""

    def write(self, path: str, data: bytes, *, based_on: str | None) -> Stamp:
        """Replace the file whose bytes have this hash, or make a new one (None).

        Raises `Stale` when the file is another one by now, `StorageError` when the disk refuses; both leave what
        was there.
        """

    def remove(self, path: str, *, based_on: str) -> None:
        """Remove the file whose bytes have this hash. Raises as `write` does."""

    def walk(
        self,
        prefix: str = "",
        *,
        suffix: str = ".md",
        report: Report | None = None,
        is_read: IsRead | None = None,
    ) -> Iterator[tuple[str, Stamp]]:
        """Yield every regular file below a folder, without dot-files, in the order of their paths.

        What cannot be walked goes to `report`; without one the first unreadable place raises its `OSError`, because
        an unreadable place must never look like an empty one. Links are followed inside the vault, one to each
        target; with `is_read` none to what is read under its own name.
        """


class _NoShelter:
    """Leaves displaced files of unknown bytes where they are: nobody here has a history."""

    def keep(self, path: str, data: bytes) -> bool:  # noqa: ARG002 - as in `Shelter`
        return False

    def note_waiting(self, path: str, name: str) -> None: ...

    def note_gone(self, path: str, name: str) -> None: ...


class DiskFiles:
    """The files of a real vault. `shelter` is given bytes of an editor that are in no file any more."""

    def __init__(self, root: Path, *, shelter: Shelter | None = None, kernel: Kernel | None = None) -> None:
        self.root = root
        self._real_root = os.path.realpath(root)
        self._replacer = Replacer(Kernel() if kernel is None else kernel, _NoShelter() if shelter is None else shelter)

    @property
    def write_mode(self) -> WriteMode:
        """As in `Files`."""
        return self._replacer.mode

    def read(self, path: str) -> FileRead:
        """As in `Files`. A file that changes while it is read is read again."""
        place = self._inside(path)
        for _ in range(_READ_TRIES):
            try:
                found = _read_once(place)
            except BlockingIOError:  # another process of ours writes it in place, under a lease
                found = None
            if found is not None:
                return found
            time.sleep(_READ_PAUSE_S)
        raise BlockingIOError(errno.EBUSY, "the file does not hold still", path)

    def stamp(self, path: str) -> Stamp:
        """As in `Files`."""
        found = os.stat(self._inside(path))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return stamp_of(found)

    def write(self, path: str, data: bytes, *, based_on: str | None) -> Stamp:
        """As in `Files`. Through a symbolic link inside the vault the file it leads to is written."""
        with step(path, "find the file"):
            target = self._inside(path)
        return stamp_of(self._replacer.write(path, target, data, based_on))

    def remove(self, path: str, *, based_on: str) -> None:
        """As in `Files`."""
        with step(path, "find the file"):
            target = self._inside(path)
        self._replacer.remove(path, target, based_on)

    def walk(
        self,
        prefix: str = "",
        *,
        suffix: str = ".md",
        report: Report | None = None,
        is_read: IsRead | None = None,
    ) -> Iterator[tuple[str, Stamp]]:
        """As in `Files`."""
        follow = is_read or (lambda _path, _is_folder: False)
        yield from Walk(self._real_root, suffix, report or raise_unreadable, follow).below(prefix)

    def settle(self, path: str) -> None:
        """Wait until no other program is in the middle of saving this file, where that can be known.

        Raises `TryAgain` when one never lets go, `StorageError` when the file cannot be opened.
        """
        with step(path, "find the file"):
            target = self._inside(path)
        self._replacer.settle(path, target)

    def probe(self, path: str) -> None:
        """Find out the `write_mode` from an existing file, changing nothing."""
        self._replacer.probe(self._inside(path))

    def tidy(self, *, last: bool = False) -> None:
        """Look again at displaced files whose time has come; `last`: this process ends."""
        self._replacer.lingering.tidy(last=last)

    def target(self, path: str) -> str:
        """As in `Files`."""
        real = os.path.realpath(os.path.join(self._real_root, path))
        return os.path.relpath(real, self._real_root) if is_inside(real, self._real_root) else path

    def real(self, path: str) -> str:
        """Return the absolute path with every link resolved. Raises `OutsideVault`."""
        return self._inside(path)

    def _inside(self, path: str) -> str:
        real = os.path.realpath(os.path.join(self._real_root, path))
        if not is_inside(real, self._real_root):
            raise OutsideVault(errno.EXDEV, "the path leads out of the vault", path)
        return real


def _read_once(place: str) -> FileRead | None:
    # O_NONBLOCK: opening a FIFO that somebody named `.md` must not wait for its writer.
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", place)
        read_at_ns = time.time_ns()
        data = _read_all(descriptor, before.st_size)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    same = stamp_of(before) == stamp_of(after) and len(data) == after.st_size
    return FileRead(data, stamp_of(after), read_at_ns) if same else None


def _read_all(descriptor: int, size: int) -> bytes:
    parts = []
    while part := os.read(descriptor, max(size + 1, 65_536)):
        parts.append(part)
    return b"".join(parts)
