"""The answer of `related`: what a walk found, ranked by path weight, then temperature, then address."""

from collections.abc import Callable, Iterator

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
    if weight_min is not None:
        outof, into = outof.at_least(weight_min), into.at_least(weight_min)
    walk = Walk(into, outof, start)
    levels = walk.run(depth)
    nodes, weights, hops = _heaviest(levels)
    ranked = _rank(adjacency, nodes, _comparable(weights), limit, temperature)
    paths = _paths(adjacency, levels, nodes, hops, [row for row, _, _ in ranked])
    totals, counts = weights.tolist(), hops.tolist()
    items = (
        Related(address, float(f"{totals[row]:.12g}"), counts[row], (anchor, *path, address), warmth)
        for (row, address, warmth), path in zip(ranked, paths, strict=True)
    )
    return tuple(items), walk.truncated


def _paths(
    adjacency: Adjacency, levels: list[Labels], nodes: Ints, hops: Ints, rows: list[int]
) -> Iterator[tuple[str, ...]]:
    """Yield the addresses between the anchor and each row's item."""
    between: dict[int, list[int]] = {}
    for number, level in enumerate(levels, start=1):
        wanted = [row for row in rows if hops[row] == number]
        between |= zip(wanted, level.between[nodes[wanted]].tolist(), strict=True)
    for row in rows:
        yield tuple(map(adjacency.name, between[row]))


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
    addresses = [adjacency.name(node) for node in nodes[rows].tolist()]
    warmth = np.fromiter(map(temperature, addresses), np.float64, len(addresses))
    by_address = np.empty(len(addresses), np.int64)
    by_address[sorted(range(len(addresses)), key=addresses.__getitem__)] = np.arange(len(addresses))
    order = np.lexsort((by_address, -warmth, -weights[rows]))[:limit].tolist()
    return [(int(rows[place]), addresses[place], float(warmth[place])) for place in order]
