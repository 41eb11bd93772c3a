"""Rows of vectors through additions, commits and forgetting."""

from collections.abc import Sequence

import numpy as np
import pytest

from wikimem.cache import space as space_module
from wikimem.cache.files import Matrix
from wikimem.cache.space import Vector, VectorSpace


def matrix(count: int, dim: int = 4, seed: int = 1) -> Matrix:
    return np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)


def names(count: int, prefix: str = "h") -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def commit(space: VectorSpace, hashes: Sequence[str], name: str = "wiki") -> Matrix:
    written = np.concatenate([*space.blocks(hashes), np.empty((0, space.dim), np.float32)])
    space.settle(name, hashes, written)
    return written


def cosine_of(space: VectorSpace, content_hash: str, query: Vector) -> float:
    row = space.rows([content_hash])[0]
    return float(space.cosines(query)[row])


def expected(vector: Vector, query: Vector) -> float:
    return float(vector @ query / np.linalg.norm(vector) / np.linalg.norm(query))


def test_a_commit_in_another_order_changes_no_row_and_no_cosine() -> None:
    space, rows = VectorSpace("m"), matrix(1_300)
    hashes = names(1_300)
    space.put(hashes, rows)
    before, query = list(space.rows(hashes)), matrix(1)[0]
    cosines = space.cosines(query)
    assert np.array_equal(commit(space, hashes[::-1]), rows[::-1])
    assert list(space.rows(hashes)) == before
    assert space.generation == 0
    np.testing.assert_allclose(space.cosines(query), cosines, atol=1e-6)


def test_an_edit_beside_a_file_is_one_row_more_and_the_old_row_can_come_back() -> None:
    space, rows = VectorSpace("m"), matrix(5)
    space.put(names(5), rows)
    commit(space, names(5))
    new = matrix(1, seed=2)
    space.put(["new"], new)
    assert space.rows(["new"]) == [5]
    assert space.hashes_from(5) == ["new"]
    written = commit(space, ["h0", "new", "h2", "h3", "h4"])
    assert np.array_equal(written, np.concatenate([rows[:1], new, rows[2:]]))
    query = matrix(1, seed=3)[0]
    assert cosine_of(space, "h1", query) == pytest.approx(expected(rows[1], query), abs=1e-6)
    assert np.array_equal(commit(space, names(5)), rows), "an undo costs nothing"


def test_what_is_gone_is_kept_up_to_a_limit_and_then_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space_module, "RETIRED_BYTES", 3 * 4 * 4)
    space, rows = VectorSpace("m"), matrix(10)
    space.put(names(10), rows)
    commit(space, names(10))
    commit(space, ["h0"])
    assert [name for name in names(10) if name in space] == ["h0", "h7", "h8", "h9"]
    assert space.generation == 1, "who holds a row of a forgotten one must look again"
    space.put(["h1"], rows[1:2])
    assert space.rows(["h1"]) == [10], "a row's number is not used again"
    assert np.array_equal(commit(space, ["h1", "h9"]), rows[[1, 9]])


def test_texts_are_forgotten_many_at_once_and_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space_module, "RETIRED_BYTES", 20 * 4 * 4)
    space, rows = VectorSpace("m"), matrix(101)
    for number in range(101):
        space.put([f"h{number}"], rows[number : number + 1])
        commit(space, [f"h{number}"])
    assert 0 < space.generation <= 101 // 5, "each time every query looks all its rows up again"
    assert len(space) <= 1 + 25
    assert np.array_equal(commit(space, ["h100", "h99"]), rows[[100, 99]])


def test_two_files_share_the_rows() -> None:
    space, rows = VectorSpace("m"), matrix(6)
    space.put(names(6), rows)
    commit(space, names(4))
    commit(space, ["h5", "h4"], "diary")
    query = matrix(1, seed=3)[0]
    for number, name in enumerate(names(6)):
        assert cosine_of(space, name, query) == pytest.approx(expected(rows[number], query), abs=1e-6)


def test_items_of_one_text_have_one_vector_and_a_row_each_in_the_file() -> None:
    space, rows = VectorSpace("m"), matrix(2)
    space.put(["a", "b"], rows)
    written = commit(space, ["a", "b", "a"])
    assert np.array_equal(written, rows[[0, 1, 0]])
    again = VectorSpace("m")
    again.adopt("wiki", ["a", "b", "a"], written)
    assert len(again) == 2
    assert np.array_equal(commit(again, ["a", "b", "a"]), written)


def test_rows_of_a_file_that_are_no_vectors_are_not_known() -> None:
    rows = matrix(4)
    rows[1], rows[2, 0] = 0, np.nan
    space = VectorSpace("m")
    assert space.adopt("wiki", names(4), rows) == 2
    assert [name in space for name in names(4)] == [True, False, False, True]
    query = matrix(1, seed=3)[0]
    assert cosine_of(space, "h3", query) == pytest.approx(expected(rows[3], query), abs=1e-6)


def test_beginning_again_forgets_all_and_takes_another_width() -> None:
    space = VectorSpace("m1")
    space.put(names(3), matrix(3))
    commit(space, names(3))
    space.clear("m2")
    assert (len(space), space.model, space.dim, space.generation) == (0, "m2", 0, 1)
    space.put(["h0"], matrix(1, dim=2))
    assert (space.rows(["h0", "h1"]), space.dim) == ([3, -1], 2)


def test_vectors_of_another_width_are_refused_and_nothing_changes() -> None:
    space = VectorSpace("m")
    space.put(["a"], matrix(1))
    for wrong in (matrix(1, dim=5), np.empty((1, 0), np.float32)):
        with pytest.raises(ValueError, match="width"):
            space.put(["b"], wrong)
    assert (len(space), space.dim) == (1, 4)


def test_what_is_too_long_or_too_short_for_a_direction_is_not_known() -> None:
    rows = np.array([[3e38, 3e38], [1e-30, 0], [1e-6, 1e-6]], np.float32)
    space = VectorSpace("m")
    assert space.adopt("wiki", ["large", "small", "fine"], rows) == 2
    cosines = space.cosines(np.array([1, 1], np.float32))
    assert cosines[space.rows(["fine"])[0]] == pytest.approx(1)
