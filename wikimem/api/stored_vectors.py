"""The vectors that are on disk, for queries in a process that makes none: the daemon or `wikimem embed` makes them."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wikimem.cache.failures import EmbeddingError
from wikimem.config import Settings
from wikimem.config_endpoint import embeddings_key

if TYPE_CHECKING:
    from wikimem.cache.answers import Vector
    from wikimem.cache.files import Matrix
    from wikimem.cache.opening import Embeddings
    from wikimem.cache.space import VectorSpace


class StoredVectors:
    """An embedder of queries beside a cache that is only read."""

    def __init__(self, parts: "Embeddings") -> None:
        self.model = parts.client.model
        self._parts = parts

    @property
    def space(self) -> "VectorSpace":
        """The vectors."""
        return self._parts.sync.space

    @property
    def dim(self) -> int:
        """The width of the vectors; 0 while there are none."""
        return self.space.dim

    def embed(self, texts: Sequence[str]) -> "Matrix":
        """Embed texts. Raises `EmbeddingError`."""
        return self._parts.client.embed(texts)

    def embed_query(self, text: str) -> "Vector":
        """Embed a query within its deadline. Raises `EmbeddingError` also when there is nothing to compare it with."""
        now = self._parts.sync.progress
        if now.state == "mismatch":
            raise EmbeddingError("mismatch", now.detail, hint=now.hint)
        if not len(self.space):
            raise EmbeddingError("waiting", "no text has one yet", hint="make them: `wikimem embed`")
        return self._parts.client.embed_query(text)

    def close(self) -> None:
        """Close the connections."""
        self._parts.client.close()


def open_stored(settings: Settings) -> StoredVectors | None:
    """Return the vectors of a vault as they are on disk, None without embeddings. Raises `ConfigError`."""
    if settings.embeddings.provider == "none":
        return None
    from wikimem.cache.opening import open_embeddings  # noqa: PLC0415 - brings httpx, which few vaults need

    key = embeddings_key(settings.embeddings, env=os.environ, base=settings.config_file.parent)
    parts = open_embeddings(settings, key)
    if parts is None:
        return None
    parts.sync.load()
    parts.sync.look()
    return StoredVectors(parts)
