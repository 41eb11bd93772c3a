"""The edges of the graph by what they lead to and by what they looked up, and which items' edges have changed."""

from collections import Counter
from collections.abc import Iterable, Iterator

from wikimem.search.catalogue import Key
from wikimem.search.edges import Edge, Origin
from wikimem.text.links import LinkSyntax


class Record:
    """One link in its place, what it looked up when it was resolved, and the edge that it is now.

    `path` is the page that it stands in (None: a manual relation), `order` its place in the file. `edge` is None for
    a link to an attachment: that is no edge.
    """

    __slots__ = ("edge", "keys", "line", "order", "origin", "path", "source", "syntax", "target", "weight")

    def __init__(self, source: str, target: str, syntax: LinkSyntax, weight: float, path: str | None) -> None:
        self.source = source
        self.target = target
        self.syntax = syntax
        self.weight = weight
        self.path = path
        self.origin: Origin = "manual" if path is None else "parsed"
        self.line = 0
        self.order = 0
        self.keys: tuple[Key, ...] = ()
        self.edge: Edge | None = None


class EdgeTable:
    """All records that have an edge, found by target and by key."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.changed_sources: set[str] = set()
        self._by_target: dict[str, set[Record]] = {}
        self._by_key: dict[Key, set[Record]] = {}

    def settle(self, record: Record, edge: Edge | None, keys: tuple[Key, ...]) -> None:
        """Give a record the edge that it is now and the keys that decide it."""
        if keys != record.keys:
            self._forget_keys(record)
            record.keys = keys
            for key in keys:
                self._by_key.setdefault(key, set()).add(record)
        if edge != record.edge:
            self._forget_edge(record)
            record.edge = edge
            if edge is not None:
                self.counts[edge.state] += 1
                self.changed_sources.add(edge.source)
                if edge.state == "resolved":
                    self._by_target.setdefault(edge.target, set()).add(record)

    def remove(self, record: Record) -> None:
        """Forget a record."""
        self._forget_keys(record)
        self._forget_edge(record)

    def leading_to(self, target: str) -> list[Edge]:
        """Return the edges that resolve to an address or a category key, by file and place."""
        records = sorted(self._by_target.get(target, ()), key=lambda r: (r.path or "", r.order))
        return [record.edge for record in records if record.edge is not None]

    def sources_of(self, target: str) -> Iterator[str]:
        """Yield the source of every edge that resolves to `target`."""
        for record in self._by_target.get(target, ()):
            if record.edge is not None:
                yield record.edge.source

    def depending_on(self, keys: Iterable[Key]) -> list[Record]:
        """Return the records that looked up any of the keys."""
        found: set[Record] = set()
        for key in keys:
            found |= self._by_key.get(key, set())
        return list(found)

    def _forget_keys(self, record: Record) -> None:
        for key in record.keys:
            _discard(self._by_key, key, record)
        record.keys = ()

    def _forget_edge(self, record: Record) -> None:
        edge = record.edge
        record.edge = None
        if edge is not None:
            self.counts[edge.state] -= 1
            self.changed_sources.add(edge.source)
            if edge.state == "resolved":
                _discard(self._by_target, edge.target, record)


def _discard(index: dict[str, set[Record]], key: str, record: Record) -> None:
    records = index[key]
    records.discard(record)
    if not records:
        del index[key]
