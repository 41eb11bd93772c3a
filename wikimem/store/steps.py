"""Naming the step of a write that failed, and what a person can do about it."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from wikimem.errors import StorageError

_HINTS = {
    errno.ENOSPC: "the disk is full: free some space, then write again",
    errno.EDQUOT: "your quota is used up: free some space, then write again",
    errno.EACCES: "you may not write there: check the rights of the file and of its folder",
    errno.EPERM: "you may not write there: check the owner and the attributes of the file",
    errno.EROFS: "the file system is mounted read-only",
    errno.EIO: "the disk reports a fault: look at the system's log before anything else",
    errno.ENAMETOOLONG: "the name is too long for this file system: choose a shorter one",
    errno.ELOOP: "put a regular file in its place, or remove it",
    errno.EXDEV: "the path leads out of the vault through a symbolic link: edit that file where it lies",
}


def shown_path(path: str) -> str:
    """Return a path for messages and logs: a name on disk may hold anything, a line end too."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


@contextmanager
def step(path: str, name: str) -> Iterator[None]:
    """Turn an `OSError` of the block into a `StorageError` that names the vault's file and the step."""
    try:
        yield
    except OSError as error:
        raise failed(path, name, error) from error


def failed(path: str, name: str, error: OSError) -> StorageError:
    """Return the `StorageError` for a failed step."""
    shown = shown_path(path)
    reason = error.strerror or str(error)
    hint = _HINTS.get(error.errno or 0, "nothing was changed; try again")
    return StorageError(f"{shown}: could not {name}: {reason}", path=shown, step=name, hint=hint)
