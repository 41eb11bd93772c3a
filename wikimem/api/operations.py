"""Every verb over a store and an index, in one process: what the daemon's routes and `LocalClient` both call.

Reads take the stamp that says how fresh they are and put it into the answer; they touch memory only, but for history
and journal. Writes go through the store and say which paths they touched, so that whoever holds the index can follow.
"""

import difflib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from wikimem.api import bodies
from wikimem.api import params as q
from wikimem.api import protocol as p
from wikimem.api.paging import page_of
from wikimem.errors import AppendOnly, HistoryUnavailable, InvalidCursor, InvalidInput, NotFound
from wikimem.pages.items import DiaryItem, RecallItem, content_hash
from wikimem.pages.relations import Relation, is_weight
from wikimem.store.relations import RelationsFile
from wikimem.text.names import Address, is_day, parse_address

if TYPE_CHECKING:
    from wikimem.api.warmth import Warmth
    from wikimem.search.index import MemoryIndex
    from wikimem.store.vault import MemoryStore

DEFAULT_HITS = 10
JOURNAL_TAIL = 20
_ID_DIGITS = 19  # SQLite's integers have 64 bits


@dataclass(frozen=True, slots=True)
class Written:
    """What a write answers (but for the cursor), and the vault-relative paths that it touched.

    Each path comes with the sha256 of the file's bytes as they are now, "" for a file that is gone. `relations`:
    all manual edges, after a write of one.
    """

    answer: Mapping[str, object]
    touched: tuple[tuple[str, str], ...]
    relations: tuple[Relation, ...] | None = None


@dataclass(slots=True)
class Counters:
    """Outcomes since start."""

    retrieves: int = 0
    embedding_used: int = 0


@dataclass(slots=True)
class Operations:
    """The verbs. Without `temperatures` (the state cannot be used) items have none."""

    store: "MemoryStore"
    index: "MemoryIndex"
    now: Callable[[], datetime]
    temperatures: "Warmth | None" = None
    counters: Counters = field(default_factory=Counters)

    # ------------------------------------------------------------- reads

    def retrieve(self, params: q.RetrieveParams, stamp: p.ReadStamp) -> p.RetrieveAnswer:
        """Find items for a query."""
        started = time.perf_counter()
        explain = params.get("explain", False)
        found = self.index.retrieve(
            params["query"],
            params.get("limit", DEFAULT_HITS),
            params.get("budget_tokens"),
            params.get("expand_links", True),
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
        self._surface([entry.item.address for entry in found.items])
        return {
            "items": [bodies.retrieved_body(entry, explain=explain) for entry in found.items],
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
            "degraded": [*stamp["degraded"], *bodies.degraded_bodies(found.degraded)],
        }

    def item(self, params: q.ItemParams, stamp: p.ReadStamp) -> p.ItemAnswer:
        """Read one item or diary entry."""
        item = self._require(params["address"])
        self._surface([item.address])
        return {**bodies.item_body(item, self._warmth), **stamp}

    def items(self, params: q.ItemsParams, stamp: p.ReadStamp) -> p.ItemsAnswer:
        """List items."""
        entries = self.index.items(params.get("category"))
        least = params.get("temperature_min")
        if least is not None:
            entries = [item for item in entries if (self._warmth(item.address)[0] or 0.0) >= least]
        page, following = page_of(
            entries,
            key=lambda item: item.address,
            limit=_limit(params),
            after=params.get("after"),
            weight=lambda item: len(item.content),
        )
        return {"items": [bodies.item_body(item, self._warmth) for item in page], "next": following, **stamp}

    def categories(self, params: q.CategoriesParams, stamp: p.ReadStamp) -> p.CategoriesAnswer:
        """List categories."""
        page, following = page_of(
            self.index.categories(), key=lambda pair: pair[0], limit=_limit(params), after=params.get("after")
        )
        return {"categories": [{"name": name, "items": count} for name, count in page], "next": following, **stamp}

    def diary(self, params: q.DiaryParams, stamp: p.ReadStamp) -> p.DiaryAnswer:
        """Read a window of the diary, oldest first."""
        today = self.now().date().isoformat()
        start = params.get("start") or params.get("end") or today
        end = params.get("end") or start
        _check_window(start, end)
        pages = [page for page in self.index.pages.values() if page.kind == "diary" and start <= page.category <= end]
        entries = [item for page in pages for item in page.items]
        entries.sort(key=lambda item: (item.category, item.name, item.ordinal))
        page, following = page_of(
            entries,
            key=lambda item: item.address,
            limit=_limit(params),
            after=params.get("after"),
            weight=lambda item: len(item.content),
        )
        return {"items": [bodies.diary_body(item) for item in page], "next": following, **stamp}

    def related(self, params: q.RelatedParams, stamp: p.ReadStamp) -> p.RelatedAnswer:
        """Walk the graph from an item."""
        anchor = self._require(params["anchor"])
        found = self.index.graph.related(
            anchor.address,
            direction=params.get("direction", "out"),
            depth=params.get("depth", 1),
            weight_min=params.get("weight_min"),
            limit=params.get("limit", p.PAGE_LIMIT),
            temperature=lambda address: self._warmth(address)[0] or 0.0,
        )
        self._surface([target.address for target in found.items])
        return {
            "anchor": anchor.address,
            "items": [
                {
                    "address": target.address,
                    "weight": target.weight,
                    "hops": target.hops,
                    "path": list(target.path),
                    "temperature": self._warmth(target.address)[0],
                    "content": self._content(target.address),
                }
                for target in found.items
            ],
            "truncated": found.truncated,
            **stamp,
        }

    def links(self, params: q.LinksParams, stamp: p.ReadStamp) -> p.LinksAnswer:
        """List edges by state."""
        page, following = page_of(
            list(self.index.graph.edges(params.get("state"))),
            key=lambda edge: f"{edge.file}\n{edge.line}\n{edge.source}\n{edge.target}",
            limit=_limit(params),
            after=params.get("after"),
        )
        return {"links": [bodies.link_body(edge) for edge in page], "next": following, **stamp}

    def graph(self, params: q.GraphParams, stamp: p.ReadStamp) -> p.GraphAnswer:
        """Give a page of nodes and the resolved edges that leave them."""
        nodes = [item for page in self.index.pages.values() for item in page.items]
        page, following = page_of(
            nodes, key=lambda item: item.address, limit=params.get("limit", p.GRAPH_LIMIT), after=params.get("after")
        )
        shown = {item.address for item in page}
        edges = [edge for edge in self.index.graph.edges("resolved") if edge.source in shown]
        return {
            "nodes": [self._node(item) for item in page],
            "edges": [
                {"source": edge.source, "target": edge.target, "weight": edge.weight, "origin": edge.origin}
                for edge in edges
            ],
            "next": following,
            **stamp,
        }

    def history(self, params: q.HistoryParams, stamp: p.ReadStamp) -> p.HistoryAnswer:
        """List prior texts, newest first."""
        address = str(parse_address(params["address"]))
        after = params.get("after")
        if after is not None and not (after.isdecimal() and len(after) < _ID_DIGITS):
            raise InvalidCursor("`after` is not the `next` of a page.", hint="Leave it out to begin at the first page.")
        page = self.store.versions(address, _limit(params), after)
        return {
            "address": address,
            "versions": [bodies.version_body(version) for version in page.versions],
            "next": page.next,
            **stamp,
        }

    def journal(self, params: q.JournalParams, stamp: p.ReadStamp) -> p.JournalAnswer:
        """Read the journal's last lines, with `merged` also what was seen on disk."""
        tail, journal = params.get("tail", JOURNAL_TAIL), self.store.journal
        if params.get("merged", False):
            entries = self.store.journal_tail(tail)
        else:
            entries = journal.tail(tail) if journal is not None else []
        return {"entries": [bodies.journal_body(entry) for entry in entries], **stamp}

    # ------------------------------------------------------------ writes

    def put_item(self, params: q.PutItemParams, key: str | None = None) -> Written:
        """Add or replace an item."""
        revision = self.store.revision
        item = self.store.add(
            params["category"],
            params["name"],
            params["content"],
            owner=params.get("owner"),
            source_conv=params.get("source_conv"),
            ts=_instant(params.get("ts")),
            expected_hash=params.get("expected_hash"),
            idempotency_key=key,
        )
        return self._written(bodies.item_body(item, self._warmth), revision)

    def remove_item(self, params: q.RemoveItemParams, _key: str | None = None) -> Written:
        """Remove an item."""
        address = parse_address(params["address"])
        if is_day(address.category):
            raise AppendOnly(
                f"{address} is a diary entry, and the diary is only added to.", hint="Edit the day's file by hand."
            )
        revision = self.store.revision
        item = self.store.remove(address.category, address.name, expected_hash=params.get("expected_hash"))
        return self._written(bodies.item_body(item, self._warmth), revision)

    def diary_append(self, params: q.DiaryAppendParams, key: str | None = None) -> Written:
        """Append a diary entry."""
        revision = self.store.revision
        entry = self.store.diary.append(
            params["content"],
            ts=params.get("ts"),
            date=params.get("date"),
            time=params.get("time"),
            owner=params.get("owner"),
            source_conv=params.get("source_conv"),
            idempotency_key=key,
        )
        return self._written(bodies.written_diary_body(entry), revision)

    def restore(self, params: q.RestoreParams, _key: str | None = None) -> Written:
        """Put a version back: a new write, journalled; a diary entry is appended."""
        revision = self.store.revision
        found = self.store.restore(params["address"], params["id"])
        digest = content_hash(found.time, found.content) if isinstance(found, DiaryItem) else found.hash
        return self._written({"address": found.address, "hash": digest, "content": found.content}, revision)

    def relate(self, params: q.RelateParams, _key: str | None = None) -> Written:
        """Write a manual edge."""
        source, target = self._require(params["source"]).address, params["target"].strip()
        weight = params.get("weight", 1.0)
        if not is_weight(weight):
            raise InvalidInput("`weight` must be above 0.", hint="Leave it out for 1.0.")
        if not target:
            raise InvalidInput("`target` is empty.", hint="Give an address, or a label as in a link.")
        relation = self._relations.add(Relation(source, target, weight))
        return self._edge(relation)

    def unrelate(self, params: q.UnrelateParams, _key: str | None = None) -> Written:
        """Remove a manual edge; its source need not exist any more."""
        item = self.index.get(params["source"])
        source = params["source"] if item is None else item.address
        return self._edge(self._relations.remove(source, params["target"].strip()))

    def _edge(self, relation: Relation) -> Written:
        answer = {"source": relation.source, "target": relation.target, "weight": relation.weight}
        return Written(answer, (), self._relations.read())

    @property
    def _relations(self) -> RelationsFile:
        return RelationsFile(self.store.disk, self.store.writer.locked, self.now)

    def follow(self, written: Written) -> Mapping[str, object]:
        """Let the graph follow a write of relations; return the answer. Call it where reads happen."""
        if written.relations is None:
            return written.answer
        self.index.graph.set_relations(written.relations)
        found = self.index.graph.resolve(str(written.answer["target"]), source=str(written.answer["source"]))
        return {**written.answer, "state": found.state}

    def pin(self, params: q.PinParams, _key: str | None = None) -> Written:
        """Hold an item's temperature."""
        return self._hold(params["address"], held=True)

    def unpin(self, params: q.PinParams, _key: str | None = None) -> Written:
        """Let an item's temperature decay."""
        return self._hold(params["address"], held=False)

    def _hold(self, text: str, *, held: bool) -> Written:
        item = self._require(text)
        if self.temperatures is None:
            raise HistoryUnavailable("Temperatures cannot be kept.", hint="Make the state directory writable.")
        if held:
            self.temperatures.pin(item.address)
        else:
            self.temperatures.unpin(item.address)
        self.temperatures.keep(self.temperatures.take())
        temperature, pinned = self._warmth(item.address)
        return Written({"address": item.address, "pinned": pinned, "temperature": temperature}, ())

    # ----------------------------------------------------------- helpers

    def _warmth(self, address: str) -> tuple[float | None, bool]:
        return (None, False) if self.temperatures is None else self.temperatures.of(address)

    def _surface(self, addresses: list[str]) -> None:
        if self.temperatures is not None:
            self.temperatures.surface(addresses)

    def _written(self, answer: Mapping[str, object], revision: int) -> Written:
        return Written(answer, tuple((path, self._hash_of(path)) for path in self.store.changed_since(revision) or ()))

    def _hash_of(self, path: str) -> str:
        try:
            return self.store.disk.read(path).hash
        except FileNotFoundError:
            return ""

    def _require(self, text: str) -> RecallItem:
        address = parse_address(text)
        item = self.index.get(str(address))
        if item is None:
            raise NotFound(f"There is no item {address}.", hint=self._near(address))
        return item

    def _near(self, address: Address) -> str:
        if is_day(address.category):
            return "List the day's entries: GET /v1/diary."
        names = [item.name for item in self.index.items(address.category)]
        if names:
            near = difflib.get_close_matches(address.name, names[:2000], 1, 0.5)
            return f"Did you mean {address.category}:{near[0]}?" if near else "List the category: GET /v1/items."
        categories = [name for name, _ in self.index.categories()]
        near = difflib.get_close_matches(address.category, categories[:2000], 1, 0.5)
        return f"Did you mean the category {near[0]}?" if near else "List what there is: GET /v1/categories."

    def _content(self, address: str) -> str:
        item = self.index.get(address)
        return "" if item is None else item.content

    def _node(self, item: RecallItem) -> p.NodeBody:
        temperature, pinned = self._warmth(item.address)
        return {
            "address": item.address,
            "category": item.category,
            "name": item.name,
            "temperature": temperature,
            "pinned": pinned,
        }


def _limit(params: Mapping[str, object]) -> int:
    limit = params.get("limit", p.PAGE_LIMIT)
    return min(limit, p.MAX_PAGE_LIMIT) if isinstance(limit, int) else p.PAGE_LIMIT


def _window(days: list[str] | None) -> tuple[str, str] | None:
    if days is None:
        return None
    if len(days) != 2:
        raise InvalidInput("`time_range` is a pair of days.", hint='As ["2026-07-01", "2026-07-31"].')
    _check_window(*days)
    return days[0], days[1]


def _check_window(start: str, end: str) -> None:
    for day in (start, end):
        if not is_day(day):
            raise InvalidInput(f"{day!r} is not a day.", hint="Write it as YYYY-MM-DD.")
    if start > end:
        raise InvalidInput(f"The window ends ({end}) before it starts ({start}).", hint="Give the earlier day first.")


def _instant(ts: str | None) -> str | None:
    if ts is None:
        return None
    try:
        moment = datetime.fromisoformat(ts)
    except ValueError:
        raise InvalidInput(f"{ts!r} is not an instant.", hint="Write it as 2026-07-21T06:30:00+00:00.") from None
    if moment.tzinfo is None:
        raise InvalidInput(f"{ts!r} has no time zone.", hint="End it with Z or +00:00.")
    return ts
