"""Scores of every row for a query, and what each term gave to some of them.

`frozen` is the everyday way: the base's finished scores, newer rows by the same formula with the base's statistics.
`exact` computes everything from counts, with statistics that several corpora share: for a window of the diary beside
the wiki, and for small corpora between two merges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wikimem.search.base_segment import Base
from wikimem.search.bm25 import BoolArray, FloatArray, IntArray, LongArray, idf, norms, saturation
from wikimem.search.corpus import Corpus


class Gains(NamedTuple):
    """What single postings give: parallel arrays of the term's place in the query, slot and score."""

    places: IntArray
    slots: IntArray
    scores: FloatArray


@dataclass(frozen=True, slots=True)
class Scoring:
    """`scores` by slot (0: no term matched), `df` by term, N, and the most that any row could score.

    `weights` and `numbers` are those of the query's terms in this corpus.
    """

    scores: FloatArray
    df: LongArray
    documents: int
    ceiling: float
    weights: FloatArray
    numbers: LongArray
    gains: tuple[Gains, ...]
    base: Base | None = None

    def contributions(self, slots: IntArray) -> FloatArray:
        """Return what each term (row) gave to each of `slots` (column), weights included."""
        given = np.zeros((len(self.numbers), len(slots)), np.float32)
        if not len(slots):
            return given
        column = np.full(len(self.scores), -1, np.int32)
        column[slots] = np.arange(len(slots))
        for gains in self.gains:
            columns = column[gains.slots]
            wanted = columns >= 0
            given[gains.places[wanted], columns[wanted]] += gains.scores[wanted]
        if self.base is not None:
            self._add_base(self.base, slots, given)
        return given * self.weights[:, None]

    def _add_base(self, base: Base, slots: IntArray, given: FloatArray) -> None:
        starts, ends = base.postings.ranges(self.numbers)
        for place, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            if start == end:
                continue
            column = base.postings.slots[start:end]
            at = np.minimum(np.searchsorted(column, slots), end - start - 1)
            given[place] += np.where(column[at] == slots, base.scores[start:end][at], 0)


def frozen(corpus: Corpus, numbers: LongArray, weights: FloatArray) -> Scoring:
    """Score a corpus with the statistics of its last merge; terms that are newer count among the newer rows."""
    base = corpus.base
    scores = np.zeros(corpus.top, np.float32)
    scores[: base.capacity] = _base_scores(base, numbers, weights)
    df = base.df(numbers)
    found = [segment.postings.find(numbers) for segment in corpus.segments]
    if any(len(one.slots) for one in found):
        unknown = df == 0
        newer = sum((np.bincount(one.places[corpus.alive[one.slots]], minlength=len(numbers)) for one in found), df * 0)
        df = np.where(unknown, newer, df)
    weight_of = idf(df, base.documents)
    gains = []
    for one in found:
        if len(one.slots):
            norm = norms(corpus.lengths[one.slots], base.average)
            given = weight_of[one.places] * saturation(one.tfs, norm)
            np.add.at(scores, one.slots, given * weights[one.places])
            gains.append(Gains(one.places, one.slots, given))
    dead = corpus.dead()
    if dead:
        scores[dead] = 0
    return Scoring(scores, df, base.documents, float(weight_of @ weights), weights, numbers, tuple(gains), base)


def _base_scores(base: Base, numbers: LongArray, weights: FloatArray) -> FloatArray:
    """One call for the terms of full weight, repeated as often as the query says them, one for those of half."""
    known = numbers >= 0
    whole = weights.astype(np.int64)
    scores = base.rank(np.repeat(numbers[known], whole[known]))
    halves = numbers[known & (weights != whole)]
    return scores + base.rank(halves) * np.float32(0.5) if len(halves) else scores


class View(NamedTuple):
    """A corpus as part of one query: the numbers of the query's terms in it, and the rows that take part."""

    corpus: Corpus
    numbers: LongArray
    rows: BoolArray | None = None


def exact(views: Sequence[View], weights: FloatArray) -> list[Scoring]:
    """Score several corpora as if they were one: N, df and average length are those of all rows that take part."""
    documents = total = 0
    df = np.zeros(len(weights), np.int64)
    found: list[tuple[IntArray, IntArray, FloatArray]] = []
    for corpus, numbers, rows in views:
        part = corpus.alive[: corpus.top] if rows is None else corpus.alive[: corpus.top] & rows
        documents += int(part.sum())
        total += int(corpus.lengths[: corpus.top][part].sum())
        places, slots, tfs = _counts(corpus, numbers, part)
        df += np.bincount(places, minlength=len(weights))
        found.append((places, slots, tfs))
    weight_of = idf(df, documents)
    average = total / documents if documents else 1.0
    ceiling = float(weight_of @ weights)
    scorings = []
    for (corpus, numbers, _), (places, slots, tfs) in zip(views, found, strict=True):
        given = weight_of[places] * saturation(tfs, norms(corpus.lengths[slots], average))
        scores = np.zeros(corpus.top, np.float32)
        np.add.at(scores, slots, given * weights[places])
        scorings.append(Scoring(scores, df, documents, ceiling, weights, numbers, (Gains(places, slots, given),)))
    return scorings


def _counts(corpus: Corpus, numbers: LongArray, part: BoolArray) -> tuple[IntArray, IntArray, FloatArray]:
    found = [corpus.base.postings.find(numbers), *(segment.postings.find(numbers) for segment in corpus.segments)]
    places = np.concatenate([one.places for one in found])
    slots = np.concatenate([one.slots for one in found])
    tfs = np.concatenate([one.tfs.astype(np.float32) for one in found])
    taken = part[slots]
    return places[taken], slots[taken], tfs[taken]


def best(scores: FloatArray, count: int, ties: "np.ndarray[tuple[int], np.dtype[np.uint32]]") -> IntArray:
    """Return the slots of the `count` highest scores above zero, best first, equal ones by their number in `ties`.

    bm25s would search all rows for the k-th highest, most of which are zero: 13 of 13.4 ms at 100,000.
    """
    highest = float(scores.max(initial=0.0))
    if highest <= 0 or count <= 0:
        return np.empty(0, np.int32)
    cut = highest / 2
    picked = np.flatnonzero(scores >= cut)
    while len(picked) < count and cut > highest / 100:
        cut /= 2
        picked = np.flatnonzero(scores >= cut)
    if len(picked) < count:
        picked = np.flatnonzero(scores > 0)
    values = comparable(scores[picked])
    if len(picked) > count:
        kth = np.partition(values, len(values) - count)[len(values) - count]
        kept = values >= kth
        picked, values = picked[kept], values[kept]
    order = np.lexsort((ties[picked], -values.astype(np.int64)))
    return picked[order[:count]].astype(np.int32)


def comparable(scores: FloatArray) -> IntArray:
    """Return non-negative scores as whole numbers in the same order, without their last four bits.

    The same row scores differently in its seventh digit from the base and from a newer segment; equal rows must not
    change places when they are merged.
    """
    return (scores.astype(np.float32, copy=False).view(np.int32) + 8) >> 4
