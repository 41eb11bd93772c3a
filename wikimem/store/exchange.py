"""The critical moment of a write: two names swap their files, and a look decides whether that stands.

Facts (Linux): an editor that opens the leased file for writing waits inside `open()`, and the lease shows it; an
editor that saved by rename has put another file under the name, and the displaced file shows it. In both cases the
swap is taken back and the write is redone on the editor's bytes.
"""

# ruff: noqa: PTH120
# Names on disk need not be UTF-8, and every call here is exactly one step.

import contextlib
import errno
import os

from wikimem.store.based_on import Stale, bytes_hash
from wikimem.store.kernel import UNSUPPORTED, Kernel
from wikimem.store.leftovers import leftover_path
from wikimem.store.lingering import Lingering
from wikimem.store.steps import failed, step


class Swap:
    """One attempt on one target. `old` is the open file that the write is based on; `leased`: leases are held."""

    def __init__(
        self, kernel: Kernel, lingering: Lingering, path: str, target: str, *, old: int, based_on: str, leased: bool
    ) -> None:
        self._kernel = kernel
        self._lingering = lingering
        self._path = path
        self._target = target
        self._old = old
        self._based_on = based_on
        self._leased = leased

    def put(self, temporary: str, new: int, data: bytes) -> bool:
        """Put the file at `temporary`, open as `new`, in the target's place; False when that was the basic way."""
        self._check_lease()
        with step(self._path, "exchange the files"):
            try:
                self._kernel.exchange(temporary, self._target)
            except FileNotFoundError:
                raise Stale(self._path) from None
            except OSError as error:
                if error.errno not in UNSUPPORTED:
                    raise
                self._put_by_steps(temporary, new)
                return False
        try:
            flush_folder(self._kernel, self._path, os.path.dirname(self._target))
            self._check_displaced(temporary)
        except BaseException:
            self._exchange_back(temporary, new, data)
            raise
        self._discard(temporary)
        return self._leased

    def take_away(self, away: str) -> None:
        """Remove the target: rename it to the fresh name `away`, look, unlink."""
        self._check_lease()
        with step(self._path, "take the file away"):
            try:
                self._kernel.rename(self._target, away)
            except FileNotFoundError:
                raise Stale(self._path) from None
        try:
            flush_folder(self._kernel, self._path, os.path.dirname(self._target))
            self._check_displaced(away)
        except BaseException:
            self._put_back(away)
            raise
        self._discard(away)

    def _check_lease(self) -> None:
        if self._leased and not self._holds(self._old):
            raise Stale(self._path)

    def _holds(self, descriptor: int) -> bool:
        """Say whether nobody asked for the file; an answer that cannot be had counts as no."""
        try:
            return self._kernel.lease_holds(descriptor)
        except OSError:
            return False

    def _check_displaced(self, displaced: str) -> None:
        """Raise `Stale` unless what was displaced is the file that we read, and nobody writes to it."""
        with step(self._path, "look at what was displaced"):
            if not os.path.samestat(self._kernel.stat(displaced), self._kernel.fstat(self._old)):
                raise Stale(self._path)
            # With a lease the bytes cannot have changed. It is asked last, after the flush: an editor that was
            # between finding the file and asking for it has had milliseconds to arrive.
            if not self._leased and bytes_hash(self._kernel.read(self._old)) != self._based_on:
                raise Stale(self._path)
        self._check_lease()

    def _exchange_back(self, temporary: str, new: int, data: bytes) -> None:
        try:
            self._kernel.exchange(temporary, self._target)
        except FileNotFoundError:
            # An editor that saves by unlink and create stands between the two: what we displaced goes back, unless
            # the new file is there already.
            self._put_back(temporary)
            return
        except OSError as error:
            self._hold(temporary)
            raise failed(self._path, "put the old file back", error) from error
        if not os.path.samestat(self._kernel.stat(temporary), self._kernel.fstat(new)):
            # The target was no longer our file but an editor's next save, by rename. It is the latest text.
            with contextlib.suppress(OSError):
                self._kernel.exchange(temporary, self._target)
            self._hold(temporary)
        else:
            # Somebody may have found our file under the target's name, and be about to write to it.
            self._lingering.hold(self._path, new, temporary, {bytes_hash(data)})

    def _put_back(self, displaced: str) -> None:
        """Give a displaced file its name again; if an editor made a new file meanwhile, that one stays."""
        try:
            rename_new(self._kernel, displaced, self._target)
        except FileExistsError:
            self._hold(displaced)
        except OSError as error:
            # Its bytes lie safe under the dot-name, and the next start puts them back.
            self._hold(displaced)
            raise failed(self._path, "put the old file back", error) from error

    def _put_by_steps(self, temporary: str, new: int) -> None:
        """Replace where names cannot be exchanged: take the old file away, look at it, put the new one there.

        For a moment there is no file. The other way, a rename over the old one, would not tell what it replaced: an
        editor's save that came between the look and the rename would be gone.
        """
        away = leftover_path(self._target, "old")
        try:
            self._kernel.rename(self._target, away)
        except FileNotFoundError:
            raise Stale(self._path) from None
        try:
            self._check_displaced(away)
            put_new(self._kernel, self._path, temporary, self._target, new)
        except BaseException:
            self._put_back(away)
            raise
        self._lingering.hold(self._path, self._old, away, {self._based_on})

    def _discard(self, displaced: str) -> None:
        if not self._leased:
            self._lingering.hold(self._path, self._old, displaced, {self._based_on})
            return
        name: str | None = None
        try:
            self._kernel.unlink(displaced)
        except OSError:
            name = displaced
        # An editor that had found the file before the exchange, and was then held up longer than all of the above,
        # still writes to it. It has no name any more, but we have its descriptor, and look again.
        self._lingering.hold(self._path, self._old, name, {self._based_on})

    def _hold(self, name: str) -> None:
        """Keep an eye on a file that we cannot judge now."""
        with contextlib.suppress(OSError):
            descriptor = self._kernel.open(name, os.O_RDONLY | os.O_NONBLOCK)
            try:
                self._lingering.hold(self._path, descriptor, name, {self._based_on})
            finally:
                self._kernel.close(descriptor)


def put_new(kernel: Kernel, path: str, temporary: str, target: str, new: int) -> None:
    """Give the file at `temporary`, open as `new`, the target's name. Raises `Stale` when the name is taken."""
    with step(path, "put the new file in place"):
        try:
            rename_new(kernel, temporary, target)
        except FileExistsError:
            raise Stale(path) from None
    try:
        flush_folder(kernel, path, os.path.dirname(target))
    except BaseException:
        with contextlib.suppress(OSError):
            if os.path.samestat(kernel.stat(target), kernel.fstat(new)):
                rename_new(kernel, target, temporary)
        raise


def flush_folder(kernel: Kernel, path: str, folder: str) -> None:
    """See a folder's entries on the disk."""
    with step(path, "flush the folder to the disk"):
        descriptor = kernel.open(folder or "/", os.O_RDONLY | os.O_DIRECTORY)
        try:
            kernel.fsync(descriptor)
        except OSError as error:
            if error.errno != errno.EINVAL:  # some network file systems cannot sync a folder
                raise
        finally:
            kernel.close(descriptor)


def rename_new(kernel: Kernel, source: str, target: str) -> None:
    """Rename without ever replacing anything, by the best means there are."""
    try:
        kernel.rename_new(source, target)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        try:
            kernel.link(source, target)
        except FileExistsError:
            raise
        except OSError as second:
            if second.errno not in UNSUPPORTED | {errno.EMLINK}:
                raise
            if os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
            kernel.rename(source, target)
        else:
            kernel.unlink(source)
