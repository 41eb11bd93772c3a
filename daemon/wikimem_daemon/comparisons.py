"""Comparisons of everything: asked for by many, counted, and finished when the last known file was looked at."""

from collections.abc import Callable
from dataclasses import dataclass

from wikimem_daemon.tree import Tree
from wikimem_daemon.worklist import ListFolder, Marker, WorkList


@dataclass(frozen=True, slots=True)
class Compared:
    """The last comparison: monotonic time, ISO-8601 UTC, and what asked for it."""

    at: float = 0.0
    ts: str | None = None
    by: str | None = None


class Comparisons:
    """Puts comparisons on the work list. `made` counts edits found, `finished` is called before one is counted."""

    def __init__(
        self,
        work: WorkList,
        tree: Tree,
        *,
        made: Callable[[], int],
        now: Callable[[], float],
        ts: Callable[[], str],
        finished: Callable[[], None],
    ) -> None:
        self._work = work
        self._tree = tree
        self._made = made
        self._now = now
        self._ts = ts
        self._finished = finished
        self.last = Compared()
        self.count = 0
        self.without_change = 0

    def ask(self, why: str) -> None:
        """Ask for everything to be listed and looked at."""
        before = self._made()
        self._tree.begin_comparison()

        def listed(done: bool) -> None:
            self._work.expand([*(self._tree.leftovers() if done else ()), Marker(looked_at)])

        def looked_at(done: bool) -> None:
            self._tree.end_comparison()
            if done:
                self._finish(why, before)

        self._work.add(ListFolder(""))
        self._work.add(Marker(listed))

    def _finish(self, why: str, before: int) -> None:
        self._finished()
        self.last = Compared(self._now(), self._ts(), why)
        self.count += 1
        self.without_change += self._made() == before
