"""The answer of `related`: what a walk found, ranked by path weight, then temperature, then address."""

from collections.abc import Callable

import numpy as np

from wikimem.search.arcs import Adjacency, Floats, Ints
from wikimem.search.edges import Direction, Related
from wikimem.search.walk import Labels, Walk

_OPPOSITE: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}
# Sums of the same numbers in another order differ in their last bits: beyond 40 bits (12 digits) weights are equal.
_MANTISSA_STEPS = float(2**40)
_LEAST_ROUNDED, _MOST_ROUNDED = 1e-3, 1e3  # between these, eleven decimals are nearly as many digits


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
    rows = [row for row, _, _ in ranked]
    paths = _paths(adjacency, levels, nodes[rows], hops[rows])
    items = tuple(
        Related(address, weight, count, (anchor, *path, address), warmth)
        for (_, address, warmth), weight, count, path in zip(
            ranked, _shown(weights[rows]), hops[rows].tolist(), paths, strict=True
        )
    )
    return items, walk.truncated


def _shown(weights: Floats) -> list[float]:
    """Return sums as they are told: without the last bits that adding up has left (0.1 + 0.2 is 0.3)."""
    ordinary = ((weights > _LEAST_ROUNDED) & (weights < _MOST_ROUNDED)).all()
    return np.round(weights, 11).tolist() if ordinary else [float(f"{weight:.12g}") for weight in weights.tolist()]


def _paths(adjacency: Adjacency, levels: list[Labels], nodes: Ints, hops: Ints) -> list[tuple[str, ...]]:
    """Return the addresses between the anchor and each node."""
    found: list[tuple[str, ...]] = [()] * len(nodes)
    for number, level in enumerate(levels[1:], start=2):
        places = np.flatnonzero(hops == number)
        for place, between in zip(places.tolist(), level.between[nodes[places]].tolist(), strict=True):
            found[place] = tuple(map(adjacency.name, between))
    return found


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
