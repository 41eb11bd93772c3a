"""Files: the port through which everything reads and writes the vault, and the disk behind it."""

# ruff: noqa: PTH - names on disk need not be text that pathlib round-trips cheaply, and every call here is one step

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from wikimem.store.atomic import Replacer

RACY_NS = 2_000_000_000
_READ_TRIES = 50
_READ_PAUSE_S = 0.002

WriteMode = Literal["lease", "basic"]


@dataclass(frozen=True, slots=True)
class Stamp:
    """What `fstat` says about a file's version. Equal stamps mean equal bytes only when the stamp is not racy."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int


def stamp_is_racy(stamp: Stamp, read_at_ns: int) -> bool:
    """Say whether a later write could have left this stamp unchanged.

    Before kernel 6.13, and on many file systems still, stamps move in steps of up to 10 ms (FAT: 2 s), so a file
    that changed just before it was read may change again under one stamp. `ctime` counts, because `utimes` sets the
    other one back.
    """
    return stamp.ctime_ns > read_at_ns - RACY_NS


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


@dataclass(frozen=True, slots=True)
class WalkFault:
    """A place that could not be walked. `error` is the system's, None for what is skipped on purpose."""

    path: str
    kind: Literal["unreadable", "outside-vault", "loop", "not-a-file"]
    error: OSError | None = None


class Stale(Exception):
    """The file no longer holds the bytes that the write was based on; nothing was changed. Read it and redo."""


class OutsideVault(PermissionError):
    """The path leads out of the vault through a symbolic link."""


def bytes_hash(data: bytes) -> str:
    """Return the sha256 (hex) of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


class Files(Protocol):
    """A tree of files below one root. Paths are relative, `/`-separated, undecodable bytes as surrogates."""

    @property
    def write_mode(self) -> WriteMode:
        """`lease` when a write sees every editor; `basic` when it looks again later instead."""

    def read(self, path: str) -> FileRead:
        """Return one regular file. Raises `OSError` as the system does (`FileNotFoundError` when it is not there)."""

    def stamp(self, path: str) -> Stamp:
        """Return a file's stamp without reading it. Raises `OSError`."""

    def write(self, path: str, data: bytes, *, based_on: str | None) -> Stamp:
        """Replace the file whose bytes have this hash, or make a new one (None).

        Raises `Stale` when the file is another one by now, `StorageError` when the disk refuses; both leave what
        was there.
        """

    def remove(self, path: str, *, based_on: str) -> None:
        """Remove the file whose bytes have this hash. Raises as `write` does."""

    def walk(
        self, prefix: str = "", *, suffix: str = ".md", report: Callable[[WalkFault], None] | None = None
    ) -> Iterator[tuple[str, Stamp]]:
        """Yield every regular file below a folder, without dot-files, in the order of their paths.

        What cannot be walked goes to `report`; without one the first unreadable place raises its `OSError`, because
        an unreadable place must never look like an empty one.
        """


class DiskFiles:
    """The files of a real vault."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._real_root = os.path.realpath(root)
        self._replacer = Replacer()

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
        return stamp_of(os.stat(self._inside(path)))

    def write(self, path: str, data: bytes, *, based_on: str | None) -> Stamp:
        """As in `Files`."""
        return stamp_of(self._replacer.write(path, self._inside(path), data, based_on))

    def remove(self, path: str, *, based_on: str) -> None:
        """As in `Files`."""
        self._replacer.remove(path, self._inside(path), based_on)

    def walk(
        self, prefix: str = "", *, suffix: str = ".md", report: Callable[[WalkFault], None] | None = None
    ) -> Iterator[tuple[str, Stamp]]:
        """As in `Files`."""
        start = os.path.join(self._real_root, prefix) if prefix else self._real_root
        yield from self._walk(start, prefix, suffix, report or _raise)

    def _walk(
        self, folder: str, prefix: str, suffix: str, report: Callable[[WalkFault], None]
    ) -> Iterator[tuple[str, Stamp]]:
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            report(WalkFault(prefix, "unreadable", error))
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            path = f"{prefix}/{entry.name}" if prefix else entry.name
            if entry.is_dir():
                yield from self._walk(entry.path, path, suffix, report)
            elif entry.name.endswith(suffix) and entry.is_file():
                yield path, stamp_of(entry.stat())

    def _inside(self, path: str) -> str:
        real = os.path.realpath(os.path.join(self._real_root, path))
        if real != self._real_root and not real.startswith(self._real_root.rstrip("/") + "/"):
            raise OutsideVault(errno.EXDEV, "the path leads out of the vault", path)
        return real


def _raise(fault: WalkFault) -> None:
    if fault.error is not None:
        raise fault.error


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
    while part := os.read(descriptor, max(size + 1, 65536)):
        parts.append(part)
    return b"".join(parts)


def stamp_of(found: os.stat_result) -> Stamp:
    """Return the stamp in what `stat` answered."""
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
