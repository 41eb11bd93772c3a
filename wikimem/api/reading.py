"""The reading verbs over a store and an index. Each puts the stamp that says how fresh it is into its answer.

They touch memory only, but for `history` and `journal`, which read the state and the journal's file.
"""

import difflib
import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from wikimem.api import bodies
from wikimem.api import params as q
from wikimem.api import protocol as p
from wikimem.api.paging import fitting, page_of
from wikimem.errors import InvalidCursor, InvalidInput, NotFound
from wikimem.pages.items import RecallItem
from wikimem.store.localzone import local_zone
from wikimem.text.names import Address, is_day, parse_address

if TYPE_CHECKING:
    from wikimem.api.warmth import Warmth
    from wikimem.search.edges import Edge
    from wikimem.search.index import MemoryIndex
    from wikimem.store.vault import MemoryStore

_ID_DIGITS: Final = 19  # SQLite's integers have 64 bits
_NEAR_AMONG: Final = 2_000  # a hint is not worth comparing with every name of a large vault


@dataclass(slots=True)
class Counters:
    """Outcomes since start."""

    retrieves: int = 0
    embedding_used: int = 0


@dataclass(slots=True)
class Reading:
    """The reads. Without `temperatures` (the state cannot be used) items have none."""

    store: "MemoryStore"
    index: "MemoryIndex"
    now: Callable[[], datetime]
    temperatures: "Warmth | None" = None
    counters: Counters = field(default_factory=Counters)

    def retrieve(self, params: q.RetrieveParams, stamp: p.ReadStamp) -> p.RetrieveAnswer:
        """Find items for a query."""
        started = time.perf_counter()
        explain, hits = params["explain"], params["limit"]
        found = self.index.retrieve(
            params["query"],
            hits,
            params.get("budget_tokens"),
            params["expand_links"],
            explain,
            _window(params.get("time_range")),
            params.get("tz"),
            category=params.get("category"),
            owner=params.get("owner"),
            tag=params.get("tag"),
            since=params.get("since"),
            until=params.get("until"),
        )
        self.counters.retrieves += 1
        self.counters.embedding_used += found.embedding_used
        shown = fitting(found.items, lambda entry: len(entry.item.content))
        cut = _cut(len(found.items) - len(shown))
        self._surface([entry.item.address for entry in shown])
        return {
            "items": [bodies.retrieved_body(entry, explain=explain) for entry in shown],
            "budget_tokens": found.budget_tokens,
            "budget_used": found.budget_used,
            "embedding_used": found.embedding_used,
            "dropped": [bodies.dropped_body(one) for one in found.dropped],
            "unresolved_links": list(found.unresolved_links),
            "time_range": None if found.time_range is None else list(found.time_range),
            "time_range_source": found.time_range_source,
            "time_range_widened": found.time_range_widened,
            "took_ms": round((time.perf_counter() - started) * 1000, 3),
            "fresh": stamp["fresh"],
            "partial": stamp["partial"],
            "cursor": stamp["cursor"],
            "degraded": [*stamp["degraded"], *bodies.degraded_bodies(found.degraded), *cut],
        }

    def item(self, params: q.ItemParams, stamp: p.ReadStamp) -> p.ItemAnswer:
        """Read one item or diary entry."""
        item = self.require(params["address"])
        self._surface([item.address])
        return {**bodies.item_body(item, self.warmth), **stamp}

    def items(self, params: q.ItemsParams, stamp: p.ReadStamp) -> p.ItemsAnswer:
        """List items."""
        entries = self.index.items(params.get("category"))
        least = params.get("temperature_min")
        if least is not None:
            entries = [item for item in entries if (self.warmth(item.address)[0] or 0.0) >= least]
        page, following = page_of(
            entries,
            key=lambda item: item.address,
            limit=min(params["limit"], p.MAX_PAGE_LIMIT),
            after=params.get("after"),
            of=("items", params.get("category"), least),
            weight=lambda item: len(item.content),
        )
        return {"items": [bodies.item_body(item, self.warmth) for item in page], "next": following, **stamp}

    def categories(self, params: q.CategoriesParams, stamp: p.ReadStamp) -> p.CategoriesAnswer:
        """List categories."""
        page, following = page_of(
            self.index.categories(),
            key=lambda pair: pair[0],
            limit=min(params["limit"], p.MAX_PAGE_LIMIT),
            after=params.get("after"),
            of=("categories",),
        )
        return {"categories": [{"name": name, "items": count} for name, count in page], "next": following, **stamp}

    def diary(self, params: q.DiaryParams, stamp: p.ReadStamp) -> p.DiaryAnswer:
        """Read a window of the diary, oldest first."""
        today = self.now().astimezone(local_zone()).date().isoformat()
        start = params.get("start") or params.get("end") or today
        end = params.get("end") or start
        _check_window(start, end)
        pages = [page for page in self.index.pages.values() if page.kind == "diary" and start <= page.category <= end]
        entries = [item for page in pages for item in page.items]
        entries.sort(key=lambda item: (item.category, item.name, item.ordinal))
        page, following = page_of(
            entries,
            key=lambda item: item.address,
            limit=min(params["limit"], p.MAX_PAGE_LIMIT),
            after=params.get("after"),
            of=("diary", start, end),
            weight=lambda item: len(item.content),
        )
        return {"items": [bodies.diary_body(item) for item in page], "next": following, **stamp}

    def related(self, params: q.RelatedParams, stamp: p.ReadStamp) -> p.RelatedAnswer:
        """Walk the graph from an item."""
        found = self.index.graph.related(
            params["anchor"],
            direction=params["direction"],
            depth=params["depth"],
            weight_min=params.get("weight_min"),
            limit=min(params["limit"], p.MAX_PAGE_LIMIT),
            temperature=lambda address: self.warmth(address)[0] or 0.0,
        )
        reached = fitting(((one, self._content(one.address)) for one in found.items), lambda pair: len(pair[1]))
        items = [bodies.related_body(one, content, self.warmth(one.address)[0]) for one, content in reached]
        self._surface([item["address"] for item in items])
        truncated = found.truncated or len(items) < len(found.items)
        return {"anchor": found.anchor, "items": items, "truncated": truncated, **stamp}

    def links(self, params: q.LinksParams, stamp: p.ReadStamp) -> p.LinksAnswer:
        """List edges by state."""
        page, following = page_of(
            self.index.graph.edges(params.get("state")),
            key=lambda edge: f"{edge.file}\n{edge.line}\n{edge.source}\n{edge.target}",
            limit=min(params["limit"], p.MAX_PAGE_LIMIT),
            after=params.get("after"),
            of=("links", params.get("state")),
        )
        return {"links": [bodies.link_body(edge) for edge in page], "next": following, **stamp}

    def graph(self, params: q.GraphParams, stamp: p.ReadStamp) -> p.GraphAnswer:
        """Give a page of nodes and the resolved edges that leave them."""
        nodes = (item for page in self.index.pages.values() for item in page.items)
        page, following = page_of(
            nodes, key=lambda item: item.address, limit=params["limit"], after=params.get("after"), of=("graph",)
        )
        shown = {item.address for item in page}
        return {
            "nodes": [self._node(item) for item in page],
            "edges": [bodies.edge_body(edge) for edge in self._edges_from(shown)],
            "next": following,
            **stamp,
        }

    def history(self, params: q.HistoryParams, stamp: p.ReadStamp) -> p.HistoryAnswer:
        """List prior texts, newest first."""
        address = str(parse_address(params["address"]))
        after = params.get("after")
        if after is not None and not (after.isdecimal() and len(after) < _ID_DIGITS):
            raise InvalidCursor("`after` is not the `next` of a page.", hint="Leave it out to begin at the first page.")
        page = self.store.versions(address, min(params["limit"], p.MAX_PAGE_LIMIT), after)
        versions = fitting(page.versions, lambda version: len(version.content))
        following = page.next if len(versions) == len(page.versions) else str(versions[-1].id)
        shown = [bodies.version_body(version) for version in versions]
        return {"address": address, "versions": shown, "next": following, **stamp}

    def journal(self, params: q.JournalParams, stamp: p.ReadStamp) -> p.JournalAnswer:
        """Read the journal's last lines, with `merged` also what was seen on disk."""
        tail, journal = params["tail"], self.store.journal
        if params["merged"]:
            entries = self.store.journal_tail(tail)
        else:
            entries = journal.tail(tail) if journal is not None else []
        return {"entries": [bodies.journal_body(entry) for entry in entries], **stamp}

    # ---------------------------------------------------------------- private

    def warmth(self, address: str) -> tuple[float | None, bool]:
        """Return an item's temperature and whether it is pinned."""
        return (None, False) if self.temperatures is None else self.temperatures.of(address)

    def require(self, text: str) -> RecallItem:
        """Return the item at an address. Raises InvalidAddress, NotFound with the nearest name."""
        address = parse_address(text)
        item = self.index.get(str(address))
        if item is None:
            raise NotFound(f"There is no item {address}.", hint=self._near(address))
        return item

    def _surface(self, addresses: list[str]) -> None:
        if self.temperatures is not None:
            self.temperatures.surface(addresses)

    def _near(self, address: Address) -> str:
        if is_day(address.category):
            return f"List the day's entries: `wikimem diary --date {address.category}`, or GET /v1/diary."
        names = [item.name for item in self.index.items(address.category)]
        if names:
            near = difflib.get_close_matches(address.name, names[:_NEAR_AMONG], 1, 0.5)
            listed = f"List the category: `wikimem ls {shlex.quote(address.category)}`, or GET /v1/items."
            return f"Did you mean {address.category}:{near[0]}?" if near else listed
        categories = [name for name, _ in self.index.categories()]
        near = difflib.get_close_matches(address.category, categories[:_NEAR_AMONG], 1, 0.5)
        listed = "List what there is: `wikimem ls`, or GET /v1/categories."
        return f"Did you mean the category {near[0]}?" if near else listed

    def _content(self, address: str) -> str:
        item = self.index.get(address)
        return "" if item is None else item.content

    def _node(self, item: RecallItem) -> p.NodeBody:
        temperature, pinned = self.warmth(item.address)
        return bodies.node_body(item, temperature, pinned=pinned)

    def _edges_from(self, sources: set[str]) -> "Iterator[Edge]":
        return (edge for edge in self.index.graph.edges("resolved") if edge.source in sources)


def _cut(left_out: int) -> list[p.DegradedPart]:
    """Return what to say of an answer that would be too large to send at once."""
    if not left_out:
        return []
    detail = f"{left_out} more items were left out: the answer would be too large."
    return [{"code": "answer-cut", "detail": detail, "hint": "Set `budget_tokens`, or a smaller `limit`."}]


def _window(days: list[str] | None) -> tuple[str, str] | None:
    if days is None:
        return None
    if len(days) != 2:
        raise InvalidInput("`time_range` is a pair of days.", hint='As ["2026-07-01", "2026-07-31"].')
    _check_days(*days)
    return days[0], days[1]


def _check_days(*days: str) -> None:
    for day in days:
        if not is_day(day):
            raise InvalidInput(f"{day!r} is not a day.", hint="Write it as YYYY-MM-DD.")


def _check_window(start: str, end: str) -> None:
    _check_days(start, end)
    if start > end:
        raise InvalidInput(f"The window ends ({end}) before it starts ({start}).", hint="Give the earlier day first.")
