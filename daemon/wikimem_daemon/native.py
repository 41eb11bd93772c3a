"""The watcher for systems with an interface of their own (macOS): watchfiles, native mode.

Its events come late and incomplete, so they only say "compare": `exact` is false, and a fresh answer is decided by a
comparison with the disk. Its polling mode is not used: it compares modification times by the second.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from watchfiles import Change, watch

from wikimem_daemon.watcher import Mode, Observation

_log = logging.getLogger("wikimem.watcher")

# watchfiles waits this long for more before it tells; our own rules do the settling.
_DEBOUNCE_MS = 50
_STEP_MS = 20
_STOP_MS = 200


class NativeWatcher:
    """Watches `root` in a thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._changed = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._wake: Callable[[], None] = lambda: None

    @property
    def mode(self) -> Mode:
        """As in `Watcher`."""
        return "native"

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
        self._thread = threading.Thread(target=self._run, name="wikimem-watch", daemon=True)
        self._thread.start()

    def enter(self, folder: str) -> None:
        """As in `Watcher`: the whole tree is watched."""

    def follow(self, path: str, target: str) -> None:
        """As in `Watcher`: a comparison looks through links."""

    def watch_file(self, path: str) -> bool:
        """As in `Watcher`: a comparison sees every name."""
        del path
        return False

    def keep_only(self, folders: set[str]) -> None:
        """As in `Watcher`: there is nothing to let go of."""

    def forget_writing(self, path: str) -> None:
        """As in `Watcher`: there is nothing to forget."""

    def drain(self) -> Observation:
        """As in `Watcher`."""
        if not self._changed.is_set():
            return Observation()
        self._changed.clear()
        return Observation(folders=("",))

    def attach(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        """As in `Watcher`."""

        def tell() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(wake)

        self._wake = tell

    def close(self) -> None:
        """As in `Watcher`."""
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(timeout=5)
        self._changed.clear()

    def _run(self) -> None:
        try:
            self._watch()
        except OSError as error:
            # The root went away. The reconciler notices that by itself and makes a new watcher when it is back.
            _log.warning("watching %s ended: %s", self._root, error)
            self._tell()

    def _watch(self) -> None:
        batches = watch(
            self._root,
            watch_filter=_is_ours,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=self._stop,
            rust_timeout=_STOP_MS,
            force_polling=False,
            ignore_permission_denied=True,
            raise_interrupt=False,
        )
        for _ in batches:
            self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._wake()


def _is_ours(_change: Change, _path: str) -> bool:
    # watchfiles' own filter tests every part of the absolute path: a vault below a folder called `.venv` would be
    # silent. The layout decides later, on the path inside the vault.
    return True
