"""The state: one SQLite file a vault for what the markdown does not hold. Deleting it loses history, no memory.

Tables are owned by the modules that use them: each has a `SCHEMA` and a class that takes a `State`.
"""

import logging
import os
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from wikimem.errors import HistoryUnavailable

SqlValue = str | int | float | bytes | None
Row = tuple[SqlValue, ...]
Result = TypeVar("Result")

BUSY_MS = 3_000  # a write asks up to three times: less than a client waits, so that it hears why

_UNWRITABLE = "free some space there or make it writable; reading the vault needs no history"
_DAMAGED = "it is damaged: try again, then it is moved away, its bytes kept, and a new one begun"
_HELD = "another program holds that file for itself: let it end, then try again"

_META = "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"

log = logging.getLogger(__name__)


class State:
    """The open file, shared by every table class and every thread of one process.

    Raises `HistoryUnavailable` from the constructor and from every call when the file cannot be made, read or
    written. `set_aside` names the file that a damaged predecessor was moved to, if that happened in this process;
    `is_new`: nothing was here before. A file that somebody deletes while it is open is written anew.
    """

    def __init__(self, path: Path, *schemas: str) -> None:
        self.path = path
        self.set_aside: Path | None = None
        self._lock = threading.RLock()
        self._depth = 0
        self._is_damaged = False
        self._ensured: set[str] = set(schemas)
        self.vault_id = ""  # not known before it is read: until then every file of the name is ours
        try:
            self._adopt(self._open(schemas))
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise self._unavailable("open", error) from error
            self._adopt(self._start_over(schemas))
        except OSError as error:
            raise self._unavailable("open", error) from error
        self.is_new = self.meta("vault_id") is None
        self.vault_id = self._vault_id()

    def _open(self, schemas: Sequence[str]) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # SQLite gives -wal and -shm the mode of the file itself, so making it first makes all three private.
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(self.path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
        try:
            # FULL: a prior text is on the disk before the note that replaces it is.
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "foreign_keys=ON"):
                connection.execute(f"PRAGMA {pragma}").fetchall()
            for schema in (_META, *schemas):
                connection.executescript(schema)
        except BaseException:
            connection.close()
            raise
        return connection

    def _start_over(self, schemas: Sequence[str]) -> sqlite3.Connection:
        """Move a damaged file away and begin an empty one: history is lost to the tools, its bytes are kept."""
        aside = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns()}")
        try:
            for suffix in ("", "-wal", "-shm"):
                part = Path(f"{self.path}{suffix}")
                if part.exists():
                    part.rename(f"{aside}{suffix}")
            self.set_aside = aside
            log.warning("the state %s is damaged; it was moved to %s and a new one begun", self.path, aside)
            return self._open(schemas)
        except (OSError, sqlite3.Error) as error:
            raise self._unavailable("start over", error) from error

    def _adopt(self, connection: sqlite3.Connection) -> None:
        """Go on with this connection. A store that is dropped without `close` must not leave it to a collection."""
        self._file, self._log_file = _identity(self.path), _identity(self._log_path)
        self._connection = connection
        self._close_at_last = weakref.finalize(self, connection.close)

    def _check_place(self) -> None:
        """See that the open file is still the one of its name: in a deleted one, all would be lost at the end.

        Somebody who clears the state folder beside a running daemon deletes it. SQLite goes on in the nameless file.
        """
        if self._is_damaged:
            self._begin_anew()
            return
        try:
            found = _identity(self.path)
            if found is None:
                self._put_back()
            elif found != self._file:
                has_our_log = self._log_file is not None and _identity(self._log_path) == self._log_file
                self._move_stranger() if has_our_log else self._change_over()
        except (OSError, sqlite3.Error) as error:
            raise self._unavailable("look at the file", error) from error

    def _begin_anew(self) -> None:
        """Move the file away that was found to be damaged while it was open, and go on in an empty one."""
        before = self._close_at_last
        self._adopt(self._start_over(tuple(self._ensured)))
        before()
        self._is_damaged, self.is_new = False, True
        self.vault_id = self._vault_id()

    @property
    def _log_path(self) -> Path:
        return Path(f"{self.path}-wal")

    def _move_stranger(self) -> None:
        """Move a file away that was put in our file's place, beside our write-ahead log, and write ours anew.

        A program that makes a state of its own makes a log of its own. SQLite would join our log to whatever file has
        the name, and spoil both.
        """
        aside = self.path.with_name(f"{self.path.name}.replaced-{time.time_ns()}")
        self.path.rename(aside)
        log.warning("the state %s was replaced while it was open; what was put there is now %s", self.path, aside)
        self._put_back()

    def _put_back(self) -> None:
        """Write the deleted file anew, with all that it held."""
        copy = self.path.with_name(f"{self.path.name}.new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(copy, os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_CLOEXEC, 0o600))
            with closing(sqlite3.connect(copy)) as target:
                self._connection.backup(target)
            for suffix in ("-wal", "-shm"):
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
            copy.replace(self.path)
            self._change_over()
        except (OSError, sqlite3.Error) as error:
            raise self._unavailable("write it anew", error) from error
        log.warning("the state %s was deleted while it was open; it was written anew", self.path)

    def _change_over(self) -> None:
        """Go on in the file that now has the name, if it is a copy of ours."""
        connection = self._open(())
        found = connection.execute("SELECT value FROM meta WHERE key = 'vault_id'").fetchall()
        if self.vault_id and found != [(self.vault_id,)]:
            connection.close()
            raise HistoryUnavailable(
                f"the history {self.path} cannot be used: another file has taken its place",
                path=str(self.path),
                step="look at the file",
                hint="start the program anew that uses it: a running one cannot change over",
            )
        before = self._close_at_last
        self._adopt(connection)
        before()

    def _vault_id(self) -> str:
        self.execute("INSERT OR IGNORE INTO meta VALUES ('vault_id', ?)", (uuid.uuid4().hex,))
        return str(self.query("SELECT value FROM meta WHERE key = 'vault_id'")[0][0])

    def ensure(self, schema: str) -> None:
        """Make the tables of a schema that the constructor was not given."""
        with self._lock:
            if schema in self._ensured:
                return
            if self._depth:
                raise RuntimeError("a schema cannot be made inside a transaction: executescript would commit it")
            try:
                self._connection.executescript(schema)
            except sqlite3.Error as error:
                raise self._unavailable("make tables", error) from error
            self._ensured.add(schema)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold one write transaction; an inner one joins the outer. Rolled back when the block raises."""
        with self._lock:
            if self._depth:
                yield self._connection
                return
            self._check_place()
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                raise self._unavailable("begin", error) from error
            self._depth = 1
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException as error:
                self._roll_back()
                if isinstance(error, sqlite3.Error):
                    raise self._unavailable("commit", error) from error
                raise
            finally:
                self._depth = 0

    def _roll_back(self) -> None:
        # A full disk makes SQLite roll back by itself; asking again is then the only error there is.
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def execute(self, sql: str, values: Sequence[SqlValue] = ()) -> int:
        """Run one statement in a transaction; return the id of the row it inserted, or 0."""

        def insert() -> int:
            with self.transaction() as connection:
                return connection.execute(sql, values).lastrowid or 0

        return self._twice_if_damaged(insert)

    def execute_many(self, sql: str, rows: Sequence[Sequence[SqlValue]]) -> None:
        """Run one statement for every row, in one transaction."""

        def insert() -> None:
            with self.transaction() as connection:
                connection.executemany(sql, rows)

        self._twice_if_damaged(insert)

    def query(self, sql: str, values: Sequence[SqlValue] = ()) -> list[Row]:
        """Return the rows of a SELECT."""

        def select() -> list[Row]:
            if not self._depth:
                self._check_place()
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                raise self._unavailable("read", error) from error

        return self._twice_if_damaged(select)

    def _twice_if_damaged(self, call: Callable[[], Result]) -> Result:
        """Make a call again, in the empty state that is begun then, when it finds the file damaged.

        A daemon that could not read its own state would not start, and neither would the next one.
        """
        with self._lock:
            try:
                return call()
            except HistoryUnavailable:
                if self._depth or not self._is_damaged:
                    raise
            return call()

    def meta(self, key: str) -> str | None:
        """Return a small named value, None when it was never set."""
        rows = self.query("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None

    def set_meta(self, key: str, value: str) -> None:
        """Keep a small named value."""
        self.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value", (key, value)
        )

    def compact(self) -> None:
        """Give freed pages back and empty the write-ahead log, so that purged bytes are gone from the disk."""
        with self._lock:
            try:
                self._connection.execute("VACUUM")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.Error as error:
                raise self._unavailable("compact", error) from error

    def close(self) -> None:
        """Close the file. Calling it again does nothing."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _unavailable(self, step: str, error: Exception) -> HistoryUnavailable:
        self._is_damaged |= isinstance(error, sqlite3.DatabaseError) and _is_damage(error)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return HistoryUnavailable(
            f"the history {self.path} cannot be used ({step}): {reason}",
            path=str(self.path),
            step=step,
            hint=_DAMAGED if self._is_damaged else _HELD if _is_busy(error) else _UNWRITABLE,
        )


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of its name, None when there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _is_busy(error: Exception) -> bool:
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
