"""The candidates of one query: the rows of one or two shelves under one numbering, with what filters let through."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from wikimem.pages.items import RecallItem
from wikimem.search.bm25 import BoolArray, FloatArray
from wikimem.search.rows import Filters
from wikimem.search.scoring import Scoring, View, exact, frozen
from wikimem.search.shelf import Shelf
from wikimem.search.tokens import QueryTerm

Kind = TypeVar("Kind", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Part:
    """A shelf, the place of its first row in the pool, its rows that take part, and their scores."""

    shelf: Shelf
    first: int
    rows: BoolArray | None
    scoring: Scoring | None


@dataclass(frozen=True, slots=True)
class Pool:
    """Rows by place. `allowed` None: all that live."""

    parts: tuple[Part, ...]
    bm25: FloatArray
    allowed: BoolArray | None
    ties: npt.NDArray[np.uint32]

    def part(self, place: int) -> tuple[Part, int]:
        """Return the part of a place and the slot there."""
        part = self.parts[-1] if place >= self.parts[-1].first else self.parts[0]
        return part, place - part.first

    def item(self, place: int) -> RecallItem:
        """Return the item at a place."""
        part, slot = self.part(place)
        return part.shelf.rows.item(slot)

    def size(self, place: int) -> int:
        """Return the estimated tokens of the item at a place."""
        part, slot = self.part(place)
        return part.shelf.rows.size(slot)

    def place(self, shelf: Shelf, slot: int) -> int | None:
        """Return the place of a row; None when it takes no part (a diary entry outside the window)."""
        for part in self.parts:
            if part.shelf is shelf and (part.rows is None or bool(part.rows[slot])):
                return part.first + slot
        return None

    @property
    def ceiling(self) -> float:
        """The most that any row could score."""
        scoring = self.parts[0].scoring
        return scoring.ceiling if scoring is not None else 0.0

    def contributions(self, places: list[int], terms: int) -> FloatArray:
        """Return what each term gave to each place."""
        given = np.zeros((terms, len(places)), np.float32)
        for part in self.parts:
            columns = [column for column, place in enumerate(places) if self.part(place)[0] is part]
            if columns and part.scoring is not None:
                slots = np.array([places[column] - part.first for column in columns], np.int32)
                given[:, columns] = part.scoring.contributions(slots)
        return given

    def df(self) -> list[int]:
        """Return how many items hold each term."""
        scoring = self.parts[0].scoring
        return [] if scoring is None else [int(count) for count in scoring.df]


def gather(wiki: Shelf, diary: Shelf, window: tuple[int, int] | None, terms: list[QueryTerm], filters: Filters) -> Pool:
    """Score the wiki, and the days of a window beside it on the same statistics, and apply the filters."""
    shelves: list[tuple[Shelf, BoolArray | None]] = [(wiki, None)]
    if window is not None:
        days = in_window(diary, window)
        if days.any():
            shelves.append((diary, days))
    scorings = _score(shelves, terms)
    parts = []
    first = 0
    for (shelf, rows), scoring in zip(shelves, scorings, strict=True):
        parts.append(Part(shelf, first, rows, scoring))
        first += shelf.corpus.top
    scores = [part.scoring.scores if part.scoring else _zeros(part.shelf) for part in parts]
    ties = [shelf.rows.ties[: shelf.corpus.top] for shelf, _ in shelves]
    return Pool(tuple(parts), joined(scores), _allowed(shelves, filters), joined(ties))


def in_window(diary: Shelf, window: tuple[int, int]) -> BoolArray:
    """Return which rows of the diary lie in an inclusive pair of days (proleptic ordinals)."""
    top = diary.corpus.top
    days = diary.rows.days[:top]
    return np.asarray((days >= window[0]) & (days <= window[1]) & diary.corpus.alive[:top], np.bool_)


def _score(shelves: list[tuple[Shelf, BoolArray | None]], terms: list[QueryTerm]) -> list[Scoring | None]:
    if not terms:
        return [None] * len(shelves)
    weights = np.array([term.weight for term in terms], np.float32)
    words = [term.text for term in terms]
    for shelf, _ in shelves:
        shelf.corpus.settle()
    wiki = shelves[0][0].corpus
    if len(shelves) == 1 and (wiki.pending == 0 or wiki.documents > wiki.policy.exact_below):
        return [frozen(wiki, wiki.numbers(words), weights)]
    return [*exact([View(shelf.corpus, shelf.corpus.numbers(words), rows) for shelf, rows in shelves], weights)]


def _allowed(shelves: list[tuple[Shelf, BoolArray | None]], filters: Filters) -> BoolArray | None:
    if not filters and len(shelves) == 1:
        return None
    masks: list[BoolArray] = []
    for shelf, window in shelves:
        top = shelf.corpus.top
        lives: BoolArray = shelf.corpus.alive[:top] if window is None else window
        masks.append(np.asarray(lives & shelf.rows.mask(filters, top), np.bool_) if filters else lives)
    return joined(masks)


def _zeros(shelf: Shelf) -> FloatArray:
    return np.zeros(shelf.corpus.top, np.float32)


def joined(arrays: Sequence[npt.NDArray[Kind]]) -> npt.NDArray[Kind]:
    """Return arrays one after the other, without a copy when there is one."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
