"""What a conversation has already been given: one small file a session, in the user's state, with no text in it.

A line is the first 16 hex digits of a hash over address and content. Deleting the folder costs a repetition.
"""

import contextlib
import os
import time
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final

_LINE: Final = 17
MOST_KEYS: Final = 2_000
MOST_FILES: Final = 200
KEPT_S: Final = 14 * 24 * 3600.0


class GivenKeys:
    """The keys of one session. `folder` is made with mode 0700 when something is first remembered."""

    def __init__(self, folder: Path, session: str) -> None:
        self._folder = folder
        # A session's id is the tool's own text: hashed, it can be no path.
        self._file = folder / f"{sha256(session.encode('utf-8', 'replace')).hexdigest()[:32]}.given"

    def read(self) -> frozenset[str]:
        """Return the keys; none when the file is not there or cannot be read."""
        try:
            descriptor = os.open(self._file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return frozenset()
        with open(descriptor, "rb") as stream:  # noqa: PTH123 - the descriptor is open already
            data = stream.read(2 * MOST_KEYS * _LINE)
        return frozenset(data.decode("ascii", "replace").split())

    def forget(self) -> None:
        """Forget what was given: the model's context was emptied."""
        with contextlib.suppress(OSError):
            self._file.unlink(missing_ok=True)

    def add(self, keys: Iterable[str]) -> None:
        """Remember that these were given. Raises OSError.

        One append of one write: two hooks of a session at once cannot tear each other's lines.
        """
        new = not self._file.exists()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if new:
            self._sweep()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._file, flags, 0o600)
        try:
            if os.fstat(descriptor).st_size > MOST_KEYS * _LINE:
                os.ftruncate(descriptor, 0)
            os.write(descriptor, "".join(f"{key}\n" for key in keys).encode("ascii"))
        finally:
            os.close(descriptor)

    def _sweep(self) -> None:
        """Remove the files of sessions that are long over, and of the oldest ones when there are many."""
        oldest = time.time() - KEPT_S
        aged = []
        for file in self._folder.glob("*.given"):
            with contextlib.suppress(OSError):
                aged.append((file.lstat().st_mtime, file))
        aged.sort(reverse=True)
        for position, (mtime, file) in enumerate(aged):
            if mtime < oldest or position >= MOST_FILES - 1:
                with contextlib.suppress(OSError):
                    file.unlink()
