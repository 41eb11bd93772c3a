r"""The vector cache on disk: `vectors.keys.jsonl` and the matrix that it names.

    {"vectors_file": "vectors-000003.npy", "model": "bge-m3", "dim": 1024}
    {"file": "preferences", "name": "likes-the-sea", "hash": "9f8a…"}

One key line for each row, in row order; `hash` is the sha256 of `name\ncontent`. The matrix is float32 and is never
changed: a new version is written beside it, and replacing the keys file is the moment at which it counts. Whatever
does not fit together is no cache: vectors cost money, wrong ones cost trust.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt

from wikimem.errors import StorageError

Matrix = npt.NDArray[np.float32]

KEYS_FILE: Final = "vectors.keys.jsonl"
DIARY_FOLDER: Final = "diary-vectors"
_VERSION: Final = re.compile(r"vectors-(\d{1,12})\.npy")
_LAST_VERSION: Final = 999_999_999_999
"""Whoever wrote it, the next one has a name again that is a version's."""
_TEMPORARY: Final = f".{KEYS_FILE}.new"


@dataclass(frozen=True, slots=True)
class Stored:
    """A cache as loaded. `model` is None in a header of old; `files` and `hashes` are parallel to the rows.

    `digest` is that of the key lines (`digest_of`).
    """

    model: str | None
    dim: int
    files: Sequence[str]
    hashes: Sequence[str]
    matrix: Matrix
    digest: bytes


def digest_of(lines: Iterable[bytes]) -> bytes:
    """Return what tells two lists of key lines apart."""
    return hashlib.sha256(b"".join(lines)).digest()


def key_line(file: str, name: str, content_hash: str) -> bytes:
    """Return one row's line, non-ASCII raw: people read this file."""
    text = json.dumps({"file": file, "name": name, "hash": content_hash}, ensure_ascii=False)
    return text.encode("utf-8", "replace") + b"\n"


class VectorFiles:
    """The cache in one folder: the vault, its `diary-vectors/`, or the same two in the state directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self) -> Stored | None:
        """Return the cache, memory-mapped; None when there is none that can be trusted."""
        try:
            return self._load()
        except (OSError, ValueError, EOFError, KeyError, TypeError, RecursionError):
            return None

    def lines(self) -> dict[str, bytes]:
        """Return the key line of each hash as it is on disk."""
        found: dict[str, bytes] = {}
        wrong = contextlib.suppress(OSError, ValueError, KeyError, TypeError)
        with wrong, _opened(self.folder / KEYS_FILE) as file:
            file.readline()
            for line in filter(bytes.strip, file):
                found[json.loads(line)["hash"]] = line.removesuffix(b"\n") + b"\n"
        return found

    def write(self, model: str, dim: int, lines: Sequence[bytes], blocks: Iterable[Matrix]) -> tuple[Matrix, int]:
        """Write a version, make it the one that counts, sweep the others; return its map and the bytes written.

        `blocks` together have one row for each line. Raises `StorageError`; what was there before then still counts.
        """
        path = self.folder / "vectors"
        try:
            _make_folder(self.folder)
            number = max((found for found in self._versions() if found < _LAST_VERSION), default=0) + 1
            path = self.folder / f"vectors-{number:06}.npy"
            try:
                written = _write_matrix(path, len(lines), dim, blocks)
                matrix = _map(path)
                written += self._replace_keys(path.name, model, dim, lines)
            except BaseException:
                with contextlib.suppress(OSError):
                    path.unlink()
                raise
        except (OSError, ValueError) as error:
            what = error.strerror if isinstance(error, OSError) else str(error)
            message = f"the vectors could not be written to {path}: {what}"
            hint = "make room or rights; the vectors are kept in memory and written then"
            raise StorageError(message, path=str(path), step="write the vectors", hint=hint) from error
        self._sweep(number)
        return matrix, written

    # ---------------------------------------------------------------- private

    def _load(self) -> Stored | None:
        with _opened(self.folder / KEYS_FILE) as file:
            header = json.loads(file.readline())
            return self._rest(header, file)

    def _rest(self, header: Mapping[str, Any], file: BinaryIO) -> Stored | None:
        name, model, dim = header["vectors_file"], header.get("model"), header.get("dim")
        if not isinstance(name, str) or not _VERSION.fullmatch(name) or not isinstance(model, str | None):
            return None
        matrix = _map(self.folder / name)
        # One too many tells as much as a million: what is no cache is not read to its end.
        lines = [line.removesuffix(b"\n") for line in islice(filter(bytes.strip, file), len(matrix) + 1)]
        if len(lines) != len(matrix):
            return None
        keys = [json.loads(line) for line in lines]
        files, hashes = [key["file"] for key in keys], [key["hash"] for key in keys]
        if not all(type(text) is str for text in (*files, *hashes)):
            return None
        if matrix.ndim != 2 or matrix.dtype != np.float32:
            return None
        width = int(matrix.shape[1])
        if not width or dim not in (None, width):
            return None
        return Stored(model or None, width, files, hashes, matrix, digest_of(line + b"\n" for line in lines))

    def _replace_keys(self, name: str, model: str, dim: int, lines: Sequence[bytes]) -> int:
        header = json.dumps({"vectors_file": name, "model": model, "dim": dim}, ensure_ascii=False)
        data = header.encode("utf-8", "replace") + b"\n" + b"".join(lines)
        # A dot-name: the watcher and sync tools leave it alone. One process writes here at a time, so one name does.
        temporary = self.folder / _TEMPORARY
        # A vault that is synced may bring anything of that name: a link would be written through.
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:
            file.write(data)
            _flush(file)
        # The folder first: keys that outlive a power cut must not name a matrix whose entry did not.
        _flush_folder(self.folder)
        temporary.replace(self.folder / KEYS_FILE)
        _flush_folder(self.folder)
        return len(data)

    def _versions(self) -> Iterator[int]:
        for entry in self.folder.iterdir():
            found = _VERSION.fullmatch(entry.name)
            if found:
                yield int(found[1])

    def _sweep(self, current: int) -> None:
        for number in [found for found in self._versions() if found != current]:
            for entry in self.folder.glob("vectors-*.npy"):
                found = _VERSION.fullmatch(entry.name)
                if found and int(found[1]) == number:
                    # Some systems forbid removing what another program maps: a later sweep gets it.
                    with contextlib.suppress(OSError):
                        entry.unlink()


def _make_folder(folder: Path) -> None:
    """Make the folder. The vault itself may be a link; one inside it would lead our writes out of it."""
    if folder.name == DIARY_FOLDER and folder.is_symlink():
        raise OSError(errno.ELOOP, "the folder is a symbolic link", str(folder))
    folder.mkdir(parents=True, exist_ok=True)


def _write_matrix(path: Path, rows: int, dim: int, blocks: Iterable[Matrix]) -> int:
    with path.open("xb") as file:
        head = {"descr": "<f4", "fortran_order": False, "shape": (rows, dim)}
        np.lib.format.write_array_header_1_0(file, head)
        start, count = file.tell(), 0
        for block in blocks:
            if block.shape[1:] != (dim,):
                raise ValueError(f"rows of shape {block.shape[1:]} in a matrix that is {dim} wide")
            file.write(np.ascontiguousarray(block, "<f4").data)
            count += len(block)
        if count != rows:
            raise ValueError(f"{count} rows for {rows} keys")
        _flush(file)
        return start + rows * dim * 4


def _opened(path: Path) -> BinaryIO:
    """Open a file for reading. Raises ValueError for what is no file: a pipe would keep us waiting for ever."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path} is no file")
    return path.open("rb")


def _map(path: Path) -> Matrix:
    with _opened(path) as file:
        if np.lib.format.read_magic(file) not in ((1, 0), (2, 0)):
            raise ValueError("not a matrix")
    size = path.stat().st_size
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError:
        # A matrix without rows has nothing to map.
        matrix = np.load(path, allow_pickle=False) if size < 4_096 else None
        if matrix is None or matrix.size:
            raise
    return np.asarray(matrix)


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
