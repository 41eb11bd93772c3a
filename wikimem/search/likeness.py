"""The cosine of every row with the query, where an embedder and vectors are there; else what is wrong with them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from wikimem.search.bm25 import FloatArray, LongArray
from wikimem.search.pool import Pool, joined
from wikimem.search.results import Degraded
from wikimem.search.rows import UNKNOWN
from wikimem.search.shelf import Shelf
from wikimem.search.vectors import Embedder, Vector, VectorIndex

# In `vector_rows`: looked up, and there was none. Beside `UNKNOWN` and `FREE`.
_ABSENT = -3


@dataclass(slots=True)
class _Seen:
    """What a shelf knows of the vectors: how many there were, and the slots of each hash that had none."""

    generation: int
    total: int = 0
    absent: dict[str, list[int]] = field(default_factory=dict)


class Likeness:
    """Knows which vector belongs to which row, and asks the embedder for the query's."""

    def __init__(self, embedder: Embedder | None, vectors: VectorIndex | None) -> None:
        self.embedder = embedder
        self.vectors = vectors
        self._seen: dict[Shelf, _Seen] = {}

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

    def prime(self, shelves: Sequence[Shelf], most: int) -> bool:
        """Look up at most `most` items that no query has looked up yet; say whether some are left."""
        if self.vectors is None:
            return False
        for shelf in shelves:
            self._follow(shelf, self.vectors)
            unknown = _unknown(shelf)
            self._look_up(shelf, self.vectors, unknown[:most])
            if len(unknown) > most:
                return True
            most -= len(unknown)
        return False

    def _spread(self, shelf: Shelf, every: Vector, vectors: VectorIndex) -> FloatArray:
        self._follow(shelf, vectors)
        self._look_up(shelf, vectors, _unknown(shelf))
        rows = shelf.rows.vector_rows[: shelf.corpus.top]
        values = np.full(len(rows), np.nan, np.float32)
        known = (rows >= 0) & (rows < len(every))
        values[known] = every[rows[known]]
        return values

    def _follow(self, shelf: Shelf, vectors: VectorIndex) -> None:
        """Give the items that were looked up in vain the vectors that have come since.

        Only those that came are looked at: while 100,000 texts wait for an endpoint, no query must cost 40 ms.
        """
        rows = shelf.rows.vector_rows
        seen = self._seen.get(shelf)
        if seen is None or seen.generation != vectors.generation:
            rows[(rows >= 0) | (rows == _ABSENT)] = UNKNOWN
            seen = self._seen[shelf] = _Seen(vectors.generation)
        come = vectors.hashes_from(seen.total)
        for row, name in enumerate(come, seen.total) if seen.absent else ():
            for slot in seen.absent.pop(name, ()):
                # The slot may hold another item by now.
                if rows[slot] == _ABSENT and shelf.rows.hash(slot) == name:
                    rows[slot] = row
        seen.total += len(come)

    def _look_up(self, shelf: Shelf, vectors: VectorIndex, slots: LongArray) -> None:
        if not len(slots):
            return
        hashes = [shelf.rows.hash(slot) for slot in slots.tolist()]
        found = np.array(vectors.rows(hashes), np.int64)
        shelf.rows.vector_rows[slots] = np.where(found < 0, _ABSENT, found)
        absent = self._seen[shelf].absent
        for at in np.flatnonzero(found < 0).tolist():
            absent.setdefault(hashes[at], []).append(int(slots[at]))


def _unknown(shelf: Shelf) -> LongArray:
    return np.flatnonzero(shelf.rows.vector_rows == UNKNOWN)
