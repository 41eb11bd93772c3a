"""What follows from an edit that search has followed already: identities, the change feed, history, the manifest.

What came or was edited is told at once. What went waits for its grace period, because editors and git take things
away and bring them back; the same text elsewhere ends the wait as a move.
"""

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from wikimem.pages.changes import Cause, Change
from wikimem.pages.items import RecallItem
from wikimem.store.changes import FeedRow
from wikimem.store.history import Ending, History, PriorText
from wikimem.store.manifest import FileEntry, GoneRow, Manifest
from wikimem.store.state import State
from wikimem_daemon.feed import Feed
from wikimem_daemon.identity import Held, New, diff_file, pair
from wikimem_daemon.plan import GRACE_SHORTENED_S, Loss, grace, is_shrunk, is_typing

_log = logging.getLogger("wikimem.changes")

_FORGET_AGE_S = 120.0
_MAX_YOUNG = 5_000


@dataclass(frozen=True, slots=True)
class Effect:
    """What one look did to one file: its items before and after. `entry` None: the file is not served any more.

    `told`: the change goes to the feed and the history; false for the first reading of a vault.
    """

    path: str
    before: tuple[Held, ...]
    after: tuple[RecallItem, ...]
    entry: FileEntry | None
    body: bytes
    cause: Cause
    told: bool = True


@dataclass(frozen=True, slots=True)
class _Gone:
    held: Held
    due: float
    cause: Cause


@dataclass(frozen=True, slots=True)
class _Recent:
    item_id: str
    path: str
    item: RecallItem
    until: float


@dataclass(slots=True)
class Unsaved:
    """What the next transaction keeps."""

    priors: list[PriorText | tuple[str, str, str]] = field(default_factory=list)
    files: dict[str, tuple[FileEntry, bytes | None]] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    gone: dict[str, GoneRow] = field(default_factory=dict)
    back: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        """Say whether there is something to keep."""
        return bool(self.priors or self.files or self.dropped or self.gone or self.back)


@dataclass(frozen=True, slots=True)
class Batch:
    """What one transaction keeps."""

    unsaved: Unsaved
    rows: list[FeedRow]


class Consequences:
    """Turns effects into changes. `now` is monotonic seconds, `ts` the time for the records, `new_id` makes ids."""

    def __init__(
        self, state: State, feed: Feed, *, now: Callable[[], float], ts: Callable[[], str], new_id: Callable[[], str]
    ) -> None:
        self._state = state
        self._manifest = Manifest(state)
        self._history = History(state)
        self._feed = feed
        self._now = now
        self._ts = ts
        self._new_id = new_id
        self._gone: dict[str, _Gone] = {}
        self._recent: dict[str, _Recent] = {}
        self._young: dict[str, float] = {}
        self._unsaved = Unsaved()
        self.made = 0
        self._restamped: dict[str, dict[str, str]] = {}

    @property
    def waiting(self) -> int:
        """How many removals wait for their grace period."""
        return len(self._gone)

    def next_due(self) -> float | None:
        """Return the monotonic time at which the next removal is told."""
        return min((gone.due for gone in self._gone.values()), default=None)

    def load_gone(self) -> None:
        """Take up the removals that an earlier process had not told yet."""
        now = self._now()
        for row in self._manifest.gone():
            fields = json.loads(row.item)
            fields["tags"] = tuple(fields["tags"])
            held = Held(row.item_id, row.path, RecallItem(**fields), file_hash=row.file_hash)
            self._gone[row.item_id] = _Gone(held, now, "offline")

    def take(
        self, effects: Sequence[Effect], *, mass: bool, patient: bool = True
    ) -> dict[str, tuple[tuple[str, int, str], ...]]:
        """Work out what a batch of effects means; return the ids of each file's items.

        `mass`: most of the vault went. `patient` false: what went has been gone for long, so it is told now.
        """
        ids: dict[str, dict[tuple[str, int], str]] = {effect.path: {} for effect in effects}
        removed: list[tuple[Held, Effect, float]] = []
        added: list[New] = []
        untold = {effect.path for effect in effects if not effect.told}
        causes = {effect.path: effect.cause for effect in effects}
        news: list[tuple[Change, str | None]] = []
        for effect in effects:
            diff = diff_file(effect.path, effect.before, effect.after, effect.entry.hash if effect.entry else b"")
            for held, item in diff.kept:
                ids[effect.path][item.name, item.ordinal] = held.id
                news += self._changed(held, item, effect.cause)
            wait = self._wait(effect, len(diff.removed), mass=mass, patient=patient)
            removed += [(held, effect, wait) for held in diff.removed]
            added += diff.added
        fates = {held.id: (effect, wait) for held, effect, wait in removed}
        pairing = pair([*(gone.held for gone in self._gone.values()), *(held for held, _, _ in removed)], added)
        for held, one in pairing.pairs:
            if held.id in self._gone:
                del self._gone[held.id]
                self._unsaved.gone.pop(held.id, None)
                self._unsaved.back.add(held.id)
            ids[one.path][one.item.name, one.item.ordinal] = held.id
            news += self._changed(held, one.item, causes[one.path])
        for one in pairing.added:
            item_id = self._new_id()
            ids[one.path][one.item.name, one.item.ordinal] = item_id
            if one.path not in untold:
                news.append((self._change(item_id, "add", one.item, None, causes[one.path]), None))
                self._remember(item_id, one)
        now = self._now()
        for held in pairing.removed:
            if held.id in fates:
                effect, wait = fates[held.id]
                news += self._went(held, effect.cause, now + wait, ids)
        self.made += len(effects)
        self._feed.emit(news)
        settled = {
            path: tuple((name, ordinal, i) for (name, ordinal), i in found.items()) for path, found in ids.items()
        }
        self._keep(effects, settled)
        return settled

    def tell_due(self) -> int:
        """Tell the removals whose grace period is over; return how many."""
        now = self._now()
        due = [gone for gone in self._gone.values() if gone.due <= now]
        for gone in due:
            del self._gone[gone.held.id]
            self._tell_removed(gone.held, gone.cause)
        self._forget_old(now)
        return len(due)

    def _changed(self, held: Held, item: RecallItem, cause: Cause) -> list[tuple[Change, str | None]]:
        old = held.item
        if old.address == item.address and old.hash == item.hash:
            return []
        renamed = old.address != item.address
        self._recent.pop(held.id, None)
        self._keep_prior(held, item, "rename" if renamed else "update", cause)
        if renamed:
            self._unsaved.priors.append((old.address, item.address, item.name))
        action: Literal["rename", "update"] = "rename" if renamed else "update"
        return [(self._change(held.id, action, item, old.address if renamed else None, cause), None)]

    def _keep_prior(self, held: Held, item: RecallItem, action: Ending, cause: Cause) -> None:
        """Keep the text that an edit replaced, unless it is a moment of somebody's typing that the new text holds."""
        now = self._now()
        age = now - self._young.get(held.id, float("-inf"))
        if cause != "api" and not is_typing(age, held.item.content, item.content):
            self._unsaved.priors.append(self._prior(held, action, cause))
        self._young[held.id] = now

    def _prior(self, held: Held, action: Ending, cause: Cause) -> PriorText:
        item = held.item
        return PriorText(
            item.address,
            item.name,
            item.content,
            item.hash,
            self._ts(),
            cause,
            action,
            item_id=held.id,
            owner=item.owner,
            source_conv=item.source_conv,
            item_ts=item.ts,
        )

    def _went(
        self, held: Held, cause: Cause, due: float, ids: dict[str, dict[tuple[str, int], str]]
    ) -> list[tuple[Change, str | None]]:
        self._recent.pop(held.id, None)
        moved = self._absorbing(held)
        if moved is not None:
            self._restamped.setdefault(moved.path, {})[moved.item_id] = held.id
            for key, known in ids.get(moved.path, {}).items():
                if known == moved.item_id:
                    ids[moved.path][key] = held.id
            return [(self._change(held.id, "rename", moved.item, held.item.address, cause), moved.item_id)]
        if cause == "api" or due <= self._now():
            self._tell_removed(held, cause)
            return []
        self._gone[held.id] = _Gone(held, due, cause)
        self._unsaved.back.discard(held.id)
        self._unsaved.gone[held.id] = GoneRow(held.id, held.path, held.file_hash, json.dumps(asdict(held.item)))
        return []

    def _absorbing(self, held: Held) -> _Recent | None:
        """Return the item that appeared elsewhere just before this one went, with the same text.

        It is the other half of a move whose target was saved first.
        """
        now = self._now()
        text = held.item.content
        alive = [one for one in self._recent.values() if one.until >= now and one.path != held.path]
        found = [one for one in alive if one.item.content == text] if text else []
        named = [one for one in found if one.item.name == held.item.name] or found
        if len(named) != 1:
            return None
        return self._recent.pop(named[0].item_id)

    def _remember(self, item_id: str, one: New) -> None:
        if len(self._recent) < _MAX_YOUNG:
            self._recent[item_id] = _Recent(item_id, one.path, one.item, self._now() + GRACE_SHORTENED_S)
        if len(self._young) < _MAX_YOUNG:
            self._young[item_id] = self._now()

    def _tell_removed(self, held: Held, cause: Cause) -> None:
        if cause != "api":
            self._unsaved.priors.append(self._prior(held, "remove", cause))
        self._unsaved.gone.pop(held.id, None)
        self._unsaved.back.add(held.id)
        gone = Change(held.id, "remove", held.item.address, None, None, self._ts(), cause)
        self._feed.emit([(gone, None)])

    def _change(
        self, item_id: str, action: Literal["add", "update", "rename"], item: RecallItem, old: str | None, cause: Cause
    ) -> Change:
        return Change(item_id, action, item.address, old, item.hash, self._ts(), cause)

    def _wait(self, effect: Effect, lost: int, *, mass: bool, patient: bool) -> float:
        loss = Loss(lost, len(effect.before), whole=effect.entry is None)
        if lost and is_shrunk(loss) and effect.cause != "api":
            _log.warning(
                "%r lost %d of its %d items in one step; nothing follows from it yet", effect.path, lost, loss.of
            )
        if mass:
            return grace(loss, mass=True)
        return grace(loss, mass=False) if patient else 0.0

    def _keep(self, effects: Iterable[Effect], ids: dict[str, tuple[tuple[str, int, str], ...]]) -> None:
        for effect in effects:
            if effect.entry is None:
                self._unsaved.files.pop(effect.path, None)
                self._unsaved.dropped.add(effect.path)
            else:
                self._unsaved.dropped.discard(effect.path)
                self._unsaved.files[effect.path] = (replace(effect.entry, ids=ids[effect.path]), effect.body)

    def keep_entry(self, entry: FileEntry) -> None:
        """Keep a file's new stamp or ids; its bytes stayed."""
        known = self._unsaved.files.get(entry.path)
        self._unsaved.files[entry.path] = (entry, known[1] if known else None)

    def _forget_old(self, now: float) -> None:
        self._young = {one: since for one, since in self._young.items() if now - since < _FORGET_AGE_S}
        self._recent = {item_id: one for item_id, one in self._recent.items() if one.until >= now}

    def take_restamped(self) -> dict[str, dict[str, str]]:
        """Return, by file, which item ids were found to be other items' since the last call."""
        restamped, self._restamped = self._restamped, {}
        return restamped

    def has_unsaved(self) -> bool:
        """Say whether `save` would write anything."""
        return bool(self._unsaved) or self._feed.has_unsaved()

    def take_unsaved(self) -> Batch:
        """Return what is to be kept and begin a new batch. Called on the loop; `save` may run in a thread."""
        batch = Batch(self._unsaved, self._feed.take_unsaved())
        self._unsaved = Unsaved()
        return batch

    def put_back(self, batch: Batch) -> None:
        """Take a batch back that could not be kept: the next one tries again."""
        newer = self._unsaved
        older = batch.unsaved
        older.priors += newer.priors
        for path in newer.dropped:
            older.files.pop(path, None)
        older.dropped = (older.dropped - newer.files.keys()) | newer.dropped
        for path, (entry, body) in newer.files.items():
            known = older.files.get(path)
            older.files[path] = (entry, body if body is not None or known is None else known[1])
        for one in newer.back:
            older.gone.pop(one, None)
        older.back = (older.back - newer.gone.keys()) | newer.back
        older.gone |= newer.gone
        self._unsaved = older
        self._feed.put_back(batch.rows)

    def save(self, batch: Batch) -> None:
        """Keep a batch in one transaction. Raises `HistoryUnavailable`; then nothing of it is kept."""
        unsaved = batch.unsaved
        with self._state.transaction():
            for prior in unsaved.priors:
                if isinstance(prior, PriorText):
                    self._history.record_many([prior])
                else:
                    self._history.rename(*prior)
            self._manifest.drop(unsaved.dropped)
            self._manifest.put((entry, body) for entry, body in unsaved.files.values() if body is not None)
            self._manifest.restamp(entry for entry, body in unsaved.files.values() if body is None)
            self._manifest.put_gone(unsaved.gone.values())
            self._manifest.drop_gone(unsaved.back)
            self._feed.save(batch.rows)
