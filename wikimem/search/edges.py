"""Edges and answers of the link graph, as values."""

from dataclasses import dataclass
from typing import Literal

from wikimem.search.resolve import State

Origin = Literal["parsed", "manual"]
Direction = Literal["out", "in", "both"]

MAX_DEPTH = 5


@dataclass(frozen=True, slots=True)
class Edge:
    """What one link, or one manual relation, comes to.

    `source` is an item's address, or a category key for a link outside any item. `target` is, when resolved, an
    item's address or (`to_file`) the category key of a file; else the text as written, which is always in `hint`.
    `file` is the vault path of the file that holds it, `line` its 1-based line there.
    """

    source: str
    target: str
    state: State
    candidates: tuple[str, ...]
    weight: float
    origin: Origin
    file: str
    line: int
    hint: str
    to_file: bool = False


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """How many edges there are in each state."""

    resolved: int
    unresolved: int
    ambiguous: int


@dataclass(frozen=True, slots=True)
class Related:
    """An item that the anchor leads to: by its heaviest path, whose edges' weights `weight` sums up.

    `path` is the addresses from the anchor to the item, both included; `hops` is its number of edges.
    """

    address: str
    weight: float
    hops: int
    path: tuple[str, ...]
    temperature: float


@dataclass(frozen=True, slots=True)
class RelatedResult:
    """The answer of `related`, heaviest first. `truncated`: a work limit cut the search; a heavier path may exist."""

    anchor: str
    items: tuple[Related, ...]
    truncated: bool = False
