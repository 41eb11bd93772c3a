"""Temperatures as the operations use them: in memory, loaded from the state once, saved when somebody says so."""

import time
from collections.abc import Callable, Iterable

from wikimem.pages.changes import Change
from wikimem.search.temperature import Temperature, Temperatures
from wikimem.store.state import State
from wikimem.store.temperatures import TemperatureTable

Unsaved = list[tuple[str, Temperature | None]]


class Warmth:
    """The temperatures of one vault. Reading and surfacing touch memory only. Raises `HistoryUnavailable` to begin."""

    def __init__(self, state: State, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._table = TemperatureTable(state)
        since = self._table.since(clock())
        known = ((address, Temperature(value, at, pinned)) for address, value, at, pinned in self._table.load())
        self._known = Temperatures(since, known)

    def of(self, address: str) -> tuple[float, bool]:
        """Return an item's temperature now, and whether it is pinned."""
        return self._known.value(address, self._clock()), self._known.is_pinned(address)

    def surface(self, addresses: Iterable[str]) -> None:
        """Warm what an answer has shown."""
        self._known.surface(addresses, self._clock())

    def pin(self, address: str) -> None:
        """Hold an item's temperature."""
        self._known.pin(address, self._clock())

    def unpin(self, address: str) -> None:
        """Let it decay again."""
        self._known.unpin(address, self._clock())

    def follow(self, change: Change, _cursor: str = "") -> None:
        """Follow a change of the vault: a new item starts, a renamed one keeps its warmth, a removed one loses it."""
        if change.action == "add":
            self._known.meet([change.address], self._clock())
        elif change.action == "rename" and change.old_address is not None:
            self._known.rename(change.old_address, change.address)
        elif change.action == "remove":
            self._known.forget(change.address)

    def take(self) -> Unsaved:
        """Return what changed since the last time, to be kept with `keep`; call it where surfacing happens."""
        return self._known.take_unsaved()

    def keep(self, changed: Unsaved) -> None:
        """Keep changes. Raises `HistoryUnavailable`; nothing is then forgotten."""
        rows = [(address, one.value, one.at, one.pinned) for address, one in changed if one is not None]
        try:
            self._table.save(rows, [address for address, one in changed if one is None])
        except BaseException:
            self._known.not_saved(changed)
            raise
