"""Slices: the work list is worked off a few milliseconds at a time, so that queries are answered meanwhile."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from wikimem_daemon.freshness import Degraded
from wikimem_daemon.longnotes import BeingRead
from wikimem_daemon.mirror import Mirror
from wikimem_daemon.tree import Tree
from wikimem_daemon.watcher import CannotWatch
from wikimem_daemon.worklist import FinishFolder, LastGood, ListFolder, LookAt, Marker, TakeEntries, Work, WorkList

_log = logging.getLogger("wikimem.reconcile")

SLICE_S = 0.002  # a request takes several turns of the loop, and each waits for one slice
SETTLE_EVERY = 100


@dataclass(frozen=True, slots=True)
class Around:
    """What the slices ask of the reconciler.

    `settle` works out what the edits so far mean; it waits while `is_first_diff`, the comparison with an earlier
    process, because moves are found when all is known. `between` is called between two slices, `idle` at the end.
    """

    settle: Callable[[], None]
    is_first_diff: Callable[[], bool]
    is_lost: Callable[[], bool]
    cannot_watch: Callable[[CannotWatch], None]
    between: Callable[[], None]
    idle: Callable[[], None]


class Slices:
    """Does the work. `now` is monotonic seconds."""

    def __init__(self, work: WorkList, mirror: Mirror, tree: Tree, around: Around, now: Callable[[], float]) -> None:
        self._work = work
        self._mirror = mirror
        self._tree = tree
        self._around = around
        self._now = now
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Whether slices are being done."""
        return self._task is not None and not self._task.done()

    def run(self, budget_s: float = SLICE_S) -> bool:
        """Do work for so long; say whether all is done."""
        if self._around.is_lost():
            self._work.give_up()
            return True
        if self._mirror.long_notes.reading is None:
            self._work.unpark()
        until = self._now() + budget_s
        while (work := self._work.take()) is not None:
            self._do_safely(work)
            if self._mirror.effects_waiting >= SETTLE_EVERY and not self._around.is_first_diff():
                self._around.settle()
            if self._now() >= until:
                break
        if len(self._work):
            if work is None and not self._around.is_first_diff():
                self._around.settle()  # only a long note is left, which may take seconds
            return False
        self._around.settle()
        self._around.idle()
        return True

    def go_on(self) -> None:
        """See to it that all of the work will be done."""
        if not self.running:
            self._task = asyncio.create_task(self._run_all())

    def reach(self) -> "asyncio.Future[bool]":
        """Go on, and return a future: what is on the list now is done (true) or was given up (false)."""
        marker = self._work.mark(asyncio.get_running_loop())
        self.go_on()
        return marker

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run_all(self) -> None:
        while not self.run():
            await (asyncio.sleep(0) if self._work.ready else self._mirror.long_notes.wait())
            self._around.between()

    def _do_safely(self, work: Work) -> None:
        try:
            self._do(work)
        except BeingRead:
            self._work.park(work)
        except CannotWatch as error:
            self._around.cannot_watch(error)
        except Exception:  # noqa: BLE001 - the outermost loop of the work
            # One file that breaks our code costs itself only, and never counts as compared.
            _log.exception("%r could not be taken in", work)
            self._withhold(work)

    def _do(self, work: Work) -> None:
        if isinstance(work, LookAt):
            self._mirror.look_at(work.path, scanned=work.scanned, patient=True)
        elif isinstance(work, Marker):
            if not self._around.is_first_diff():
                self._around.settle()
            work.reached(True)
        else:
            self._tree.do(work)

    def _withhold(self, work: Work) -> None:
        hint = "the log has the error; please report it"
        if isinstance(work, (LookAt, LastGood)):
            self._mirror.held[work.path] = Degraded("internal-error", f"{work.path} could not be taken in", hint)
        elif isinstance(work, (ListFolder, TakeEntries, FinishFolder)):
            detail = f"the folder {work.folder or '.'} could not be compared"
            self._tree.held[work.folder] = Degraded("internal-error", detail, hint)
