"""Texts to term numbers, at the speed of C: the recipe that measured fastest, see `docs/retrieval.md`.

One pattern finds the written words ("surfaces"); a dictionary whose factory counts hands out their numbers. Stems,
folds, prefixes and parts are worked out once for each distinct surface and spread over all its places by numpy.
Runs without spaces go to terms directly, as `map(add, run, run[1:])`.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count, islice
from operator import add
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wikimem.search.scripts import patterns
from wikimem.search.tokens import normalize, symbol_terms
from wikimem.search.words import PREFIX, PREFIX_LENGTH, Kind, expand, fold, plain_word, stem_all, word_terms

# One C call over a long note holds the event loop for its whole length: 64 KB take about 5 ms.
SLICE = 65_536
# Zipf: the 30,000 most common surfaces are all but 5 % of a text. The memory of what is rare is given back.
MOST_SURFACES = 30_000

IntArray = npt.NDArray[np.int32]


class Vocabulary:
    """Terms by number. Numbers are never used twice; `drop` forgets terms that no text has any more."""

    def __init__(self) -> None:
        self.names: list[str | None] = []
        self.ids: defaultdict[str, int] = defaultdict(count().__next__)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def size(self) -> int:
        """One more than the highest number handed out."""
        return len(self.names)

    def extend(self, names: Sequence[str]) -> None:
        """Give numbers to more terms, all of them new."""
        list(map(self.ids.__getitem__, names))
        self.names.extend(names)

    def note_new(self) -> None:
        """Bring `names` up to date with the numbers that were handed out since the last call."""
        # A dictionary keeps the order of insertion, so the new terms are its last ones.
        fresh = [*islice(reversed(self.ids.items()), self._unnamed())]
        self.names.extend(name for name, _ in reversed(fresh))

    def _unnamed(self) -> int:
        last = next(reversed(self.ids.values()), -1)
        return last + 1 - len(self.names) if last >= len(self.names) else 0

    def drop(self, numbers: Sequence[int]) -> None:
        """Forget terms."""
        for number in numbers:
            name = self.names[number]
            if name is not None:
                del self.ids[name]
                self.names[number] = None


class Tokens(NamedTuple):
    """Every term of some texts: parallel arrays of text numbers (ascending or not) and term numbers.

    `lengths` counts what makes a text long; terms that only help to find it are in the arrays and not in the count.
    """

    texts: IntArray
    terms: IntArray
    lengths: IntArray


class Analyzer:
    """Texts to `Tokens`, over one growing vocabulary."""

    def __init__(self, vocabulary: Vocabulary | None = None, *, most_surfaces: int = MOST_SURFACES) -> None:
        self.vocabulary = vocabulary if vocabulary is not None else Vocabulary()
        self._most = most_surfaces
        self.forget()

    def forget(self) -> None:
        """Give the memory of known surfaces back. Term numbers stay."""
        self._surfaces: defaultdict[str, int] = defaultdict(count().__next__)
        self._known = 0
        # Where the terms of surface n begin in `_counted` and `_extra`.
        self._counted_at, self._extra_at = array("i", [0]), array("i", [0])
        self._counted, self._extra = array("i"), array("i")

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Return the terms of `texts`, numbered from 0."""
        if self._known > self._most:
            self.forget()
        try:
            return self._tokens(texts)
        except BaseException:
            # Surfaces that were learned by half would give all later texts the terms of others; and an array that a
            # kept traceback still looks into cannot grow (`BufferError`).
            self.forget()
            raise

    def _tokens(self, texts: Sequence[str]) -> Tokens:
        surfaces, counted, extra = _Flat(), _Flat(), _Flat()
        for text in texts:
            for part in slices(text):
                self._scan(normalize(part), surfaces.ids, counted.ids, extra.ids)
            for flat in (surfaces, counted, extra):
                flat.end_text()
        self._learn()
        self.vocabulary.note_new()
        return self._spread(len(texts), surfaces, counted, extra)

    def _scan(self, text: str, surfaces: "array[int]", counted: "array[int]", extra: "array[int]") -> None:
        pattern = patterns()
        surfaces.extend(map(self._surfaces.__getitem__, pattern.surface.findall(text)))
        if text.isascii():
            return
        number = self.vocabulary.ids.__getitem__
        for run in pattern.cjk.findall(text):
            counted.extend(map(number, run))
            counted.extend(map(number, map(add, run, run[1:])))
        for run in pattern.unspaced.findall(text):
            low = run.lower()
            pairs = list(map(add, low, low[1:]))
            if len(low) > 2:
                counted.extend(map(number, map(add, pairs, low[2:])))
                extra.extend(map(number, pairs))
            else:
                counted.append(number(low))
        for symbol in pattern.symbol.findall(text):
            extra.extend(number(term) for term, _ in symbol_terms(symbol))

    def _learn(self) -> None:
        """Work out the terms of the surfaces that are new."""
        fresh = [*islice(reversed(self._surfaces), len(self._surfaces) - self._known)]
        fresh.reverse()
        self._known = len(self._surfaces)
        number = self.vocabulary.ids.__getitem__
        plain = [plain_word(surface) for surface in fresh]
        stems = iter(stem_all([low for low in plain if low]))
        for surface, low in zip(fresh, plain, strict=True):
            if low and fold(low) is low:
                # What `word_terms` says of a word without accents, without making the values: it is most words.
                self._counted.append(number(next(stems)))
                if len(low) >= PREFIX_LENGTH:
                    self._extra.append(number(PREFIX + low[:PREFIX_LENGTH]))
            else:
                for term in word_terms(low, next(stems)) if low else expand(surface):
                    (self._counted if term.kind is Kind.WORD else self._extra).append(number(term.text))
            self._counted_at.append(len(self._counted))
            self._extra_at.append(len(self._extra))

    def _spread(self, texts: int, surfaces: "_Flat", counted: "_Flat", extra: "_Flat") -> Tokens:
        owners, ids = surfaces.owners(texts), _view(surfaces.ids)
        texts_counted, terms_counted = _gather(owners, ids, _view(self._counted_at), _view(self._counted))
        texts_extra, terms_extra = _gather(owners, ids, _view(self._extra_at), _view(self._extra))
        direct = counted.owners(texts)
        lengths = np.bincount(texts_counted, minlength=texts) + np.bincount(direct, minlength=texts)
        return Tokens(
            np.concatenate((texts_counted, direct, texts_extra, extra.owners(texts))),
            np.concatenate((terms_counted, _view(counted.ids), terms_extra, _view(extra.ids))),
            lengths.astype(np.int32),
        )


class _Flat:
    """Numbers of all texts in a row, and how many each text has."""

    def __init__(self) -> None:
        self.ids = array("i")
        self._sizes = array("i")
        self._ended = 0

    def end_text(self) -> None:
        self._sizes.append(len(self.ids) - self._ended)
        self._ended = len(self.ids)

    def owners(self, texts: int) -> IntArray:
        return np.repeat(np.arange(texts, dtype=np.int32), _view(self._sizes))


def _view(numbers: "array[int]") -> IntArray:
    return np.frombuffer(numbers, dtype=np.int32) if numbers else np.empty(0, np.int32)


def _gather(owners: IntArray, surfaces: IntArray, starts: IntArray, terms: IntArray) -> tuple[IntArray, IntArray]:
    """Replace each surface by its terms, keeping the owner."""
    first = starts[surfaces]
    sizes = starts[surfaces + 1] - first
    ends = np.cumsum(sizes, dtype=np.int32)
    places = np.arange(ends[-1] if len(ends) else 0, dtype=np.int32) + np.repeat(first - (ends - sizes), sizes)
    return np.repeat(owners, sizes), terms[places]


def slices(text: str) -> Iterator[str]:
    """Cut a long text into pieces of at most `SLICE` characters, at white space where there is any."""
    if len(text) <= SLICE:
        yield text
        return
    start = 0
    while start < len(text):
        end = min(start + SLICE, len(text))
        if end < len(text):
            end = max(text.rfind("\n", start + 1, end), text.rfind(" ", start + 1, end), 0) or end
        yield text[start:end]
        start = end
