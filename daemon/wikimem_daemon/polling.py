"""The watcher for file systems that announce nothing (NFS, SMB, FUSE, WSL mounts): a thread looks at every stamp.

It only says "compare": `exact` is false, and a fresh answer is decided by a comparison with the disk.
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from wikimem_daemon.disk import FAT_RACY_NS
from wikimem_daemon.watcher import Mode, Observation

_log = logging.getLogger("wikimem.watcher")

Sight = tuple[int, int, int, int, int]


class PollingWatcher:
    """Watches the folders that were entered, every `poll_s` seconds. `racy_ns` as in `Disk`."""

    def __init__(self, root: Path, *, poll_s: float, racy_ns: int = FAT_RACY_NS) -> None:
        self._root = root
        self._poll_s = poll_s
        self._racy_ns = racy_ns
        self._entered: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._changed: dict[str, None] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._wake: Callable[[], None] = lambda: None

    @property
    def mode(self) -> Mode:
        """As in `Watcher`."""
        return "polling"

    @property
    def exact(self) -> bool:
        """As in `Watcher`."""
        return False

    @property
    def writing(self) -> Mapping[str, float]:
        """As in `Watcher`: nothing is known about open writers."""
        return MappingProxyType({})

    @property
    def watches(self) -> int:
        """As in `Watcher`."""
        return 0

    def start(self) -> None:
        """As in `Watcher`."""
        if not self._root.is_dir():
            raise FileNotFoundError(f"no folder at {self._root}")
        self.enter("")
        self._thread = threading.Thread(target=self._run, name="wikimem-poll", daemon=True)
        self._thread.start()

    def enter(self, folder: str) -> None:
        """As in `Watcher`."""
        with self._lock:
            if folder not in self._entered:
                self._entered = (*self._entered, folder)

    def follow(self, path: str, target: str) -> None:
        """As in `Watcher`: looked at like any other, through the link."""

    def watch_file(self, path: str) -> bool:
        """As in `Watcher`: a comparison sees every name."""
        del path
        return False

    def keep_only(self, folders: set[str]) -> None:
        """As in `Watcher`."""
        with self._lock:
            self._entered = tuple(folder for folder in self._entered if folder == "" or folder in folders)

    def forget_writing(self, path: str) -> None:
        """As in `Watcher`: there is nothing to forget."""

    def drain(self) -> Observation:
        """As in `Watcher`."""
        with self._lock:
            changed, self._changed = self._changed, {}
        return Observation(folders=tuple(changed))

    def attach(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        """As in `Watcher`."""

        def tell() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(wake)

        self._wake = tell

    def close(self) -> None:
        """As in `Watcher`. A thread that hangs in a dead mount is left behind."""
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(timeout=1)
        with self._lock:
            self._changed = {}

    def _run(self) -> None:
        known: dict[str, dict[str, Sight] | None] = {}
        while not self._stop.is_set():
            found = {folder: self._look(folder) for folder in self._entered}
            changed = [folder for folder, seen in found.items() if folder in known and seen != known[folder]]
            # Seen for the first time: what was written before this look is the caller's own listing's matter, but
            # what fell between the two is nobody's.
            changed += [folder for folder in found if folder not in known]
            known = found
            if changed and not self._stop.is_set():
                with self._lock:
                    self._changed |= dict.fromkeys(changed)
                self._wake()
            self._stop.wait(self._poll_s)

    def _look(self, folder: str) -> dict[str, Sight] | None:
        """Return every name's stamp, None when the folder cannot be read."""
        racy_since = time.time_ns() - self._racy_ns
        seen: dict[str, Sight] = {}
        try:
            with os.scandir(self._root / folder) as entries:
                for entry in entries:
                    seen[entry.name] = _sight(entry, racy_since)
        except OSError:
            return None
        return seen


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
