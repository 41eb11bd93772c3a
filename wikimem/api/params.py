"""What a call takes, as typed dictionaries with the names of DESIGN section 7.

A parameter that is `null` counts as not given. In a query a boolean is `true` or `false`.
"""

from collections.abc import Mapping
from typing import Final, Literal, Required, TypedDict

from wikimem.api.protocol import FRESH_TIMEOUT_MS, GRAPH_LIMIT, MAX_PAGE_LIMIT, PAGE_LIMIT, LinkStateName

DirectionName = Literal["out", "in", "both"]


class NoParams(TypedDict, total=False):
    """A call that takes nothing."""


class ReadParams(TypedDict, total=False):
    """What every read takes: wait for what is on disk (default true), and for how long at most (250 ms)."""

    fresh: bool
    fresh_timeout_ms: int


class RetrieveParams(ReadParams, total=False):
    """A query. `limit` counts hits before expansion, `time_range` is an inclusive pair of days."""

    query: Required[str]
    limit: int
    budget_tokens: int | None
    expand_links: bool
    explain: bool
    time_range: list[str] | None
    tz: str | None
    category: str | None
    owner: str | None
    tag: str | None
    since: str | None
    until: str | None


class ItemParams(ReadParams, total=False):
    """`category:name`, or `YYYY-MM-DD:HH:MM` for a diary entry."""

    address: Required[str]


class PutItemParams(TypedDict, total=False):
    """Add an item or replace the one of this name. `expected_hash`: refuse if the item is no longer that text."""

    category: Required[str]
    name: Required[str]
    content: Required[str]
    owner: str | None
    source_conv: str | None
    ts: str | None
    expected_hash: str | None


class RemoveItemParams(TypedDict, total=False):
    """Remove an item; its text goes to the history first."""

    address: Required[str]
    expected_hash: str | None


class ItemsParams(ReadParams, total=False):
    """List items in document order, one category's or all; `after` is the `next` of the page before."""

    category: str | None
    temperature_min: float | None
    limit: int
    after: str | None


class CategoriesParams(ReadParams, total=False):
    """List categories by name."""

    limit: int
    after: str | None


class DiaryAppendParams(TypedDict, total=False):
    """Append a diary entry, now or at `ts`, or at the local `date` and `time`."""

    content: Required[str]
    ts: str | None
    date: str | None
    time: str | None
    owner: str | None
    source_conv: str | None


class DiaryParams(ReadParams, total=False):
    """The entries of an inclusive window of days; one day when only one is given, today when none is."""

    start: str | None
    end: str | None
    limit: int
    after: str | None


class RelatedParams(ReadParams, total=False):
    """Walk the graph from `anchor`: `depth` 1 to 5, edges below `weight_min` dropped before the walk."""

    anchor: Required[str]
    direction: DirectionName
    depth: int
    weight_min: float | None
    limit: int


class RelateParams(TypedDict, total=False):
    """Write a manual edge, or give the one that is there a new weight."""

    source: Required[str]
    target: Required[str]
    weight: float


class UnrelateParams(TypedDict, total=False):
    """Remove a manual edge."""

    source: Required[str]
    target: Required[str]


class LinksParams(ReadParams, total=False):
    """List edges, all or those in one state."""

    state: LinkStateName | None
    limit: int
    after: str | None


class GraphParams(ReadParams, total=False):
    """The graph, a page of nodes at a time with the edges that leave them."""

    limit: int
    after: str | None


class ChangesParams(ReadParams, total=False):
    """What changed after the cursor `since`; without it the current cursor and no changes."""

    since: str | None
    limit: int


class EventsParams(TypedDict, total=False):
    """Live changes as server-sent events, after the cursor `since` (or the header `Last-Event-ID`)."""

    since: str | None


class HistoryParams(ReadParams, total=False):
    """Prior texts of an address, newest first."""

    address: Required[str]
    limit: int
    after: str | None


class RestoreParams(TypedDict, total=False):
    """Put a version back: a new write; a diary entry is appended."""

    address: Required[str]
    id: Required[int]


class JournalParams(ReadParams, total=False):
    """The last `tail` lines of the journal, oldest first; `merged`: with what was seen on disk, in one order."""

    tail: int
    merged: bool


class StatusParams(ReadParams, total=False):
    """`verify` compares the disk with the index now."""

    verify: bool


class EmbedParams(TypedDict, total=False):
    """`reset`: embed everything anew, also what has a vector. That costs a call for every text."""

    reset: bool


class PinParams(TypedDict, total=False):
    """An item whose temperature shall not decay."""

    address: Required[str]


_READ: Final = {"fresh": True, "fresh_timeout_ms": FRESH_TIMEOUT_MS}
_LIST: Final = {**_READ, "limit": PAGE_LIMIT}

DEFAULTS: Final[Mapping[type, Mapping[str, object]]] = {
    RetrieveParams: {**_READ, "limit": 10, "expand_links": True, "explain": False},
    ItemParams: _READ,
    ItemsParams: _LIST,
    CategoriesParams: _LIST,
    DiaryParams: _LIST,
    RelatedParams: {**_LIST, "direction": "out", "depth": 1},
    RelateParams: {"weight": 1.0},
    LinksParams: _LIST,
    GraphParams: {**_READ, "limit": GRAPH_LIMIT},
    ChangesParams: {**_READ, "limit": MAX_PAGE_LIMIT},
    HistoryParams: _LIST,
    JournalParams: {**_READ, "tail": 20, "merged": False},
    StatusParams: {**_READ, "verify": False},
    EmbedParams: {"reset": False},
}
"""What holds where a parameter is not given: filled in by `check_params`, shown in the OpenAPI document."""
