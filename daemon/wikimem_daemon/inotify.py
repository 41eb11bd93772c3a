"""The watcher for Linux: one inotify descriptor of our own.

The kernel queues an event inside the writer's system call. So a queue that has been drained holds every write that
finished before, and draining it when a request arrives is all that a fresh answer needs; the event loop reads the
same descriptor as its wake-up, at no cost while nothing happens.

One watch a folder. A folder that appears is reported, not descended into: whoever lists it calls `enter` first, so a
file that is written meanwhile shows in the listing or in the queue.
"""

import asyncio
import errno
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from inotify_simple import Event, INotify, flags

from wikimem_daemon.watcher import Mode, Observation, watches_exhausted

_log = logging.getLogger("wikimem.watcher")

_MASK = int(
    flags.CREATE
    | flags.DELETE
    | flags.MODIFY
    | flags.CLOSE_WRITE
    | flags.ATTRIB
    | flags.MOVED_FROM
    | flags.MOVED_TO
    | flags.DELETE_SELF
    | flags.MOVE_SELF
    | flags.ONLYDIR
    # A file that is unlinked but still open is nobody's note: its writes are noise.
    | flags.EXCL_UNLINK
)
_FILE_MASK = int(flags.MODIFY | flags.CLOSE_WRITE | flags.ATTRIB)
_SELF_GONE = int(flags.DELETE_SELF | flags.MOVE_SELF | flags.UNMOUNT)
_MAX_OPEN_WRITERS = 4096

USER_WATCHES = "fs.inotify.max_user_watches"
USER_INSTANCES = "fs.inotify.max_user_instances"


class _Batch:
    """Collects one drain; dicts keep the order and drop repetitions."""

    __slots__ = ("folders", "overflow", "paths", "root_lost")

    def __init__(self) -> None:
        self.paths: dict[str, None] = {}
        self.folders: dict[str, None] = {}
        self.overflow = False
        self.root_lost = False

    def observation(self) -> Observation:
        return Observation(tuple(self.paths), tuple(self.folders), self.overflow, self.root_lost)


class InotifyWatcher:
    """Watches folders below `root`. `clock` is monotonic seconds; `open_queue` exists for tests of a full kernel."""

    def __init__(
        self,
        root: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        open_queue: Callable[[], INotify] = lambda: INotify(nonblocking=True),
    ) -> None:
        self._root = root
        self._clock = clock
        self._open_queue = open_queue
        self._queue: INotify | None = None
        # One inode has one watch, and may be reached by several paths (a bind mount).
        self._by_wd: dict[int, dict[str, None]] = {}
        self._by_folder: dict[str, int] = {}
        self._files: dict[int, dict[str, None]] = {}
        self._followed: dict[tuple[str, str], str] = {}
        self._writing: dict[str, float] = {}
        self._moving: dict[int, float] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def mode(self) -> Mode:
        """As in `Watcher`."""
        return "inotify"

    @property
    def exact(self) -> bool:
        """As in `Watcher`."""
        return True

    @property
    def writing(self) -> Mapping[str, float]:
        """As in `Watcher`."""
        return self._writing

    @property
    def watches(self) -> int:
        """As in `Watcher`."""
        return len(self._by_wd) + len(self._files)

    def start(self) -> None:
        """As in `Watcher`."""
        try:
            self._queue = self._open_queue()
        except OSError as error:
            if error.errno == errno.EMFILE:
                raise watches_exhausted(USER_INSTANCES) from error
            raise
        try:
            self.enter("")
        except OSError:
            self.close()
            raise

    def enter(self, folder: str) -> None:
        """As in `Watcher`."""
        if self._queue is None:
            return
        wd = self._add_watch(folder, _MASK)
        if self._by_folder.get(folder) not in (None, wd):
            # The folder was removed and made again: the kernel watches the new inode under a new number.
            self._unwatch(folder)
        self._by_wd.setdefault(wd, {})[folder] = None
        self._by_folder[folder] = wd

    def _add_watch(self, path: str, mask: int) -> int:
        if self._queue is None:
            raise OSError(errno.EBADF, "the watcher is closed")
        try:
            wd: int = self._queue.add_watch(self._root / path if path else self._root, mask)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise watches_exhausted(USER_WATCHES) from error
            raise
        return wd

    def follow(self, path: str, target: str) -> None:
        """As in `Watcher`."""
        parent, _, name = target.rpartition("/")
        self._followed[parent, name] = path
        if parent not in self._by_folder:
            self.enter(parent)

    def watch_file(self, path: str) -> bool:
        """As in `Watcher`."""
        if self._queue is None:
            return False
        wd = self._add_watch(path, _FILE_MASK)
        paths = self._files.setdefault(wd, {})
        known = path in paths
        paths[path] = None
        return not known

    def keep_only(self, folders: set[str]) -> None:
        """As in `Watcher`."""
        wanted = folders | {""} | {parent for parent, _ in self._followed}
        for folder in [known for known in self._by_folder if known not in wanted]:
            self._unwatch(folder)

    def forget_writing(self, path: str) -> None:
        """As in `Watcher`."""
        self._writing.pop(path, None)

    def drain(self) -> Observation:
        """As in `Watcher`."""
        batch = _Batch()
        if self._queue is not None:
            try:
                events = self._queue.read(timeout=0)
            except BlockingIOError:
                events = []
            for event in events:
                self._take(event, batch)
        return batch.observation()

    def attach(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        """As in `Watcher`."""
        if self._queue is not None:
            loop.add_reader(self._queue.fileno(), wake)
            self._loop = loop

    def close(self) -> None:
        """As in `Watcher`."""
        queue, self._queue = self._queue, None
        if queue is None:
            return
        if self._loop is not None:
            self._loop.remove_reader(queue.fileno())
        queue.close()
        self._by_wd.clear()
        self._by_folder.clear()
        self._files.clear()
        self._writing.clear()

    def _take(self, event: Event, batch: _Batch) -> None:
        if event.mask & flags.Q_OVERFLOW:
            batch.overflow = True
            return
        if event.wd in self._files:
            self._take_linked(event, batch)
        # A watch that was let go is not here: what it still had queued is covered by the listing that let it go.
        for folder in tuple(self._by_wd.get(event.wd, ())):
            self._take_in(event, folder, batch)

    def _take_in(self, event: Event, folder: str, batch: _Batch) -> None:
        if event.mask & (_SELF_GONE | flags.IGNORED):
            self._take_self(event, folder, batch)
        elif not event.name:
            batch.folders[folder] = None  # the folder's own mode or owner changed: it may be readable again
        elif event.mask & flags.ISDIR:
            self._take_folder(event, f"{folder}/{event.name}" if folder else event.name, batch)
        else:
            self._take_file(event, folder, batch)

    def _take_linked(self, event: Event, batch: _Batch) -> None:
        """Report a file by each of its names here; the kernel drops the watch with the file's last name."""
        for path in self._files[event.wd]:
            self._note_writer(event, path)
            batch.paths[path] = None
        if event.mask & flags.IGNORED:
            del self._files[event.wd]

    def _take_self(self, event: Event, folder: str, batch: _Batch) -> None:
        if folder == "":
            batch.root_lost = True
        else:
            batch.folders[folder] = None
        if event.mask & (flags.MOVE_SELF | flags.IGNORED):
            self._unwatch_tree(folder)

    def _take_folder(self, event: Event, path: str, batch: _Batch) -> None:
        batch.folders[path] = None
        if event.mask & (flags.MOVED_FROM | flags.DELETE):
            # Its watches would report the old name. Whatever now happens below the new one is seen when that is listed.
            self._unwatch_tree(path)

    def _take_file(self, event: Event, folder: str, batch: _Batch) -> None:
        path = f"{folder}/{event.name}" if folder else event.name
        self._note_writer(event, path)
        batch.paths[path] = None
        alias = self._followed.get((folder, event.name))
        if alias is not None:
            batch.paths[alias] = None

    def _note_writer(self, event: Event, path: str) -> None:
        if event.mask & flags.MODIFY:
            self._writing[path] = self._clock()
            if len(self._writing) > _MAX_OPEN_WRITERS:
                self._forget_quiet_writers()
        elif event.mask & (flags.CLOSE_WRITE | flags.DELETE):
            self._writing.pop(path, None)
        elif event.mask & flags.MOVED_FROM:
            # A writer may hold the file open across the rename; the cookie says where it went.
            since = self._writing.pop(path, None)
            self._moving = {} if since is None else {event.cookie: since}
        elif event.mask & flags.MOVED_TO:
            since = self._moving.pop(event.cookie, None)
            if since is None:
                self._writing.pop(path, None)
            else:
                self._writing[path] = since

    def _forget_quiet_writers(self) -> None:
        """Drop the half that wrote longest ago: most are temporary files that nobody asks about."""
        oldest = sorted(self._writing, key=self._writing.__getitem__)
        for path in oldest[: len(oldest) // 2]:
            del self._writing[path]

    def _unwatch_tree(self, folder: str) -> None:
        below = f"{folder}/" if folder else ""
        for known in [name for name in self._by_folder if name == folder or name.startswith(below)]:
            self._unwatch(known)

    def _unwatch(self, folder: str) -> None:
        wd = self._by_folder.pop(folder)
        folders = self._by_wd.get(wd, {})
        folders.pop(folder, None)
        if not folders:
            self._by_wd.pop(wd, None)
            if self._queue is not None:
                with suppress(OSError):  # EINVAL: the kernel has dropped it already, with the folder
                    self._queue.rm_watch(wd)
