"""Displaced files that somebody may still be writing: they are looked at again before their last name goes."""

# ruff: noqa: PTH119
# Names on disk need not be UTF-8, and every call here is exactly one step.

import contextlib
import errno
import os
import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Protocol

from wikimem.store.based_on import bytes_hash
from wikimem.store.kernel import Kernel

LOOK_AGAIN_S = 5.0
MOST_HELD = 64


class Shelter(Protocol):
    """Where bytes go that are in no file any more, and where files are noted that wait under a dot-name."""

    def keep(self, path: str, data: bytes) -> bool:
        """Take bytes of a file of the vault; True when they are safe."""

    def note_waiting(self, path: str, name: str) -> None:
        """Note that a file waits beside the one at `path`, so that it is found when this process ends first."""

    def note_gone(self, path: str, name: str) -> None:
        """Note that it waits no more."""


@dataclass(slots=True)
class _Held:
    """`name` is the dot-name that is left, None when only the descriptor is."""

    path: str
    descriptor: int
    name: str | None
    due: float
    known: frozenset[str] = field(default_factory=frozenset)


class Lingering:
    """The files of this process that wait for a second look."""

    def __init__(self, kernel: Kernel, shelter: Shelter) -> None:
        self._kernel = kernel
        self._shelter = shelter
        self._held: list[_Held] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, path: str, descriptor: int, name: str | None, known: Collection[str]) -> None:
        """Look at this open file in five seconds. `known` are the hashes of bytes that are safe.

        A lease on the descriptor is let go: it belongs to the open file description, so that our copy of the
        descriptor would hold it, and whoever waits in `open()`, for as long as we look.
        """
        with contextlib.suppress(OSError):
            self._kernel.release(descriptor)
        if name is not None:
            self._shelter.note_waiting(path, os.path.basename(name))
        due = self._kernel.monotonic() + LOOK_AGAIN_S
        with self._lock:
            self._held.append(_Held(path, os.dup(descriptor), name, due, frozenset(known)))
            oldest = self._held.pop(0) if len(self._held) > MOST_HELD else None
        if oldest is not None:
            self._look(oldest, last=True)

    def holds(self, name: str) -> bool:
        """Say whether the file of this name is waiting for its second look."""
        with self._lock:
            return any(one.name == name for one in self._held)

    def tidy(self, *, last: bool = False) -> None:
        """Look at those whose time has come (`last`: at all of them, because the process ends)."""
        now = self._kernel.monotonic()
        with self._lock:
            due = [one for one in self._held if last or one.due <= now]
            self._held = [one for one in self._held if one not in due]
        for one in due:
            self._look(one, last=last)

    def _look(self, one: _Held, *, last: bool) -> None:
        if not last and self._is_open_elsewhere(one.descriptor):
            one.due = self._kernel.monotonic() + LOOK_AGAIN_S
            with self._lock:
                self._held.append(one)
            return
        try:
            data = self._kernel.read(one.descriptor)
            safe = bytes_hash(data) in one.known or self._shelter.keep(one.path, data)
        except OSError:
            safe = False
        if one.name is not None and safe and not (last and one.due > self._kernel.monotonic()):
            # Before its time the name stays: the next start looks at it, when nobody can be writing any more.
            with contextlib.suppress(OSError):
                # On overlayfs a file may show another number under its name than through a descriptor. Then it stays
                # noted, and the next process decides it by its bytes.
                if os.path.samestat(self._kernel.stat(one.name), self._kernel.fstat(one.descriptor)):
                    self._kernel.unlink(one.name)
                    self._shelter.note_gone(one.path, os.path.basename(one.name))
        self._kernel.close(one.descriptor)

    def _is_open_elsewhere(self, descriptor: int) -> bool:
        try:
            self._kernel.lease(descriptor, "read")
        except BlockingIOError:
            return True
        except OSError as error:
            return error.errno == errno.EAGAIN
        self._kernel.release(descriptor)
        return False
