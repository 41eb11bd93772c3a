"""The change feed: what happened to items, by cursor, for those who ask and for those who listen.

Numbers are given at once and rows reach the disk in batches. A cursor names the state's feed and a number; a cursor
of another feed, or one from before what is kept, gets `fresh_instance`: read everything again.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from wikimem.errors import InvalidCursor
from wikimem.pages.changes import Change
from wikimem.store.changes import RESERVE, ChangeTable, FeedRow
from wikimem.store.state import State

_log = logging.getLogger("wikimem.feed")

KEEP_ROWS = 200_000
_READ_ROWS = 2_000
TAIL_ROWS = 10_000
SUBSCRIBER_QUEUE = 1_000
_LEAVE, _TAKE = ("remove", "rename"), ("add", "rename")


@dataclass(frozen=True, slots=True)
class ChangesPage:
    """Changes after a cursor, coalesced by item. `more`: ask again with `cursor`."""

    cursor: str
    fresh_instance: bool = False
    changes: tuple[Change, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """What a subscriber gets: a change and the cursor after it, or `resync`: notices were dropped, ask `changes`."""

    cursor: str
    change: Change | None = None
    resync: bool = False


class Subscription:
    """A bounded queue of notices. A reader that is too slow loses them and gets one `resync` in their place."""

    def __init__(self, limit: int = SUBSCRIBER_QUEUE) -> None:
        self._limit = limit
        self._notices: deque[Notice] = deque()
        self._ready = asyncio.Event()
        self.closed = False

    def offer(self, notice: Notice) -> None:
        """Add a notice without waiting."""
        if len(self._notices) >= self._limit:
            self._notices.clear()
            self._notices.append(Notice(notice.cursor, resync=True))
        elif self._notices and self._notices[-1].resync:
            self._notices[-1] = Notice(notice.cursor, resync=True)
        else:
            self._notices.append(notice)
        self._ready.set()

    def close(self) -> None:
        """End the reader's iteration after what is queued."""
        self.closed = True
        self._ready.set()

    async def next(self) -> Notice | None:
        """Wait for a notice; None when the subscription was closed."""
        while not self._notices:
            if self.closed:
                return None
            self._ready.clear()
            await self._ready.wait()
        return self._notices.popleft()


def coalesce(rows: Iterable[FeedRow]) -> tuple[Change, ...]:
    """Fold the rows of each item into one change, in the order of each item's last row.

    `a` -> `bea` -> `beach` is one rename; what came and went in between is nothing. But who leaves an address comes
    before who takes it, so that a reader who knows items by address ends with the right ones too. (Two that changed
    places have no such order: they are told apart by id.)
    """
    first: dict[str, Change] = {}
    last: dict[str, Change] = {}
    for row in rows:
        if row.absorbs is not None:
            _absorb(row, first, last)
        change = row.change
        first.setdefault(change.id, change)
        last.pop(change.id, None)
        last[change.id] = change
    folded = (_fold(first[item_id], change, _before(first[item_id])) for item_id, change in last.items())
    return _leavers_first([change for change in folded if change is not None])


def _leavers_first(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Move up each change that leaves an address before the one that takes it; the rest keeps its order."""
    left = {one.old_address if one.action == "rename" else one.address: one for one in changes if one.action in _LEAVE}
    ordered: dict[str, Change] = {}
    for change in changes:
        waiting: dict[str, Change] = {}
        first: Change | None = change
        while first is not None and first.id not in ordered and first.id not in waiting:
            waiting[first.id] = first
            first = left.get(first.address) if first.action in _TAKE else None
        ordered.update(reversed(waiting.items()))
    return tuple(ordered.values())


def _absorb(row: FeedRow, first: dict[str, Change], last: dict[str, Change]) -> None:
    absorbed = row.absorbs or ""
    came = first.get(absorbed)
    if came is not None and came.action == "add":
        del first[absorbed], last[absorbed]


def _before(change: Change) -> str | None:
    """Return the address that the item had before its first change, None when it was not there."""
    if change.action == "add":
        return None
    return change.old_address if change.action == "rename" else change.address


def _fold(first: Change, last: Change, before: str | None) -> Change | None:
    if last.action == "remove":
        return None if before is None else replace(last, address=before, old_address=None)
    if before is None:
        return replace(last, action="add", old_address=None)
    if before != last.address:
        return replace(last, action="rename", old_address=before)
    if first is last:
        return last
    return replace(last, action="update", old_address=None)


class Feed:
    """The feed of one state file."""

    def __init__(self, state: State, *, keep: int = KEEP_ROWS) -> None:
        self._table = ChangeTable(state)
        self._name = state.vault_id[:12]
        self._keep = keep
        first = self._table.reserve()
        self._reserved = first + RESERVE
        self._last = first - 1
        self._floor = self._table.pruned_to()
        # The newest rows stay in memory: whoever follows closely never waits for the disk.
        self._tail: deque[FeedRow] = deque(maxlen=TAIL_ROWS)
        self._unsaved: list[FeedRow] = []
        self._since_prune = 0
        self._subscriptions: set[Subscription] = set()
        self._listeners: list[Callable[[Change, str], None]] = []

    def begin_anew(self) -> None:
        """Tell whoever holds a cursor from before now to read everything again."""
        self._floor = self._last
        self._table.forget(self._last)

    def cursor(self) -> str:
        """Return the token for everything up to now."""
        return self._token(self._last)

    def emit(self, changes: Iterable[tuple[Change, str | None]]) -> None:
        """Give each change its number and tell the subscribers; `flush` keeps them."""
        for change, absorbs in changes:
            self._last += 1
            if self._last >= self._reserved:
                self._table.extend(self._last)
                self._reserved = self._last + RESERVE
            row = FeedRow(self._last, change, absorbs)
            self._tail.append(row)
            self._unsaved.append(row)
            notice = Notice(self._token(self._last), change)
            for subscription in self._subscriptions:
                subscription.offer(notice)
            for listener in self._listeners:
                listener(change, notice.cursor)

    def has_unsaved(self) -> bool:
        """Say whether rows wait to be kept."""
        return bool(self._unsaved)

    def take_unsaved(self) -> list[FeedRow]:
        """Return the rows that are not on the disk yet and leave them to the caller."""
        rows, self._unsaved = self._unsaved, []
        return rows

    def put_back(self, rows: list[FeedRow]) -> None:
        """Take rows back that could not be kept."""
        self._unsaved = rows + self._unsaved

    def save(self, rows: list[FeedRow]) -> None:
        """Keep rows. Raises `HistoryUnavailable`."""
        self._table.append(rows)
        self._since_prune += len(rows)
        if self._since_prune > self._keep // 10:
            self._since_prune = 0
            self._floor = self._table.prune(self._keep)

    def since(self, cursor: str | None, limit: int = 1_000) -> ChangesPage:
        """Return what changed after a cursor. Raises `InvalidCursor` for what is no cursor at all."""
        if cursor is None:
            return ChangesPage(self.cursor())
        name, seq = _parse(cursor)
        if name != self._name or seq > self._last or seq < self._floor:
            return ChangesPage(self.cursor(), fresh_instance=True)
        rows = self._rows_after(seq)
        chosen = _within(rows[:_READ_ROWS], limit)
        more = len(chosen) < len(rows)
        end = chosen[-1].seq if more else self._last
        return ChangesPage(self._token(end), changes=coalesce(chosen), more=more)

    def _rows_after(self, seq: int) -> list[FeedRow]:
        first = self._tail[0].seq if self._tail else self._last + 1
        rows = [] if seq >= first - 1 else self._table.since(seq, _READ_ROWS + 1)
        if len(rows) <= _READ_ROWS:
            known = rows[-1].seq if rows else seq
            rows += islice((row for row in self._tail if row.seq > known), _READ_ROWS + 1 - len(rows))
        return rows

    def subscribe(self, limit: int = SUBSCRIBER_QUEUE) -> Subscription:
        """Return a queue that gets every change from now on."""
        subscription = Subscription(limit)
        self._subscriptions.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Let go of a queue."""
        self._subscriptions.discard(subscription)
        subscription.close()

    def listen(self, listener: Callable[[Change, str], None]) -> None:
        """Call `listener(change, cursor)` on the loop for every change."""
        self._listeners.append(listener)

    def close(self) -> None:
        """End every subscription."""
        for subscription in list(self._subscriptions):
            self.unsubscribe(subscription)

    def _token(self, seq: int) -> str:
        return f"{self._name}-{seq:x}"


def cursor_before(cursor: str) -> str:
    """Return the token for everything before the change that `cursor` was given with."""
    name, seq = _parse(cursor)
    return f"{name}-{max(0, seq - 1):x}"


def _within(rows: list[FeedRow], limit: int) -> list[FeedRow]:
    """Return the longest head of `rows` that touches at most `limit` items."""
    seen: set[str] = set()
    for index, row in enumerate(rows):
        seen.add(row.change.id)
        if len(seen) > limit:
            return rows[:index]
    return rows


def _parse(cursor: str) -> tuple[str, int]:
    name, dash, number = cursor.rpartition("-")
    try:
        seq = int(number, 16)
    except ValueError:
        seq = -1
    if not dash or not name or seq < 0:
        raise InvalidCursor(f"{cursor[:80]!r} is no cursor", hint="call `changes` without one to get a cursor")
    return name, seq
