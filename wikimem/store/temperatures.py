"""Temperatures between runs: one table of the state, written at intervals and at shutdown, never on the read path."""

from collections.abc import Sequence

from wikimem.store.state import State

SCHEMA = """
CREATE TABLE IF NOT EXISTS temperatures (
    address TEXT PRIMARY KEY,
    value REAL NOT NULL,
    at REAL NOT NULL,
    pinned INTEGER NOT NULL
) WITHOUT ROWID;
"""
_SINCE = "temperatures_since"

Row = tuple[str, float, float, bool]  # address, value at `at` (seconds since the epoch), pinned


class TemperatureTable:
    """The saved temperatures of one vault. Deleting them costs warmth, no memory."""

    def __init__(self, state: State) -> None:
        self._state = state
        state.ensure(SCHEMA)

    def since(self, now: float) -> float:
        """Return when the vault was first seen: the time that was kept, else `now`, which is kept from then on."""
        kept = self._state.meta(_SINCE)
        if kept is None:
            self._state.set_meta(_SINCE, repr(now))
            return now
        return float(kept)

    def load(self) -> list[Row]:
        """Return every row."""
        rows = self._state.query("SELECT address, value, at, pinned FROM temperatures")
        return [(str(row[0]), float(row[1] or 0.0), float(row[2] or 0.0), bool(row[3])) for row in rows]

    def save(self, rows: Sequence[Row], forgotten: Sequence[str] = ()) -> None:
        """Keep rows and drop others, in one transaction."""
        if not rows and not forgotten:
            return
        with self._state.transaction():
            self._state.execute_many("DELETE FROM temperatures WHERE address = ?", [(name,) for name in forgotten])
            self._state.execute_many(
                "INSERT INTO temperatures VALUES (?, ?, ?, ?) ON CONFLICT(address) DO UPDATE SET"
                " value = excluded.value, at = excluded.at, pinned = excluded.pinned",
                [(address, value, at, int(pinned)) for address, value, at, pinned in rows],
            )
