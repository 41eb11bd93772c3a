"""Idempotency keys: a write that a client retries is done once, and answered twice with the same words."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from wikimem.errors import InvalidInput
from wikimem.store.state import State

KEPT = timedelta(minutes=10)
MAX_KEY_CHARS = 200

SCHEMA = """
CREATE TABLE IF NOT EXISTS idempotency (
    key TEXT PRIMARY KEY, request TEXT NOT NULL, answer TEXT NOT NULL, ts TEXT NOT NULL
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a key was answered with: `answer` is the caller's own text (JSON), handed back as it was given."""

    answer: str


class Idempotency:
    """The table of keys of the last ten minutes. Raises `HistoryUnavailable` when the state cannot be used."""

    def __init__(self, state: State) -> None:
        self._state = state
        state.ensure(SCHEMA)

    def find(self, key: str, request: str, *, now: datetime) -> Answered | None:
        """Return the answer that this key was given, None for a new key.

        `request` is a digest of the whole request. Raises `InvalidInput` when the key came with another one: to
        answer that with the first one's words would hide a lost write.
        """
        if not key or len(key) > MAX_KEY_CHARS:
            raise InvalidInput(f"an Idempotency-Key has 1 to {MAX_KEY_CHARS} characters", hint="send a random UUID")
        rows = self._state.query(
            "SELECT request, answer FROM idempotency WHERE key = ? AND ts >= ?", (key, _oldest(now))
        )
        if not rows:
            return None
        if rows[0][0] != request:
            raise InvalidInput("this Idempotency-Key was used for another request", hint="send a new key")
        return Answered(str(rows[0][1]))

    def forget_all(self) -> None:
        """Drop every kept answer: a purge, because answers repeat what was written."""
        self._state.execute("DELETE FROM idempotency")

    def keep(self, key: str, request: str, answer: str, *, now: datetime) -> None:
        """Remember an answer for ten minutes, and forget those that are older."""
        with self._state.transaction() as connection:
            connection.execute("DELETE FROM idempotency WHERE ts < ?", (_oldest(now),))
            connection.execute(
                "INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?)",
                (key, request, answer, now.isoformat(timespec="seconds")),
            )


def _oldest(now: datetime) -> str:
    return (now - KEPT).isoformat(timespec="seconds")
