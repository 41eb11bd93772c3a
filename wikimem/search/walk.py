"""Heaviest paths: from one item to every item within a few hops, never visiting an item twice.

Paths grow hop by hop, and every item keeps one path per length, the heaviest. That is exact as long as a path can be
extended by its next item; where that item already lies on it, the heaviest path *avoiding* that item is worked out
backwards, for all such cases at once and only where its weight could still win. So the answer is exact; a work limit
on that second step (graphs of many heavy short cycles) is the one thing that can cut it, and the answer then says so.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wikimem.search.arcs import Floats, Ints, Table

WORK_LIMIT = 1_500_000  # arcs looked at while avoiding items

Bools = npt.NDArray[np.bool_]
_NONE = -np.inf
_FIRST_BATCH = 4


@dataclass(frozen=True, slots=True)
class Labels:
    """One path per row, all of the same number of hops: its weight, and the nodes between its two ends."""

    weights: Floats
    between: Ints  # one row a path, one column a node

    @staticmethod
    def empty(rows: int, hops: int) -> "Labels":
        """Return rows without a path yet."""
        return Labels(np.full(rows, _NONE), np.zeros((rows, hops - 1), np.int64))


@dataclass(frozen=True, slots=True)
class _Arcs:
    """Arcs grouped by the query that they could answer: `group` rises, tail and weight run parallel."""

    group: Ints
    tails: Ints
    weights: Floats

    def where(self, mask: Bools) -> "_Arcs":
        return _Arcs(self.group[mask], self.tails[mask], self.weights[mask])


@dataclass(frozen=True, slots=True)
class _Queries:
    """What paths are asked for, one row each: they visit no node of the row of `forbidden`, and outweigh `need`.

    The first column of `forbidden` is the node that the path ends at.
    """

    forbidden: Ints
    need: Floats


class Walk:
    """One search from `start`. `into` has the arcs by the node they reach, `outof` by the node they leave."""

    def __init__(self, into: Table, outof: Table, start: int, weight_min: float | None, work: int = WORK_LIMIT) -> None:
        self._into = into
        self._outof = outof
        self._start = start
        self._weight_min = weight_min
        self._work = work
        self._levels: list[Labels] = []
        self.truncated = False

    def run(self, depth: int) -> list[Labels]:
        """Return the labels of every node for paths of 1 to `depth` hops."""
        nodes = self._into.nodes
        first = Labels.empty(nodes, 1)
        arcs = _arcs_of(self._outof, np.array([self._start]))
        first.weights[arcs.tails] = arcs.weights
        if self._weight_min is not None:
            first.weights[first.weights < self._weight_min] = _NONE
        first.weights[self._start] = _NONE
        self._levels = [first]
        everyone = _Queries(np.arange(nodes)[:, None], np.full(nodes, _NONE))
        everyone.need[self._start] = np.inf  # no path leads back to where it began
        while len(self._levels) < depth and (self._levels[-1].weights > _NONE).any():
            self._levels.append(self._best(everyone, self._frontier(), len(self._levels)))
        return self._levels

    def _frontier(self) -> _Arcs:
        """Return the arcs that leave the nodes reached last, grouped by the node that they reach."""
        reached = np.flatnonzero(self._levels[-1].weights > _NONE)
        degrees = self._outof.first[reached + 1] - self._outof.first[reached]
        if 4 * int(degrees.sum()) > len(self._into.tails):
            return _Arcs(self._into.heads, self._into.tails, self._into.weights)
        arcs = _arcs_of(self._outof, reached)
        order = np.argsort(arcs.tails, kind="stable")
        return _Arcs(arcs.tails[order], reached[arcs.group[order]], arcs.weights[order])

    def _best(self, queries: _Queries, arcs: _Arcs, hops: int) -> Labels:
        """Return for each query the heaviest path of `hops + 1` hops that ends with one of the arcs of its group."""
        before = self._levels[hops - 1]
        bounds = before.weights[arcs.tails] + arcs.weights
        keep = (bounds > queries.need[arcs.group]) & (arcs.tails != self._start)
        if self._weight_min is not None:
            keep &= arcs.weights >= self._weight_min
        for column in queries.forbidden.T[1:]:
            keep &= arcs.tails != column[arcs.group]
        arcs, bounds = arcs.where(keep), bounds[keep]
        between = before.between[arcs.tails]
        clash = _any_equal(between, queries.forbidden, arcs.group)
        clear = ~clash
        best = Labels.empty(len(queries.need), hops + 1)
        _improve(best, arcs.where(clear), bounds[clear], between[clear])
        if clash.any():
            self._detours(best, queries, arcs.where(clash), hops)
        return best

    def _detours(self, best: Labels, queries: _Queries, arcs: _Arcs, hops: int) -> None:
        """Improve `best` where the heaviest path to an arc's tail visits a forbidden node, by one that does not.

        The most promising arcs of each group go first: a hub has thousands, and one success settles most of them.
        """
        before, batch = self._levels[hops - 1], _FIRST_BATCH
        while True:
            floor = np.maximum(best.weights, queries.need)
            bounds = before.weights[arcs.tails] + arcs.weights
            hopeful = bounds > floor[arcs.group]
            arcs = arcs.where(hopeful)
            if not len(arcs.tails):
                return
            now = _top_of_groups(arcs.group, bounds[hopeful], batch)
            chosen = arcs.where(now)
            inner = _arcs_of(self._into, chosen.tails)
            self._work -= len(inner.tails)
            if self._work < 0:
                self.truncated = True
                return
            avoid = np.column_stack((chosen.tails, queries.forbidden[chosen.group]))
            found = self._best(_Queries(avoid, floor[chosen.group] - chosen.weights), inner, hops - 1)
            _improve(best, chosen, found.weights + chosen.weights, found.between)
            arcs, batch = arcs.where(~now), 8 * batch


def _arcs_of(table: Table, nodes: Ints) -> _Arcs:
    """Return the arcs of the given heads; the group is the place in `nodes`."""
    starts = table.first[nodes]
    degrees = table.first[nodes + 1] - starts
    group = np.repeat(np.arange(len(nodes)), degrees)
    ends = np.cumsum(degrees)
    places = np.arange(len(group)) + np.repeat(starts - ends + degrees, degrees)
    return _Arcs(group, table.tails[places], table.weights[places])


def _any_equal(between: Ints, forbidden: Ints, group: Ints) -> Bools:
    """Tell for each row whether any of its nodes is forbidden to its group."""
    clash = np.zeros(len(between), bool)
    for banned in forbidden.T:
        wanted = banned[group]
        for column in between.T:
            clash |= column == wanted
    return clash


def _top_of_groups(group: Ints, bounds: Floats, count: int) -> Bools:
    """Mark the `count` highest bounds of each group."""
    if len(group) <= count:
        return np.ones(len(group), bool)
    order = np.lexsort((-bounds, group))
    ordered = group[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    place = np.arange(len(group)) - np.repeat(starts, np.diff(starts, append=len(group)))
    marked = np.zeros(len(group), bool)
    marked[order[place < count]] = True
    return marked


def _improve(best: Labels, arcs: _Arcs, weights: Floats, between: Ints) -> None:
    """Give each group its heaviest arc, where that weighs more than what the group has."""
    if not len(weights):
        return
    starts = np.flatnonzero(np.append(True, arcs.group[1:] != arcs.group[:-1]))
    top = np.maximum.reduceat(weights, starts)
    hits = np.flatnonzero(weights == np.repeat(top, np.diff(starts, append=len(weights))))
    chosen = hits[np.searchsorted(hits, starts)]
    groups = arcs.group[starts]
    better = top > best.weights[groups]
    groups, chosen = groups[better], chosen[better]
    best.weights[groups] = top[better]
    best.between[groups, :-1] = between[chosen]
    best.between[groups, -1] = arcs.tails[chosen]
