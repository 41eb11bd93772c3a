"""The heavy work on arrays, as functions of values: they run inline, in a thread, or in a child process."""

import numpy as np

from wikimem.search.analyzer import Analyzer
from wikimem.search.base_segment import make_scores
from wikimem.search.bm25 import IntArray
from wikimem.search.corpus import BuildJob, Built, Merged, MergeJob
from wikimem.search.segments import Pause, Postings, compile_dense, empty, join, join_dense, token_keys

# Texts are tokenised this many at a time: the intermediate arrays stay small.
_BATCH = 1_000


def _go_on() -> None:
    """Do not pause."""


def merge(job: MergeJob, pause: Pause = _go_on) -> Merged:
    """Return the base that holds the old base's rows and the newer ones, without those that are gone."""
    newer = join(job.newer, job.alive) if job.newer else empty()
    pause()
    postings = join_dense(job.base, newer, job.alive, job.size, pause)
    alive_lengths = job.lengths[job.alive]
    return _finish(postings, job.lengths, len(alive_lengths), int(alive_lengths.sum()), pause)


def build(job: BuildJob, pause: Pause = _go_on) -> Built:
    """Return the base of all texts, and the vocabulary that its numbers belong to."""
    analyzer = Analyzer()
    lengths = np.zeros(job.capacity, np.int32)
    parts = []
    for start in range(0, len(job.texts), _BATCH):
        slots = job.slots[start : start + _BATCH]
        tokens = analyzer.tokens(job.texts[start : start + _BATCH])
        lengths[slots] = tokens.lengths
        parts.append(token_keys(tokens, slots))
        pause()
    postings = compile_dense(parts, analyzer.vocabulary.size)
    merged = _finish(postings, lengths, len(job.texts), int(lengths.sum()), pause)
    return Built(analyzer.vocabulary, lengths, merged)


def _finish(postings: Postings, lengths: IntArray, rows: int, total: int, pause: Pause) -> Merged:
    return Merged(postings, make_scores(postings, lengths, rows, total, pause), rows, total, len(lengths))
