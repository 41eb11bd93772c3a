"""What systemd's sandbox does to a vault whose folder is replaced while the daemon runs.

`ReadWritePaths=` binds the folder that was there at the start. When a person removes it and makes it again (a restore
from a backup, `git clone` anew, a sync tool), the daemon sees and reads the new folder, but finds it read-only: only a
fresh process gets a fresh mount. Measured on systemd 252.
"""

import os
from collections.abc import Mapping
from pathlib import Path


class WritableRoot:
    """Tells whether a restart would give the right to write to the vault back."""

    def __init__(self, root: Path, environ: Mapping[str, str] = os.environ) -> None:
        self._root = root
        # systemd sets it for every service: without it nobody would start us again.
        self._restarted_by_systemd = bool(environ.get("INVOCATION_ID") and environ.get("NOTIFY_SOCKET"))
        self._at_start = _identity(root)

    def lost(self) -> bool:
        """Whether another folder stands in the vault's place than at the start, and that one is read-only.

        False for a vault that was read-only from the start (a restart would not mend that, and would loop), for one
        that is missing now, and where systemd does not run this process. One `statvfs`: cheap enough for a timer.
        """
        if not self._restarted_by_systemd:
            return False
        now = _identity(self._root)
        if now is None or now == self._at_start:
            return False
        try:
            return bool(os.statvfs(self._root).f_flag & os.ST_RDONLY)
        except OSError:
            return False


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        found = root.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
