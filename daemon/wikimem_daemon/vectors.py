"""The vectors as the daemon sees them: a port, and what stands there when no embeddings are configured.

The loop never waits for an endpoint: `prepare` is awaited before a retrieval and ends within the query's own deadline;
what it has fetched, the embedder hands out at once. Everything else follows the vault in the background.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

from wikimem.api.protocol import ProblemBody, VectorsBody
from wikimem.config import Settings
from wikimem.errors import ConfigError
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.search.vectors import Embedder, VectorIndex
from wikimem_daemon.embedding import make_worker
from wikimem_daemon.freshness import Degraded

Pages = Callable[[], Iterable[Page]]
Prime = Callable[[int], bool]
"""Look up the vectors of at most so many items, for the queries to come; whether there are more."""
Work = Callable[[], Awaitable[str]]
"""Goes on in the background, and returns a word on how it went."""


class Vectors(Protocol):
    """Makes vectors for one vault and keeps them."""

    @property
    def embedder(self) -> Embedder | None:
        """What the index asks for a query's vector."""

    @property
    def index(self) -> VectorIndex | None:
        """What the index asks for an item's vector."""

    async def prepare(self, query: str) -> None:
        """Fetch a query's vector, within the query's deadline. Never raises."""

    def reached(self, window: Sequence[str] | None) -> None:
        """Note the window of days that let the diary into an answer: its entries are to have vectors, too."""

    async def start(self, pages: Pages, prime: Prime) -> None:
        """Begin to follow the vault, which has been read."""

    def changed(self) -> None:
        """Note that the pages have changed: called on the loop, and cheap."""

    def embedding(self, *, reset: bool) -> Work:
        """Return the work of embedding what has no vector, with `reset` everything anew. Raises ConfigError."""

    def body(self) -> VectorsBody:
        """Return what `status` says."""

    def degraded(self) -> tuple[Degraded, ...]:
        """Return what does not work as it should."""

    def problems(self, layout: Layout) -> list[ProblemBody]:
        """Return the texts that have no vector because of what they are."""

    async def close(self) -> None:
        """Write what is not written yet, and stop."""


class NoVectors:
    """No embeddings: answers go by words alone."""

    embedder = None
    index = None

    async def prepare(self, query: str) -> None:
        """Do nothing."""

    def reached(self, window: Sequence[str] | None) -> None:
        """Do nothing."""

    async def start(self, pages: Pages, prime: Prime) -> None:
        """Do nothing."""

    def changed(self) -> None:
        """Do nothing."""

    def embedding(self, *, reset: bool) -> Work:
        """Say what to configure."""
        del reset
        raise ConfigError(
            "No embeddings are configured for this vault.", hint="Set `provider` in `[vaults.NAME.embeddings]`."
        )

    def body(self) -> VectorsBody:
        """As in `Vectors`."""
        return {"count": 0, "pending": 0, "model": None, "dim": None, "state": "off"}

    def degraded(self) -> tuple[Degraded, ...]:
        """As in `Vectors`."""
        return ()

    def problems(self, layout: Layout) -> list[ProblemBody]:
        """As in `Vectors`."""
        del layout
        return []

    async def close(self) -> None:
        """Do nothing."""


def make_vectors(settings: Settings, key: str | None, whole: Callable[[], bool]) -> Vectors:
    """Return the vectors that the configuration asks for. Raises `ConfigError` for what cannot be had.

    `key` is the endpoint's. `whole` says whether all of the vault can be read: while it cannot, no vector is dropped.
    """
    return make_worker(settings, key, whole) or NoVectors()
