"""Looking at every stamp in turn, for file systems that announce nothing (NFS, SMB, FUSE, WSL mounts)."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from wikimem.store.stamps import FAT_RACY_NS
from wikimem_daemon.comparing import ComparingWatcher, Tell

Sight = tuple[int, int, int, int, int]


def polling_watcher(root: Path, *, poll_s: float, racy_ns: int = FAT_RACY_NS) -> ComparingWatcher:
    """Return a watcher that looks at the entered folders every `poll_s` seconds. `racy_ns` as in `Disk`."""

    def look(folders: Callable[[], tuple[str, ...]], tell: Tell, stop: threading.Event) -> None:
        known: dict[str, dict[str, Sight] | None] = {}
        while not stop.is_set():
            found = {folder: _sights(root / folder, racy_ns) for folder in folders()}
            # A folder seen for the first time is told too: what was written before this look is the caller's own
            # listing's matter, but what fell between the two is nobody's.
            changed = [folder for folder, seen in found.items() if folder not in known or seen != known[folder]]
            known = found
            if changed:
                tell(changed)
            stop.wait(poll_s)

    return ComparingWatcher(root, "polling", look)


def _sights(folder: Path, racy_ns: int) -> dict[str, Sight] | None:
    """Return every name's stamp, None when the folder cannot be read."""
    racy_since = time.time_ns() - racy_ns
    try:
        with os.scandir(folder) as entries:
            return {entry.name: _sight(entry, racy_since) for entry in entries}
    except OSError:
        return None


def _sight(entry: "os.DirEntry[str]", racy_since: int) -> Sight:
    try:
        found = entry.stat(follow_symlinks=True)
    except OSError:
        return (0, 0, 0, 0, 0)
    # A stamp so young may stay the same through another write: it never equals the next look's.
    young = time.monotonic_ns() if found.st_ctime_ns > racy_since else 0
    if entry.is_dir():
        return (found.st_dev, found.st_ino, 0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, young)
