"""Vectors by content hash, partly mapped from disk, partly new in memory: what queries compare with.

A hash keeps its row for as long as the process knows it, through every commit: a commit only changes where the row's
numbers lie. So a query never has to look rows up again because something was written.

One thread adds, commits and forgets; any thread may query. Readers take one snapshot, which never changes.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from wikimem.cache.files import Matrix

Vector = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

BLOCK: Final = 512
"""Rows that are copied at a time: a megabyte or two, so that no query waits for a copy to end."""
RETIRED_BYTES: Final = 64_000_000
"""Vectors of texts that are gone, kept in memory for the case that the text comes back (an undo, another branch)."""
SHORTEST, LONGEST = 1e-15, 1e15
"""What is not between them (zero and NaN above all) is no direction: its product with a query would overflow."""
_FIRST: Final = 64


@dataclass(frozen=True, slots=True)
class _Part:
    """Some rows: `matrix` as it came, `scale` one over each length (0: never like anything), `rows` their numbers.

    `rows` None: they are the first ones, in order.
    """

    matrix: Matrix
    scale: Vector
    rows: Rows | None = None


@dataclass(frozen=True, slots=True)
class _View:
    parts: tuple[_Part, ...] = ()
    total: int = 0


@dataclass(slots=True)
class _Overlay:
    """What is not in a file yet. Grows in place: a view shows only the rows that it counted."""

    matrix: Matrix
    scale: Vector
    rows: Rows
    used: int = 0


@dataclass(slots=True)
class VectorSpace:
    """A vector index (`search.vectors`) of one model. `dim` is 0 until the first vector comes."""

    model: str
    dim: int = 0
    generation: int = 0
    _rows: dict[str, int] = field(default_factory=dict)
    _hashes: list[str] = field(default_factory=list)
    _maps: dict[str, _Part] = field(default_factory=dict)
    _overlay: _Overlay | None = None
    _view: _View = field(default_factory=_View)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, content_hash: str) -> bool:
        return content_hash in self._rows

    # ---------------------------------------------------------------- queries

    def rows(self, hashes: Sequence[str]) -> Sequence[int]:
        """Return the row of each hash, -1 for one that has no vector."""
        known = self._rows.get
        return [known(name, -1) for name in hashes]

    def hashes_from(self, row: int) -> Sequence[str]:
        """Return the hashes of the rows from `row` on: those that were added since there were so many."""
        return self._hashes[row:]

    def cosines(self, query: Vector) -> Vector:
        """Return the cosine of every row with `query`, in row order; of what has no length it is 0."""
        view = self._view
        found = np.zeros(view.total, np.float32)
        length = float(np.linalg.norm(query))
        if length == 0:
            return found
        unit = (query / length).astype(np.float32)
        for part in view.parts:
            # What is no vector stays in its file until the next version, and may be anything.
            with np.errstate(over="ignore", invalid="ignore"):
                values = (part.matrix @ unit) * part.scale
            if part.rows is None:
                found[: len(values)] = values
            else:
                found[part.rows] = values
        return found

    # ------------------------------------------------------------------ edits

    def adopt(self, name: str, hashes: Sequence[str], matrix: Matrix) -> int:
        """Take a file's rows; return how many of them cannot be used (not finite, or zero).

        `name` says which file it is: a later version of it replaces this one. Raises ValueError for another width.
        """
        self._check_width(matrix)
        scale = _scales(matrix)
        rows = np.empty(len(hashes), np.int64)
        unusable = 0
        for at, content_hash in enumerate(hashes):
            if scale[at]:
                rows[at] = self._row(content_hash)
            else:
                rows[at] = len(self._hashes)
                self._hashes.append("")
                unusable += 1
        self._maps[name] = _Part(matrix, scale, _unless_in_order(rows))
        self._show()
        return unusable

    def put(self, hashes: Sequence[str], vectors: Matrix) -> None:
        """Add vectors; a hash that is known keeps its row and gets the new vector. Raises ValueError for a width."""
        self._check_width(vectors)
        if len(vectors) != len(hashes):
            raise ValueError(f"{len(hashes)} hashes with {len(vectors)} vectors")
        overlay = self._room(len(hashes))
        start, end = overlay.used, overlay.used + len(hashes)
        overlay.matrix[start:end] = vectors
        overlay.scale[start:end] = _scales(overlay.matrix[start:end])
        overlay.rows[start:end] = [self._row(name) for name in hashes]
        overlay.used = end
        self._show()

    def blocks(self, hashes: Sequence[str]) -> Iterator[Matrix]:
        """Yield the vectors of `hashes`, all of which are known, some rows at a time."""
        wanted = np.array([self._rows[name] for name in hashes], np.int64)
        parts = self._view.parts
        where = np.full((2, self._view.total), -1, np.int64)
        for number, part in enumerate(parts):
            rows = _numbers(part)
            where[0, rows], where[1, rows] = number, np.arange(len(rows))
        for start in range(0, len(wanted), BLOCK):
            numbers, places = where[:, wanted[start : start + BLOCK]]
            block = np.empty((len(numbers), self.dim), np.float32)
            for number, part in enumerate(parts):
                here = numbers == number
                if here.any():
                    block[here] = part.matrix[places[here]]
            yield block

    def settle(self, name: str, hashes: Sequence[str], matrix: Matrix) -> None:
        """Go on from a version that was just written of these hashes; of what is in no file the newest is kept."""
        rows = np.array([self._rows[one] for one in hashes], np.int64)
        scale = np.zeros(self._view.total, np.float32)
        for part in self._view.parts:
            scale[slice(len(part.scale)) if part.rows is None else part.rows] = part.scale
        left = self._maps.get(name)
        self._maps[name] = _Part(matrix, scale[rows], _unless_in_order(rows))
        self._trim(left)
        self._show()

    def clear(self, model: str) -> None:
        """Forget everything and begin again with a model. Row numbers are not used again: see `_forget`."""
        self._rows, self._hashes = {}, [""] * len(self._hashes)
        self._maps, self._overlay = {}, None
        self.model, self.dim = model, 0
        self._show()
        self.generation += 1

    # ---------------------------------------------------------------- private

    def _check_width(self, matrix: Matrix) -> None:
        width = int(matrix.shape[1]) if matrix.ndim == 2 else -1
        if width <= 0 or (self.dim and width != self.dim):
            raise ValueError(f"vectors of shape {matrix.shape}, and the width is {self.dim}")
        self.dim = width

    def _row(self, content_hash: str) -> int:
        content_hash = sys.intern(content_hash)
        row = self._rows.setdefault(content_hash, len(self._hashes))
        if row == len(self._hashes):
            self._hashes.append(content_hash)
        return row

    def _room(self, more: int) -> _Overlay:
        old = self._overlay
        if old is not None and old.used + more <= len(old.rows):
            return old
        size = max(_FIRST, more, 0 if old is None else (old.used + more) * 3 // 2)
        new = _Overlay(np.zeros((size, self.dim), np.float32), np.zeros(size, np.float32), np.zeros(size, np.int64))
        if old is not None:
            new.used = old.used
            new.matrix[: old.used] = old.matrix[: old.used]
            new.scale[: old.used], new.rows[: old.used] = old.scale[: old.used], old.rows[: old.used]
        self._overlay = new
        return new

    def _show(self) -> None:
        parts = list(self._maps.values())
        overlay = self._overlay
        if overlay is not None and overlay.used:
            # Last: where a row is in a file and here, the newer vector is the one here.
            used = overlay.used
            parts.append(_Part(overlay.matrix[:used], overlay.scale[:used], overlay.rows[:used]))
        self._view = _View(tuple(parts), len(self._hashes))

    def _trim(self, before: _Part | None) -> None:
        """Make the overlay anew from what no file holds: what came meanwhile, and the latest of what is gone."""
        mapped = np.zeros(len(self._hashes), np.bool_)
        for part in self._maps.values():
            mapped[slice(len(part.matrix)) if part.rows is None else part.rows] = True
        parts = [part for part in (before, *self._overlay_part()) if part is not None]
        room = max(1, RETIRED_BYTES // (self.dim * 4))
        retired = sum(int(np.count_nonzero(~mapped[_numbers(part)] & (part.scale > 0))) for part in parts)
        if retired <= room * 5 // 4:
            # Forgetting has every query look all its rows up again: many at once, and seldom.
            room = retired
        kept: list[_Part] = []
        for part in reversed(parts):
            rows = _numbers(part)
            at = np.flatnonzero(~mapped[rows] & (part.scale > 0))[-room:] if room else np.empty(0, np.int64)
            mapped[rows[at]] = True
            room -= len(at)
            kept.append(_Part(part.matrix[at], part.scale[at], rows[at]))
        self._overlay = None
        for part in reversed(kept):
            self._append(part)
        self._forget(np.flatnonzero(~mapped).tolist())

    def _forget(self, rows: list[int]) -> None:
        """Drop rows. Their numbers are not used again: a query that runs beside this may still hold them."""
        dropped = [(row, self._hashes[row]) for row in rows if self._hashes[row]]
        for row, name in dropped:
            self._hashes[row] = ""
            if self._rows.get(name) == row:
                del self._rows[name]
        self.generation += bool(dropped)

    def _overlay_part(self) -> tuple[_Part, ...]:
        overlay = self._overlay
        if overlay is None:
            return ()
        used = overlay.used
        return (_Part(overlay.matrix[:used], overlay.scale[:used], overlay.rows[:used]),)

    def _append(self, part: _Part) -> None:
        if not len(part.scale) or part.rows is None:
            return
        overlay = self._room(len(part.scale))
        start, end = overlay.used, overlay.used + len(part.scale)
        overlay.matrix[start:end], overlay.scale[start:end] = part.matrix, part.scale
        overlay.rows[start:end] = part.rows
        overlay.used = end


def _numbers(part: _Part) -> Rows:
    return np.arange(len(part.matrix)) if part.rows is None else part.rows


def _unless_in_order(rows: Rows) -> Rows | None:
    return None if np.array_equal(rows, np.arange(len(rows))) else rows


def _scales(matrix: Matrix) -> Vector:
    """Return one over the length of each row, 0 for a row without a usable length."""
    scale = np.zeros(len(matrix), np.float32)
    for start in range(0, len(matrix), BLOCK):
        block = matrix[start : start + BLOCK]
        with np.errstate(over="ignore", invalid="ignore"):
            length = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))
            usable = (length > SHORTEST) & (length < LONGEST)
        np.divide(1.0, length, out=scale[start : start + BLOCK], where=usable, casting="unsafe")
    return scale
