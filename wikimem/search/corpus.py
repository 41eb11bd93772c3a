"""A corpus: rows of text that can be scored, right after every edit.

Three layers, newest last: the base with finished scores; small segments of newer rows, scored at query time; and what
has been added since the last query. Rows that are gone are masked until a merge drops them. Slots (row numbers) stay
the same through merges, so nothing outside moves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wikimem.search.analyzer import Analyzer, Vocabulary
from wikimem.search.base_segment import Base, serve
from wikimem.search.bm25 import BoolArray, FloatArray, IntArray, LongArray
from wikimem.search.prepared import Prepared
from wikimem.search.segments import Postings, compile_tokens, join, renumber

_FIRST_CAPACITY = 256
# A segment absorbs its neighbour while the neighbour is not four times as large: few segments, each row joined a
# few times. Beyond `_LARGEST_SEGMENT` rows a join would be felt by the query that waits for it (10 µs a row).
_TIER = 4
_LARGEST_SEGMENT = 2_000
# Added rows are joined to a segment by the next query, or when so many have come.
_MOST_ADDED = 256


@dataclass(frozen=True, slots=True)
class MergePolicy:
    """When newer rows are merged into the base.

    After one percent of the base's rows, at least `least`, at most `most`. Up to `exact_below` rows an unmerged
    corpus is scored from its counts with its true statistics, which costs as little as the merge would. Numbers of
    terms that nothing holds any more are given up by a build, once they are more than the others and `most_unused`.
    """

    least: int = 64
    most: int = 1_000
    percent: float = 1.0
    exact_below: int = 5_000
    most_unused: int = 50_000

    def threshold(self, rows: int) -> int:
        """Return how many new and removed rows make a merge worth its work."""
        return min(self.most, max(self.least, int(rows * self.percent / 100)))


@dataclass(frozen=True, slots=True)
class Segment:
    """Postings of newer rows, and how many rows they came from."""

    postings: Postings
    rows: int


@dataclass(frozen=True, slots=True)
class MergeJob:
    """All that a merge needs, as it was at one moment. Nothing in it is changed afterwards."""

    base: Postings
    newer: tuple[Postings, ...]
    alive: BoolArray
    lengths: IntArray
    size: int
    dead: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BuildJob:
    """All that a build from texts needs. `slots` names the row of each text."""

    texts: Sequence[str]
    slots: IntArray
    capacity: int
    dead: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge makes: the arrays of a base."""

    postings: Postings
    scores: FloatArray
    documents: int
    total_length: int
    capacity: int


@dataclass(frozen=True, slots=True)
class Built:
    """What a build makes: a vocabulary and the arrays of a base that uses its numbers."""

    vocabulary: Vocabulary
    lengths: IntArray
    merged: Merged


class Corpus:
    """Rows by slot. Not safe for threads by itself: `MemoryIndex` holds a lock around each call."""

    def __init__(self, policy: MergePolicy | None = None) -> None:
        self.policy = policy or MergePolicy()
        self.analyzer = Analyzer()
        self.documents = 0
        self.total_length = 0
        self.alive: BoolArray = np.zeros(_FIRST_CAPACITY, np.bool_)
        self.lengths: IntArray = np.zeros(_FIRST_CAPACITY, np.int32)
        self.base = _nothing()
        self.segments: list[Segment] = []
        # One more than the highest slot in use; slots below it that a merge has cleaned are used again.
        self.top = 0
        self._free: list[int] = []
        self._added: list[Segment] = []
        self._dead: list[int] = []
        # How many of the oldest segments a running merge or build will replace.
        self._taken = 0
        self.busy = False

    @property
    def vocabulary(self) -> Vocabulary:
        """The terms by number."""
        return self.analyzer.vocabulary

    @property
    def pending(self) -> int:
        """How many rows were added or removed since the base was made."""
        return sum(segment.rows for segment in (*self.segments, *self._added)) + len(self._dead)

    def add(self, texts: Sequence[str], prepared: Prepared | None = None) -> list[int]:
        """Add rows and return their slots. `prepared` spares the work where it is of these texts."""
        if not texts:
            return []
        if prepared is not None and prepared.texts == texts:
            tokens = prepared.numbered(self.vocabulary)
        else:
            tokens = self.analyzer.tokens(texts)
        slots = self._take_slots(len(texts))
        places = np.array(slots, np.int32)
        self.alive[places] = True
        self.lengths[places] = tokens.lengths
        self.documents += len(texts)
        self.total_length += int(tokens.lengths.sum())
        self._added.append(Segment(compile_tokens(tokens, places), len(texts)))
        if sum(segment.rows for segment in self._added) >= _MOST_ADDED:
            self.settle()
        return slots

    def reserve(self, count: int) -> list[int]:
        """Return slots for rows that a build will fill; until then they are in no answer."""
        slots = self._take_slots(count)
        self.alive[slots] = True
        self.documents += count
        return slots

    def remove(self, slots: Sequence[int]) -> None:
        """Remove rows. Their slots are not used again before the next merge."""
        for slot in slots:
            self.alive[slot] = False
            self.documents -= 1
            self.total_length -= int(self.lengths[slot])
        self._dead.extend(slots)

    def settle(self) -> None:
        """Make what was added part of the segments."""
        if not self._added:
            return
        rows = sum(segment.rows for segment in self._added)
        parts = [segment.postings for segment in self._added]
        self._added.clear()
        self.segments.append(Segment(parts[0] if len(parts) == 1 else join(parts, self.alive), rows))
        while len(self.segments) - self._taken > 1:
            older, newer = self.segments[-2:]
            rows = older.rows + newer.rows
            if older.rows >= _TIER * newer.rows or rows > _LARGEST_SEGMENT:
                break
            self.segments[-2:] = [Segment(join([older.postings, newer.postings], self.alive), rows)]

    def numbers(self, terms: Sequence[str]) -> LongArray:
        """Return the number of each term, -1 for one that no row ever held."""
        ids = self.vocabulary.ids
        return np.array([ids.get(term, -1) for term in terms], np.int64)

    def dead(self) -> list[int]:
        """Return the slots whose postings are still there though their rows are gone."""
        return self._dead

    def merge_due(self) -> bool:
        """Whether enough has changed since the base was made."""
        return self.pending >= self.policy.threshold(self.documents)

    @property
    def sparse(self) -> bool:
        """Whether so many term numbers are unused that a build is better than a merge."""
        return self.vocabulary.size - len(self.vocabulary) > len(self.vocabulary) + self.policy.most_unused

    def begin_merge(self) -> MergeJob:
        """Return a merge as work to be done anywhere; edits may go on meanwhile."""
        self.settle()
        self._taken, self.busy = len(self.segments), True
        return MergeJob(
            self.base.postings,
            tuple(segment.postings for segment in self.segments),
            self.alive[: self.top].copy(),
            self.lengths[: self.top].copy(),
            self.vocabulary.size,
            tuple(self._dead),
        )

    def finish_merge(self, job: MergeJob, merged: Merged) -> None:
        """Take a merge's result. Rows that were added or removed meanwhile stay as they are."""
        self._take(merged, job.dead)
        self._drop_dead_terms(merged.postings)

    def begin_build(self, slots: Sequence[int], texts: Sequence[str]) -> BuildJob:
        """Return a build of every row from its text as work to be done anywhere; edits may go on meanwhile."""
        self.settle()
        self._taken, self.busy = len(self.segments), True
        return BuildJob(texts, np.array(slots, np.int32), self.top, tuple(self._dead))

    def finish_build(self, job: BuildJob, built: Built) -> None:
        """Take a build's result. Rows that were added or removed meanwhile are carried over."""
        before = self.vocabulary.names
        self.settle()
        self.lengths[job.slots] = built.lengths[job.slots]
        self.total_length = int(self.lengths[self.alive].sum())
        self._take(built.merged, job.dead)
        self.analyzer = Analyzer(built.vocabulary)
        ids = self.vocabulary.ids
        for place, segment in enumerate(self.segments):
            terms = segment.postings.terms
            if terms is not None:
                numbers = [ids[before[number] or ""] for number in terms.tolist()]
                self.segments[place] = Segment(renumber(segment.postings, np.array(numbers, np.int64)), segment.rows)
        self.vocabulary.note_new()

    def abandon(self) -> None:
        """Forget a merge or build that failed: everything is served as before."""
        self._taken, self.busy = 0, False

    def _take(self, merged: Merged, dead: Sequence[int]) -> None:
        self.base = serve(merged.postings, merged.scores, merged.documents, merged.total_length, merged.capacity)
        del self.segments[: self._taken]
        self._taken, self.busy = 0, False
        # No posting names these slots any more. One that was freed before and used meanwhile is not among them.
        self._free.extend(dead)
        cleaned = set(dead)
        self._dead = [slot for slot in self._dead if slot not in cleaned]

    def _drop_dead_terms(self, postings: Postings) -> None:
        """Forget the terms that neither the new base nor a newer row holds."""
        used = np.zeros(self.vocabulary.size, np.bool_)
        used[: len(postings.starts) - 1] = np.diff(postings.starts) > 0
        used[len(postings.starts) - 1 :] = True
        for segment in (*self.segments, *self._added):
            if segment.postings.terms is not None:
                used[segment.postings.terms] = True
        names = self.vocabulary.names
        dead = [number for number in np.flatnonzero(~used).tolist() if names[number] is not None]
        if dead:
            self.vocabulary.drop(dead)
            # Known surfaces name terms by number, among them perhaps one that is no more.
            self.analyzer.forget()

    def _take_slots(self, count: int) -> list[int]:
        reused = self._free[len(self._free) - min(count, len(self._free)) :]
        del self._free[len(self._free) - len(reused) :]
        slots = [*reused, *range(self.top, self.top + count - len(reused))]
        self.top += count - len(reused)
        if self.top > len(self.alive):
            capacity = max(self.top, len(self.alive) * 3 // 2)
            self.alive = np.concatenate((self.alive, np.zeros(capacity - len(self.alive), np.bool_)))
            self.lengths = np.concatenate((self.lengths, np.zeros(capacity - len(self.lengths), np.int32)))
        return slots


def _nothing() -> Base:
    postings = Postings(None, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.uint8))
    return serve(postings, np.empty(0, np.float32), 0, 0, 0)
