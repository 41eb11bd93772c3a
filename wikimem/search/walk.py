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

    The first column of `forbidden` is the node that the path ends at. `need` None: any path will do.
    """

    forbidden: Ints
    need: Floats | None = None


class Walk:
    """One search from `start`. `into` has the arcs by the node they reach, `outof` by the node they leave."""

    def __init__(self, into: Table, outof: Table, start: int, work: int = WORK_LIMIT) -> None:
        self._into = into
        self._outof = outof
        self._start = start
        self._work = work
        self._levels: list[Labels] = []
        self.truncated = False

    def run(self, depth: int) -> list[Labels]:
        """Return the labels of every node for paths of 1 to `depth` hops."""
        nodes = self._into.nodes
        first = Labels.empty(nodes, 1)
        arcs = _arcs_of(self._outof, np.array([self._start]))
        first.weights[arcs.tails] = arcs.weights
        self._levels = [first]
        everyone = _Queries(np.arange(nodes)[:, None])
        # Without a label of its own the start is in the middle of no path.
        first.weights[self._start] = _NONE
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
        if queries.need is None:
            bounds[arcs.group == self._start] = _NONE
        else:
            keep = bounds > queries.need[arcs.group]
            for column in queries.forbidden.T[1:]:
                keep &= arcs.tails != column[arcs.group]
            arcs, bounds = arcs.where(keep), bounds[keep]
        best = Labels.empty(len(queries.forbidden), hops + 1)
        if not len(bounds):
            return best
        groups, winners, top = _winners(arcs.group, bounds)
        between = before.between[arcs.tails[winners]]
        clash = _any_equal(between, queries.forbidden, groups) & (top > _NONE)
        _set(best, groups, top, between, arcs.tails[winners], where=~clash)
        if clash.any():
            contested = np.zeros(len(queries.forbidden), bool)
            contested[groups[clash]] = True
            self._contest(best, queries, arcs.where(contested[arcs.group] & (bounds > _NONE)), hops)
        return best

    def _contest(self, best: Labels, queries: _Queries, arcs: _Arcs, hops: int) -> None:
        """Settle the groups whose heaviest arc comes from a path over a forbidden node.

        First by the other arcs, then by detours: for each arc in question the heaviest path to its tail that avoids
        the forbidden nodes. The most promising arcs of each group go first: a hub has thousands, and one success
        settles most of them.
        """
        before, batch = self._levels[hops - 1], _FIRST_BATCH
        clash = _any_equal(before.between[arcs.tails], queries.forbidden, arcs.group)
        clear = arcs.where(~clash)
        _improve(best, clear, before.weights[clear.tails] + clear.weights, before.between[clear.tails])
        arcs = arcs.where(clash)
        while True:
            floor = best.weights if queries.need is None else np.maximum(best.weights, queries.need)
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


def _winners(group: Ints, weights: Floats) -> tuple[Ints, Ints, Floats]:
    """Return each group that has rows, its heaviest row, and that row's weight."""
    starts = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    top = np.maximum.reduceat(weights, starts)
    hits = np.flatnonzero(weights == np.repeat(top, np.diff(starts, append=len(weights))))
    return group[starts], hits[np.searchsorted(hits, starts)], top


def _improve(best: Labels, arcs: _Arcs, weights: Floats, between: Ints) -> None:
    """Give each group its heaviest arc, where that weighs more than what the group has."""
    if len(weights):
        groups, winners, top = _winners(arcs.group, weights)
        better = top > best.weights[groups]
        _set(best, groups, top, between[winners], arcs.tails[winners], where=better)


def _set(best: Labels, groups: Ints, weights: Floats, between: Ints, tails: Ints, *, where: Bools) -> None:
    rows = groups[where]
    best.weights[rows] = weights[where]
    best.between[rows, :-1] = between[where]
    best.between[rows, -1] = tails[where]
