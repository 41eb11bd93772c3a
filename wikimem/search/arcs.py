"""The walkable graph as arrays: pairs of items with the weight of their heaviest edge, patched edit by edit."""

from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np
import numpy.typing as npt

from wikimem.search.edges import Direction

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_SHIFT = 32  # an arc's key is `head << 32 | tail`, so sorting the keys sorts by head
_MASK = (1 << _SHIFT) - 1
_FEW_NODES = 1_000


@dataclass(frozen=True, slots=True)
class Table:
    """Arcs sorted by head: those of node `n` are `first[n]` to `first[n + 1]`. Tails and weights run parallel."""

    first: Ints
    heads: Ints
    tails: Ints
    weights: Floats

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.first) - 1

    def at_least(self, weight: float) -> "Table":
        """Return the table without the lighter arcs."""
        heavy = self.weights >= weight
        first = np.append(0, np.cumsum(heavy))[self.first]
        return Table(first, self.heads[heavy], self.tails[heavy], self.weights[heavy])


def table_of(keys: Ints, weights: Floats, nodes: int) -> Table:
    """Lay out sorted keys as a table."""
    heads, tails = keys >> _SHIFT, keys & _MASK
    first = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(heads, minlength=nodes), out=first[1:])
    return Table(first, heads, tails, weights)


class _Sorted:
    """The arcs of one direction as sorted keys, and the pairs whose weight may have changed since."""

    def __init__(self, keys: Ints, weights: Floats) -> None:
        self.keys = keys
        self.weights = weights
        self.stale: set[int] = set()
        self.table: Table | None = None

    def patch(self, wanted: dict[int, float]) -> None:
        """Give the named keys their weights; 0 takes the arc out."""
        keys = np.fromiter(sorted(wanted), np.int64, len(wanted))
        weights = np.fromiter((wanted[key] for key in keys.tolist()), np.float64, len(wanted))
        places = np.searchsorted(self.keys, keys)
        there = np.zeros(len(keys), bool)
        inside = places < len(self.keys)
        there[inside] = self.keys[places[inside]] == keys[inside]
        self.weights[places[there]] = weights[there]
        new = ~there & (weights > 0)
        self.keys = np.insert(self.keys, places[new], keys[new])
        self.weights = np.insert(self.weights, places[new], weights[new])
        if not (weights > 0).all():
            alive = self.weights > 0
            self.keys, self.weights = self.keys[alive], self.weights[alive]
        self.table = None


class Adjacency:
    """Per pair of items the weight of the heaviest edge, as dictionaries for edits and as tables for walks."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._names: list[str] = []
        self._out: dict[int, dict[int, float]] = {}
        self._sorted: dict[Direction, _Sorted] = {}
        self._most_nodes = _FEW_NODES

    def set_arcs(self, source: str, arcs: dict[str, float]) -> None:
        """Replace all arcs that leave an item."""
        if len(self._names) > self._most_nodes:
            self._number_again()
        node = self._intern(source)
        new = {self._intern(target): weight for target, weight in arcs.items()}
        old = self._out.pop(node, {})
        if new:
            self._out[node] = new
        if self._sorted:
            for target, _ in old.items() ^ new.items():
                for direction, arrays in self._sorted.items():
                    arrays.stale.update(_keys(direction, node, target))

    def node(self, name: str) -> int | None:
        """Return an item's number, None when no arc ever touched it."""
        return self._ids.get(name)

    def name(self, node: int) -> str:
        """Return the address of a numbered item."""
        return self._names[node]

    def table(self, direction: Direction) -> Table:
        """Return the arcs by head: `out` by source, `in` by target, `both` either way with the heavier edge."""
        arrays = self._sorted.get(direction)
        if arrays is None:
            arrays = self._sorted[direction] = self._build(direction)
        if arrays.stale:
            arrays.patch({key: self._weight(direction, key >> _SHIFT, key & _MASK) for key in arrays.stale})
            arrays.stale.clear()
        if arrays.table is None or arrays.table.nodes != len(self._names):
            arrays.table = table_of(arrays.keys, arrays.weights, len(self._names))
        return arrays.table

    def _number_again(self) -> None:
        """Forget the items that no arc touches any more: names come and go for as long as a daemon runs."""
        used = sorted({*self._out, *chain.from_iterable(self._out.values())})
        place = {node: at for at, node in enumerate(used)}
        self._names = [self._names[node] for node in used]
        self._ids = {name: at for at, name in enumerate(self._names)}
        self._out = {
            place[node]: {place[target]: weight for target, weight in arcs.items()} for node, arcs in self._out.items()
        }
        self._sorted.clear()
        self._most_nodes = 2 * len(used) + _FEW_NODES

    def _intern(self, name: str) -> int:
        node = self._ids.get(name)
        if node is None:
            node = self._ids[name] = len(self._names)
            self._names.append(name)
        return node

    def _weight(self, direction: Direction, head: int, tail: int) -> float:
        out, into = self._out.get(head, {}).get(tail, 0.0), self._out.get(tail, {}).get(head, 0.0)
        return {"out": out, "in": into, "both": max(out, into)}[direction]

    def _build(self, direction: Direction) -> _Sorted:
        count = sum(map(len, self._out.values()))
        sources = chain.from_iterable(repeat(source, len(arcs)) for source, arcs in self._out.items())
        source = np.fromiter(sources, np.int64, count)
        target = np.fromiter(chain.from_iterable(self._out.values()), np.int64, count)
        weights = np.fromiter(chain.from_iterable(arcs.values() for arcs in self._out.values()), np.float64, count)
        forward, backward = source << _SHIFT | target, target << _SHIFT | source
        if direction == "both":
            keys, weights = np.concatenate((forward, backward)), np.concatenate((weights, weights))
        else:
            keys = forward if direction == "out" else backward
        order = np.argsort(keys)
        keys, weights = keys[order], weights[order]
        if direction == "both" and count:
            starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
            keys, weights = keys[starts], np.maximum.reduceat(weights, starts)
        return _Sorted(keys, weights)


def _keys(direction: Direction, source: int, target: int) -> tuple[int, ...]:
    forward, backward = source << _SHIFT | target, target << _SHIFT | source
    return {"out": (forward,), "in": (backward,), "both": (forward, backward)}[direction]
