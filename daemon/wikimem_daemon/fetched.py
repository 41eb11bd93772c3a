"""The embedder that the daemon's index asks: what was fetched for a query before, so that no answer waits for it."""

from collections import OrderedDict
from collections.abc import Sequence

from wikimem.cache.answers import Vector
from wikimem.cache.failures import EmbeddingError
from wikimem.cache.files import Matrix
from wikimem.cache.queries import REMEMBERED
from wikimem.cache.space import VectorSpace


class FetchedQueries:
    """The embedder that the index asks: it hands out what `prepare` has fetched, and never waits."""

    def __init__(self, model: str, space: VectorSpace) -> None:
        self.model = model
        self._space = space
        self._outcomes: OrderedDict[str, Vector | EmbeddingError] = OrderedDict()

    @property
    def dim(self) -> int:
        """The width of its vectors; 0 before the first one was made."""
        return self._space.dim

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Refuse: texts are embedded in the background."""
        raise EmbeddingError("unavailable", f"{len(texts)} texts are for the background, not for a query")

    def embed_query(self, text: str) -> Vector:
        """Return what was fetched. Raises `EmbeddingError` with why there is nothing."""
        found = self._outcomes.get(text)
        if found is None:
            raise EmbeddingError("unavailable", "nobody has fetched it")
        if isinstance(found, EmbeddingError):
            raise found
        return found

    def remember(self, text: str, outcome: "Vector | EmbeddingError") -> None:
        """Keep the latest outcome for a query."""
        self._outcomes[text] = outcome
        self._outcomes.move_to_end(text)
        if len(self._outcomes) > REMEMBERED:
            self._outcomes.popitem(last=False)
