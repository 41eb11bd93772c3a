"""The fake of the watcher port: it finds what changed by comparing the tree with what it was, so it is exact.

Tests script what a kernel may do beside that: lose events, overflow, run out of watches.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from wikimem_daemon.choose import Choice
from wikimem_daemon.watcher import Mode, Observation, watches_exhausted

Snapshot = dict[str, tuple[int, int, bytes]]


class SnapshotWatcher:
    """Reports what differs from the last drain in the folders that were entered."""

    def __init__(self, root: Path, *, watches: int = 1_000_000) -> None:
        self._root = root
        self._entered: dict[str, Snapshot] = {}
        self._room = watches
        self._inode = (0, 0)
        self._wake: Callable[[], None] = lambda: None
        self._open = False
        self.writing_now: dict[str, float] = {}
        self.overflows = 0
        self.deaf = False

    @property
    def mode(self) -> Mode:
        return "inotify"

    @property
    def exact(self) -> bool:
        return True

    @property
    def writing(self) -> Mapping[str, float]:
        return self.writing_now

    @property
    def watches(self) -> int:
        return len(self._entered)

    def start(self) -> None:
        found = self._root.stat()
        self._inode = (found.st_dev, found.st_ino)
        self._open = True
        self.enter("")

    def enter(self, folder: str) -> None:
        if folder not in self._entered and len(self._entered) >= self._room:
            raise watches_exhausted("fs.inotify.max_user_watches")
        self._entered[folder] = self._look(folder)

    def follow(self, path: str, target: str) -> None: ...

    def watch_file(self, path: str) -> bool:
        del path
        return False

    def keep_only(self, folders: set[str]) -> None:
        self._entered = {folder: seen for folder, seen in self._entered.items() if folder in folders | {""}}

    def forget_writing(self, path: str) -> None:
        self.writing_now.pop(path, None)

    def drain(self) -> Observation:
        if not self._open:
            return Observation()
        if self.overflows:
            self.overflows -= 1
            return Observation(overflow=True)
        try:
            found = self._root.stat()
        except OSError:
            return Observation(root_lost=True)
        if (found.st_dev, found.st_ino) != self._inode:
            return Observation(root_lost=True)
        paths: dict[str, None] = {}
        folders: dict[str, None] = {}
        for folder, before in list(self._entered.items()):
            try:
                now = self._look(folder)
            except OSError:
                folders[folder] = None
                del self._entered[folder]
                continue
            self._entered[folder] = now
            for name in before.keys() | now.keys():
                if before.get(name) != now.get(name):
                    path = f"{folder}/{name}" if folder else name
                    is_folder = any(seen.get(name, (0, 0, b""))[1] == 1 for seen in (before, now))
                    (folders if is_folder else paths)[path] = None
        return Observation() if self.deaf else Observation(tuple(paths), tuple(folders))

    def attach(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        del loop
        self._wake = wake

    def nudge(self) -> None:
        """Wake the loop as the kernel would."""
        self._wake()

    def close(self) -> None:
        self._open = False

    def _look(self, folder: str) -> Snapshot:
        seen: Snapshot = {}
        with os.scandir(self._root / folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    seen[entry.name] = (entry.inode(), 1, b"")
                elif entry.is_file(follow_symlinks=False):
                    try:
                        data = Path(entry.path).read_bytes()
                    except OSError:
                        data = b"unreadable"
                    seen[entry.name] = (entry.inode(), 0, data)
                else:
                    seen[entry.name] = (entry.inode(), 2, b"")
        return seen


class FakeDuty:
    """Gives a reconciler snapshot watchers, and the test the one on duty."""

    def __init__(self, root: Path, *, watches: int = 1_000_000) -> None:
        self._root = root
        self.room = watches
        self.made: list[SnapshotWatcher] = []

    def __call__(self) -> Choice:
        self.made.append(SnapshotWatcher(self._root, watches=self.room))
        return Choice(self.made[-1])

    @property
    def watcher(self) -> SnapshotWatcher:
        return self.made[-1]
