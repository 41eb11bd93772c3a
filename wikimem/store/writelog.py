"""What this program is about to write, noted before it is written: a crash leaves a question that has an answer.

The same rows, kept for two days, tell an editor's stale buffer from a person's deletion, hold the text of a fresh
item until it is seen in the file or in the history, and let a repeated idempotency key find its first write.
"""

import json
import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta

from wikimem.store.state import Row, SqlValue, State

KEPT = timedelta(days=2)

SCHEMA = """
CREATE TABLE IF NOT EXISTS writes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, path BLOB NOT NULL, before TEXT, after TEXT,
    address TEXT NOT NULL, name TEXT, content TEXT, hash TEXT, prior_hash TEXT,
    owner TEXT, source_conv TEXT, item_ts TEXT,
    line BLOB, journal_size INTEGER NOT NULL, history TEXT NOT NULL, key TEXT,
    done INTEGER NOT NULL DEFAULT 0, seen INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS waiting (path BLOB NOT NULL, name BLOB NOT NULL, PRIMARY KEY (path, name)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS writes_open ON writes (id) WHERE done = 0;
CREATE INDEX IF NOT EXISTS writes_unseen ON writes (path, id) WHERE seen = 0;
CREATE INDEX IF NOT EXISTS writes_path ON writes (path, id);
CREATE INDEX IF NOT EXISTS writes_address ON writes (address, id);
CREATE INDEX IF NOT EXISTS writes_key ON writes (key) WHERE key IS NOT NULL;
CREATE INDEX IF NOT EXISTS writes_ts ON writes (ts);
"""

_COLUMNS = (
    "ts, path, before, after, address, name, content, hash, prior_hash, owner, source_conv, item_ts,"
    " line, journal_size, history, key"
)


@dataclass(frozen=True, slots=True)
class WrittenText:
    """The text that a write puts into a file."""

    name: str
    content: str
    hash: str
    owner: str | None = None
    source_conv: str | None = None
    ts: str | None = None


@dataclass(frozen=True, slots=True)
class NotedWrite:
    """One write. `before` and `after` are hashes of the file's bytes (None: no file).

    `text` is None for a removal and for a file without items; `prior_hash` is the item's before. `line` is the
    journal's, `journal_size` the journal's size before it, `history` the ids of the texts kept for this write.
    """

    id: int
    ts: str
    path: str
    before: str | None
    after: str | None
    address: str
    text: WrittenText | None
    prior_hash: str | None
    line: bytes | None
    journal_size: int
    history: tuple[int, ...]
    key: str | None = None


class WriteLog:
    """The table. Every method raises `HistoryUnavailable` when the state cannot be used."""

    def __init__(self, state: State) -> None:
        self._state = state
        state.ensure(SCHEMA)

    def transaction(self) -> AbstractContextManager[object]:
        """Hold one transaction over this table and the others of the state."""
        return self._state.transaction()

    def begin(self, write: NotedWrite, *, finished: Sequence[int] = ()) -> int:
        """Note a write that is about to be done, and that those of `finished` are done; return its id."""
        with self._state.transaction() as connection:
            self._state.execute_many("UPDATE writes SET done = 1 WHERE id = ?", [(one,) for one in finished])
            marks = ", ".join("?" * 16)
            sql = f"INSERT INTO writes ({_COLUMNS}) VALUES ({marks})"  # noqa: S608 - our own columns
            return connection.execute(sql, _values(write)).lastrowid or 0

    def cancel(self, write_id: int) -> None:
        """Forget a write that did not happen."""
        self._state.execute("DELETE FROM writes WHERE id = ?", (write_id,))

    def finish(self, ids: Iterable[int]) -> None:
        """Note that writes are done, file and journal."""
        self._state.execute_many("UPDATE writes SET done = 1 WHERE id = ?", [(one,) for one in ids])

    def unfinished(self) -> list[NotedWrite]:
        """Return the writes that may have been cut off, oldest first."""
        rows = self._state.query(f"SELECT id, {_COLUMNS} FROM writes WHERE done = 0 ORDER BY id")  # noqa: S608
        return [_write(row) for row in rows]

    def of_path(self, path: str) -> list[NotedWrite]:
        """Return every noted write to a file, oldest first."""
        sql = f"SELECT id, {_COLUMNS} FROM writes WHERE path = ? ORDER BY id"  # noqa: S608 - our own columns
        return [_write(row) for row in self._state.query(sql, (os.fsencode(path),))]

    def unseen(self, path: str, finished: Collection[int] = ()) -> list[NotedWrite]:
        """Return the finished writes to a file whose text has not been seen to live on elsewhere.

        `finished` are those that are done without being noted so yet.
        """
        sql = f"SELECT done, id, {_COLUMNS} FROM writes WHERE path = ? AND seen = 0 ORDER BY id"  # noqa: S608
        rows = self._state.query(sql, (os.fsencode(path),))
        return [_write(row[1:]) for row in rows if row[0] == 1 or row[1] in finished]

    def expiring(self, now: str) -> list[str]:
        """Return the files whose writes of more than two days ago are to be looked at before they are forgotten."""
        sql = "SELECT DISTINCT path FROM writes WHERE ts < ? AND done = 1 AND seen = 0"
        return [_path(path) for (path,) in self._state.query(sql, (_oldest(now),))]

    def expire(self, now: str, path: str | None = None) -> None:
        """Forget the writes of more than two days ago that need no other look, with a path all of those to it."""
        looked_at = None if path is None else os.fsencode(path)
        sql = "DELETE FROM writes WHERE ts < ? AND done = 1 AND (seen = 1 OR path = ?)"
        self._state.execute(sql, (_oldest(now), looked_at))

    def mark_seen(self, ids: Iterable[int]) -> None:
        """Note that the texts of these writes are in the history by now, or were never texts."""
        rows = [(one,) for one in ids]
        if rows:
            self._state.execute_many("UPDATE writes SET seen = 1 WHERE id = ?", rows)

    def last_at(self, address: str) -> NotedWrite | None:
        """Return the latest write to an address in the last two days, done or under way."""
        sql = f"SELECT id, {_COLUMNS} FROM writes WHERE address = ? ORDER BY id DESC LIMIT 1"  # noqa: S608
        rows = self._state.query(sql, (_clean(address),))
        return _write(rows[0]) if rows else None

    def under_key(self, key: str, *, since: str) -> NotedWrite | None:
        """Return the write that was noted under an idempotency key at or after `since`, finished or not."""
        sql = f"SELECT id, {_COLUMNS} FROM writes WHERE key = ? AND ts >= ? ORDER BY id DESC LIMIT 1"  # noqa: S608
        rows = self._state.query(sql, (key, since))
        return _write(rows[0]) if rows else None

    def note_waiting(self, path: str, name: str) -> None:
        """Note that a displaced file of this name waits beside the file at `path`."""
        self._state.execute("INSERT OR IGNORE INTO waiting VALUES (?, ?)", (os.fsencode(path), os.fsencode(name)))

    def note_gone(self, path: str, name: str) -> None:
        """Note that it waits no more."""
        self._state.execute("DELETE FROM waiting WHERE path = ? AND name = ?", (os.fsencode(path), os.fsencode(name)))

    def waiting(self) -> list[tuple[str, str]]:
        """Return path and name of every displaced file that waits."""
        rows = self._state.query("SELECT path, name FROM waiting")
        return [(_path(path), _path(name)) for path, name in rows]

    def purge(self, *, address: str | None = None, containing: str | None = None, everything: bool = False) -> int:
        """Blank the texts kept here that a purge of the history asks for; return how many."""
        where, values = ["0"], list[SqlValue]()
        if everything:
            where.append("1")
        if address is not None:
            where.append("address = ?")
            values.append(_clean(address))
        if containing:
            where.append("instr(content, ?) OR instr(name, ?)")
            values += [_clean(containing)] * 2
        with self._state.transaction() as connection:
            sql = f"UPDATE writes SET content = NULL, seen = 1 WHERE content IS NOT NULL AND ({' OR '.join(where)})"  # noqa: S608
            return connection.execute(sql, values).rowcount


def _oldest(now: str) -> str:
    return (datetime.fromisoformat(now) - KEPT).isoformat(timespec="seconds")


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _values(write: NotedWrite) -> tuple[SqlValue, ...]:
    text = write.text
    words: tuple[str | None, ...] = (None,) * 3
    origin: tuple[str | None, ...] = (None,) * 3
    if text is not None:
        words = (_clean(text.name), _clean(text.content), text.hash)
        origin = tuple(None if one is None else _clean(one) for one in (text.owner, text.source_conv, text.ts))
    return (
        write.ts,
        os.fsencode(write.path),
        write.before,
        write.after,
        _clean(write.address),
        *words,
        write.prior_hash,
        *origin,
        write.line,
        write.journal_size,
        json.dumps(write.history),
        write.key,
    )


def _write(row: Row) -> NotedWrite:
    (write_id, ts, path, before, after, address, name, content, digest, prior, owner, source, item_ts, *rest) = row
    line, journal_size, history, key = rest
    text = None
    if content is not None:
        text = WrittenText(str(name), str(content), str(digest), _text(owner), _text(source), _text(item_ts))
    return NotedWrite(
        int(str(write_id)),
        str(ts),
        _path(path),
        _text(before),
        _text(after),
        str(address),
        text,
        _text(prior),
        line if isinstance(line, bytes) else None,
        int(str(journal_size)),
        tuple(json.loads(str(history))),
        _text(key),
    )


def _path(value: SqlValue) -> str:
    return os.fsdecode(value if isinstance(value, bytes) else str(value))


def _text(value: SqlValue) -> str | None:
    return None if value is None else str(value)
