"""The files port without a disk."""

import errno
from collections.abc import Iterator

from wikimem.store.files import FileRead, OutsideVault, Stale, WalkFault, WriteMode, bytes_hash
from wikimem.store.stamps import Stamp
from wikimem.store.walking import IsRead, Report


class FakeFiles:
    """A dictionary of files; every write gives a fresh inode and a later time, as a replacing write does."""

    write_mode: WriteMode = "lease"

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, Stamp]] = {}
        self._ticks = 0

    def read(self, path: str) -> FileRead:
        data, stamp = self._found(path)
        return FileRead(data, stamp, stamp.ctime_ns + 1)

    def stamp(self, path: str) -> Stamp:
        return self._found(path)[1]

    def target(self, path: str) -> str:
        return path

    def write(self, path: str, data: bytes, *, based_on: str | None) -> Stamp:
        self._check(path, based_on)
        self._ticks += 1
        stamp = Stamp(1, self._ticks, len(data), self._ticks * 10**9, self._ticks * 10**9)
        self._files[path] = (data, stamp)
        return stamp

    def remove(self, path: str, *, based_on: str) -> None:
        self._check(path, based_on)
        del self._files[path]

    def walk(
        self,
        prefix: str = "",
        *,
        suffix: str = ".md",
        report: Report | None = None,
        is_read: IsRead | None = None,  # noqa: ARG002 - there are no links here
    ) -> Iterator[tuple[str, Stamp]]:
        folder = f"{prefix}/" if prefix else ""
        if prefix and not any(path.startswith(folder) for path in self._files):
            fault = WalkFault(prefix, "unreadable", FileNotFoundError(errno.ENOENT, "no such folder", prefix))
            if report is None:
                raise FileNotFoundError(errno.ENOENT, "no such folder", prefix)
            report(fault)
        for path in sorted(self._files):
            hidden = any(part.startswith(".") for part in path.split("/"))
            if path.startswith(folder) and path.endswith(suffix) and not hidden:
                yield path, self._files[path][1]

    def _found(self, path: str) -> tuple[bytes, Stamp]:
        if ".." in path.split("/"):
            raise OutsideVault(errno.EXDEV, "the path leads out of the vault", path)
        if path not in self._files:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return self._files[path]

    def _check(self, path: str, based_on: str | None) -> None:
        data = self._files[path][0] if path in self._files else None
        if (None if data is None else bytes_hash(data)) != based_on:
            raise Stale(path)
