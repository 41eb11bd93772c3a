"""The vector cache on disk: what the format says, and what is no cache."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from wikimem.cache.files import KEYS_FILE, Matrix, VectorFiles, key_line
from wikimem.errors import StorageError
from wikimem.pages.items import content_hash

ROWS = np.array([[1, 0, 0], [0, 2, 0]], np.float32)
KEYS = [("preferences", "likes-the-sea", "a" * 64), ("daily_life", "手冲咖啡", "b" * 64)]


def write(folder: Path, rows: Matrix = ROWS, keys: Sequence[tuple[str, str, str]] = KEYS, model: str = "bge-m3") -> int:
    lines = [key_line(*key) for key in keys]
    return VectorFiles(folder).write(model, rows.shape[1], lines, [rows[:1], rows[1:]])[1]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_cache_that_another_program_made_loads(tmp_path: Path) -> None:
    np.save(tmp_path / "vectors-000003.npy", ROWS)
    (tmp_path / KEYS_FILE).write_text(
        '{"vectors_file": "vectors-000003.npy", "model": "bge-m3", "dim": 3}\n'
        '{"file": "preferences", "name": "likes-the-sea", "hash": "9f8a"}\n'
        '{"file": "daily_life", "name": "beach-trip-plan", "hash": "b774"}\n'
    )
    stored = VectorFiles(tmp_path).load()
    assert stored is not None
    assert (stored.model, stored.dim, list(stored.hashes)) == ("bge-m3", 3, ["9f8a", "b774"])
    assert stored.files == ["preferences", "daily_life"]
    assert stored.matrix.tolist() == ROWS.tolist()


def test_ours_is_read_by_whoever_knows_the_format(tmp_path: Path) -> None:
    written = write(tmp_path)
    header, *keys = [json.loads(line) for line in (tmp_path / KEYS_FILE).read_text("utf-8").splitlines()]
    assert header == {"vectors_file": "vectors-000001.npy", "model": "bge-m3", "dim": 3}
    assert keys == [{"file": file, "name": name, "hash": found} for file, name, found in KEYS]
    assert "手冲咖啡" in (tmp_path / KEYS_FILE).read_text("utf-8")
    matrix = np.load(tmp_path / "vectors-000001.npy", mmap_mode="r", allow_pickle=False)
    assert (matrix.dtype, matrix.tolist()) == (np.float32, ROWS.tolist())
    assert written == sum((tmp_path / name).stat().st_size for name in names(tmp_path))


def test_the_hash_is_that_of_the_text_that_is_embedded() -> None:
    assert content_hash("手冲", "海") == hashlib.sha256("手冲\n海".encode()).hexdigest()


def test_a_new_version_replaces_the_keys_and_sweeps_the_old_matrix(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "vectors-000007.npy").write_bytes(b"left by a crash")
    (tmp_path / "vectors-notes.npy").write_bytes(b"not ours")
    mapped = VectorFiles(tmp_path).load()
    assert mapped is not None
    write(tmp_path, ROWS[::-1], KEYS[::-1])
    assert names(tmp_path) == ["vectors-000008.npy", "vectors-notes.npy", KEYS_FILE]
    assert mapped.matrix.tolist() == ROWS.tolist(), "who still maps the old version keeps its numbers"
    found = VectorFiles(tmp_path).load()
    assert found is not None
    assert found.matrix.tolist() == ROWS[::-1].tolist()


def test_a_header_without_model_and_width_still_loads(tmp_path: Path) -> None:
    write(tmp_path)
    lines = (tmp_path / KEYS_FILE).read_text("utf-8").splitlines()
    (tmp_path / KEYS_FILE).write_text("\n".join(['{"vectors_file": "vectors-000001.npy"}', *lines[1:]]), "utf-8")
    stored = VectorFiles(tmp_path).load()
    assert stored is not None
    assert (stored.model, stored.dim) == (None, 3)


def test_a_cache_of_no_rows_is_written_and_loads(tmp_path: Path) -> None:
    VectorFiles(tmp_path).write("m", 3, [], [])
    stored = VectorFiles(tmp_path).load()
    assert stored is not None
    assert stored.matrix.shape == (0, 3)


def header(**changed: object) -> str:
    return json.dumps({"vectors_file": "vectors-000001.npy", "model": "bge-m3", "dim": 3} | changed)


def damage_keys(text: str) -> bytes:
    return (text + "\n").encode() + b"".join(key_line(*key) for key in KEYS)


DAMAGED = {
    "no-matrix": None,
    "a-row-too-few": damage_keys(header())[: -len(key_line(*KEYS[1]))],
    "a-row-too-many": damage_keys(header()) + key_line("x", "y", "c" * 64),
    "torn-in-a-line": damage_keys(header())[:-20],
    "another-width": damage_keys(header(dim=4)),
    "empty": b"",
    "no-json": b"PK\x03\x04\n" + b"\0" * 64,
    "no-object": b"[1, 2]\n",
    "a-path-that-leads-out": damage_keys(header(vectors_file="../vectors-000001.npy")),
    "a-hash-that-is-none": damage_keys(header()).replace(b'"' + b"b" * 64 + b'"', b"12"),
    "not-utf8": damage_keys(header()).replace("手".encode(), b"\xff\xfe"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_what_does_not_fit_together_is_no_cache(tmp_path: Path, kind: str) -> None:
    write(tmp_path)
    assert VectorFiles(tmp_path).load() is not None
    data = DAMAGED[kind]
    if data is None:
        (tmp_path / "vectors-000001.npy").unlink()
    else:
        (tmp_path / KEYS_FILE).write_bytes(data)
    assert VectorFiles(tmp_path).load() is None
    write(tmp_path)
    assert VectorFiles(tmp_path).load() is not None, "the next write makes a cache of it again"


@pytest.mark.parametrize(
    "matrix",
    [b"", b"\x93NUMPY", ROWS.astype(np.float64), ROWS.ravel(), np.array([["a"], ["b"]], object), "cut"],
    ids=["empty", "head-only", "float64", "one-row", "pickled", "cut"],
)
def test_a_matrix_of_another_kind_is_no_cache(tmp_path: Path, matrix: "bytes | str | Matrix") -> None:
    write(tmp_path)
    path = tmp_path / "vectors-000001.npy"
    if isinstance(matrix, bytes):
        path.write_bytes(matrix)
    elif isinstance(matrix, str):
        path.write_bytes(path.read_bytes()[:-4])
    else:
        np.save(path, matrix, allow_pickle=True)
    assert VectorFiles(tmp_path).load() is None


@pytest.mark.parametrize("name", [KEYS_FILE, "vectors-000001.npy"])
def test_a_pipe_in_place_of_a_file_is_no_cache_and_holds_nobody_up(tmp_path: Path, name: str) -> None:
    write(tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    assert VectorFiles(tmp_path).load() is None
    assert VectorFiles(tmp_path).lines().keys() <= {"a" * 64, "b" * 64}
    write(tmp_path)
    assert VectorFiles(tmp_path).load() is not None


def test_a_link_that_a_synced_vault_brings_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("do not touch")
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / f".{KEYS_FILE}.new").symlink_to(tmp_path / "mine")
    write(vault)
    assert (tmp_path / "mine").read_text() == "do not touch"
    assert not (vault / KEYS_FILE).is_symlink()
    assert VectorFiles(vault).load() is not None


def test_after_the_last_version_there_is_a_next_one(tmp_path: Path) -> None:
    write(tmp_path)
    text = (tmp_path / KEYS_FILE).read_text("utf-8").replace("vectors-000001.npy", "vectors-999999999999.npy")
    (tmp_path / KEYS_FILE).write_text(text, "utf-8")
    (tmp_path / "vectors-000001.npy").rename(tmp_path / "vectors-999999999999.npy")
    assert VectorFiles(tmp_path).load() is not None
    write(tmp_path, ROWS[::-1], KEYS[::-1])
    stored = VectorFiles(tmp_path).load()
    assert stored is not None
    assert stored.matrix.tolist() == ROWS[::-1].tolist()
    assert names(tmp_path) == ["vectors-000001.npy", KEYS_FILE]


def test_a_write_that_fails_leaves_the_version_that_counts(tmp_path: Path) -> None:
    write(tmp_path)
    before = names(tmp_path)
    with pytest.raises(StorageError, match="1 rows for 2 keys"):
        VectorFiles(tmp_path).write("m", 3, [key_line(*key) for key in KEYS], [ROWS[:1]])
    with pytest.raises(StorageError, match="4"):
        VectorFiles(tmp_path).write("m", 3, [key_line(*KEYS[0])], [np.ones((1, 4), np.float32)])
    assert names(tmp_path) == before
    assert VectorFiles(tmp_path).load() is not None


def test_no_link_of_the_vault_leads_a_write_out_of_it(tmp_path: Path) -> None:
    """A vault comes from a friend, a sync tool or git; what it links to is not ours to write."""
    folder, outside = tmp_path / "vault", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "precious").write_text("mine")
    (folder / f".{KEYS_FILE}.new").symlink_to(outside / "precious")
    write(folder)
    assert VectorFiles(folder).load() is not None
    (folder / "diary-vectors").symlink_to(outside)
    with pytest.raises(StorageError, match="symbolic link"):
        write(folder / "diary-vectors")
    assert [path.read_text() for path in outside.iterdir()] == ["mine"]
