"""Mounts: a file system that is put over a folder, or taken away from it, raises no event in that folder."""

import os
import select
from contextlib import suppress

_TABLE = "/proc/self/mountinfo"


class MountWatch:
    """Says whether the mount table changed; always true where there is none to watch."""

    def __init__(self) -> None:
        self._descriptor = -1
        self._poll: select.poll | None = None
        with suppress(OSError):
            self._descriptor = os.open(_TABLE, os.O_RDONLY | os.O_CLOEXEC)
            self._poll = select.poll()
            # The table is always readable; only the exceptional condition tells of a change, once for each reader.
            self._poll.register(self._descriptor, select.POLLPRI)

    def changed(self) -> bool:
        """Say whether the table changed since the last call. Does not wait."""
        return self._poll is None or bool(self._poll.poll(0))

    def close(self) -> None:
        """Let go of the table."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
            self._poll = None
