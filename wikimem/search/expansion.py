"""What follows a hit into the answer, and where the answer is cut.

Expansion is one hop: the items that a hit's text links to, in the order of the text, each once in the whole answer.
The cut is a prefix: the first entry always stays, nothing is skipped to fit a later one in.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from wikimem.errors import InvalidInput
from wikimem.search.edges import Edge

# A policy that limits a hit's links keeps this many; more cost other hits their place (`docs/retrieval.md`).
BEST_LINKS = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """A place of the pool in the answer. `via` is the place that pulled it in; `score` what it was ordered by."""

    place: int
    score: float
    via: int | None = None


# The answer in order, and what was left out of it.
Ordered = tuple[list[Entry], list[Entry]]
Policy = Callable[[Sequence[Entry], Sequence[Sequence[Entry]]], Ordered]


@dataclass(frozen=True, slots=True)
class Expanded:
    """The answer before the cut, what a policy left out, and the links that lead nowhere."""

    entries: tuple[Entry, ...]
    left_out: tuple[Entry, ...] = ()
    unresolved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Links:
    """How links are followed: the edges of a place in text order, the place of a target, a place's own score."""

    edges: Callable[[int], Sequence[Edge]]
    place: Callable[[str], int | None]
    score: Callable[[int], float]


def expand(hits: Sequence[Entry], links: Links, ordering: Policy) -> Expanded:
    """Return the hits with what they link to, ordered by a link policy."""
    unresolved: dict[str, None] = {}
    targets: list[list[Entry]] = []
    for hit in hits:
        found: dict[int, Entry] = {}
        for edge in links.edges(hit.place):
            if edge.state != "resolved":
                unresolved[edge.target] = None
            elif not edge.to_file:
                place = links.place(edge.target)
                if place is not None and place != hit.place:
                    found.setdefault(place, Entry(place, links.score(place), hit.place))
        targets.append(list(found.values()))
    entries, left_out = ordering(hits, targets)
    return Expanded(tuple(entries), tuple(left_out), tuple(unresolved))


def _all(hits: Sequence[Entry], targets: Sequence[Sequence[Entry]]) -> Ordered:
    """Every link right after its hit: the order of the format's origin."""
    return _once([entry for hit, found in zip(hits, targets, strict=True) for entry in (hit, *found)]), []


def _best_two(hits: Sequence[Entry], targets: Sequence[Sequence[Entry]]) -> Ordered:
    """At most two links right after a hit, the ones that answer the query best themselves."""
    shown = {hit.place for hit in hits}
    sequence: list[Entry] = []
    left_out: list[Entry] = []
    taken: set[int] = set()
    for hit, found in zip(hits, targets, strict=True):
        ranked = sorted((entry for entry in found if entry.place not in taken), key=lambda entry: -entry.score)
        sequence += [hit, *ranked[:BEST_LINKS]]
        taken.update(entry.place for entry in ranked[:BEST_LINKS])
        left_out += ranked[BEST_LINKS:]
    return _once(sequence), _once([entry for entry in left_out if entry.place not in taken | shown])


def _merge(hits: Sequence[Entry], targets: Sequence[Sequence[Entry]]) -> Ordered:
    """Hits and links in one ranking, a link at its own score and half of its hit's."""
    best: dict[int, Entry] = {hit.place: hit for hit in hits}
    for hit, found in zip(hits, targets, strict=True):
        for entry in found:
            lifted = Entry(entry.place, entry.score + hit.score / 2, hit.place)
            known = best.get(entry.place)
            if known is None or (known.via is not None and lifted.score > known.score):
                best[entry.place] = lifted
    return sorted(best.values(), key=lambda entry: -entry.score), []


def _once(entries: Sequence[Entry]) -> list[Entry]:
    first: dict[int, Entry] = {}
    for entry in entries:
        first.setdefault(entry.place, entry)
    return list(first.values())


POLICIES: Mapping[str, Policy] = {"all": _all, "best-two": _best_two, "merge": _merge}


def policy(name: str) -> Policy:
    """Return a link policy by its name. Raises `InvalidInput` with the names there are."""
    if name not in POLICIES:
        raise InvalidInput(f"There is no link policy {name!r}.", hint=f"Use one of: {', '.join(POLICIES)}.")
    return POLICIES[name]


def cut(sizes: Sequence[int], budget: int | None) -> tuple[int, int]:
    """Return how many entries stay within a budget, and what they use of it."""
    used = 0
    for count, size in enumerate(sizes):
        if budget is not None and count and used + size > budget:
            return count, used
        used += size
    return len(sizes), used
