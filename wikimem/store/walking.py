"""Walking a vault: every file once by every name that leads to it inside the vault, and every fault named."""

# ruff: noqa: PTH110, PTH112, PTH118
# Names on disk need not be UTF-8, and a walk over 20,000 files cannot afford an object for each.

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from wikimem.store.stamps import Stamp, stamp_of

FaultKind = Literal["unreadable", "link-outside", "link-loop", "link-dangling", "not-a-file"]


@dataclass(frozen=True, slots=True)
class WalkFault:
    """A place that could not be walked. `error` is the system's, None for what is skipped on purpose."""

    path: str
    kind: FaultKind
    error: OSError | None = None


Report = Callable[[WalkFault], None]
# Whether a file or (`True`) a folder at this path is read under its own name: then links to it are passed over.
IsRead = Callable[[str, bool], bool]


def raise_unreadable(fault: WalkFault) -> None:
    """Raise for an unreadable place and pass over the rest: what a walk without a `report` does."""
    if fault.error is not None:
        raise fault.error


def is_inside(real: str, real_root: str) -> bool:
    """Say whether a resolved path is the resolved root or lies below it."""
    return real == real_root or real.startswith(real_root.rstrip("/") + "/")


class Walk:
    """One walk below a resolved root. Symbolic links are followed inside the vault only, one to each target."""

    def __init__(self, real_root: str, suffix: str, report: Report, is_read: IsRead) -> None:
        self._root = real_root
        self._suffix = suffix
        self._report = report
        self._is_read = is_read
        self._followed: set[str] = set()

    def below(self, prefix: str) -> Iterator[tuple[str, Stamp]]:
        """Yield path and stamp of every file that ends in the suffix, in the order of the paths."""
        folder = os.path.join(self._root, prefix) if prefix else self._root
        yield from self._folder(folder, prefix, (os.path.realpath(folder),))

    def _folder(self, folder: str, prefix: str, chain: tuple[str, ...]) -> Iterator[tuple[str, Stamp]]:
        try:
            with os.scandir(folder) as found:
                entries = sorted((entry for entry in found if entry.name[:1] != "."), key=_order)
        except OSError as error:
            self._report(WalkFault(prefix, "unreadable", error))
            return
        for entry in entries:
            path = f"{prefix}/{entry.name}" if prefix else entry.name
            if entry.is_symlink():
                yield from self._link(entry, path, chain)
            elif entry.is_dir(follow_symlinks=False):
                yield from self._folder(entry.path, path, (*chain, f"{chain[-1]}/{entry.name}"))
            elif entry.name.endswith(self._suffix):
                yield from self._file(entry, path)

    def _file(self, entry: "os.DirEntry[str]", path: str) -> Iterator[tuple[str, Stamp]]:
        try:
            found = entry.stat()
        except FileNotFoundError:  # gone since the folder was listed
            return
        except OSError as error:
            self._report(WalkFault(path, "unreadable", error))
            return
        if stat.S_ISREG(found.st_mode):
            yield path, stamp_of(found)
        else:
            self._report(WalkFault(path, "not-a-file"))

    def _link(self, entry: "os.DirEntry[str]", path: str, chain: tuple[str, ...]) -> Iterator[tuple[str, Stamp]]:
        try:
            real = os.path.realpath(entry.path, strict=True)
        except FileNotFoundError:
            if entry.name.endswith(self._suffix):
                self._report(WalkFault(path, "link-dangling"))
            return
        except OSError as error:
            self._report(WalkFault(path, "link-loop" if not os.path.exists(entry.path) else "unreadable", error))
            return
        is_folder = os.path.isdir(real)
        if not is_folder and not entry.name.endswith(self._suffix):
            return
        if not is_inside(real, self._root):
            self._report(WalkFault(path, "link-outside"))
        elif is_folder and any(is_inside(one, real) for one in chain):
            self._report(WalkFault(path, "link-loop"))
        elif self._is_to_follow(real, is_folder=is_folder):
            yield from self._folder(real, path, (*chain, real)) if is_folder else self._file(entry, path)

    def _is_to_follow(self, real: str, *, is_folder: bool) -> bool:
        inside = os.path.relpath(real, self._root)
        hidden = is_folder and any(part.startswith(".") for part in inside.split("/"))
        if hidden or real in self._followed or self._is_read(inside, is_folder):
            return False
        self._followed.add(real)
        return True


def _order(entry: "os.DirEntry[str]") -> str:
    # A folder's paths go on with `/`, so that is what its name must be compared with: `a.md` comes before `a/b.md`.
    return entry.name if not entry.is_dir(follow_symlinks=False) else f"{entry.name}/"
