"""What follows from an edit that search has followed already: identities, the change feed, history, the manifest.

What came or was edited is told at once. What went waits for its grace period, because editors and git take things
away and bring them back; the same text elsewhere ends the wait as a move.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from wikimem.pages.changes import Cause, Change
from wikimem.pages.items import RecallItem
from wikimem.store.history import Ending, PriorText
from wikimem.store.manifest import FileEntry, GoneRow
from wikimem.store.stale_buffers import Gone
from wikimem_daemon.departures import Departed, Departures
from wikimem_daemon.feed import Feed
from wikimem_daemon.identity import Held, Inode, New, Pool, diff_file
from wikimem_daemon.plan import GRACE_MASS_S, GRACE_SHORTENED_S, Loss, grace, is_mass_loss, is_shrunk, is_typing
from wikimem_daemon.stale import Undone
from wikimem_daemon.unsaved import Renamed, Unsaved

_log = logging.getLogger("wikimem.changes")

_FORGET_AGE_S = 120.0
_MAX_REMEMBERED = 5_000
_TELL_AT_ONCE = 500  # a vault of 20,000 notes that went must not stop the loop

Ids = tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True)
class Effect:
    """What one look did to one file: its items before and after.

    `entry` None: the file is not served any more, and `was` tells what it had been.
    `told`: the change goes to the feed and the history; false for the first reading of a vault.
    """

    path: str
    before: tuple[Held, ...]
    after: tuple[RecallItem, ...]
    entry: FileEntry | None
    body: bytes
    cause: Cause
    told: bool = True
    was: Departed | None = None


@dataclass(frozen=True, slots=True)
class _Gone:
    """A removal that waits. `whole`: its file went, not only the item."""

    since: float
    due: float
    cause: Cause
    whole: bool


@dataclass(frozen=True, slots=True)
class _Recent:
    item_id: str
    path: str
    item: RecallItem
    until: float


@dataclass(slots=True)
class _Batch:
    """One `take` at work: the ids so far, what came, and what went with its effect."""

    ids: dict[str, dict[tuple[str, int], str]]
    causes: dict[str, Cause]
    told: set[str]
    added: list[New] = field(default_factory=list)
    removed: list[tuple[Held, Effect, float]] = field(default_factory=list)
    changes: list[tuple[Change, str | None]] = field(default_factory=list)


class Consequences:
    """Turns effects into changes. `now` is monotonic seconds, `ts` the time for the records, `new_id` makes ids."""

    def __init__(
        self, feed: Feed, *, now: Callable[[], float], ts: Callable[[], str], new_id: Callable[[], str]
    ) -> None:
        self._feed = feed
        self._now = now
        self._ts = ts
        self._new_id = new_id
        self._pool = Pool()
        self._gone: dict[str, _Gone] = {}
        self.departures = Departures()
        self._recent: dict[str, _Recent] = {}
        self._recent_by_text: dict[str, set[str]] = {}
        self._earliest: float | None = None
        self._young: dict[str, float] = {}
        self._reborn: dict[str, dict[str, str]] = {}
        self._warned_mass = False
        self.unsaved = Unsaved()
        self.made = 0

    @property
    def waiting(self) -> int:
        """How many removals wait for their grace period."""
        return len(self._gone)

    def next_due(self) -> float | None:
        """Return the monotonic time at which the next removal is told."""
        return self._earliest

    def load_gone(self, rows: Iterable[GoneRow], files: Mapping[str, FileEntry]) -> None:
        """Take up the removals that an earlier process had not told yet.

        Those of a file that is still known went with it: a look at the file tells whether they are gone.
        """
        now = self._now()
        for row in rows:
            file = files.get(row.path)
            if file is not None and any(item_id == row.item_id for _, _, item_id in file.ids):
                self.unsaved.came_back(row.item_id)
                continue
            fields = json.loads(row.item)
            fields["tags"] = tuple(fields["tags"])
            self._pool.add(Held(row.item_id, row.path, RecallItem(**fields), file_hash=row.file_hash))
            self._gone[row.item_id] = _Gone(now, now, "offline", whole=True)
            self._earliest = now

    def take(self, effects: Sequence[Effect], *, patient: bool = True) -> dict[str, Ids]:
        """Work out what a batch of effects means; return the ids of each file's items.

        `patient` false: what went has been gone for long, so it is told as soon as `tell_due` is asked.
        """
        batch = _Batch(
            {effect.path: {} for effect in effects},
            {effect.path: effect.cause for effect in effects},
            {effect.path for effect in effects if effect.told},
        )
        self.made += len(effects)
        for effect in effects:
            self._compare(effect, batch, patient=patient)
        self._send_away(batch)
        self._welcome(batch)
        self._feed.emit(batch.changes)
        ids = {path: tuple((*key, item_id) for key, item_id in found.items()) for path, found in batch.ids.items()}
        self._keep(effects, ids)
        return ids

    def take_back(self, path: str) -> Departed | None:
        """End the wait of what went with a file, which is there after all; return what it was."""
        file = self.departures.take(path)
        if file is None:
            return None
        for item_id in file.waiting:
            self._stop_waiting(item_id)
        self.unsaved.restamp(file.left)
        return file

    def unsaved_body(self, path: str) -> bytes | None:
        """Return the bytes of a file that are not in the manifest yet."""
        return self.unsaved.body(path)

    def tell_due(self, files_known: int) -> int:
        """Tell the removals whose grace period is over; return how many. `files_known` are those still there."""
        now = self._now()
        mass = None
        due: list[str] = []
        for item_id, gone in self._gone.items():
            if gone.due > now:
                continue
            mass = self._is_mass(files_known) if mass is None else mass
            if not mass or gone.since + GRACE_MASS_S <= now:
                due.append(item_id)
            if len(due) == _TELL_AT_ONCE:
                break
        for item_id in due:
            gone, held = self._gone.pop(item_id), self._pool.take(item_id)
            self.departures.end(item_id)
            self._tell_removed(held, gone.cause)
            if not gone.whole and gone.cause != "api":
                self.unsaved.undone.append(Undone(held.path, Gone(held.item.address, held.item.hash, None)))
        if not self._gone:
            self._warned_mass = False
        self._earliest = min((gone.due for gone in self._gone.values()), default=None)
        if mass and self._earliest is not None:
            self._earliest = max(self._earliest, now + 1.0)
        self._keep_departures()
        self._forget_old(now)
        return len(due)

    def _is_mass(self, files_known: int) -> bool:
        files_gone = len({held.path for held in self._pool if self._gone[held.id].whole})
        mass = is_mass_loss(files_gone, files_gone + files_known)
        if mass and not self._warned_mass:
            self._warned_mass = True
            _log.warning(
                "%d of %d notes went at once; nothing follows from it for %.0f s",
                files_gone,
                files_gone + files_known,
                GRACE_MASS_S,
            )
        return mass

    # ------------------------------------------------------------- one batch

    def _compare(self, effect: Effect, batch: _Batch, *, patient: bool) -> None:
        entry = effect.entry
        digest, inode = (entry.hash, inode_of(entry)) if entry is not None else (b"", (0, 0))
        diff = diff_file(effect.path, effect.before, effect.after, digest, inode)
        for held, item in diff.kept:
            batch.ids[effect.path][item.name, item.ordinal] = held.id
            batch.changes += self._changed(held, item, effect.cause)
        loss = Loss(len(diff.removed), len(effect.before), whole=entry is None)
        if loss.lost and is_shrunk(loss) and effect.cause == "disk":
            _log.warning("%r lost %d of its %d items; nothing follows from it yet", effect.path, loss.lost, loss.of)
        wait = grace(loss) if patient else 0.0
        batch.removed += [(held, effect, wait) for held in diff.removed]
        batch.added += diff.added

    def _send_away(self, batch: _Batch) -> None:
        """Put what went into the pool, where what came in the same batch may find it."""
        now = self._now()
        for held, effect, wait in batch.removed:
            self._forget_recent(held.id)
            self._pool.add(held)
            if effect.was is not None:
                self.departures.went(effect.was, held.id)
            self._gone[held.id] = _Gone(now, now + wait, effect.cause, whole=effect.entry is None)
            self._earliest = now + wait if self._earliest is None else min(self._earliest, now + wait)

    def _welcome(self, batch: _Batch) -> None:
        pairs, added = self._pool.pair(batch.added)
        for held, one in pairs:
            gone = self._gone.pop(held.id, None)
            self.departures.end(held.id)
            self.unsaved.came_back(held.id)
            batch.ids[one.path][one.item.name, one.item.ordinal] = held.id
            batch.changes += self._changed(held, one.item, batch.causes[one.path], gone.cause if gone else None)
        for one in added:
            item_id = self._new_id()
            batch.ids[one.path][one.item.name, one.item.ordinal] = item_id
            if one.path in batch.told:
                batch.changes.append((self._change(item_id, "add", one.item, None, batch.causes[one.path]), None))
                self._remember(item_id, one)
                self._note_birth(item_id, batch.causes[one.path])
        for held, effect, _ in batch.removed:
            if held.id in self._gone:
                self._went(held, effect.cause, batch)

    def _changed(
        self, held: Held, item: RecallItem, cause: Cause, went: Cause | None = None
    ) -> list[tuple[Change, str | None]]:
        """Return the change of an item, if it is one. `went`: what had taken the item away before it came again."""
        old = held.item
        if old.address == item.address and old.content == item.content:
            return []
        renamed = old.address != item.address
        self._forget_recent(held.id)
        self._keep_prior(held, item, "rename" if renamed else "update", cause, went)
        action: Literal["rename", "update"] = "rename" if renamed else "update"
        return [(self._change(held.id, action, item, old.address if renamed else None, cause), None)]

    def _keep_prior(self, held: Held, item: RecallItem, action: Ending, cause: Cause, went: Cause | None) -> None:
        """Keep the text that an edit replaced, unless it is a moment of somebody's typing that the new text holds.

        The store keeps what its own writes replace, but not what was gone from the file by then: that is kept here.
        """
        age = self._now() - self._young.pop(held.id, float("-inf"))
        self._note_birth(held.id, cause)
        renamed = held.item.address != item.address
        if not renamed and cause != "api":
            self.unsaved.undone.append(Undone(held.path, Gone(item.address, held.item.hash, item.hash)))
        typed = cause != "api" and is_typing(age, held.item.content, item.content)
        ended_by = went if cause == "api" and went is not None else cause
        if ended_by != "api" and not typed:
            self.unsaved.history.append(self._prior(held, action, ended_by))
        if renamed:
            self.unsaved.history.append(Renamed(held.item.address, item.address))

    def _prior(self, held: Held, action: Ending, cause: Cause) -> PriorText:
        """Return the record of a text that ended, under the address that it had."""
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

    def _went(self, held: Held, cause: Cause, batch: _Batch) -> None:
        moved = self._found_elsewhere(held)
        if moved is not None:
            self._stop_waiting(held.id)
            self._reborn.setdefault(moved.path, {})[moved.item_id] = held.id
            found = batch.ids.get(moved.path, {})
            for key in [key for key, known in found.items() if known == moved.item_id]:
                found[key] = held.id
            self.unsaved.history.append(Renamed(held.item.address, moved.item.address))
            change = self._change(held.id, "rename", moved.item, held.item.address, cause)
            batch.changes.append((change, moved.item_id))
        elif cause == "api":
            self._stop_waiting(held.id)
            self._tell_removed(held, cause)
        else:
            self.unsaved.went(GoneRow(held.id, held.path, held.file_hash, json.dumps(asdict(held.item))))

    def _stop_waiting(self, item_id: str) -> None:
        self._gone.pop(item_id, None)
        self._pool.discard(item_id)
        self.departures.end(item_id)
        self.unsaved.came_back(item_id)

    def _found_elsewhere(self, held: Held) -> _Recent | None:
        """Return the item that appeared elsewhere just before this one went, with the same text.

        It is the other half of a move whose target was saved first.
        """
        now, text = self._now(), held.item.content
        same = [self._recent[item_id] for item_id in self._recent_by_text.get(text, ())] if text else []
        found = [one for one in same if one.until >= now and one.path != held.path]
        named = [one for one in found if one.item.name == held.item.name] or found
        if len(named) != 1:
            return None
        self._forget_recent(named[0].item_id)
        return named[0]

    def _forget_recent(self, item_id: str) -> None:
        one = self._recent.pop(item_id, None)
        if one is not None:
            same = self._recent_by_text[one.item.content]
            same.discard(item_id)
            if not same:
                del self._recent_by_text[one.item.content]

    def _remember(self, item_id: str, one: New) -> None:
        if len(self._recent) < _MAX_REMEMBERED:
            self._recent[item_id] = _Recent(item_id, one.path, one.item, self._now() + GRACE_SHORTENED_S)
            self._recent_by_text.setdefault(one.item.content, set()).add(item_id)

    def _note_birth(self, item_id: str, cause: Cause) -> None:
        """Remember when a text came, if somebody may be typing it: what an agent wrote is a version from the start."""
        if cause != "api" and len(self._young) < _MAX_REMEMBERED:
            self._young[item_id] = self._now()

    def _tell_removed(self, held: Held, cause: Cause) -> None:
        if cause != "api":
            self.unsaved.history.append(self._prior(held, "remove", cause))
        self.unsaved.came_back(held.id)
        self._feed.emit([(Change(held.id, "remove", held.item.address, None, None, self._ts(), cause), None)])

    def _change(
        self, item_id: str, action: Literal["add", "update", "rename"], item: RecallItem, old: str | None, cause: Cause
    ) -> Change:
        return Change(item_id, action, item.address, old, item.hash, self._ts(), cause)

    def _keep(self, effects: Iterable[Effect], ids: dict[str, Ids]) -> None:
        for effect in effects:
            if effect.entry is not None:
                self.departures.take(effect.path)
                self.unsaved.put(replace(effect.entry, ids=ids[effect.path]), effect.body)
            elif self.departures.entry(effect.path) is None:
                self.unsaved.drop(effect.path)
        self._keep_departures()

    def _keep_departures(self) -> None:
        """Keep a file's row until the last of what went with it is told or found."""
        for entry in self.departures.take_fewer():
            if entry.ids:
                self.unsaved.restamp(entry)
            else:
                self.unsaved.drop(entry.path)

    def _forget_old(self, now: float) -> None:
        self._young = {one: since for one, since in self._young.items() if now - since < _FORGET_AGE_S}
        for item_id in [item_id for item_id, one in self._recent.items() if one.until < now]:
            self._forget_recent(item_id)

    def take_reborn(self) -> dict[str, dict[str, str]]:
        """Return, by file, which new ids turned out to be old items' since the last call."""
        reborn, self._reborn = self._reborn, {}
        return reborn


def inode_of(entry: FileEntry) -> Inode:
    """Return what tells a moved file from a copied one."""
    return entry.stamp.dev, entry.stamp.ino
