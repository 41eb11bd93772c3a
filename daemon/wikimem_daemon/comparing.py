"""The watcher for places where no event is exact: a thread looks, and what it tells only says "compare".

`exact` is false, so a fresh answer is decided by a comparison with the disk. How the thread looks is a `Look`: the
system's own interface (`native`) or every stamp in turn (`polling`).
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from wikimem_daemon.watcher import Mode, Observation

# `tell` takes the folders that may have changed ("" is the root). A look runs until `stop` is set; its first argument
# gives the folders that were entered so far.
Tell = Callable[[Iterable[str]], None]
Look = Callable[[Callable[[], tuple[str, ...]], Tell, threading.Event], None]

# A thread that hangs in a dead mount is left behind after this long.
_JOIN_S = 2.0


class ComparingWatcher:
    """Runs `look` in a thread over the tree below `root`."""

    def __init__(self, root: Path, mode: Mode, look: Look) -> None:
        self._root = root
        self._mode = mode
        self._look = look
        self._entered: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._changed: dict[str, None] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._wake: Callable[[], None] = lambda: None

    @property
    def mode(self) -> Mode:
        """As in `Watcher`."""
        return self._mode

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
        self._thread = threading.Thread(target=self._run, name=f"wikimem-{self._mode}", daemon=True)
        self._thread.start()

    def enter(self, folder: str) -> None:
        """As in `Watcher`."""
        with self._lock:
            if folder not in self._entered:
                self._entered = (*self._entered, folder)

    def follow(self, path: str, target: str) -> None:
        """As in `Watcher`: a comparison looks through links."""

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

        def wake_loop() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(wake)

        self._wake = wake_loop

    def close(self) -> None:
        """As in `Watcher`."""
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(timeout=_JOIN_S)
        with self._lock:
            self._changed = {}

    def _run(self) -> None:
        self._look(lambda: self._entered, self._tell, self._stop)

    def _tell(self, folders: Iterable[str]) -> None:
        if self._stop.is_set():
            return
        with self._lock:
            self._changed |= dict.fromkeys(folders)
        self._wake()
