"""A service whose socket is not where this shell looks: the two have different runtime folders."""

import os
from pathlib import Path

from wikimem.errors import NotRunning
from wikimem.service_units import socket_of
from wikimem.user_manager import Run, properties, run


def elsewhere(name: str, path: Path, *, run: Run = run) -> NotRunning | None:
    """Return what to say when the vault's socket unit listens, but not at `path`; None when it does or is down.

    Who restarts such a unit takes the daemon from everybody else, and finds nobody all the same.
    """
    told = properties(socket_of(name), "ActiveState,Listen", run=run) or {}
    there = told.get("Listen", "").removesuffix(" (Stream)")
    # The real paths, of which the last part may be gone: /var/run is a link to /run.
    if told.get("ActiveState") != "active" or not there or os.path.realpath(there) == os.path.realpath(path):
        return None
    return NotRunning(
        f"{socket_of(name)} listens on {there}, and nobody on {path}, where this shell looks",
        hint=f"XDG_RUNTIME_DIR is another one here: `export XDG_RUNTIME_DIR={Path(there).parent.parent}`",
    )
