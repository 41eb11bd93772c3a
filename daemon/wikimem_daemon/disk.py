# ruff: noqa: PTH114, PTH115, PTH116, PTH120 - one look at 20,000 files must not make 100,000 Path objects
"""What the disk shows: one look at a file, one listing of a folder. Nothing here decides what to do about it."""

import errno
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from wikimem.store.stamps import RACY_NS, Stamp, stamp_is_racy, stamp_of

_CHUNK = 1 << 20


class Kind(StrEnum):
    """What is at a path."""

    TEXT = "text"  # a regular file that was read
    SAME = "same"  # a regular file whose stamp is the one that was asked about; not read
    UNSTEADY = "unsteady"  # it changed while it was read
    TOO_LARGE = "too-large"
    MISSING = "missing"
    FOLDER = "folder"
    LINK = "link"
    SPECIAL = "special"  # a FIFO, a socket, a device
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a path.

    `data` and `stamp` belong together: the stamp was the same before and after the read. `racy`: it was so young
    that a later write may leave it as it is, so the next comparison must read the file again. `names`: how many
    hard links the file has.
    """

    kind: Kind
    data: bytes = b""
    stamp: Stamp | None = None
    racy: bool = True
    names: int = 1
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A name in a folder."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Listing:
    """A folder's names and which folder it is."""

    entries: tuple[Entry, ...]
    dev: int
    ino: int


@dataclass(frozen=True, slots=True)
class Target:
    """Where a symlink leads. `inside` is the target relative to the root, None when it leads out of the vault."""

    kind: Kind
    inside: str | None
    shown: str
    loop: bool = False


class DiskView(Protocol):
    """The vault's files as somebody saw them: the kernel now, or a survey a moment ago."""

    def identity(self, folder: str = "") -> tuple[int, int] | None:
        """Return device and inode of a folder, None when there is none. Raises `OSError` when it cannot be asked."""

    def list_folder(self, folder: str) -> Listing:
        """Return the names in a folder, sorted. Raises `OSError`."""

    def look(self, path: str, trusted: Stamp | None = None, *, through_link: bool = False) -> Look:
        """Look at one file; with `trusted`, a file that still has this stamp is not read."""

    def stamp(self, path: str) -> Stamp | None:
        """Return a file's stamp without opening it; None when that cannot be had or it is no plain file."""

    def is_link(self, path: str) -> bool:
        """Say whether there is a symlink at `path`."""

    def target(self, path: str) -> Target:
        """Say where the symlink at `path` leads."""


class Disk:
    """The vault's files as the kernel shows them now. `racy_ns`: a stamp younger than this at the read is racy."""

    def __init__(
        self, root: Path, *, max_bytes: int, wall_ns: Callable[[], int] = time.time_ns, racy_ns: int = RACY_NS
    ) -> None:
        self._root = os.fspath(root)
        self._real = os.path.realpath(root)
        self._max_bytes = max_bytes
        self._wall_ns = wall_ns
        self._racy_ns = racy_ns

    def identity(self, folder: str = "") -> tuple[int, int] | None:
        """As in `DiskView`."""
        try:
            found = os.stat(self._at(folder))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None

    def list_folder(self, folder: str) -> Listing:
        """As in `DiskView`."""
        place = self._at(folder)
        with os.scandir(place) as found:
            entries = sorted((Entry(entry.name, _entry_kind(entry)) for entry in found), key=lambda one: one.name)
        itself = os.stat(place)
        return Listing(tuple(entries), itself.st_dev, itself.st_ino)

    def look(self, path: str, trusted: Stamp | None = None, *, through_link: bool = False) -> Look:
        """As in `DiskView`."""
        # O_NONBLOCK: opening a FIFO that somebody named `.md` must not wait for its writer.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if through_link else os.O_NOFOLLOW)
        try:
            descriptor = os.open(self._at(path), flags)
        except OSError as error:
            return _failed(error)
        try:
            return self._read(descriptor, trusted)
        except OSError as error:
            return _failed(error)
        finally:
            os.close(descriptor)

    def stamp(self, path: str) -> Stamp | None:
        """As in `DiskView`."""
        try:
            found = os.stat(self._at(path), follow_symlinks=False)
        except OSError:
            return None
        return stamp_of(found) if stat.S_ISREG(found.st_mode) else None

    def is_link(self, path: str) -> bool:
        """As in `DiskView`."""
        return os.path.islink(self._at(path))

    def target(self, path: str) -> Target:
        """As in `DiskView`."""
        place = self._at(path)
        try:
            found = os.stat(place)
        except OSError as error:
            shown = _readlink(place)
            return Target(Kind.MISSING, None, shown, loop=error.errno == errno.ELOOP)
        real = os.path.realpath(place)
        inside = self._relative(real)
        if stat.S_ISDIR(found.st_mode):
            # A link to a folder that holds it would be descended into without end.
            holder = os.path.realpath(os.path.dirname(place))
            loop = holder == real or holder.startswith(real.rstrip("/") + "/")
            return Target(Kind.FOLDER, inside, real, loop)
        kind = Kind.TEXT if stat.S_ISREG(found.st_mode) else Kind.SPECIAL
        return Target(kind, inside, real)

    def _relative(self, real: str) -> str | None:
        if real == self._real:
            return ""
        base = self._real.rstrip("/") + "/"
        return real[len(base) :] if real.startswith(base) else None

    def _read(self, descriptor: int, trusted: Stamp | None) -> Look:
        before = os.fstat(descriptor)
        if stat.S_ISDIR(before.st_mode):
            return Look(Kind.FOLDER)
        if not stat.S_ISREG(before.st_mode):
            return Look(Kind.SPECIAL)
        stamp = stamp_of(before)
        if stamp == trusted:
            return Look(Kind.SAME, stamp=stamp, names=before.st_nlink)
        if stamp.size > self._max_bytes:
            return Look(Kind.TOO_LARGE, stamp=stamp, detail=f"{stamp.size} bytes, the limit is {self._max_bytes}")
        read_at_ns = self._wall_ns()
        data = _read_all(descriptor, stamp.size)
        if stamp_of(os.fstat(descriptor)) != stamp or len(data) != stamp.size:
            return Look(Kind.UNSTEADY)
        racy = stamp_is_racy(stamp, read_at_ns, racy_ns=self._racy_ns)
        return Look(Kind.TEXT, data, stamp, racy=racy, names=before.st_nlink)

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root


def _read_all(descriptor: int, size: int) -> bytes:
    first = os.read(descriptor, size + 1)
    if len(first) in (0, size):
        return first
    parts = [first]
    while part := os.read(descriptor, _CHUNK):
        parts.append(part)
    return b"".join(parts)


def _failed(error: OSError) -> Look:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return Look(Kind.MISSING)
    if error.errno == errno.ELOOP:
        return Look(Kind.LINK)
    if error.errno == errno.ENXIO:  # a socket, or a device without a driver
        return Look(Kind.SPECIAL)
    if error.errno == errno.EWOULDBLOCK:  # somebody holds a lease on it, as our own writer does for a moment
        return Look(Kind.UNSTEADY)
    return Look(Kind.UNREADABLE, detail=error.strerror or str(error))


def _entry_kind(entry: "os.DirEntry[str]") -> Kind:
    if entry.is_symlink():
        return Kind.LINK
    if entry.is_dir(follow_symlinks=False):
        return Kind.FOLDER
    return Kind.TEXT if entry.is_file(follow_symlinks=False) else Kind.SPECIAL


def _readlink(place: str) -> str:
    try:
        return os.readlink(place)
    except OSError:
        return ""
