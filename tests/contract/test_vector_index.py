"""What every vector index keeps to: the one in memory, and a plain one that the tests can read at a glance."""

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import pytest

from wikimem.cache.space import BLOCK, VectorSpace
from wikimem.search.vectors import ExactVectors, Matrix, Vector, VectorIndex


class Fillable(VectorIndex, Protocol):
    """A vector index that a test can fill."""

    def put(self, hashes: Sequence[str], vectors: Matrix) -> None: ...
    def keep(self, hashes: Sequence[str]) -> None: ...


class PlainVectors:
    """Vectors in a list, compared in Python."""

    def __init__(self, model: str, dim: int) -> None:
        self.model, self.dim, self.generation = model, dim, 0
        self._kept: list[tuple[str, list[float]]] = []

    def put(self, hashes: Sequence[str], vectors: Matrix) -> None:
        if vectors.shape != (len(hashes), self.dim):
            raise ValueError("wrong shape")
        for name, vector in zip(hashes, vectors.tolist(), strict=True):
            place = next((at for at, (known, _) in enumerate(self._kept) if known == name), None)
            if place is None:
                self._kept.append((name, vector))
            else:
                self._kept[place] = (name, vector)

    def keep(self, hashes: Sequence[str]) -> None:
        known = dict(self._kept)
        self._kept = [(name, known[name]) for name in hashes if name in known]
        self.generation += 1

    def rows(self, hashes: Sequence[str]) -> list[int]:
        names = [name for name, _ in self._kept]
        return [names.index(name) if name in names else -1 for name in hashes]

    def hashes_from(self, row: int) -> list[str]:
        return [name for name, _ in self._kept][row:]

    def cosines(self, query: Vector) -> Vector:
        def cosine(vector: list[float]) -> float:
            lengths = math.hypot(*vector) * math.hypot(*query.tolist())
            return sum(a * b for a, b in zip(vector, query.tolist(), strict=True)) / lengths if lengths else 0.0

        return np.array([cosine(vector) for _, vector in self._kept], np.float32)


class CachedVectors(VectorSpace):
    """The vectors that a cache on disk is made from, with the test's way of forgetting."""

    def keep(self, hashes: Sequence[str]) -> None:
        kept = [name for name in hashes if name in self]
        blocks = list(self.blocks(kept))
        model, generation = self.model, self.generation
        self.__init__(model, self.dim, generation + 1)  # type: ignore[misc]
        for start, block in enumerate(blocks):
            self.put(kept[start * BLOCK :][:BLOCK], block)


KINDS: list[Callable[[str, int], Fillable]] = [PlainVectors, ExactVectors, CachedVectors]
pytestmark = pytest.mark.parametrize("kind", KINDS)
X, Y, DIAGONAL, ZERO = [1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [0.0, 0.0]


def filled(kind: Callable[[str, int], Fillable]) -> Fillable:
    vectors = kind("m1", 2)
    vectors.put(["x", "y"], np.array([X, Y], np.float32))
    vectors.put(["d", "z"], np.array([DIAGONAL, ZERO], np.float32))
    return vectors


def test_a_hash_has_a_row_and_an_unknown_one_has_none(kind: Callable[[str, int], Fillable]) -> None:
    assert list(filled(kind).rows(["d", "nothing", "x"])) == [2, -1, 0]
    assert list(filled(kind).rows([])) == []


def test_what_was_added_since_is_told_by_its_hashes(kind: Callable[[str, int], Fillable]) -> None:
    vectors = filled(kind)
    assert list(vectors.hashes_from(2)) == ["d", "z"]
    assert list(vectors.hashes_from(4)) == []


def test_the_cosine_of_every_row_is_given_in_row_order(kind: Callable[[str, int], Fillable]) -> None:
    cosines = filled(kind).cosines(np.array([3.0, 0.0], np.float32))
    assert cosines.dtype == np.float32
    assert cosines.tolist() == pytest.approx([1.0, 0.0, math.sqrt(0.5), 0.0])


def test_a_zero_query_is_like_nothing(kind: Callable[[str, int], Fillable]) -> None:
    assert filled(kind).cosines(np.array(ZERO, np.float32)).tolist() == [0, 0, 0, 0]


def test_an_empty_index_answers(kind: Callable[[str, int], Fillable]) -> None:
    vectors = kind("m1", 2)
    assert (list(vectors.rows(["x"])), vectors.cosines(np.array(X, np.float32)).tolist()) == ([-1], [])


def test_adding_keeps_every_row_where_it_was(kind: Callable[[str, int], Fillable]) -> None:
    vectors = filled(kind)
    generation = vectors.generation
    vectors.put([f"n{number}" for number in range(200)], np.ones((200, 2), np.float32))
    assert list(vectors.rows(["x", "y", "d", "n199"])) == [0, 1, 2, 203]
    assert vectors.generation == generation


def test_a_known_hash_keeps_its_row_and_gets_the_new_vector(kind: Callable[[str, int], Fillable]) -> None:
    vectors = filled(kind)
    vectors.put(["x"], np.array([Y], np.float32))
    assert list(vectors.rows(["x"])) == [0]
    assert vectors.cosines(np.array(Y, np.float32))[0] == pytest.approx(1.0)


def test_forgetting_raises_the_generation(kind: Callable[[str, int], Fillable]) -> None:
    vectors = filled(kind)
    generation = vectors.generation
    vectors.keep(["d", "gone", "x"])
    assert vectors.generation > generation
    assert list(vectors.rows(["x", "y", "d"])) == [1, -1, 0]
    assert vectors.cosines(np.array(X, np.float32)).tolist() == pytest.approx([math.sqrt(0.5), 1.0])
    vectors.put(["new"], np.array([X], np.float32))
    assert list(vectors.rows(["new"])) == [2]


def test_vectors_of_another_width_are_refused(kind: Callable[[str, int], Fillable]) -> None:
    with pytest.raises(ValueError):
        kind("m1", 2).put(["x"], np.ones((1, 3), np.float32))
