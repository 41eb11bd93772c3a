"""Temperature: how recently an item was surfaced, a number in [0, 1].

`t = 0.5` when the item is first seen; each time a retrieve, get or related surfaces it `t = min(1, t + 0.15)`; between,
it decays as `t · exp(-0.05 · hours)`, computed when it is read. A pinned item does not decay.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

FIRST = 0.5
STEP = 0.15
DECAY_PER_HOUR = 0.05


@dataclass(frozen=True, slots=True)
class Temperature:
    """An item's value at the moment `at` (seconds since the epoch), and whether it is pinned."""

    value: float
    at: float
    pinned: bool = False


def decayed(value: float, since_hours: float) -> float:
    """Return a value after some hours; a clock that ran backwards warms nothing up."""
    return value * math.exp(-DECAY_PER_HOUR * max(0.0, since_hours))


def bumped(value: float) -> float:
    """Return a value after the item was surfaced once more."""
    return min(1.0, value + STEP)


class Temperatures:
    """All items' temperatures in memory; what changed since it was last saved is handed to who saves it.

    Times are seconds since the epoch and always given. An item without a record of its own was there at `since`, when
    the vault was first seen: it has been cooling down from 0.5 since then.
    """

    def __init__(self, since: float, known: Iterable[tuple[str, Temperature]] = ()) -> None:
        self.since = since
        self._known: dict[str, Temperature] = dict(known)
        self._unsaved: set[str] = set()

    def value(self, address: str, now: float) -> float:
        """Return an item's temperature; reading changes nothing."""
        known = self._known.get(address)
        if known is None:
            return decayed(FIRST, (now - self.since) / 3600)
        return known.value if known.pinned else decayed(known.value, (now - known.at) / 3600)

    def meet(self, addresses: Iterable[str], now: float) -> None:
        """Give items that were added to the vault just now their first temperature."""
        for address in addresses:
            if address not in self._known:
                self._set(address, Temperature(FIRST, now))

    def surface(self, addresses: Iterable[str], now: float) -> None:
        """Warm the items that an answer has just surfaced."""
        for address in addresses:
            known = self._known.get(address)
            self._set(address, Temperature(bumped(self.value(address, now)), now, known is not None and known.pinned))

    def pin(self, address: str, now: float) -> None:
        """Keep an item from decaying, at the temperature that it has now."""
        self._set(address, Temperature(self.value(address, now), now, pinned=True))

    def unpin(self, address: str, now: float) -> None:
        """Let an item decay again, from the temperature that it has now."""
        self._set(address, Temperature(self.value(address, now), now))

    def is_pinned(self, address: str) -> bool:
        """Tell whether an item is pinned."""
        known = self._known.get(address)
        return known is not None and known.pinned

    def pinned(self) -> list[str]:
        """Return the addresses of all pinned items, sorted."""
        return sorted(address for address, known in self._known.items() if known.pinned)

    def rename(self, old: str, new: str) -> None:
        """Carry an item's temperature to its new address."""
        known = self._known.get(old)
        if known is not None and old != new:
            self.forget(old)
            self._set(new, known)

    def forget(self, address: str) -> None:
        """Drop a removed item: if it comes back it starts anew."""
        if self._known.pop(address, None) is not None:
            self._unsaved.add(address)

    def take_unsaved(self) -> list[tuple[str, Temperature | None]]:
        """Return what changed since the last call (None: forgotten); it counts as saved from now on."""
        changed = [(address, self._known.get(address)) for address in sorted(self._unsaved)]
        self._unsaved.clear()
        return changed

    def not_saved(self, changed: Iterable[tuple[str, Temperature | None]]) -> None:
        """Take back what `take_unsaved` gave when saving it failed."""
        self._unsaved.update(address for address, _ in changed)

    def _set(self, address: str, temperature: Temperature) -> None:
        self._known[address] = temperature
        self._unsaved.add(address)
