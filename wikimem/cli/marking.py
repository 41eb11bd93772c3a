"""Where the terms that matched stand in a text: what a person's eye looks for in a hit."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from wikimem.search.scripts import patterns
from wikimem.search.words import PREFIX, Kind, expand, fold

Span = tuple[int, int]

_MATCHING = frozenset({Kind.WORD, Kind.FOLDED, Kind.PART})


def matched_spans(text: str, terms: Sequence[str]) -> list[Span]:
    """Return the ordered, disjoint spans of `text` that the terms of an answer's `matched_terms` stand for.

    A word is found by its stem, as the search found it; a term that ends in `…` by its beginning; anything else
    (CJK, glued words, emoji) as it is written, whatever its case.
    """
    wanted: set[str] = set()
    literal: list[str] = []
    for term in terms:
        if term.endswith("…"):
            wanted.add(PREFIX + term[:-1])
        elif patterns().word.fullmatch(term):
            wanted.update(found.text for found in expand(term) if found.kind in _MATCHING)
        else:
            literal.append(term)
    return _disjoint([*_words(text, wanted), *(span for term in literal for span in _written(text, term))])


def _words(text: str, wanted: set[str]) -> Iterator[Span]:
    if not wanted:
        return
    known: dict[str, bool] = {}
    for match in patterns().word.finditer(text):
        word = match[0]
        if word not in known:
            plain = unicodedata.normalize("NFKC", word)
            known[word] = any(term.text in wanted for term in expand(plain)) or fold(plain.lower()) in wanted
        if known[word]:
            yield match.span()


def _written(text: str, term: str) -> Iterator[Span]:
    found = [match.span() for match in re.finditer(re.escape(term), text, re.IGNORECASE)]
    if not found and patterns().cjk.fullmatch(term) and len(term) > 2:
        # The pairs of a stretch can stand in different places.
        pairs = {term[at : at + 2] for at in range(len(term) - 1)}
        found = [match.span() for pair in pairs for match in re.finditer(pair, text)]
    yield from found


def _disjoint(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
