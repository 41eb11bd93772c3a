"""Looking through an interface of the system (macOS): watchfiles, native mode.

Its events come late and incomplete. Its polling mode is not used: it compares modification times by the second.
"""

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from watchfiles import Change, watch

from wikimem_daemon.comparing import ComparingWatcher, Tell

_log = logging.getLogger("wikimem.watcher")

# watchfiles waits this long for more before it tells; our own rules do the settling.
_DEBOUNCE_MS = 50
_STEP_MS = 20
_STOP_MS = 200


def native_watcher(root: Path) -> ComparingWatcher:
    """Return a watcher of the whole tree below `root`."""

    def look(_folders: Callable[[], tuple[str, ...]], tell: Tell, stop: threading.Event) -> None:
        try:
            _watch(root, tell, stop)
        except OSError as error:
            # The root went away. The reconciler notices that by itself and makes a new watcher when it is back.
            _log.warning("watching %s ended: %s", root, error)
            tell(("",))

    return ComparingWatcher(root, "native", look)


def _watch(root: Path, tell: Tell, stop: threading.Event) -> None:
    batches = watch(
        root,
        watch_filter=_is_ours,
        debounce=_DEBOUNCE_MS,
        step=_STEP_MS,
        stop_event=stop,
        rust_timeout=_STOP_MS,
        force_polling=False,
        ignore_permission_denied=True,
        raise_interrupt=False,
    )
    for _ in batches:
        tell(("",))


def _is_ours(_change: Change, _path: str) -> bool:
    # watchfiles' own filter tests every part of the absolute path: a vault below a folder called `.venv` would be
    # silent. The layout decides later, on the path inside the vault.
    return True
