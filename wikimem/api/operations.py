"""Every verb over a store and an index, in one process: what the daemon's routes and `LocalClient` both call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from wikimem.api.calls import Call
from wikimem.api.protocol import ReadStamp
from wikimem.api.reading import Counters, Reading
from wikimem.api.writing import Writing, Written

if TYPE_CHECKING:
    from wikimem.api.warmth import Warmth
    from wikimem.search.index import MemoryIndex
    from wikimem.store.vault import MemoryStore

__all__ = ["Counters", "Operations", "Written"]


@dataclass(slots=True)
class Operations:
    """The verbs by their calls. Parameters are those that `api/checks.py` has passed."""

    store: "MemoryStore"
    index: "MemoryIndex"
    now: Callable[[], datetime]
    temperatures: "Warmth | None" = None
    reading: Reading = field(init=False)
    writing: Writing = field(init=False)

    def __post_init__(self) -> None:
        self.use(self.store)

    def use(self, store: "MemoryStore") -> None:
        """Go on with another store of the same vault: its layout has changed."""
        counters = self.reading.counters if hasattr(self, "reading") else Counters()
        self.store = store
        self.reading = Reading(store, self.index, self.now, self.temperatures, counters)
        self.writing = Writing(self.reading)

    @property
    def counters(self) -> Counters:
        """Outcomes since start."""
        return self.reading.counters

    def read(self, call: Call, params: Mapping[str, Any], stamp: ReadStamp) -> Mapping[str, object]:
        """Perform a read."""
        verb = cast("Callable[[Any, ReadStamp], Mapping[str, object]]", getattr(self.reading, call.verb))
        return verb(params, stamp)

    def write(self, call: Call, params: Mapping[str, Any], key: str | None) -> Written:
        """Perform a write; `follow` makes its answer."""
        verb = cast("Callable[[Any, str | None], Written]", getattr(self.writing, call.verb))
        return verb(params, key)

    def follow(self, written: Written) -> Mapping[str, object]:
        """Let what is in memory follow a write, where reads happen; return the answer but for the cursor."""
        return self.writing.follow(written)
