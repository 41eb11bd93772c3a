"""The ports of the second signal, and an exact index in memory.

`Embedder` makes vectors, `VectorIndex` keeps them by content hash and compares. A cache on disk is another
`VectorIndex`; `docs/retrieval.md` says what both must keep to, and one contract test runs against each.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
Matrix = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Makes vectors. Whatever it raises costs the query its second signal, never the answer."""

    @property
    def model(self) -> str:
        """The model's name: vectors of two models are never compared."""

    @property
    def dim(self) -> int:
        """The width of its vectors; 0 before the first one was made."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each text (each is `name`, a newline, `content`)."""

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query. It has a short deadline of its own."""


class VectorIndex(Protocol):
    """Keeps vectors by content hash."""

    @property
    def model(self) -> str:
        """The model that made the vectors, "" while there are none."""

    @property
    def dim(self) -> int:
        """The width of the vectors, 0 while there are none."""

    @property
    def generation(self) -> int:
        """Raised whenever a hash may have another row than before, or none; adding rows does not raise it."""

    def rows(self, hashes: Sequence[str]) -> Sequence[int]:
        """Return the row of each hash, -1 for one that has no vector."""

    def hashes_from(self, row: int) -> Sequence[str]:
        """Return the hashes of the rows from `row` on: those that were added since there were so many."""

    def cosines(self, query: Vector) -> Vector:
        """Return the cosine of every row with `query`, in row order. A zero vector has cosine 0."""


class ExactVectors:
    """Vectors in memory, compared one by one: exact, and fast enough for a hundred thousand."""

    def __init__(self, model: str, dim: int) -> None:
        self.model = model
        self.dim = dim
        self.generation = 0
        self._rows: dict[str, int] = {}
        self._matrix: Matrix = np.empty((0, dim), np.float32)
        self._used = 0

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, hashes: Sequence[str], vectors: Matrix) -> None:
        """Add vectors; a hash that is known keeps its row."""
        if vectors.shape != (len(hashes), self.dim):
            raise ValueError(f"{len(hashes)} hashes with vectors of shape {vectors.shape}, width is {self.dim}")
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit = np.divide(vectors, norms, out=np.zeros_like(vectors, np.float32), where=norms > 0)
        for name, vector in zip(hashes, unit, strict=True):
            row = self._rows.setdefault(name, self._used)
            if row == self._used:
                self._reserve()
                self._used += 1
            self._matrix[row] = vector

    def keep(self, hashes: Iterable[str]) -> None:
        """Forget every vector but those of `hashes`."""
        kept = [name for name in hashes if name in self._rows]
        self._matrix = self._matrix[[self._rows[name] for name in kept]]
        self._rows = {name: row for row, name in enumerate(kept)}
        self._used = len(kept)
        self.generation += 1

    def rows(self, hashes: Sequence[str]) -> Sequence[int]:
        """Return the row of each hash, -1 for one that has no vector."""
        known = self._rows.get
        return [known(name, -1) for name in hashes]

    def hashes_from(self, row: int) -> Sequence[str]:
        """Return the hashes of the rows from `row` on."""
        return list(self._rows)[row:]

    def cosines(self, query: Vector) -> Vector:
        """Return the cosine of every row with `query`, in row order."""
        length = float(np.linalg.norm(query))
        if length == 0:
            return np.zeros(self._used, np.float32)
        return np.asarray(self._matrix[: self._used] @ (query / length).astype(np.float32), np.float32)

    def _reserve(self) -> None:
        if self._used < len(self._matrix):
            return
        grown = np.zeros((max(64, len(self._matrix) * 2), self.dim), np.float32)
        grown[: self._used] = self._matrix[: self._used]
        self._matrix = grown
