"""The vectors that are on disk, for queries in a process that makes none: the daemon or `wikimem embed` makes them.

They are opened by the first question: `wikimem ls` has no use for them, and a key that is missing is no reason why it
should not answer.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wikimem.cache.failures import EmbeddingError
from wikimem.config import Settings, endpoint_key
from wikimem.errors import ConfigError

if TYPE_CHECKING:
    from wikimem.cache.answers import Vector
    from wikimem.cache.files import Matrix
    from wikimem.cache.opening import Embeddings
    from wikimem.cache.space import VectorSpace


class StoredVectors:
    """An embedder of queries, and the index (`search.vectors`) of a cache that is only read."""

    def __init__(self, settings: Settings) -> None:
        self.model = settings.embeddings.model or ""
        self._settings = settings
        self._parts: Embeddings | None = None

    # ------------------------------------------------------------ an embedder

    @property
    def dim(self) -> int:
        """The width of the vectors; 0 while there are none."""
        return 0 if self._space is None else self._space.dim

    def embed(self, texts: Sequence[str]) -> "Matrix":
        """Embed texts. Raises `EmbeddingError`."""
        return self._opened().client.embed(texts)

    def embed_query(self, text: str) -> "Vector":
        """Embed a query within its deadline. Raises `EmbeddingError` also when there is nothing to compare it with."""
        parts = self._opened()
        now = parts.sync.progress
        if now.state == "mismatch":
            raise EmbeddingError("mismatch", now.detail, hint=now.hint)
        if not len(parts.sync.space):
            raise EmbeddingError("waiting", "no text has one yet", hint="make them: `wikimem embed`")
        return parts.client.embed_query(text)

    # --------------------------------------------------------------- an index

    @property
    def generation(self) -> int:
        """As in `VectorIndex`."""
        return -1 if self._space is None else self._space.generation

    def rows(self, hashes: Sequence[str]) -> Sequence[int]:
        """As in `VectorIndex`."""
        return [-1] * len(hashes) if self._space is None else self._space.rows(hashes)

    def hashes_from(self, row: int) -> Sequence[str]:
        """As in `VectorIndex`."""
        return () if self._space is None else self._space.hashes_from(row)

    def cosines(self, query: "Vector") -> "Vector":
        """As in `VectorIndex`."""
        return self._opened().sync.space.cosines(query)

    # ---------------------------------------------------------------- private

    @property
    def _space(self) -> "VectorSpace | None":
        return None if self._parts is None else self._parts.sync.space

    def _opened(self) -> "Embeddings":
        if self._parts is None:
            from wikimem.cache.opening import open_embeddings  # noqa: PLC0415 - brings httpx, which few calls need

            settings = self._settings
            try:
                key = endpoint_key(settings)
                parts = open_embeddings(settings, key)
            except ConfigError as error:
                raise EmbeddingError("denied", error.message, hint=error.hint) from error
            if parts is None:
                raise EmbeddingError("denied", "no embeddings are configured")
            parts.sync.load()
            parts.sync.look()
            self._parts = parts
        return self._parts

    def close(self) -> None:
        """Close the connections."""
        if self._parts is not None:
            self._parts.client.close()


def open_stored(settings: Settings) -> StoredVectors | None:
    """Return the vectors of a vault as they are on disk, None without embeddings."""
    return None if settings.embeddings.provider == "none" else StoredVectors(settings)
