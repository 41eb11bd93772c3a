"""The verbs in this process, for a vault whose daemon does not run.

Every read compares the files' stamps first and reads again what changed, so that a long-lived client is as fresh as
the daemon is, only slower (17 ms for 5,000 files). Reads take no lock; a write takes the vault's lock and lets it go.
What only a process that stays can do (events, the change feed, rebuild, status) raises `NotRunning`.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Self, TypeVar, cast

from wikimem.api import calls
from wikimem.api.calls import Call
from wikimem.api.checks import check_params
from wikimem.api.operations import Operations
from wikimem.api.protocol import DegradedPart, Event, ReadStamp
from wikimem.api.requests import Prepared
from wikimem.api.scanning import NoPages, Scanner
from wikimem.api.settings import retrieval_settings
from wikimem.api.stored_vectors import StoredVectors, open_stored
from wikimem.api.verbs import Verbs
from wikimem.api.warmth import Warmth
from wikimem.config import Settings
from wikimem.errors import HistoryUnavailable, NotRunning
from wikimem.search.index import MemoryIndex
from wikimem.store.opening import open_store
from wikimem.store.relations import RelationsFile
from wikimem.store.vault import STATE_FILE

Answer = TypeVar("Answer")

NEEDS_DAEMON: Final = (
    calls.CHANGES,
    calls.EVENTS,
    calls.STATUS,
    calls.HEALTH,
    calls.REBUILD,
    calls.RELOAD,
    calls.EMBED,
)


class LocalClient(Verbs):
    """Calls performed here. `settings` as `wikimem.config.load` gives them. Not for several threads at once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._store = open_store(settings)
        self._operations: Operations | None = None
        self._scanner: Scanner | None = None
        self._vectors: StoredVectors | None = None

    def perform(self, prepared: Prepared[Answer]) -> Answer:
        """Perform one call."""
        call = prepared.call
        if call in NEEDS_DAEMON:
            raise NotRunning(
                f"No daemon runs for the vault {self._settings.name}, and `{call.verb}` needs one.",
                hint=f"Start it: `wikimem serve --vault {self._settings.called}`.",
            )
        operations = self._open()
        params = check_params(call.params, prepared.params)
        if call.kind == "write":
            self._scan()
            if call in (calls.PIN, calls.UNPIN) and operations.temperatures is None:
                operations.temperatures = Warmth(self._store.state)
                operations.use(self._store)
            # As the daemon notes it: a caller whose daemon ended before it answered goes on here.
            key = calls.stored_key(prepared.key, calls.request_digest(call, params)) if prepared.key else None
            answer = operations.follow(operations.write(call, params, key))
            return cast("Answer", {**answer, "cursor": ""} if _has_cursor(call.answer) else answer)
        return cast("Answer", operations.read(call, params, self._stamp(call)))

    def follow(self, prepared: Prepared[Event]) -> Iterator[Event]:
        """Raise NotRunning: events need a process that stays."""
        self.perform(prepared)
        return iter(())

    def _open(self) -> Operations:
        if self._operations is None:
            settings = retrieval_settings(self._settings.retrieval)
            warmth = self._warmth()
            self._vectors = open_stored(self._settings)
            index = MemoryIndex(
                NoPages(),
                embedder=self._vectors,
                vectors=self._vectors,
                settings=settings,
                temperature=None if warmth is None else (lambda item: warmth.of(item)[0]),
            )
            self._operations = Operations(self._store, index, lambda: datetime.now(UTC), warmth)
            relations = RelationsFile(self._store)
            self._scanner = Scanner(self._store, index, relations)
        return self._operations

    def _warmth(self) -> Warmth | None:
        """Return the temperatures that were kept; a read makes no state where there is none."""
        if not (self._settings.state_dir / STATE_FILE).exists():
            return None
        try:
            return Warmth(self._store.state)
        except HistoryUnavailable:
            return None

    def _stamp(self, call: Call) -> ReadStamp:
        degraded = [] if call is calls.JOURNAL else self._scan()
        return {"fresh": not degraded, "partial": False, "degraded": degraded, "cursor": ""}

    def _scan(self) -> list[DegradedPart]:
        return self._scanner.scan() if self._scanner is not None else []

    def close(self) -> None:
        """Close the state, and the connections to the endpoint."""
        if self._vectors is not None:
            self._vectors.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _has_cursor(answer: type) -> bool:
    hints: Mapping[str, Any] = answer.__annotations__
    return "cursor" in hints
