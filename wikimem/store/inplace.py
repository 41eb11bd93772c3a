"""A file with several names (hard links) is written in place: a rename would leave the other names the old text.

In place, a crash tears. So both texts are written beside the file first, and the next start sets it right.
"""

# ruff: noqa: PTH120
# Names on disk need not be UTF-8, and every call here is exactly one step.

import contextlib
import json
import os

from wikimem.store.exchange import flush_folder
from wikimem.store.kernel import Kernel
from wikimem.store.steps import step

_BLOCK = 512  # what a disk writes whole


def write_in_place(kernel: Kernel, path: str, descriptor: int, undo: str, data: bytes) -> None:
    """Overwrite the open file with `data`. On failure the old bytes are put back before the error goes on."""
    before = kernel.read(descriptor)
    _note_both(kernel, path, undo, before, data)
    try:
        with step(path, "write the file in place"):
            _overwrite(kernel, descriptor, data)
        with step(path, "flush the file to the disk"):
            kernel.fsync(descriptor)
    except BaseException:
        # If this fails as well, the undo file stays, and the next start uses it.
        with contextlib.suppress(OSError):
            _overwrite(kernel, descriptor, before)
            kernel.fsync(descriptor)
            kernel.unlink(undo)
        raise
    with contextlib.suppress(OSError):
        kernel.unlink(undo)


def is_torn(found: bytes, before: bytes, after: bytes) -> bool:
    """Say whether `found` is what a crash leaves of `before` being overwritten with `after`, and neither of them.

    Anything else was written by somebody since, and is not ours to set right.
    """
    if found in (before, after) or not min(len(before), len(after)) <= len(found) <= max(len(before), len(after)):
        return False
    # Before it is cut, a file that shrinks ends in the longer text; taking a failed write back tears as well.
    texts = (after + before[len(after) :], before + after[len(before) :])
    return all(
        any(found[at : at + _BLOCK] == text[at : min(at + _BLOCK, len(found))] for text in texts)
        for at in range(0, len(found), _BLOCK)
    )


def read_undo(data: bytes) -> tuple[bytes, bytes] | None:
    """Return the two texts of an undo file, None when it was not finished: then the file was not touched yet."""
    head, newline, rest = data.partition(b"\n")
    try:
        sizes = json.loads(head)
        before, after = int(sizes["before"]), int(sizes["after"])
    except (ValueError, KeyError, TypeError):
        return None
    if not newline or len(rest) != before + after:
        return None
    return rest[:before], rest[before:]


def restore_in_place(kernel: Kernel, target: str, before: bytes) -> None:
    """Put the old bytes back into a torn file, under its inode."""
    descriptor = kernel.open(target, os.O_RDWR | os.O_NOFOLLOW)
    try:
        _overwrite(kernel, descriptor, before)
        kernel.fsync(descriptor)
    finally:
        kernel.close(descriptor)


def _note_both(kernel: Kernel, path: str, undo: str, before: bytes, after: bytes) -> None:
    with step(path, "note the old and the new text"):
        descriptor = kernel.open(undo, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        try:
            with step(path, "note the old and the new text"):
                head = json.dumps({"before": len(before), "after": len(after)}).encode() + b"\n"
                kernel.write(descriptor, head + before + after)
                kernel.fsync(descriptor)
        finally:
            kernel.close(descriptor)
        flush_folder(kernel, path, os.path.dirname(undo))
    except BaseException:
        with contextlib.suppress(OSError):
            kernel.unlink(undo)
        raise


def _overwrite(kernel: Kernel, descriptor: int, data: bytes) -> None:
    kernel.write(descriptor, data)
    kernel.truncate(descriptor, len(data))
