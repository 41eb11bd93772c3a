"""The change feed on disk: one row for every item that was added, updated, removed or renamed."""

from collections.abc import Iterable
from dataclasses import dataclass

from wikimem.pages.changes import Action, Cause, Change
from wikimem.store.state import Row, State

SCHEMA = """
CREATE TABLE IF NOT EXISTS changes (
    seq INTEGER PRIMARY KEY, item_id TEXT NOT NULL, action TEXT NOT NULL, address TEXT NOT NULL,
    old_address TEXT, hash TEXT, ts TEXT NOT NULL, cause TEXT NOT NULL, absorbs TEXT
);
"""

_COLUMNS = "seq, item_id, action, address, old_address, hash, ts, cause, absorbs"
_RESERVED = "changes_reserved"
_PRUNED = "changes_pruned"
RESERVE = 100_000


@dataclass(frozen=True, slots=True)
class FeedRow:
    """A change with its place in the feed.

    `absorbs`: the id that the item bore for a moment, when its new place was read before its old one.
    """

    seq: int
    change: Change
    absorbs: str | None = None


class ChangeTable:
    """The table. Every method raises `HistoryUnavailable` when the state cannot be used."""

    def __init__(self, state: State) -> None:
        self._state = state
        state.ensure(SCHEMA)

    def reserve(self) -> int:
        """Return the first number that this process may give.

        Numbers are handed out in cursors before their rows are on the disk. A process that dies in between must not
        let the next one give the same number to something else, so each life begins behind the last one's reserve.
        """
        with self._state.transaction():
            first = int(self._state.meta(_RESERVED) or "1")
            self._state.set_meta(_RESERVED, str(first + RESERVE))
        return first

    def extend(self, seq: int) -> None:
        """Let this process give numbers up to `seq` and a reserve beyond it."""
        self._state.set_meta(_RESERVED, str(seq + RESERVE))

    def append(self, rows: Iterable[FeedRow]) -> None:
        """Keep rows."""
        self._state.execute_many(
            f"INSERT OR REPLACE INTO changes ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - our own columns
            [_values(row) for row in rows],
        )

    def since(self, seq: int, limit: int) -> list[FeedRow]:
        """Return up to `limit` rows after `seq`, oldest first."""
        sql = f"SELECT {_COLUMNS} FROM changes WHERE seq > ? ORDER BY seq LIMIT ?"  # noqa: S608 - our own columns
        rows = self._state.query(sql, (seq, limit))
        return [_feed_row(row) for row in rows]

    def pruned_to(self) -> int:
        """Return the number up to which rows were dropped: a cursor before it knows too little."""
        return int(self._state.meta(_PRUNED) or "0")

    def prune(self, keep: int) -> int:
        """Drop all but the newest `keep` rows; return the number up to which rows are gone."""
        rows = self._state.query("SELECT seq FROM changes ORDER BY seq DESC LIMIT 1 OFFSET ?", (keep,))
        if not rows:
            return self.pruned_to()
        edge = int(str(rows[0][0]))
        self.forget(edge)
        return edge

    def forget(self, edge: int) -> None:
        """Drop the rows up to `edge`: a cursor before it gets everything anew."""
        with self._state.transaction():
            self._state.execute("DELETE FROM changes WHERE seq <= ?", (edge,))
            self._state.set_meta(_PRUNED, str(edge))


def _values(row: FeedRow) -> tuple[int | str | None, ...]:
    change = row.change
    old = None if change.old_address is None else _clean(change.old_address)
    address = _clean(change.address)
    return (row.seq, change.id, change.action, address, old, change.hash, change.ts, change.cause, row.absorbs)


def _clean(text: str) -> str:
    # SQLite takes no lone surrogate; an address holds one only if a category's percent form was passed by.
    return text.encode("utf-8", "replace").decode()


def _feed_row(row: Row) -> FeedRow:
    seq, item_id, action, address, old_address, digest, ts, cause, absorbs = row
    change = Change(
        str(item_id),
        _action(str(action)),
        str(address),
        None if old_address is None else str(old_address),
        None if digest is None else str(digest),
        str(ts),
        _cause(str(cause)),
    )
    return FeedRow(int(str(seq)), change, None if absorbs is None else str(absorbs))


def _action(text: str) -> Action:
    for known in ("add", "update", "remove", "rename"):
        if text == known:
            return known
    raise ValueError(f"no action is called {text!r}")


def _cause(text: str) -> Cause:
    for known in ("api", "disk", "offline"):
        if text == known:
            return known
    raise ValueError(f"no cause is called {text!r}")
