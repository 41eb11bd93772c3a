"""Heaviest paths: from one item to every item within a few hops, never visiting an item twice."""

from wikimem.search.edges import Direction

Path = tuple[str, ...]


class Adjacency:
    """The walkable graph: per pair of items the weight of the heaviest edge."""

    def __init__(self) -> None:
        self.out: dict[str, dict[str, float]] = {}
        self.into: dict[str, dict[str, float]] = {}

    def set_arcs(self, source: str, arcs: dict[str, float]) -> None:
        """Replace all arcs that leave an item."""
        for target in self.out.pop(source, {}):
            del self.into[target][source]
        if arcs:
            self.out[source] = arcs
        for target, weight in arcs.items():
            self.into.setdefault(target, {})[source] = weight

    def arcs(self, node: str, direction: Direction) -> dict[str, float]:
        """Return what one hop from an item reaches, with the heaviest edge's weight."""
        out = self.out.get(node, {}) if direction != "in" else {}
        into = self.into.get(node, {}) if direction != "out" else {}
        return {other: max(out.get(other, 0.0), into.get(other, 0.0)) for other in (*out, *into)}


def heaviest_paths(
    adjacency: Adjacency, start: str, direction: Direction, depth: int, weight_min: float | None
) -> tuple[list[tuple[float, Path]], bool]:
    """Return for every item within `depth` hops its heaviest path's weight and that path; and whether work ran out."""
    best: dict[str, tuple[float, Path]] = {}

    def visit(path: Path, weight: float) -> None:
        for other, step in adjacency.arcs(path[-1], direction).items():
            if other in path or (weight_min is not None and step < weight_min):
                continue
            longer, total = (*path, other), weight + step
            if other not in best or total > best[other][0]:
                best[other] = total, longer
            if len(longer) <= depth:
                visit(longer, total)

    visit((start,), 0.0)
    return list(best.values()), False
