"""The system calls that a durable write is made of, one method each: the seam where tests fail them or look between.

Linux gives two that make the difference (renameat2(2), fcntl(2) leases); where they do not exist the method raises
`OSError` with an errno of `UNSUPPORTED`, and the caller takes the basic way.
"""

# ruff: noqa: PTH102, PTH104, PTH108
# Names on disk need not be UTF-8, and every call here is exactly one step.

import ctypes
import errno
import fcntl
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Literal

UNSUPPORTED = frozenset(
    {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOLCK, errno.ENOTTY, errno.EPERM, errno.EACCES}
)

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
_F_SETSIG = 10
_F_SETLEASE = 1024
_F_GETLEASE = 1025

LeaseKind = Literal["read", "write"]


class Kernel:
    """The real thing. Paths are absolute; every method raises `OSError` as the system does."""

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        """Open a file and return its descriptor."""
        return os.open(path, flags | os.O_CLOEXEC, mode)

    def close(self, descriptor: int) -> None:
        """Close a descriptor; a lease on it ends."""
        os.close(descriptor)

    def read(self, descriptor: int) -> bytes:
        """Return everything in the file, from its start."""
        parts: list[bytes] = []
        offset = 0
        size = max(os.fstat(descriptor).st_size + 1, 65_536)
        while part := os.pread(descriptor, size, offset):
            parts.append(part)
            offset += len(part)
        return b"".join(parts)

    def write(self, descriptor: int, data: bytes) -> None:
        """Write all of the data from the start of the file on."""
        view, offset = memoryview(data), 0
        while offset < len(data):
            offset += os.pwrite(descriptor, view[offset:], offset)

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut the file."""
        os.ftruncate(descriptor, size)

    def fsync(self, descriptor: int) -> None:
        """Wait until the file, or the folder's entries, are on the disk."""
        os.fsync(descriptor)

    def fstat(self, descriptor: int) -> os.stat_result:
        """Describe an open file."""
        return os.fstat(descriptor)

    def stat(self, path: str) -> os.stat_result:
        """Describe what a name leads to now, a symbolic link itself."""
        return os.lstat(path)

    def copy_owner(self, descriptor: int, like: os.stat_result) -> None:
        """Give a file its predecessor's owner and group, as far as the kernel lets us."""
        mine = os.fstat(descriptor)
        for owner, group in ((like.st_uid, -1), (-1, like.st_gid)):
            if owner not in (-1, mine.st_uid) or group not in (-1, mine.st_gid):
                try:
                    os.fchown(descriptor, owner, group)
                except OSError as error:
                    if error.errno not in UNSUPPORTED:
                        raise

    def copy_mode(self, descriptor: int, like: os.stat_result) -> None:
        """Give a file its predecessor's permission bits."""
        os.fchmod(descriptor, like.st_mode & 0o7777)

    def copy_attributes(self, source: int, target: int) -> None:
        """Copy extended attributes, access lists with them. Those that only the system may set are left."""
        if sys.platform != "linux":
            return
        try:
            names = os.listxattr(source)
        except OSError as error:
            if error.errno in UNSUPPORTED:
                return
            raise
        for name in names:
            try:
                os.setxattr(target, name, os.getxattr(source, name))
            except OSError as error:
                if error.errno not in UNSUPPORTED | {errno.ENODATA}:
                    raise

    def mkdir(self, path: str) -> None:
        """Make one folder."""
        os.mkdir(path)

    def unlink(self, path: str) -> None:
        """Remove one name."""
        os.unlink(path)

    def link(self, source: str, target: str) -> None:
        """Give a file a second name; raises `FileExistsError` when that is taken."""
        os.link(source, target, follow_symlinks=False)

    def rename(self, source: str, target: str) -> None:
        """Rename, over whatever has the name."""
        os.rename(source, target)

    def rename_new(self, source: str, target: str) -> None:
        """Rename only if nothing has the name (`RENAME_NOREPLACE`); raises `FileExistsError`."""
        _renameat2(source, target, _RENAME_NOREPLACE)

    def exchange(self, one: str, other: str) -> None:
        """Let two names swap their files, in one step that everybody sees whole (`RENAME_EXCHANGE`)."""
        _renameat2(one, other, _RENAME_EXCHANGE)

    def lease(self, descriptor: int, kind: LeaseKind) -> None:
        """Take a lease: whoever opens the file for writing (`write`: at all) waits in `open()` until we let go.

        Raises `BlockingIOError` while somebody has the file open so. A lease belongs to the open file description.
        """
        if sys.platform != "linux":
            raise OSError(errno.ENOSYS, "no leases here")
        # The kernel tells the holder of a lease that somebody waits, by SIGIO, whose default ends the process, in
        # whatever thread a library user runs us. SIGURG is ignored by default in every process and every thread, so
        # neither a handler nor a changed disposition is needed.
        fcntl.fcntl(descriptor, _F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, _F_SETLEASE, fcntl.F_RDLCK if kind == "read" else fcntl.F_WRLCK)

    def lease_holds(self, descriptor: int) -> bool:
        """Say whether nobody has asked to write to the file since the read lease was taken."""
        return fcntl.fcntl(descriptor, _F_GETLEASE) == fcntl.F_RDLCK

    def release(self, descriptor: int) -> None:
        """End the lease; whoever waits in `open()` goes on."""
        fcntl.fcntl(descriptor, _F_SETLEASE, fcntl.F_UNLCK)

    def pause(self, seconds: float) -> None:
        """Wait a moment for an editor that is saving."""
        time.sleep(seconds)

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()


def _load_renameat2() -> "Callable[..., int] | None":
    if sys.platform != "linux":
        return None
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):  # a C library before glibc 2.28
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    call.restype = ctypes.c_int
    return call


_RENAMEAT2 = _load_renameat2()


def _renameat2(source: str, target: str, flags: int) -> None:
    if _RENAMEAT2 is None:
        raise OSError(errno.ENOSYS, "renameat2 does not exist here", source, None, target)
    if _RENAMEAT2(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), source, None, target)
