"""One durable write of one file, beside editors that may save it at any moment.

    replace   temporary file, fsync, lease on the old file, exchange, look, unlink what was displaced
    create    temporary file, fsync, rename only if nothing has the name
    remove    lease, rename away only if nothing has that name, look, unlink
    in place  a file with several names, under a write lease (store/inplace.py)

Nothing is unlinked before its bytes are known to be ours, or to be those that the write was based on (and whose
replaced texts the caller has put into the history).
"""

# ruff: noqa: PTH112, PTH120
# Names on disk need not be UTF-8, and every call here is exactly one step.

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from wikimem.errors import StorageError, TryAgain
from wikimem.store.based_on import Stale, bytes_hash
from wikimem.store.exchange import Swap, flush_folder, put_new
from wikimem.store.inplace import write_in_place
from wikimem.store.kernel import UNSUPPORTED, Kernel, LeaseKind
from wikimem.store.leftovers import leftover_path
from wikimem.store.lingering import Lingering, Shelter
from wikimem.store.steps import shown_path, step

WriteMode = Literal["lease", "basic"]

EDITOR_TIMEOUT_S = 5.0
EMPTY_TIMEOUT_S = 1.0
_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02


class Replacer:
    """Writes and removes single files. `path` is the name in messages, `target` the real absolute path.

    Every method raises `Stale` when the file is another one by now, `StorageError` when the disk refuses a step,
    `TryAgain` when another program keeps the file open for writing; all three leave what was there.
    """

    def __init__(
        self,
        kernel: Kernel,
        shelter: Shelter,
        *,
        editor_timeout_s: float = EDITOR_TIMEOUT_S,
    ) -> None:
        self._kernel = kernel
        self._timeout_s = editor_timeout_s
        self.lingering = Lingering(kernel, shelter)
        self.mode: WriteMode = "lease"

    def settle(self, path: str, target: str) -> None:
        """Wait until no other program has the file open for writing: what is read then is a whole save.

        Without leases only one thing gives a save away that is half done: most editors empty the file first.
        """
        with contextlib.suppress(Stale), self._opened(path, target, os.O_RDONLY) as old:
            if not self._lease(path, old, "read"):
                with step(path, "wait for an editor"):
                    self._while_empty(old)

    def _while_empty(self, descriptor: int) -> None:
        deadline = self._kernel.monotonic() + EMPTY_TIMEOUT_S
        while self._kernel.fstat(descriptor).st_size == 0 and self._kernel.monotonic() < deadline:
            self._kernel.pause(_LONGEST_PAUSE_S)

    def probe(self, target: str) -> None:
        """Find out whether files like this one can be leased."""
        try:
            descriptor = self._kernel.open(target, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return
        with contextlib.suppress(BlockingIOError):
            try:
                self._kernel.lease(descriptor, "read")
            except OSError as error:
                if error.errno in UNSUPPORTED:
                    self.mode = "basic"
        self._kernel.close(descriptor)

    def write(self, path: str, target: str, data: bytes, based_on: str | None) -> os.stat_result:
        """Put `data` in the place of the bytes with the hash `based_on` (None: where no file is)."""
        with step(path, "write the file"):
            if based_on is None:
                return self._create(path, target, data)
            with self._opened(path, target, os.O_RDONLY) as old:
                with step(path, "open the file for writing"):
                    found = self._kernel.fstat(old)
                    _check_writable(path, target, found)
                if found.st_nlink == 1:
                    return self._replace(path, target, old, data, based_on)
            # Not beside the descriptor above: a write lease is refused while anybody has the file open, we too.
            return self._in_place(path, target, data, based_on)

    def remove(self, path: str, target: str, based_on: str) -> None:
        """Remove the file that has the hash `based_on`."""
        with step(path, "remove the file"), self._opened(path, target, os.O_RDONLY) as old:
            with step(path, "open the file for writing"):
                _check_writable(path, target, self._kernel.fstat(old))
            leased = self._lease(path, old, "read")
            self._check(path, target, old, based_on)
            swap = Swap(self._kernel, self.lingering, path, target, old=old, based_on=based_on, leased=leased)
            swap.take_away(leftover_path(target, "old"))

    def _replace(self, path: str, target: str, old: int, data: bytes, based_on: str) -> os.stat_result:
        temporary = leftover_path(target, "new")
        with self._made(path, target, temporary, data, old) as new:
            leased = self._lease(path, old, "read") and self._lease(path, new, "read")
            self._check(path, target, old, based_on)
            swap = Swap(self._kernel, self.lingering, path, target, old=old, based_on=based_on, leased=leased)
            found = self._kernel.fstat(new)
            self.mode = "lease" if swap.put(temporary, new, data) else "basic"
            return self._stat_after(new, found)

    def _create(self, path: str, target: str, data: bytes) -> os.stat_result:
        folder = os.path.dirname(target)
        self._make_folders(path, folder)
        temporary = leftover_path(target, "new")
        with self._made(path, target, temporary, data, None) as new:
            found = self._kernel.fstat(new)
            put_new(self._kernel, path, temporary, target, new)
            return self._stat_after(new, found)

    def _in_place(self, path: str, target: str, data: bytes, based_on: str) -> os.stat_result:
        with self._opened(path, target, os.O_RDWR) as both:
            leased = self._lease(path, both, "write")
            if not leased:
                self.mode = "basic"
            self._check(path, target, both, based_on)
            undo = leftover_path(target, "undo")
            found = self._kernel.fstat(both)
            write_in_place(self._kernel, path, both, undo, data)
            if not leased and self._differs(both, data):
                raise Stale(path)
            return self._stat_after(both, found)

    def _differs(self, descriptor: int, data: bytes) -> bool:
        """Say whether somebody wrote to the file at the same time, as far as can be seen."""
        try:
            return self._kernel.read(descriptor) != data
        except OSError:
            return False

    def _stat_after(self, descriptor: int, before: os.stat_result) -> os.stat_result:
        """Describe what was written: it stands, so that a failure now must not be told as one of the write."""
        try:
            return self._kernel.fstat(descriptor)
        except OSError:
            return before

    def _check(self, path: str, target: str, descriptor: int, based_on: str) -> None:
        """Raise `Stale` unless the open file is the one at the target and holds the bytes of `based_on`."""
        with step(path, "compare with what is there"):
            try:
                at_target = self._kernel.stat(target)
            except FileNotFoundError:
                raise Stale(path) from None
            same_file = os.path.samestat(at_target, self._kernel.fstat(descriptor))
            if not same_file or bytes_hash(self._kernel.read(descriptor)) != based_on:
                raise Stale(path)

    @contextmanager
    def _opened(self, path: str, target: str, flags: int) -> Iterator[int]:
        try:
            with step(path, "open the file"):
                try:
                    descriptor = self._kernel.open(target, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
                except (FileNotFoundError, BlockingIOError):
                    raise Stale(path) from None
        except StorageError as error:
            raise _not_a_note(error, target) from error.__cause__
        try:
            yield descriptor
        finally:
            self._kernel.close(descriptor)

    @contextmanager
    def _made(self, path: str, target: str, temporary: str, data: bytes, like: int | None) -> Iterator[int]:
        """Write a temporary file as the target's file is, and open it for reading; it is gone after a failure."""
        # Under a name of its own until it is whole: a crash leaves a part that is known to be nobody's text.
        filling = leftover_path(target, "tmp")
        with step(path, "make the new file"):
            descriptor = self._kernel.open(
                filling, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if like is None else 0o600
            )
        try:
            self._fill(path, descriptor, data, like)
            with step(path, "open the new file"):
                new = self._kernel.open(filling, os.O_RDONLY)
            with step(path, "name the new file"):
                self._kernel.rename(filling, temporary)
        except BaseException:
            with contextlib.suppress(OSError):
                self._kernel.unlink(filling)
            raise
        try:
            yield new
        except BaseException:
            # Only while the name leads to our bytes: after an exchange it may lead to somebody's text.
            with contextlib.suppress(OSError):
                named = os.path.samestat(self._kernel.stat(temporary), self._kernel.fstat(new))
                if named and not self.lingering.holds(temporary) and self._kernel.read(new) == data:
                    self._kernel.unlink(temporary)
            raise
        finally:
            self._kernel.close(new)

    def _fill(self, path: str, descriptor: int, data: bytes, like: int | None) -> None:
        try:
            with step(path, "write the new file"):
                self._kernel.write(descriptor, data)
            if like is not None:
                with step(path, "copy owner, attributes and mode"):
                    found = self._kernel.fstat(like)
                    self._kernel.copy_owner(descriptor, found)
                    self._kernel.copy_attributes(like, descriptor)
                    self._kernel.copy_mode(descriptor, found)
            with step(path, "flush the new file to the disk"):
                self._kernel.fsync(descriptor)
        finally:
            self._kernel.close(descriptor)

    def _make_folders(self, path: str, folder: str) -> None:
        missing = []
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for one in reversed(missing):
            with step(path, "make the folder"), contextlib.suppress(FileExistsError):
                self._kernel.mkdir(one)
            flush_folder(self._kernel, path, os.path.dirname(one))

    def _lease(self, path: str, descriptor: int, kind: LeaseKind) -> bool:
        """Take a lease, waiting for an editor that is saving; False where there are none."""
        deadline = self._kernel.monotonic() + self._timeout_s
        pause = _FIRST_PAUSE_S
        while True:
            try:
                self._kernel.lease(descriptor, kind)
            except BlockingIOError:
                if self._kernel.monotonic() >= deadline:
                    raise _held_open(path) from None
                self._kernel.pause(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_S)
            except OSError as error:
                if error.errno in UNSUPPORTED:
                    return False
                with step(path, "lease the file"):
                    raise
            else:
                return True


def _check_writable(path: str, target: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    # A rename needs no right on the file itself: without this, a note that its owner made read-only is replaced.
    if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        if not os.path.lexists(target):  # an editor that saves by unlink and create stands between the two
            raise Stale(path)
        raise PermissionError(errno.EACCES, "the file is read-only")


def _held_open(path: str) -> TryAgain:
    return TryAgain(
        f"another program keeps {shown_path(path)} open for writing, so nothing was written",
        hint="let it finish or close the file there, then try again",
    )


def _not_a_note(error: StorageError, target: str) -> StorageError:
    if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.ELOOP:
        message = f"{error.path}: could not {error.step}: {target} is a symbolic link by now, or one that leads nowhere"
        return StorageError(message, path=error.path, step=error.step, hint="nothing was changed; look at the link")
    return error
