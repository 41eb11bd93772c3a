"""One retrieve from question to answer, step by step.

    window -> terms -> scores of all rows -> filters -> ranking -> links after each hit -> cut to the budget

Nothing here changes the index; `MemoryIndex.retrieve` holds its lock around the call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta, tzinfo
from typing import Literal

import numpy as np

from wikimem.search.bm25 import FloatArray
from wikimem.search.expansion import Entry, Expanded, Links, cut, expand, policy
from wikimem.search.graph import LinkGraph
from wikimem.search.likeness import Likeness
from wikimem.search.pool import Pool, gather, in_window
from wikimem.search.ranking import Ranked, Ranking, Temperature, rank
from wikimem.search.request import Request
from wikimem.search.results import (
    Degraded,
    Dropped,
    RetrievalResult,
    RetrievalSettings,
    RetrievedItem,
    TermScore,
)
from wikimem.search.shelf import Shelf
from wikimem.search.tokens import QueryTerm, matched, query_terms, says_nothing
from wikimem.search.vectors import Vector
from wikimem.text.windows import find_window

__all__ = [
    "Degraded",
    "Dropped",
    "RetrievalResult",
    "RetrievalSettings",
    "RetrievedItem",
    "Sources",
    "TermScore",
    "answer",
]

# Under `explain` so many candidates beyond the limit are named, to show what a larger one would bring.
BEYOND_LIMIT = 10
# Each term costs some microseconds, and a book has a hundred thousand.
MOST_TERMS = 1_024


@dataclass(frozen=True, slots=True)
class Sources:
    """What a retrieve reads. `today` gives the day in a zone (None: the host's)."""

    wiki: Shelf
    diary: Shelf
    graph: LinkGraph
    likeness: Likeness
    settings: RetrievalSettings
    today: Callable[[tzinfo | None], date]
    temperature: Temperature | None


@dataclass(frozen=True, slots=True)
class Window:
    """The days that let the diary in. `listed`: the question asks for nothing but them."""

    start: date
    end: date
    source: Literal["explicit", "query"]
    widened: bool
    listed: bool

    @property
    def days(self) -> tuple[int, int]:
        """The days as proleptic ordinals."""
        return self.start.toordinal(), self.end.toordinal()


def answer(sources: Sources, request: Request, vector: Vector | Degraded | None) -> RetrievalResult:
    """Return the answer. `vector` is the query's if the caller has it (or why it has not)."""
    window = _window(sources, request)
    terms = [] if _listed(window) else _rarest(query_terms(request.query), sources.wiki)
    pool = gather(sources.wiki, sources.diary, window.days if window is not None else None, terms, request.filters)
    cosines, degraded = _cosines(
        sources, request, pool, vector, asked=bool(request.query.strip()) and not _listed(window)
    )
    extra = BEYOND_LIMIT if request.explain else 0
    if _listed(window):
        ranking = Ranking(_newest(pool, request.limit + extra), None, pool.bm25)
    else:
        ranking = rank(pool, cosines, sources.settings, sources.temperature, request.limit + extra)
    hits, beyond = ranking.hits[: request.limit], ranking.hits[request.limit :]
    expanded = _expanded(sources, request, pool, hits, ranking.own)
    view = _View(pool, terms, {hit.place: hit for hit in ranking.hits}, cosines, explain=request.explain)
    result = _cut(sources, request, view, expanded, beyond)
    if window is not None:
        days = (window.start.isoformat(), window.end.isoformat())
        result = replace(result, time_range=days, time_range_source=window.source, time_range_widened=window.widened)
    return replace(result, embedding_used=True) if cosines is not None else replace(result, degraded=degraded)


def _listed(window: Window | None) -> bool:
    return window is not None and window.listed


def _rarest(terms: list[QueryTerm], wiki: Shelf) -> list[QueryTerm]:
    """Return the terms that tell items apart best, when a whole book was asked."""
    if len(terms) <= MOST_TERMS:
        return terms
    numbers = wiki.corpus.numbers([term.text for term in terms])
    df = wiki.corpus.base.df(numbers)
    order = np.lexsort((df, numbers < 0))[:MOST_TERMS]
    return [terms[place] for place in sorted(order.tolist())]


# -------------------------------------------------------------------- window


def _window(sources: Sources, request: Request) -> Window | None:
    if request.window is not None:
        return _widened(sources.diary, Window(*request.window, "explicit", False, says_nothing(request.query)))
    found = find_window(request.query, sources.today(request.zone))
    if found is None:
        return None
    window = _widened(sources.diary, Window(found.start, found.end, "query", False, says_nothing(found.rest)))
    if window.listed and not in_window(sources.diary, window.days).any():
        # "Yesterday" can be a song in the wiki when the diary has nothing to list.
        return Window(window.start, window.end, window.source, window.widened, listed=False)
    return window


def _widened(diary: Shelf, window: Window) -> Window:
    """Return a window without entries with a day more on each side."""
    if in_window(diary, window.days).any():
        return window
    day = timedelta(days=1)
    start = window.start - day if window.start > date.min else window.start
    end = window.end + day if window.end < date.max else window.end
    return Window(start, end, window.source, widened=True, listed=window.listed)


def _newest(pool: Pool, count: int) -> list[Ranked]:
    """Return the entries of a window, newest first."""
    if len(pool.parts) == 1:
        return []
    part = pool.parts[1]
    allowed = np.flatnonzero(pool.allowed) if pool.allowed is not None else np.arange(len(pool.bm25))
    places = [int(place) for place in allowed if place >= part.first]
    places.sort(key=lambda place: _moment(pool, place), reverse=True)
    return [Ranked(place, 0.0, 0.0, None, ()) for place in places[:count]]


def _moment(pool: Pool, place: int) -> tuple[str, str, int]:
    item = pool.item(place)
    return item.category, item.name, item.ordinal


# ------------------------------------------------------------------- cosines


def _cosines(
    sources: Sources, request: Request, pool: Pool, vector: Vector | Degraded | None, *, asked: bool
) -> tuple[FloatArray | None, tuple[Degraded, ...]]:
    """Return the second signal if there is one, and what went wrong if something did."""
    likeness = sources.likeness
    if isinstance(vector, Degraded):
        return None, (vector,)
    if not asked or likeness.vectors is None or (vector is None and not likeness.there):
        return None, ()
    made = vector if vector is not None else likeness.query_vector(request.query)
    found = made if isinstance(made, Degraded) else likeness.cosines(pool, made)
    if isinstance(found, Degraded):
        return None, (found,)
    return found, ()


# -------------------------------------------------------------------- answer


def _expanded(
    sources: Sources, request: Request, pool: Pool, hits: Sequence[Ranked], own: Callable[[int], float]
) -> Expanded:
    entries = [Entry(hit.place, hit.score) for hit in hits]
    if not request.expand_links:
        return Expanded(tuple(entries))

    def place(address: str) -> int | None:
        category, _, rest = address.partition(":")
        for shelf in (sources.wiki, sources.diary):
            slot = shelf.find(category, rest)
            if slot is not None:
                return pool.place(shelf, slot)
        return None

    links = Links(
        edges=lambda at: sources.graph.links_from(pool.item(at).address),
        place=place,
        score=own,
    )
    return expand(entries, links, policy(sources.settings.link_policy))


@dataclass(frozen=True, slots=True)
class _View:
    """What an entry of the answer is made from."""

    pool: Pool
    terms: list[QueryTerm]
    ranked: dict[int, Ranked]
    cosines: FloatArray | None
    explain: bool

    def entries(self, kept: Sequence[Entry]) -> tuple[RetrievedItem, ...]:
        """Return the entries with their matches and scores."""
        given = self.pool.contributions([entry.place for entry in kept], len(self.terms))
        df = self.pool.df()
        return tuple(self._entry(entry, given[:, column], df) for column, entry in enumerate(kept))

    def _entry(self, entry: Entry, given: FloatArray, df: list[int]) -> RetrievedItem:
        hit = self.ranked.get(entry.place)
        cos = None if self.cosines is None or np.isnan(self.cosines[entry.place]) else float(self.cosines[entry.place])
        signals = hit.signals if hit is not None else (("bm25", float(self.pool.bm25[entry.place])),)
        return RetrievedItem(
            self.pool.item(entry.place),
            "hit" if entry.via is None else "link",
            entry.score,
            float(self.pool.bm25[entry.place]),
            cos,
            None if entry.via is None else self.pool.item(entry.via).address,
            matched(self.terms, (given > 0).tolist()),
            self.pool.size(entry.place),
            signals if self.explain else (),
            tuple(_term_scores(self.terms, given, df)) if self.explain else (),
        )


def _term_scores(terms: Sequence[QueryTerm], given: FloatArray, df: Sequence[int]) -> list[TermScore]:
    return [
        TermScore(term.shown, term.kind.value, term.weight, count, float(score))
        for term, count, score in zip(terms, df, given.tolist(), strict=True)
        if score > 0
    ]


def _cut(
    sources: Sources, request: Request, view: _View, expanded: Expanded, beyond: Sequence[Ranked]
) -> RetrievalResult:
    """Return the prefix that the budget has room for, and under `explain` what is not in it."""
    pool = view.pool
    budget = request.budget_tokens if request.budget_tokens is not None else sources.settings.budget_tokens
    count, used = cut([pool.size(entry.place) for entry in expanded.entries], budget)
    kept, over = expanded.entries[:count], expanded.entries[count:]
    dropped: list[Dropped] = []
    if request.explain:
        shown = {entry.place for entry in expanded.entries}
        dropped += [_dropped(pool, entry.place, entry.score, "budget") for entry in over]
        dropped += [_dropped(pool, entry.place, entry.score, "link-policy") for entry in expanded.left_out]
        dropped += [_dropped(pool, hit.place, hit.score, "limit") for hit in beyond if hit.place not in shown]
    return RetrievalResult(
        view.entries(kept), budget, used, dropped=tuple(dropped), unresolved_links=expanded.unresolved
    )


def _dropped(pool: Pool, place: int, score: float, reason: Literal["budget", "limit", "link-policy"]) -> Dropped:
    return Dropped(pool.item(place).address, reason, score, pool.size(place))
