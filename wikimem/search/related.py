"""The answer of `related`: what a walk found, ranked by path weight, then temperature, then address."""

from collections.abc import Callable

import numpy as np

from wikimem.search.arcs import Adjacency, Floats, Ints
from wikimem.search.edges import Direction, Related
from wikimem.search.walk import Labels, Walk

_OPPOSITE: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}
# Sums of the same numbers in another order differ in their last bits: beyond 40 bits (12 digits) weights are equal.
_MANTISSA_STEPS = float(2**40)


def find_related(
    adjacency: Adjacency,
    anchor: str,
    *,
    direction: Direction,
    depth: int,
    weight_min: float | None,
    limit: int | None,
    temperature: Callable[[str], float],
) -> tuple[tuple[Related, ...], bool]:
    """Return the ranked items around `anchor`, and whether the work limit cut the search."""
    start = adjacency.node(anchor)
    if start is None:
        return (), False
    outof, into = adjacency.table(direction), adjacency.table(_OPPOSITE[direction])
    walk = Walk(into, outof, start, weight_min)
    levels = walk.run(depth)
    nodes, weights, hops = _heaviest(levels)
    ranked = _rank(adjacency, nodes, _comparable(weights), limit, temperature)
    items = []
    for row, address, warmth in ranked:
        between = levels[hops[row] - 1].between[nodes[row]].tolist()
        path = (anchor, *map(adjacency.name, between), address)
        items.append(Related(address, float(f"{weights[row]:.12g}"), int(hops[row]), path, warmth))
    return tuple(items), walk.truncated


def _heaviest(levels: list[Labels]) -> tuple[Ints, Floats, Ints]:
    """Return the nodes reached, each with its heaviest path's weight and hops; of equal ones the shortest path."""
    weights = levels[0].weights.copy()
    hops = np.ones(len(weights), np.int64)
    for number, level in enumerate(levels[1:], start=2):
        better = _comparable(level.weights) > _comparable(weights)
        weights[better] = level.weights[better]
        hops[better] = number
    nodes = np.flatnonzero(weights > -np.inf)
    return nodes, weights[nodes], hops[nodes]


def _comparable(weights: Floats) -> Floats:
    mantissas, exponents = np.frexp(weights)
    return np.ldexp(np.round(mantissas * _MANTISSA_STEPS) / _MANTISSA_STEPS, exponents)


def _rank(
    adjacency: Adjacency, nodes: Ints, weights: Floats, limit: int | None, temperature: Callable[[str], float]
) -> list[tuple[int, str, float]]:
    """Return row, address and temperature of the first `limit`; only what ties at the end is named beyond them."""
    rows = np.arange(len(nodes))
    if limit is not None and limit < len(nodes):
        last = -np.partition(-weights, limit - 1)[limit - 1] if limit else np.inf
        rows = rows[weights >= last]
    named = [(row, adjacency.name(node)) for row, node in zip(rows.tolist(), nodes[rows].tolist(), strict=True)]
    warm = [(row, address, temperature(address)) for row, address in named]
    keys = dict(zip(rows.tolist(), (-weights[rows]).tolist(), strict=True))
    warm.sort(key=lambda entry: (keys[entry[0]], -entry[2], entry[1]))
    return warm[:limit]
