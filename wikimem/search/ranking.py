"""Candidates to ranked hits: BM25 alone, or fused with the cosine, and the temperature when it ranks.

Every number that goes into a score comes back under its name (`signals`): the explanation is what ranking did, not a
second computation.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wikimem.search.bm25 import FloatArray, IntArray
from wikimem.search.fusion import rule, warmed
from wikimem.search.pool import Pool
from wikimem.search.results import RetrievalSettings
from wikimem.search.scoring import best, comparable

# The cosine has a value for every row; this many of the likest ones join the candidates of BM25.
_LIKEST = 100
# The temperature is asked for one by one; what lies below so many is too far down to be lifted into an answer.
_WARMED = 200

Temperature = Callable[[str], float]
Signals = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate in its place. `cos` is None where no cosine was computed."""

    place: int
    score: float
    bm25: float
    cos: float | None
    signals: Signals


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best candidates, best first, and the score of every candidate on the same scale."""

    hits: list[Ranked]
    places: IntArray | None
    scores: FloatArray

    def own(self, place: int) -> float:
        """Return what a place scored by itself; 0 for one that is no candidate."""
        if self.places is None:
            return float(self.scores[place])
        at = np.flatnonzero(self.places == place)
        return float(self.scores[at[0]]) if len(at) else 0.0


def rank(
    pool: Pool, cosines: FloatArray | None, settings: RetrievalSettings, temperature: Temperature | None, count: int
) -> Ranking:
    """Return the `count` best candidates. `cosines` has a value (or NaN) for every place of the pool."""
    allowed = pool.bm25 if pool.allowed is None else np.where(pool.allowed, pool.bm25, np.float32(0))
    warm = temperature if settings.temperature_weight > 0 else None
    if cosines is None and warm is None:
        places = best(allowed, count, pool.ties)
        hits = [Ranked(p, s, s, None, (("bm25", s),)) for p, s in _with_scores(places, pool.bm25[places])]
        return Ranking(hits, None, pool.bm25)
    places = _candidates(pool, allowed, cosines, count)
    bm25 = pool.bm25[places]
    scores, signals = bm25, {"bm25": bm25}
    cos = None
    if cosines is not None:
        cos = cosines[places]
        scores = rule(settings.fusion)(bm25, cos, pool.ceiling, settings.fusion_weight)
        signals |= {"cos": cos, "fused": scores}
    if warm is not None:
        order = np.argsort(-scores, kind="stable")[: max(count, _WARMED)]
        places, scores, cos = places[order], scores[order], None if cos is None else cos[order]
        signals = {name: values[order] for name, values in signals.items()}
        heat = np.array([warm(pool.item(int(place)).address) for place in places], np.float32)
        scores = warmed(scores, heat, settings.temperature_weight)
        signals |= {"temperature": heat, "warmed": scores}
    order = np.lexsort((pool.ties[places], -comparable(np.maximum(scores, 0)).astype(np.int64)))[:count]
    found = []
    for at, (place, score) in zip(order.tolist(), _with_scores(places[order], scores[order]), strict=True):
        named = tuple((name, float(values[at])) for name, values in signals.items() if not np.isnan(values[at]))
        likeness = None if cos is None or np.isnan(cos[at]) else float(cos[at])
        found.append(Ranked(place, score, float(pool.bm25[place]), likeness, named))
    return Ranking(found, places, scores)


def _candidates(pool: Pool, allowed: FloatArray, cosines: FloatArray | None, count: int) -> IntArray:
    """Return every row that shares a word with the query, and the likest of the rest."""
    if cosines is None:
        return np.flatnonzero(allowed > 0).astype(np.int32)
    likeness = np.nan_to_num(cosines, nan=-1.0)
    if pool.allowed is not None:
        likeness = np.where(pool.allowed, likeness, np.float32(-1))
    # `best` takes what is above zero: a cosine below it is no reason to show anything.
    likest = best(np.maximum(likeness, 0), max(count * 2, _LIKEST), pool.ties)
    # A mask: joining two sorted arrays costs 20 ms when a common word has let in most of 100,000 rows.
    taken = allowed > 0
    taken[likest] = True
    return np.flatnonzero(taken).astype(np.int32)


def _with_scores(places: IntArray, scores: FloatArray) -> list[tuple[int, float]]:
    """Pair places with scores that never rise: within a tie all show the best of them."""
    keys = comparable(np.maximum(scores, 0)).tolist()
    shown: list[tuple[int, float]] = []
    values = scores.tolist()
    start = 0
    for end in range(1, len(values) + 1):
        if end == len(values) or keys[end] != keys[start]:
            top = max(values[start:end])
            shown.extend((place, top) for place in places[start:end].tolist())
            start = end
    return shown
