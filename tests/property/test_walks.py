"""Heaviest paths against every path there is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wikimem.search.arcs import Adjacency
from wikimem.search.edges import Direction, Related
from wikimem.search.related import find_related
from wikimem.search.walk import Walk

WEIGHTS = st.one_of(st.sampled_from([1.0, 1.0, 2.0, 2.5]), st.floats(0.1, 10.0))
ARCS = st.integers(2, 9).flatmap(
    lambda n: st.dictionaries(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), WEIGHTS, max_size=4 * n)
)
DIRECTIONS: list[Direction] = ["out", "in", "both"]


def adjacency_of(arcs: dict[tuple[int, int], float]) -> Adjacency:
    adjacency = Adjacency()
    for node in range(10):
        adjacency.set_arcs(str(node), {str(t): w for (s, t), w in arcs.items() if s == node != t})
    return adjacency


def every_path(
    arcs: dict[tuple[int, int], float], direction: Direction, depth: int, weight_min: float | None
) -> dict[str, float]:
    """Return the weight of the heaviest path to each node, by walking all of them."""
    pairs: dict[tuple[int, int], float] = {}
    for (source, target), weight in arcs.items():
        if weight_min is None or weight >= weight_min:
            for pair in {
                "out": [(source, target)],
                "in": [(target, source)],
                "both": [(source, target), (target, source)],
            }[direction]:
                pairs[pair] = max(weight, pairs.get(pair, 0.0))
    best: dict[str, float] = {}

    def visit(path: tuple[int, ...], weight: float) -> None:
        for (source, target), step in pairs.items():
            if source == path[-1] and target not in path:
                best[str(target)] = max(weight + step, best.get(str(target), 0.0))
                if len(path) < depth:
                    visit((*path, target), weight + step)

    visit((0,), 0.0)
    return best


def related(
    adjacency: Adjacency, direction: Direction, depth: int, weight_min: float | None, limit: int | None = None
) -> tuple[Related, ...]:
    items, truncated = find_related(
        adjacency,
        "0",
        direction=direction,
        depth=depth,
        weight_min=weight_min,
        limit=limit,
        temperature=lambda address: int(address) % 3,
    )
    assert not truncated
    return items


def rounded(weights: dict[str, float]) -> dict[str, float]:
    return {name: float(f"{weight:.12g}") for name, weight in weights.items()}


@settings(max_examples=400, deadline=None)
@given(ARCS, st.sampled_from(DIRECTIONS), st.integers(1, 5), st.sampled_from([None, 1.0, 2.0]))
def test_the_heaviest_path_is_the_heaviest_of_all_that_visit_nothing_twice(
    arcs: dict[tuple[int, int], float], direction: Direction, depth: int, weight_min: float | None
) -> None:
    items = related(adjacency_of(arcs), direction, depth, weight_min)
    expected = rounded(every_path(arcs, direction, depth, weight_min))
    assert {item.address: item.weight for item in items} == pytest.approx(expected, rel=1e-8)
    for item in items:
        assert len(set(item.path)) == len(item.path) == item.hops + 1
        assert (item.path[0], item.path[-1]) == ("0", item.address)
    order = [(-item.weight, -item.temperature, item.address) for item in items]
    assert order == sorted(order)
    for limit in (1, 3):
        assert related(adjacency_of(arcs), direction, depth, weight_min, limit) == items[:limit]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.dictionaries(st.integers(0, 6), WEIGHTS, max_size=5)), max_size=12))
def test_arcs_patched_edit_by_edit_walk_like_arcs_laid_out_afresh(edits: list[tuple[int, dict[int, float]]]) -> None:
    adjacency = Adjacency()
    adjacency.set_arcs("0", {"1": 1.0})
    arcs: dict[tuple[int, int], float] = {(0, 1): 1.0}
    for source, targets in edits:
        clean = {target: weight for target, weight in targets.items() if target != source}
        adjacency.set_arcs(str(source), {str(target): weight for target, weight in clean.items()})
        arcs = {pair: weight for pair, weight in arcs.items() if pair[0] != source}
        arcs |= {(source, target): weight for target, weight in clean.items()}
        for direction in DIRECTIONS:
            found = {item.address: item.weight for item in related(adjacency, direction, 4, None)}
            assert found == pytest.approx(rounded(every_path(arcs, direction, 4, None)), rel=1e-8)


@settings(max_examples=200, deadline=None)
@given(ARCS, st.integers(2, 5), st.integers(0, 30))
def test_a_search_that_was_cut_says_so_and_its_paths_are_still_paths(
    arcs: dict[tuple[int, int], float], depth: int, work: int
) -> None:
    adjacency = adjacency_of(arcs)
    start = adjacency.node("0")
    assert start is not None
    table = adjacency.table("both")
    walk = Walk(table, table, start, work)
    best: dict[str, float] = {}
    for hops, level in enumerate(walk.run(depth), start=1):
        for node in range(table.nodes):
            weight = float(level.weights[node])
            if weight > 0:
                path = [start, *level.between[node].tolist(), node]
                assert len(set(path)) == len(path) == hops + 1
                name = adjacency.name(node)
                best[name] = max(weight, best.get(name, 0.0))
    exact = rounded(every_path(arcs, "both", depth, None))
    assert all(weight <= exact[name] + 1e-9 for name, weight in best.items())
    assert walk.truncated or rounded(best) == exact
