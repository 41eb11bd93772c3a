"""The cosine of every row with the query, where an embedder and vectors are there; else what is wrong with them."""

import numpy as np

from wikimem.search.bm25 import FloatArray, LongArray
from wikimem.search.pool import Pool, joined
from wikimem.search.results import Degraded
from wikimem.search.rows import UNKNOWN
from wikimem.search.shelf import Shelf
from wikimem.search.vectors import Embedder, Vector, VectorIndex

# In `vector_rows`: looked up, and there was none. Beside `UNKNOWN` and `FREE`.
_ABSENT = -3


class Likeness:
    """Knows which vector belongs to which row, and asks the embedder for the query's."""

    def __init__(self, embedder: Embedder | None, vectors: VectorIndex | None) -> None:
        self.embedder = embedder
        self.vectors = vectors
        self._generations: dict[Shelf, int] = {}
        self._totals: dict[Shelf, int] = {}

    @property
    def there(self) -> bool:
        """Whether the second signal was asked for at all."""
        return self.embedder is not None and self.vectors is not None

    def query_vector(self, query: str) -> Vector | Degraded:
        """Return the query's vector, or why there is none."""
        if self.embedder is None:
            return Degraded("no-embedder", "no embedder is configured")
        try:
            vector = np.asarray(self.embedder.embed_query(query), np.float32)
        except Exception as error:  # noqa: BLE001 - fail-open edge: the embedder is foreign code, the answer is not its
            hint = getattr(error, "hint", "") or "the answer is by words alone; see `wikimem status`"
            code = getattr(error, "degraded_code", "embedder-failed")
            return Degraded(code, f"the query has no vector: {error}", hint)
        if vector.ndim != 1 or not np.isfinite(vector).all():
            return Degraded("embedder-failed", "the query's vector is not a row of finite numbers")
        return vector

    def cosines(self, pool: Pool, vector: Vector) -> FloatArray | Degraded | None:
        """Return the cosine for every place of the pool, NaN without a vector; None when nothing has one yet."""
        vectors, embedder = self.vectors, self.embedder
        if vectors is None or vectors.dim == 0:
            return None
        model = embedder.model if embedder is not None else vectors.model
        if (vectors.model and vectors.model != model) or vectors.dim != len(vector):
            return Degraded(
                "vectors-mismatch",
                f"the vectors are of {vectors.model}, {vectors.dim} wide; the query's is of {model}, {len(vector)}",
                "run `wikimem embed --reset` to make them anew with this model",
            )
        every = vectors.cosines(vector)
        if not len(every):
            return None
        parts = [self._spread(part.shelf, every, vectors) for part in pool.parts]
        return joined(parts)

    def _spread(self, shelf: Shelf, every: Vector, vectors: VectorIndex) -> FloatArray:
        rows = self._rows_of(shelf, vectors, len(every))
        values = np.full(len(rows), np.nan, np.float32)
        known = (rows >= 0) & (rows < len(every))
        values[known] = every[rows[known]]
        return values

    def _rows_of(self, shelf: Shelf, vectors: VectorIndex, total: int) -> LongArray:
        """Return the vector row of each slot. Rows are only added, so only what has none yet is looked up.

        What was looked up in vain is looked up again when there are more vectors: an endpoint that is away while
        100,000 texts wait must not cost every query 40 ms.
        """
        rows = shelf.rows.vector_rows
        if self._generations.get(shelf) != vectors.generation:
            rows[(rows >= 0) | (rows == _ABSENT)] = UNKNOWN
            self._generations[shelf] = vectors.generation
        if self._totals.get(shelf) != total:
            rows[rows == _ABSENT] = UNKNOWN
            self._totals[shelf] = total
        missing = np.flatnonzero(rows == UNKNOWN).tolist()
        if missing:
            found = np.array(vectors.rows([shelf.rows.hash(slot) for slot in missing]), np.int64)
            rows[missing] = np.where(found < 0, _ABSENT, found)
        return rows[: shelf.corpus.top]
