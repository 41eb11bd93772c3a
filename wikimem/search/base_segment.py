"""The base segment: postings with finished scores, served by bm25s, and the statistics they were made with.

bm25s would build these arrays itself in five to seven times the time; injected, they are the same arrays. It has no
edits: `Corpus` keeps what is newer beside it.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from bm25s import BM25

from wikimem.search.bm25 import K1, B, FloatArray, IntArray, LongArray, idf, norms, saturation
from wikimem.search.mapped import allocate
from wikimem.search.segments import RANGE, Pause, Postings


@dataclass(frozen=True, slots=True)
class Base:
    """Postings, `scores` at the same places, and N, the sum of the lengths, and the slots they span."""

    postings: Postings
    scores: FloatArray
    documents: int
    total_length: int
    capacity: int
    ranker: Any = field(repr=False)

    @property
    def average(self) -> float:
        """The average length of an item."""
        return self.total_length / self.documents if self.documents else 1.0

    @property
    def size(self) -> int:
        """One more than the highest term number that the statistics know."""
        return len(self.postings.starts) - 1

    def df(self, numbers: LongArray) -> LongArray:
        """Return how many items hold each term."""
        starts, ends = self.postings.ranges(numbers)
        return ends - starts

    def rank(self, numbers: LongArray) -> FloatArray:
        """Return the sum of the terms' scores for every slot; a term number that stands twice counts twice."""
        known = numbers[numbers < self.size]
        if not len(known) or not self.capacity:
            return np.zeros(self.capacity, np.float32)
        scores: FloatArray = self.ranker.get_scores_from_ids(known)
        return scores


def make_scores(postings: Postings, lengths: IntArray, documents: int, total_length: int, pause: Pause) -> FloatArray:
    """Return the finished score of each posting, worked out a range at a time."""
    weights = idf(np.diff(postings.starts), documents)
    norm = norms(lengths, total_length / documents if documents else 1.0)
    scores = allocate(postings.size, np.float32)
    for start in range(0, postings.size, RANGE):
        end = min(start + RANGE, postings.size)
        # The terms whose postings lie in this range, and how many of each do.
        low = int(np.searchsorted(postings.starts, start, side="right")) - 1
        high = int(np.searchsorted(postings.starts, end, side="left"))
        sizes = np.diff(np.minimum(np.maximum(postings.starts[low : high + 1], start), end))
        weight = np.repeat(weights[low:high], sizes)
        scores[start:end] = weight * saturation(postings.tfs[start:end], norm[postings.slots[start:end]])
        pause()
    return scores


def serve(postings: Postings, scores: FloatArray, documents: int, total_length: int, capacity: int) -> Base:
    """Return arrays as a base that can answer."""
    ranker = BM25(k1=K1, b=B, method="lucene", backend="numpy", csc_backend="numpy")
    ranker.scores = {"data": scores, "indices": postings.slots, "indptr": postings.starts, "num_docs": capacity}
    ranker.vocab_dict = {}
    ranker.nonoccurrence_array = None
    return Base(postings, scores, documents, total_length, capacity, ranker)
