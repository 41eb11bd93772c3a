"""Values as they go over the wire: one function a shape."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from wikimem.api import protocol as p
from wikimem.pages.changes import Change
from wikimem.pages.items import DiaryItem, RecallItem, content_hash
from wikimem.pages.journal import JournalEntry

if TYPE_CHECKING:
    from wikimem.search.edges import Edge, Related
    from wikimem.search.results import Degraded, Dropped, RetrievedItem
    from wikimem.store.history import Version

WarmthOf = Callable[[str], tuple[float | None, bool]]
"""An address's temperature in [0, 1], and whether it is pinned."""


def item_body(item: RecallItem, warmth: WarmthOf) -> p.ItemBody:
    """Return an item, or a diary entry in the shape of one."""
    temperature, pinned = warmth(item.address)
    return {
        "address": item.address,
        "category": item.category,
        "name": item.name,
        "content": item.content,
        "owner": item.owner,
        "source_conv": item.source_conv,
        "ts": item.ts,
        "tags": list(item.tags),
        "line": item.line,
        "hash": item.hash,
        "temperature": _rounded(temperature),
        "pinned": pinned,
    }


def retrieved_body(entry: "RetrievedItem", *, explain: bool) -> p.RetrievedItemBody:
    """Return one retrieved item; with `explain` also every number that went into its place."""
    item = entry.item
    body: p.RetrievedItemBody = {
        "address": item.address,
        "category": item.category,
        "name": item.name,
        "content": item.content,
        "owner": item.owner,
        "source_conv": item.source_conv,
        "ts": item.ts,
        "source": entry.source,
        "score": entry.score,
        "bm25_score": entry.bm25_score,
        "cos_score": entry.cos_score,
        "via": entry.via,
        "matched_terms": list(entry.matched_terms),
        "tokens_est": entry.tokens_est,
    }
    if explain:
        body["signals"] = dict(entry.signals)
        body["terms"] = [
            {"term": t.term, "kind": t.kind, "weight": t.weight, "df": t.df, "score": t.score} for t in entry.terms
        ]
    return body


def dropped_body(dropped: "Dropped") -> p.DroppedBody:
    """Return a candidate that was left out."""
    return {
        "address": dropped.address,
        "reason": dropped.reason,
        "score": dropped.score,
        "tokens_est": dropped.tokens_est,
    }


def degraded_bodies(parts: "Iterable[Degraded]") -> list[p.DegradedPart]:
    """Return what does not work as it should."""
    return [{"code": part.code, "detail": part.detail, "hint": part.hint} for part in parts]


def diary_body(item: RecallItem) -> p.DiaryBody:
    """Return a diary entry as the index holds it: the day as category, the time as name."""
    return {
        "address": item.address,
        "date": item.category,
        "time": item.name,
        "content": item.content,
        "owner": item.owner,
        "source_conv": item.source_conv,
        "ts": item.ts,
        "hash": item.hash,
    }


def written_diary_body(item: DiaryItem) -> p.DiaryBody:
    """Return a diary entry as the store hands it back."""
    return {
        "address": item.address,
        "date": item.date,
        "time": item.time,
        "content": item.content,
        "owner": item.owner,
        "source_conv": item.source_conv,
        "ts": item.ts,
        "hash": content_hash(item.time, item.content),
    }


def link_body(edge: "Edge") -> p.LinkBody:
    """Return an edge with its place."""
    return {
        "source": edge.source,
        "target": edge.target,
        "state": edge.state,
        "candidates": list(edge.candidates),
        "weight": edge.weight,
        "origin": edge.origin,
        "file": edge.file,
        "line": edge.line,
    }


def edge_body(edge: "Edge") -> p.EdgeBody:
    """Return an edge of the graph."""
    return {"source": edge.source, "target": edge.target, "weight": edge.weight, "origin": edge.origin}


def node_body(item: RecallItem, temperature: float | None, *, pinned: bool) -> p.NodeBody:
    """Return a node of the graph."""
    return {
        "address": item.address,
        "category": item.category,
        "name": item.name,
        "temperature": _rounded(temperature),
        "pinned": pinned,
    }


def related_body(target: "Related", content: str, temperature: float | None) -> p.RelatedItemBody:
    """Return an item that a walk reached."""
    return {
        "address": target.address,
        "weight": target.weight,
        "hops": target.hops,
        "path": list(target.path),
        "temperature": _rounded(temperature),
        "content": content,
    }


def _rounded(temperature: float | None) -> float | None:
    return None if temperature is None else round(temperature, 4)


def version_body(version: "Version") -> p.VersionBody:
    """Return a prior text."""
    return {
        "id": version.id,
        "ts": version.ts,
        "cause": version.cause,
        "action": version.action,
        "hash": version.hash,
        "content": version.content,
    }


def change_body(change: Change) -> p.ChangeBody:
    """Return a change."""
    return {
        "id": change.id,
        "action": change.action,
        "address": change.address,
        "old_address": change.old_address,
        "hash": change.hash,
        "ts": change.ts,
        "cause": change.cause,
    }


def journal_body(entry: JournalEntry) -> dict[str, object]:
    """Return a journal entry with the fields that its line has, in the seed's order."""
    return {name: value for name, value in asdict(entry).items() if value is not None}
