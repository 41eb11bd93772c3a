"""The writing verbs: through the store, and each says what it touched, so that who holds the index can follow.

They may run in a worker thread; `follow` is called where reads happen.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from wikimem.api import bodies
from wikimem.api import params as q
from wikimem.api.reading import Reading
from wikimem.errors import AppendOnly, HistoryUnavailable, InvalidInput
from wikimem.pages.items import DiaryItem, content_hash
from wikimem.pages.relations import Relation
from wikimem.store.relations import RelationsFile
from wikimem.text.names import is_day, parse_address


@dataclass(frozen=True, slots=True)
class Written:
    """What a write answers (but for the cursor), and the vault-relative paths of the notes that it touched.

    `relations`: all manual edges, after a write of one.
    """

    answer: Mapping[str, object]
    paths: tuple[str, ...] = ()
    relations: tuple[Relation, ...] | None = None


@dataclass(slots=True)
class Writing:
    """The writes. `key` is the caller's idempotency key."""

    reading: Reading

    def put_item(self, params: q.PutItemParams, key: str | None = None) -> Written:
        """Add or replace an item."""
        store = self.reading.store
        revision = store.revision
        item = store.add(
            params["category"],
            params["name"],
            params["content"],
            owner=params.get("owner"),
            source_conv=params.get("source_conv"),
            ts=_instant(params.get("ts")),
            expected_hash=params.get("expected_hash"),
            idempotency_key=key,
        )
        return self._written(bodies.item_body(item, self.reading.warmth), revision)

    def remove_item(self, params: q.RemoveItemParams, key: str | None = None) -> Written:
        """Remove an item."""
        address = parse_address(params["address"])
        if is_day(address.category):
            raise AppendOnly(
                f"{address} is a diary entry, and the diary is only added to.", hint="Edit the day's file by hand."
            )
        store = self.reading.store
        revision = store.revision
        item = store.remove(
            address.category, address.name, expected_hash=params.get("expected_hash"), idempotency_key=key
        )
        return self._written(bodies.item_body(item, self.reading.warmth), revision)

    def diary_append(self, params: q.DiaryAppendParams, key: str | None = None) -> Written:
        """Append a diary entry."""
        store = self.reading.store
        revision = store.revision
        entry = store.diary.append(
            params["content"],
            ts=params.get("ts"),
            date=params.get("date"),
            time=params.get("time"),
            owner=params.get("owner"),
            source_conv=params.get("source_conv"),
            idempotency_key=key,
        )
        return self._written(bodies.written_diary_body(entry), revision)

    def restore(self, params: q.RestoreParams, key: str | None = None) -> Written:
        """Put a version back: a new write, journalled; a diary entry is appended."""
        store = self.reading.store
        revision = store.revision
        found = store.restore(params["address"], params["id"], idempotency_key=key)
        digest = content_hash(found.time, found.content) if isinstance(found, DiaryItem) else found.hash
        return self._written({"address": found.address, "hash": digest, "content": found.content}, revision)

    def relate(self, params: q.RelateParams, key: str | None = None) -> Written:
        """Write a manual edge."""
        graph, relations = self.reading.index.graph, self._relations()
        wanted = graph.relation(params["source"], params["target"], params["weight"])
        return _edge(relations.add(wanted, idempotency_key=key), relations)

    def unrelate(self, params: q.UnrelateParams, key: str | None = None) -> Written:
        """Remove a manual edge; its ends need not exist any more."""
        graph, relations = self.reading.index.graph, self._relations()
        done = relations.removed_under(key) if key else None
        if done is None:
            graph.set_relations(relations.read())
            found = graph.find_relation(params["source"], params["target"])
            done = relations.remove(found.source, found.target, idempotency_key=key)
        return _edge(done, relations)

    def pin(self, params: q.PinParams, _key: str | None = None) -> Written:
        """Hold an item's temperature."""
        return self._hold(params["address"], held=True)

    def unpin(self, params: q.PinParams, _key: str | None = None) -> Written:
        """Let an item's temperature decay."""
        return self._hold(params["address"], held=False)

    def follow(self, written: Written) -> Mapping[str, object]:
        """Let the graph follow a write of relations; return the answer, an edge's with the state that it has now."""
        graph = self.reading.index.graph
        if written.relations is not None:
            graph.set_relations(written.relations)
        if not written.answer.keys() >= {"source", "target", "weight"}:
            return written.answer
        found = graph.resolve(str(written.answer["target"]), source=str(written.answer["source"]))
        return {**written.answer, "state": found.state}

    def _relations(self) -> RelationsFile:
        store = self.reading.store
        return RelationsFile(store)

    def _hold(self, text: str, *, held: bool) -> Written:
        item, temperatures = self.reading.require(text), self.reading.temperatures
        if temperatures is None:
            raise HistoryUnavailable("Temperatures cannot be kept.", hint="Make the state directory writable.")
        if held:
            temperatures.pin(item.address)
        else:
            temperatures.unpin(item.address)
        temperatures.keep(temperatures.take())
        temperature, pinned = self.reading.warmth(item.address)
        return Written({"address": item.address, "pinned": pinned, "temperature": temperature})

    def _written(self, answer: Mapping[str, object], revision: int) -> Written:
        return Written(answer, tuple(self.reading.store.changed_since(revision) or ()))


def _edge(relation: Relation, relations: RelationsFile) -> Written:
    answer = {"source": relation.source, "target": relation.target, "weight": relation.weight}
    return Written(answer, (), relations.read())


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
