"""Postings: which rows hold a term, and how often. Plain sorted arrays, made and joined by numpy.

A row is a slot: a number that an item keeps from when it is added until it is gone. Postings are never changed, only
joined into new ones, so a merge can read them while queries do.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wikimem.search.analyzer import Tokens
from wikimem.search.bm25 import BoolArray, IntArray, LongArray
from wikimem.search.mapped import allocate

Counts = npt.NDArray[np.unsignedinteger]

_SLOT_BITS = 32
_SLOT_MASK = (1 << _SLOT_BITS) - 1
# Postings that are worked on at a time: some milliseconds, some megabytes.
RANGE = 1 << 18

Pause = Callable[[], None]


class Found(NamedTuple):
    """The postings of some query terms: parallel arrays of the term's place in the query, slot and count."""

    places: IntArray
    slots: IntArray
    tfs: Counts


class Postings(NamedTuple):
    """Postings sorted by term, then slot.

    `terms` are the term numbers that occur, ascending, or None when `starts` has an entry for every number. The
    postings of the i-th are `slots[starts[i]:starts[i + 1]]`, their counts lie at the same places of `tfs`.
    """

    terms: IntArray | None
    starts: LongArray
    slots: IntArray
    tfs: Counts

    @property
    def size(self) -> int:
        """How many postings there are."""
        return len(self.slots)

    def ranges(self, numbers: LongArray) -> tuple[LongArray, LongArray]:
        """Return where the postings of each term number begin and end; an unknown term has none."""
        if self.terms is None:
            known = (numbers >= 0) & (numbers < len(self.starts) - 1)
            places = np.where(known, numbers, 0)
        else:
            places = np.minimum(np.searchsorted(self.terms, numbers), max(len(self.terms) - 1, 0))
            known = self.terms[places] == numbers if len(self.terms) else np.zeros(len(numbers), np.bool_)
        if not known.any():
            nothing = np.zeros(len(numbers), np.int64)
            return nothing, nothing
        starts = self.starts[places]
        return starts, np.where(known, self.starts[places + 1], starts)

    def find(self, numbers: LongArray) -> Found:
        """Return the postings of several terms at once."""
        starts, ends = self.ranges(numbers)
        sizes = ends - starts
        stops = np.cumsum(sizes)
        total = int(stops[-1]) if len(stops) else 0
        picks = np.arange(total) + np.repeat(starts - (stops - sizes), sizes)
        return Found(np.repeat(np.arange(len(numbers), dtype=np.int32), sizes), self.slots[picks], self.tfs[picks])

    def keys(self) -> LongArray:
        """Return term and slot of each posting as one sortable number."""
        numbers = np.arange(len(self.starts) - 1) if self.terms is None else self.terms.astype(np.int64)
        return (np.repeat(numbers, np.diff(self.starts)) << _SLOT_BITS) | self.slots


def compile_tokens(tokens: Tokens, slots: IntArray) -> Postings:
    """Return the postings of freshly read texts; `slots` names the row of each text."""
    keys = token_keys(tokens, slots)
    # One sort and the lengths of its runs: ten times as fast as counting in dictionaries.
    keys.sort()
    first = _beginnings(keys)
    tfs = _lengths(first, len(keys))
    return _assemble(keys[first], tfs)


def compile_dense(parts: Sequence[LongArray], size: int) -> Postings:
    """Return the postings of a whole corpus; each part is `token_keys` of some of its texts."""
    keys = np.concatenate(parts) if parts else np.empty(0, np.int64)
    keys.sort()
    first = _beginnings(keys)
    return dense(keys[first], np.diff(first, append=len(keys)), size)


def token_keys(tokens: Tokens, slots: IntArray) -> LongArray:
    """Return term and slot of every occurrence as one sortable number."""
    return (tokens.terms.astype(np.int64) << _SLOT_BITS) | slots[tokens.texts]


def join(parts: Sequence[Postings], alive: BoolArray) -> Postings:
    """Return small postings as one, without the rows that are gone."""
    keys = np.concatenate([part.keys() for part in parts])
    tfs = np.concatenate([part.tfs for part in parts])
    kept = alive[keys & _SLOT_MASK]
    keys, tfs = keys[kept], tfs[kept]
    order = np.argsort(keys)
    return _assemble(keys[order], tfs[order])


def join_dense(base: Postings, extra: Postings, alive: BoolArray, size: int, pause: Pause) -> Postings:
    """Return large postings with newer ones merged in, without the rows that are gone, for `size` term numbers.

    Linear, and a range of terms at a time: little memory beyond the result, and between two ranges `pause` may let
    other threads run. Both sides are sorted, so the new postings are inserted where they belong.
    """
    old_starts, new_starts = _dense_starts(base, size), _dense_starts(extra, size)
    most = base.size + extra.size
    slots = allocate(most, np.int32)
    tfs = allocate(most, np.promote_types(base.tfs.dtype, extra.tfs.dtype))
    counts = np.zeros(size, np.int64)
    end = 0
    for low, high in _term_ranges(old_starts + new_starts):
        keys, old_tfs = _range(base, old_starts[low : high + 1], low, alive)
        new_keys, new_tfs = _range(extra, new_starts[low : high + 1], low, alive)
        at = np.searchsorted(keys, new_keys)
        keys = np.insert(keys, at, new_keys)
        start, end = end, end + len(keys)
        slots[start:end] = keys & _SLOT_MASK
        tfs[start:end] = np.insert(old_tfs.astype(tfs.dtype, copy=False), at, new_tfs)
        counts[low:high] = np.bincount((keys >> _SLOT_BITS) - low, minlength=high - low)
        pause()
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return Postings(None, starts, slots[:end], tfs[:end])


def _dense_starts(postings: Postings, size: int) -> LongArray:
    """Return where the postings of each of `size` term numbers begin; the last entry is where they end."""
    if postings.terms is None:
        starts = postings.starts
        return np.concatenate((starts, np.full(size + 1 - len(starts), starts[-1], np.int64)))
    counts = np.zeros(size, np.int64)
    counts[postings.terms] = np.diff(postings.starts)
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def _term_ranges(starts: LongArray) -> Iterator[tuple[int, int]]:
    """Cut the term numbers into ranges of about `RANGE` postings."""
    low, size = 0, len(starts) - 1
    while low < size:
        high = int(np.searchsorted(starts, starts[low] + RANGE, side="right")) - 1
        high = min(max(high, low + 1), size)
        yield low, high
        low = high


def _range(postings: Postings, starts: LongArray, low: int, alive: BoolArray) -> tuple[LongArray, Counts]:
    part = slice(int(starts[0]), int(starts[-1]))
    slots = postings.slots[part]
    kept = alive[slots]
    keys = (np.repeat(np.arange(low, low + len(starts) - 1), np.diff(starts)) << _SLOT_BITS) | slots
    return keys[kept], postings.tfs[part][kept]


def renumber(postings: Postings, numbers: LongArray) -> Postings:
    """Return small postings whose i-th term is now called `numbers[i]`."""
    keys = (np.repeat(numbers, np.diff(postings.starts)) << _SLOT_BITS) | postings.slots
    order = np.argsort(keys)
    return _assemble(keys[order], postings.tfs[order])


def dense(keys: LongArray, tfs: Counts, size: int) -> Postings:
    """Return postings with an entry in `starts` for each of `size` term numbers."""
    numbers = keys >> _SLOT_BITS
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(numbers, minlength=size), out=starts[1:])
    return Postings(None, starts, (keys & _SLOT_MASK).astype(np.int32), _narrow(tfs))


def empty() -> Postings:
    """Return no postings."""
    nothing = np.empty(0, np.int32)
    return Postings(nothing, np.zeros(1, np.int64), nothing, np.empty(0, np.uint8))


def _assemble(keys: LongArray, tfs: npt.NDArray[np.integer]) -> Postings:
    numbers = keys >> _SLOT_BITS
    first = _beginnings(numbers)
    return Postings(
        numbers[first].astype(np.int32),
        np.append(first, len(keys)),
        (keys & _SLOT_MASK).astype(np.int32),
        _narrow(tfs),
    )


def _beginnings(ordered: LongArray) -> LongArray:
    """Return where each run of equal numbers begins."""
    if not len(ordered):
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate((np.ones(1, np.bool_), ordered[1:] != ordered[:-1])))


def _lengths(beginnings: LongArray, end: int) -> LongArray:
    """Return how long each run is, as `np.diff` with `append` does, which is slow on the few terms of one note."""
    ends = np.empty_like(beginnings)
    ends[:-1] = beginnings[1:]
    ends[-1:] = end
    return ends - beginnings


def _narrow(tfs: npt.NDArray[np.integer]) -> Counts:
    """Return counts in the smallest type: nearly all fit in one byte, and there are a hundred an item."""
    largest = int(tfs.max()) if len(tfs) else 0
    kind: type[np.unsignedinteger] = np.uint8 if largest < 1 << 8 else np.uint16 if largest < 1 << 16 else np.uint32
    return tfs.astype(kind)
