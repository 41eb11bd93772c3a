"""Which watcher fits: inotify where the kernel sees every write, watchfiles elsewhere."""

import logging
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from wikimem.store.stamps import FAT_RACY_NS, RACY_NS
from wikimem_daemon.polling import polling_watcher
from wikimem_daemon.watcher import CannotWatch, Watcher

Now = Callable[[], float]

_log = logging.getLogger("wikimem.watcher")

# File systems whose every change passes through this kernel. On the others (NFS, SMB, 9p and virtiofs of virtual
# machines and WSL, FUSE) another machine or process changes files behind inotify's back.
LOCAL = frozenset(
    (
        *("bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfsplus", "jfs", "msdos", "nilfs2"),
        *("ntfs3", "overlay", "ramfs", "reiserfs", "tmpfs", "udf", "vfat", "xfs", "zfs"),
    )
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A watcher that is ready to `start`, and why it is not the best one (empty: it is).

    `passing`: the best one may be possible later.
    """

    watcher: Watcher
    reason: str = ""
    hint: str = ""
    passing: bool = False


def file_system(path: Path, mounts: str | None = None) -> str:
    """Return the type of the file system that `path` lies on, empty when it cannot be told."""
    if mounts is None:
        try:
            mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return ""
    best, kind = -1, ""
    for line in mounts.splitlines():
        before, dash, after = line.partition(" - ")
        fields = before.split(" ")
        if not dash or len(fields) < 5:
            continue
        point = (
            fields[4].encode("utf-8", "surrogateescape").decode("unicode_escape") if "\\" in fields[4] else fields[4]
        )
        # A later line of the same length is mounted over the earlier one.
        if len(point) >= best and path.is_relative_to(point):
            best, kind = len(point), after.split(" ", 1)[0]
    return kind


def racy_ns_on(root: Path) -> int:
    """Return how old a stamp must be to prove anything on the root's file system."""
    return FAT_RACY_NS if file_system(root) in ("exfat", "msdos", "vfat") else RACY_NS


def choose(
    root: Path,
    folders: Iterable[str],
    mode: str,
    *,
    poll_s: float,
    now: Now = time.monotonic,
    make: "Makers | None" = None,
) -> Choice:
    """Return the watcher for a setting (`auto`, `inotify`, `native`, `polling`) and these folders of the vault."""
    makers = make or Makers()
    if mode in ("polling", "poll"):
        return Choice(makers.polling(root, poll_s))
    if sys.platform != "linux":
        return Choice(makers.native(root))
    if mode == "auto":
        for place in [root, *(root / folder for folder in folders)]:
            try:
                check_device(place)
            except CannotWatch as error:
                return fall_back(root, error, poll_s=poll_s, make=makers)
    return Choice(makers.inotify(root, now))


def fall_back(root: Path, error: CannotWatch, *, poll_s: float, make: "Makers | None" = None) -> Choice:
    """Return a polling watcher in place of one that cannot see everything."""
    makers = make or Makers()
    return Choice(makers.polling(root, poll_s), error.reason, error.hint, error.passing)


def check_device(place: Path) -> None:
    """Raise `CannotWatch` when a folder of the vault lies on a file system that does not announce every change."""
    kind = file_system(place.resolve())
    if kind not in LOCAL:
        reason = f"{place} lies on {kind or 'an unknown file system'}, where changes are not always announced"
        raise CannotWatch(reason, "set `mode` in `[watch]` if you know better")


def _inotify(root: Path, now: Now) -> Watcher:
    from wikimem_daemon.inotify import InotifyWatcher  # noqa: PLC0415 - Linux only

    return InotifyWatcher(root, clock=now)


def _polling(root: Path, poll_s: float) -> Watcher:
    return polling_watcher(root, poll_s=poll_s)


def _native(root: Path) -> Watcher:
    from wikimem_daemon.native import native_watcher  # noqa: PLC0415 - watchfiles is loaded where it is used

    return native_watcher(root)


@dataclass(frozen=True, slots=True)
class Makers:
    """How each watcher is made; tests give their own."""

    inotify: Callable[[Path, Now], Watcher] = _inotify
    polling: Callable[[Path, float], Watcher] = _polling
    native: Callable[[Path], Watcher] = _native
