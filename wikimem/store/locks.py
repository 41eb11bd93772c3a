"""Locks between processes: one daemon a vault for its life, one writer for one write, one maker of vectors.

`flock` on a file in the state directory: the kernel lets go when the holder dies, so a lock never outlives a
process and a recycled process id is never taken for a holder.
"""

import contextlib
import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from wikimem.errors import Locked, StorageError

LockKind = Literal["daemon", "write", "vectors"]

WRITE_TIMEOUT_S = 10.0
_FIRST_PAUSE_S = 0.0005
_LONGEST_PAUSE_S = 0.02
_LOOK_S = 0.05  # who asks whether a lock is held holds it for that moment
# A daemon listens on the socket of the name that it was started by, where no client of another name looks.
_SERVED = (
    "use it: `wikimem status`; if that finds none, it was started under another name: stop it, then start it again"
)


def vault_key(root: Path) -> str:
    """Return what every path to the same folder has in common: its device and inode."""
    found = root.stat()
    return f"{found.st_dev:x}-{found.st_ino:x}"


class VaultLock:
    """A lock on the vault that `key` names; the file tells a person which process holds it.

    `state_root` is the folder above the vaults' state folders, so that a vault has one lock whatever it is called.
    """

    def __init__(self, state_root: Path, key: str, kind: LockKind) -> None:
        self.path = state_root / "locks" / f"{key}.{kind}"
        self.kind = kind
        self._descriptor: int | None = None
        self.was_abandoned = False  # the last holder died with the lock

    def acquire(self, timeout_s: float = 0.0) -> None:
        """Take the lock, waiting at most so long. Raises `Locked` naming the holder, `StorageError` without a file."""
        descriptor = self._open()
        deadline = time.monotonic() + max(timeout_s, _LOOK_S)
        pause = _FIRST_PAUSE_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0:
                    os.close(descriptor)
                    raise self._locked() from None
                time.sleep(min(pause, left))
                pause = min(pause * 2, _LONGEST_PAUSE_S)
            except OSError as error:
                os.close(descriptor)
                raise self._failed("lock", error) from error
        self._descriptor = descriptor
        with contextlib.suppress(OSError):  # a full disk: the lock holds without the name of its holder
            self.was_abandoned = os.fstat(descriptor).st_size > 0
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let go. The file stays: unlinking it would let two processes hold two files of one name."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None

    def is_lost(self) -> bool:
        """Say whether the file that is held was removed or replaced: another process could take the lock too."""
        if self._descriptor is None:
            return False
        try:
            return not os.path.samestat(self.path.stat(), os.fstat(self._descriptor))
        except OSError:
            return True

    def is_held(self) -> bool:
        """Say whether some process holds it."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def holder(self) -> int | None:
        """Return the process id that the file names, None when it names none."""
        try:
            text = self.path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        return int(text) if text.isdecimal() else None

    def _open(self) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._failed("open the lock", error) from error

    def _failed(self, step: str, error: OSError) -> StorageError:
        message = f"{self.path}: {step}: {error.strerror}"
        return StorageError(message, path=str(self.path), step=step, hint="make the state directory writable for you")

    def _locked(self) -> Locked:
        holder = self.holder()
        who = f"process {holder}" if holder else "another process"
        if self.kind == "daemon":
            return Locked(f"{who} already serves this vault", hint=_SERVED)
        if self.kind == "vectors":
            hint = "wait for it, or stop it and run this again; what it has paid for is kept"
            return Locked(f"{who} makes the vectors of this vault", hint=hint)
        return Locked(f"{who} is writing to this vault and did not finish in time", hint="try again in a moment")

    def __enter__(self) -> Self:
        self.acquire(WRITE_TIMEOUT_S if self.kind == "write" else 0.0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()
