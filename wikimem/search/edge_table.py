"""The edges of the graph by what they lead to and by what they looked up, and which items' edges have changed."""

from collections import Counter
from collections.abc import Iterable, Iterator

from wikimem.pages.relations import RELATIONS_FILE
from wikimem.search.catalogue import Key
from wikimem.search.edges import Edge
from wikimem.search.multimap import Multimap
from wikimem.search.resolve import NOWHERE, Resolution
from wikimem.text.links import LinkSyntax


class Record:
    """One link in its place, what it looked up when it was resolved, and what it resolved to.

    `path` is the page that it stands in (None: a manual relation), `order` its place in the file. `source` is as it
    was written, `start` the item (or category) that the edge begins at. `is_edge` is false before it is resolved, and
    for a link to an attachment. The `Edge` is made when somebody asks: 100,000 of them would only be kept to be thrown
    away.
    """

    __slots__ = (
        "is_edge",
        "keys",
        "line",
        "order",
        "path",
        "resolution",
        "source",
        "start",
        "syntax",
        "target",
        "weight",
    )

    def __init__(self, source: str, target: str, syntax: LinkSyntax, weight: float, path: str | None) -> None:
        self.source = source
        self.target = target
        self.syntax = syntax
        self.weight = weight
        self.path = path
        self.line = 0
        self.order = 0
        self.start = source
        self.is_edge = False
        self.resolution: Resolution = NOWHERE
        self.keys: tuple[Key, ...] = ()

    @property
    def goal(self) -> str | None:
        """What it leads to: an item's address, else a file's category key; None while it is pending."""
        found = self.resolution
        return (found.address or found.file) if found.state == "resolved" else None

    def edge(self) -> Edge:
        """Return the edge that it is."""
        found, goal = self.resolution, self.goal
        return Edge(
            self.start,
            self.target if goal is None else goal,
            found.state,
            found.candidates,
            self.weight,
            "manual" if self.path is None else "parsed",
            RELATIONS_FILE if self.path is None else self.path,
            self.line,
            self.target,
            goal is not None and found.address is None,
        )


class EdgeTable:
    """All records that have been resolved, found by target and by key."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.changed_sources: set[str] = set()
        self._by_target: Multimap[Record] = Multimap()
        self._by_key: Multimap[Record] = Multimap()

    def settle(self, record: Record, resolution: Resolution, keys: tuple[Key, ...], *, is_edge: bool = True) -> None:
        """Give a record what it resolves to now, and the keys that decide it."""
        if keys != record.keys:
            self._forget_keys(record)
            record.keys = keys
            for key in keys:
                self._by_key.add(key, record)
        if resolution != record.resolution or is_edge != record.is_edge:
            self._forget_edge(record)
            record.resolution, record.is_edge = resolution, is_edge
            if is_edge:
                self.counts[resolution.state] += 1
                goal = record.goal
                if goal is not None:
                    self.changed_sources.add(record.start)
                    self._by_target.add(goal, record)

    def move(self, record: Record, start: str) -> None:
        """Let a record begin at another item."""
        if start != record.start:
            self.changed_sources.update((record.start, start))
            record.start = start

    def remove(self, record: Record) -> None:
        """Forget a record."""
        self._forget_keys(record)
        self._forget_edge(record)

    def leading_to(self, goal: str) -> list[Edge]:
        """Return the edges that resolve to an address or a category key, by file and place."""
        records = sorted(self._by_target.get(goal), key=lambda record: (record.path or "", record.order))
        return [record.edge() for record in records]

    def starts_of(self, goal: str) -> Iterator[str]:
        """Yield where every edge that resolves to `goal` begins."""
        for record in self._by_target.get(goal):
            yield record.start

    def depending_on(self, keys: Iterable[Key]) -> list[Record]:
        """Return the records that looked up any of the keys."""
        found: set[Record] = set()
        for key in keys:
            found.update(self._by_key.get(key))
        return list(found)

    def _forget_keys(self, record: Record) -> None:
        for key in record.keys:
            self._by_key.discard(key, record)
        record.keys = ()

    def _forget_edge(self, record: Record) -> None:
        if record.is_edge:
            record.is_edge = False
            self.counts[record.resolution.state] -= 1
            goal = record.goal
            if goal is not None:
                self.changed_sources.add(record.start)
                self._by_target.discard(goal, record)
