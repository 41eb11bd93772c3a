"""The work list: what is still to be looked at, in an order that lets a request know when its part is done.

Work goes to the end. What a folder's listing brings goes to the front, so that a marker is reached only after
everything that was asked for before it, however much that turned out to be, and never waits for what came later.
A look that has to wait is parked, and with it the markers that come after it; other work goes on.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from wikimem_daemon.disk import Entry


@dataclass(frozen=True, slots=True)
class LookAt:
    """Look at one file. `scanned`: found by a listing, so an equal settled stamp is enough."""

    path: str
    scanned: bool = False


@dataclass(frozen=True, slots=True)
class ListFolder:
    """List a folder and everything below it."""

    folder: str


@dataclass(frozen=True, slots=True)
class TakeEntries:
    """Go on with a part of a listing: a folder of 20,000 notes must not stop the loop."""

    folder: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class FinishFolder:
    """Look for what was known in a folder and is not in its listing."""

    folder: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class LastGood:
    """Serve the text that an earlier process read: the folder of this file cannot be read."""

    path: str


@dataclass(frozen=True, slots=True)
class Marker:
    """Everything that was asked for before this is done; `reached(False)`: it was given up instead."""

    reached: Callable[[bool], None]


Work = LookAt | ListFolder | TakeEntries | FinishFolder | LastGood | Marker


class WorkList:
    """A queue of work without repetitions."""

    def __init__(self) -> None:
        self._queue: deque[Work] = deque()
        self._queued: set[Work] = set()
        self._parked: dict[Work, None] = {}
        self.taken = 0

    def __len__(self) -> int:
        return len(self._queue) + len(self._parked)

    @property
    def ready(self) -> bool:
        """Whether there is work that need not wait."""
        return bool(self._queue)

    def add(self, work: Work) -> None:
        """Ask for work, unless the same waits already: it will see whatever is true by then."""
        if isinstance(work, (LookAt, ListFolder)):
            if work in self._queued:
                return
            self._queued.add(work)
        self._queue.append(work)

    def expand(self, works: Iterable[Work]) -> None:
        """Put what a listing brought before everything else, in order."""
        self._queue.extendleft(reversed(list(works)))

    def take(self) -> Work | None:
        """Return the next work, None when there is none that can be done now."""
        while self._queue:
            work = self._queue.popleft()
            self._queued.discard(work)
            if self._parked and isinstance(work, Marker):
                self.park(work)
                continue
            self.taken += 1
            return work
        return None

    def park(self, work: Work) -> None:
        """Put work aside that has to wait; what was asked for before a marker is done before it, so that waits too."""
        self._parked[work] = None

    def unpark(self) -> None:
        """Put all that was put aside before everything else, in order."""
        parked, self._parked = self._parked, {}
        self.expand(parked)

    def mark(self, loop: asyncio.AbstractEventLoop) -> "asyncio.Future[bool]":
        """Return a future that is done when all that waits now is done (true) or was given up (false)."""
        future: asyncio.Future[bool] = loop.create_future()
        self._queue.append(Marker(lambda done: None if future.done() else future.set_result(done)))
        return future

    def give_up(self) -> None:
        """Drop all work: the place it was about is gone."""
        self.unpark()
        works, self._queue = self._queue, deque()
        self._queued.clear()
        for work in works:
            if isinstance(work, Marker):
                work.reached(False)
