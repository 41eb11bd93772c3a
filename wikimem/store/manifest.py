"""The manifest: what the vault held when disk and index were last compared, so that a restart knows what changed.

A row keeps the file's bytes too. They give the prior texts of what was edited while no daemon ran, and the last good
answers for a file that cannot be read right now.
"""

import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from wikimem.store.stamps import Stamp
from wikimem.store.state import State

SCHEMA = """
CREATE TABLE IF NOT EXISTS manifest (
    path BLOB PRIMARY KEY, stamp TEXT NOT NULL, settled INTEGER NOT NULL, hash BLOB NOT NULL,
    ids TEXT NOT NULL, body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS manifest_gone (
    item_id TEXT PRIMARY KEY, path BLOB NOT NULL, file_hash BLOB NOT NULL, item TEXT NOT NULL
);
"""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file as it was last read. `settled`: the stamp proves the bytes; `ids` are the items' ids by key."""

    path: str
    stamp: Stamp
    settled: bool
    hash: bytes
    ids: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True)
class GoneRow:
    """An item that left its file and whose removal has not been told yet. `item` is JSON, the caller's own."""

    item_id: str
    path: str
    file_hash: bytes
    item: str


class Manifest:
    """The table of files. Every method raises `HistoryUnavailable` when the state cannot be used."""

    def __init__(self, state: State) -> None:
        self._state = state
        state.ensure(SCHEMA)

    def load(self) -> dict[str, FileEntry]:
        """Return every row, without the bytes."""
        rows = self._state.query("SELECT path, stamp, settled, hash, ids FROM manifest")
        return {entry.path: entry for entry in map(_entry, rows)}

    def body(self, path: str) -> bytes | None:
        """Return the bytes that a file last held, None when there is no row."""
        rows = self._state.query("SELECT body FROM manifest WHERE path = ?", (os.fsencode(path),))
        return zlib.decompress(_bytes(rows[0][0])) if rows else None

    def gone(self) -> list[GoneRow]:
        """Return the items whose removal waits."""
        rows = self._state.query("SELECT item_id, path, file_hash, item FROM manifest_gone")
        return [GoneRow(str(i), os.fsdecode(_bytes(p)), _bytes(h), str(item)) for i, p, h, item in rows]

    def put(self, rows: Iterable[tuple[FileEntry, bytes]]) -> None:
        """Keep files with their bytes."""
        self._state.execute_many(
            "INSERT OR REPLACE INTO manifest (path, stamp, settled, hash, ids, body) VALUES (?, ?, ?, ?, ?, ?)",
            [(*_row(entry), zlib.compress(body, 1)) for entry, body in rows],
        )

    def restamp(self, entries: Iterable[FileEntry]) -> None:
        """Keep the stamps and ids of files whose bytes stayed."""
        self._state.execute_many(
            "UPDATE manifest SET stamp = ?, settled = ?, hash = ?, ids = ? WHERE path = ?",
            [(*_row(entry)[1:], os.fsencode(entry.path)) for entry in entries],
        )

    def drop(self, paths: Iterable[str]) -> None:
        """Forget files."""
        self._state.execute_many("DELETE FROM manifest WHERE path = ?", [(os.fsencode(path),) for path in paths])

    def put_gone(self, rows: Iterable[GoneRow]) -> None:
        """Keep items whose removal waits."""
        self._state.execute_many(
            "INSERT OR REPLACE INTO manifest_gone (item_id, path, file_hash, item) VALUES (?, ?, ?, ?)",
            [(row.item_id, os.fsencode(row.path), row.file_hash, row.item) for row in rows],
        )

    def drop_gone(self, item_ids: Iterable[str]) -> None:
        """Forget items whose removal was told, or which came back."""
        self._state.execute_many("DELETE FROM manifest_gone WHERE item_id = ?", [(one,) for one in item_ids])


def _row(entry: FileEntry) -> tuple[bytes, str, int, bytes, str]:
    stamp = entry.stamp
    # Text, because an inode number may need all of 64 unsigned bits and SQLite's integers are signed.
    written = f"{stamp.dev} {stamp.ino} {stamp.size} {stamp.mtime_ns} {stamp.ctime_ns}"
    return os.fsencode(entry.path), written, int(entry.settled), entry.hash, json.dumps(entry.ids)


def _entry(row: tuple[object, ...]) -> FileEntry:
    path, stamp, settled, digest, ids = row
    numbers = [int(part) for part in str(stamp).split()]
    return FileEntry(
        os.fsdecode(_bytes(path)),
        Stamp(*numbers),
        bool(settled),
        _bytes(digest),
        tuple((str(name), int(ordinal), str(item_id)) for name, ordinal, item_id in json.loads(str(ids))),
    )


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"expected bytes in the state, found {type(value).__name__}")
    return value
