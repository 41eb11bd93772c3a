"""Joining the signals: each rule one pure function over parallel arrays of the candidates.

`bm25` is zero or positive, `cos` is NaN for an item that has no vector yet (it then counts as no likeness at all).
`weight` is the share of BM25. Every rule returns scores in [0, 1]. Which is the default was measured: the table is in
`docs/retrieval.md`. A new rule is one function here and one row of `RULES`.
"""

from collections.abc import Callable, Mapping

import numpy as np

from wikimem.errors import InvalidInput
from wikimem.search.bm25 import FloatArray

Rule = Callable[[FloatArray, FloatArray, float, float], FloatArray]


def by_max(bm25: FloatArray, cos: FloatArray, ceiling: float, weight: float) -> FloatArray:
    """BM25 over the best BM25, positive cosine over the best cosine.

    Stays close to BM25 with a poor model: nothing is stretched, so small differences stay small.
    """
    del ceiling
    return _mix(_over(bm25, float(bm25.max(initial=0.0))), _over_max(cos), weight)


def by_ceiling(bm25: FloatArray, cos: FloatArray, ceiling: float, weight: float) -> FloatArray:
    """BM25 over the most that any item could score for this query, cosine stretched from its worst to its best.

    A query that shares one stray word with a note reaches a small part of its ceiling, so paraphrases keep their place.
    """
    return _mix(_over(bm25, ceiling), _stretched_known(cos), weight)


def by_min_max(bm25: FloatArray, cos: FloatArray, ceiling: float, weight: float) -> FloatArray:
    """Both stretched from worst to best, as the format's origin did: kept for comparison.

    One stray word becomes a full score, and a weak model's noise too.
    """
    del ceiling
    return _mix(_stretched(bm25), _stretched_known(cos), weight)


RULES: Mapping[str, Rule] = {"max": by_max, "ceiling": by_ceiling, "min-max": by_min_max}


def rule(name: str) -> Rule:
    """Return a rule by its name. Raises `InvalidInput` with the names there are."""
    if name not in RULES:
        raise InvalidInput(f"There is no fusion rule {name!r}.", hint=f"Use one of: {', '.join(RULES)}.")
    return RULES[name]


def warmed(scores: FloatArray, temperatures: FloatArray, weight: float) -> FloatArray:
    """Return scores over their best, mixed with temperatures (0 to 1) at `weight`; with weight 0 the scores."""
    if weight == 0:
        return scores
    return _mix(temperatures, _over(scores, float(scores.max(initial=0.0))), weight)


def _mix(first: FloatArray, second: FloatArray, weight: float) -> FloatArray:
    return (np.float32(weight) * first + np.float32(1 - weight) * second).astype(np.float32)


def _over(values: FloatArray, top: float) -> FloatArray:
    return (values / np.float32(top)).astype(np.float32) if top > 0 else np.zeros_like(values)


def _over_max(cos: FloatArray) -> FloatArray:
    positive = np.maximum(np.nan_to_num(cos, nan=0.0), 0)
    return _over(positive, float(positive.max(initial=0.0)))


def _stretched(values: FloatArray) -> FloatArray:
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    # All alike says nothing against any of them.
    return _over((values - np.float32(low)).astype(np.float32), high - low) if high > low else np.ones_like(values)


def _stretched_known(cos: FloatArray) -> FloatArray:
    stretched = np.zeros_like(cos)
    known = ~np.isnan(cos)
    stretched[known] = _stretched(cos[known])
    return stretched
