"""History: the text that every change replaced or removed, whoever made the change."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Literal

from wikimem.errors import NotFound
from wikimem.pages.changes import Cause
from wikimem.store.state import Row, SqlValue, State

MAX_BYTES = 256_000_000
MAX_DAYS = 180
ROW_OVERHEAD_BYTES = 200  # keys, index entries and the row itself, beside the two texts

SCHEMA = """
CREATE TABLE IF NOT EXISTS history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    address TEXT NOT NULL, name TEXT NOT NULL, content TEXT NOT NULL, hash TEXT NOT NULL,
    ts TEXT NOT NULL, cause TEXT NOT NULL, action TEXT NOT NULL, item_id TEXT,
    owner TEXT, source_conv TEXT, item_ts TEXT, raw BLOB, size INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS history_address ON history (address, id);
CREATE INDEX IF NOT EXISTS history_item ON history (item_id, id) WHERE item_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS history_age ON history (ts, size);
CREATE TABLE IF NOT EXISTS history_renamed (
    address TEXT NOT NULL, id INTEGER NOT NULL REFERENCES history (id) ON DELETE CASCADE, PRIMARY KEY (address, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS history_renamed_id ON history_renamed (id);
"""

# What ended the text's life in the file: `refused` is a text that a conflict kept from being written, `displaced` one
# that an editor saved into a file which the write had just replaced.
Ending = Literal["update", "remove", "rename", "refused", "displaced"]

# Every address under which a version is found: the one that its text had, and those that its item was given later.
_FOUND_AT = "(SELECT address, id FROM history UNION ALL SELECT address, id FROM history_renamed)"

_COLUMNS = "id, address, name, content, hash, ts, cause, action, item_id, owner, source_conv, item_ts, raw"


@dataclass(frozen=True, slots=True)
class PriorText:
    """A text that is about to be replaced or removed.

    `ts` is when that happens. `raw` holds the bytes of the whole file when its text alone would not bring them back
    (it is not UTF-8); `content` is then the text as it was shown.
    """

    address: str
    name: str
    content: str
    hash: str
    ts: str
    cause: Cause
    action: Ending
    item_id: str | None = None
    owner: str | None = None
    source_conv: str | None = None
    item_ts: str | None = None
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """A kept text and its id; the other fields as in `PriorText`."""

    id: int
    address: str
    name: str
    content: str
    hash: str
    ts: str
    cause: Cause
    action: Ending
    item_id: str | None = None
    owner: str | None = None
    source_conv: str | None = None
    item_ts: str | None = None
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class VersionsPage:
    """One page of versions, newest first; `next` continues it (None: that was the end)."""

    versions: tuple[Version, ...]
    next: str | None


class History:
    """The table of prior texts. Every method raises `HistoryUnavailable` when the state cannot be used."""

    def __init__(self, state: State) -> None:
        self._state = state
        state.ensure(SCHEMA)

    def record(
        self,
        address: str,
        name: str,
        content: str,
        *,
        hash: str,  # noqa: A002 - the field's name everywhere
        ts: str,
        cause: Cause,
        action: Ending,
        item_id: str | None = None,
    ) -> int:
        """Keep one text; return its id."""
        return self.record_many([PriorText(address, name, content, hash, ts, cause, action, item_id)])[0]

    def record_many(self, texts: Iterable[PriorText]) -> list[int]:
        """Keep texts in one transaction; return their ids in order."""
        texts = list(texts)
        if not texts:
            return []
        sql = f"INSERT INTO history ({_COLUMNS}, size) VALUES (NULL{', ?' * 13})"  # noqa: S608 - our own columns
        with self._state.transaction() as connection:
            return [connection.execute(sql, _values(text)).lastrowid or 0 for text in texts]

    def versions(self, address: str, limit: int = 100, after: str | None = None) -> VersionsPage:
        """Return the kept texts of an address, newest first. `after` is a former page's `next`.

        Those that the item had under other addresses, before it was renamed to this one, are among them.
        """
        before = int(after) if after else 1 << 62
        chosen = f"SELECT id FROM {_FOUND_AT} WHERE address = ? AND id < ?"  # noqa: S608 - our own columns
        rows = self._state.query(
            f"SELECT {_COLUMNS} FROM history WHERE id IN ({chosen}) ORDER BY id DESC LIMIT ?",  # noqa: S608 - our own columns
            (_clean(address), before, limit + 1),
        )
        found = tuple(_version(row) for row in rows[:limit])
        return VersionsPage(found, str(found[-1].id) if len(rows) > limit else None)

    def get(self, version_id: int) -> Version:
        """Return one version. Raises `NotFound`."""
        rows = self._state.query(f"SELECT {_COLUMNS} FROM history WHERE id = ?", (version_id,))  # noqa: S608 - our own columns
        if not rows:
            raise NotFound(f"there is no version {version_id}", hint="list them with `wikimem history ADDRESS`")
        return _version(rows[0])

    def addresses(self, version_id: int) -> frozenset[str]:
        """Return every address under which a version is found."""
        rows = self._state.query(f"SELECT address FROM {_FOUND_AT} WHERE id = ?", (version_id,))  # noqa: S608 - our own columns
        return frozenset(str(address) for (address,) in rows)

    def former_addresses(self, address: str) -> frozenset[str]:
        """Return the addresses that the versions found under this one had."""
        rows = self._state.query(
            "SELECT DISTINCT address FROM history WHERE id IN (SELECT id FROM history_renamed WHERE address = ?)",
            (_clean(address),),
        )
        return frozenset(str(former) for (former,) in rows)

    def find(self, address: str, hash: str) -> int | None:  # noqa: A002 - the field's name everywhere
        """Return the id of the latest version with this text, None when it is not kept."""
        sql = "SELECT max(id) FROM history WHERE address = ? AND hash = ?"
        found = self._state.query(sql, (_clean(address), hash))[0][0]
        return found if isinstance(found, int) else None

    def holds(self, address: str, hash: str) -> bool:  # noqa: A002 - the field's name everywhere
        """Say whether this text is kept under this address."""
        return self.find(address, hash) is not None

    def rename(self, old_address: str, new_address: str) -> None:
        """Let the versions of a renamed item be found under its new address too.

        They stay where they are: what looks like a rename may be a sync tool's other version of the file, and the old
        name is often used again; whoever asks for it must find what was written under it. What an earlier item of that
        name took along stays out: else each heading that begins as "new" would inherit from all the others.
        """
        new, old = _clean(new_address), _clean(old_address)
        self._state.execute(
            "INSERT OR IGNORE INTO history_renamed"
            " SELECT ?, id FROM history_renamed WHERE address = ? UNION SELECT ?, id FROM history WHERE address = ?"
            " AND NOT EXISTS (SELECT 1 FROM history_renamed AS taken WHERE taken.id = history.id)",
            (new, old, new, old),
        )

    def forget(self, ids: Sequence[int]) -> None:
        """Drop versions that were kept for a write which then did not happen."""
        self._state.execute_many("DELETE FROM history WHERE id = ?", [(one,) for one in ids])

    def purge(
        self,
        *,
        address: str | None = None,
        ids: Sequence[int] = (),
        containing: str | None = None,
        everything: bool = False,
    ) -> int:
        """Delete versions for good, for a secret that was written down; return how many.

        A version goes when it is found under this address, has one of these ids, or holds this text; `everything`
        takes all. The freed bytes are overwritten and leave the file.
        """
        where, values = ["0"], list[SqlValue]()
        if everything:
            where.append("1")
        if address is not None:
            where.append(f"id IN (SELECT id FROM {_FOUND_AT} WHERE address = ?)")  # noqa: S608 - our own columns
            values.append(_clean(address))
        if containing:
            where.append("instr(content, ?) OR instr(name, ?) OR instr(raw, CAST(? AS BLOB))")
            values += [_clean(containing)] * 3
        with self._state.transaction() as connection:
            gone = connection.execute(f"DELETE FROM history WHERE {' OR '.join(where)}", values).rowcount  # noqa: S608 - our own words
            for one in ids:
                gone += connection.execute("DELETE FROM history WHERE id = ?", (one,)).rowcount
            if containing:
                connection.execute("DELETE FROM history_renamed WHERE instr(address, ?)", (_clean(containing),))
        self._state.compact()
        return gone

    def size(self) -> int:
        """Return the bytes that count against the cap."""
        total = self._state.query("SELECT coalesce(sum(size), 0) FROM history")[0][0]
        return total if isinstance(total, int) else 0

    def enforce_caps(
        self,
        *,
        now: datetime,
        is_live: Callable[[str], bool],
        max_bytes: int = MAX_BYTES,
        max_days: int = MAX_DAYS,
    ) -> int:
        """Drop what is older than `max_days`, then the oldest beyond `max_bytes`; return how many went.

        The last version of a live item stays whatever its age and size: without it a bad edit could not be undone.
        """
        oldest = (now - timedelta(days=max_days)).isoformat(timespec="seconds")
        excess = self.size() - max_bytes
        newest = "coalesce((SELECT max(id) FROM {} AS other WHERE other.address = found.address), 0)"
        last = f"id = max({newest.format('history')}, {newest.format('history_renamed')})"
        rows = self._state.query(
            f"SELECT id, ts, size, found.address, {last} FROM history JOIN {_FOUND_AT} AS found USING (id)"  # noqa: S608 - our own columns
            " WHERE ts < ? OR ? > 0 ORDER BY ts, id",
            (oldest, excess),
        )
        gone: list[int] = []
        for (version_id, ts, size), places in groupby(rows, key=lambda row: row[:3]):
            if str(ts) >= oldest and excess <= 0:
                break
            if any(is_last and is_live(str(address)) for *_, address, is_last in places):
                continue
            gone.append(int(version_id or 0))
            excess -= int(size or 0)
        self.forget(gone)
        return len(gone)


def _clean(text: str) -> str:
    """Return text that SQLite can store: a lone surrogate (a name on disk that is not UTF-8) becomes U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if _has_surrogate(text) else text


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _values(text: PriorText) -> tuple[SqlValue, ...]:
    size = ROW_OVERHEAD_BYTES + len(text.content.encode("utf-8", "replace")) + len(text.raw or b"")
    texts = [text.address, text.name, text.content, text.hash, text.ts, text.cause, text.action]
    options = [text.item_id, text.owner, text.source_conv, text.item_ts]
    return (*map(_clean, texts), *(None if one is None else _clean(one) for one in options), text.raw, size)


def _version(row: Row) -> Version:
    return Version(*row)  # type: ignore[arg-type]  # the columns are the fields, in order
