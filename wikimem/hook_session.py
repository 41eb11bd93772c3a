"""What a conversation has already been given: one small file a session, in the user's state, with no text in it.

A line is the first 16 hex digits of a hash over address and content. Deleting the folder costs a repetition.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_LINE: Final = 17
MOST_KEYS: Final = 2_000
MOST_FILES: Final = 200
KEPT_S: Final = 14 * 24 * 3600.0


class GivenKeys:
    """The keys of one session, as a context: one hook of the session holds them at a time.

    A tool whose own settings and whose project's both name the hook calls two at once; the second sees what the first
    gave. `folder` is made with mode 0700. Entering raises OSError.
    """

    def __init__(self, folder: Path, session: str) -> None:
        self._folder = folder
        # A session's id is the tool's own text: hashed, it can be no path.
        self._file = folder / f"{sha256(session.encode('utf-8', 'replace')).hexdigest()[:32]}.given"
        self._descriptor = -1

    def __enter__(self) -> Self:
        new = not self._file.exists()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if new:
            self._sweep()
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(self._file, flags, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._descriptor)

    def read(self) -> frozenset[str]:
        """Return the keys."""
        data = os.pread(self._descriptor, 2 * MOST_KEYS * _LINE, 0)
        return frozenset(data.decode("ascii", "replace").split())

    def forget(self) -> None:
        """Forget what was given: the model's context was emptied."""
        os.ftruncate(self._descriptor, 0)

    def add(self, keys: Iterable[str]) -> None:
        """Remember that these were given. Raises OSError."""
        if os.fstat(self._descriptor).st_size > MOST_KEYS * _LINE:
            os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, "".join(f"{key}\n" for key in keys).encode("ascii"))

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
