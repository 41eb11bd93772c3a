"""A query to its terms, a text to its size: one way for all languages, no setting."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import compress
from typing import NamedTuple

from bm25s.stopwords import STOPWORDS_EN_PLUS

from wikimem.search.scripts import CJK_RANGES, UNSPACED_RANGES, patterns
from wikimem.search.words import Kind, Term, expand

# The long list: it holds the question words, which are worth 5 points on chat turns. Only queries drop them.
STOP_WORDS = frozenset(STOPWORDS_EN_PLUS)
WEIGHTS = {
    Kind.WORD: 1.0,
    Kind.CHARACTER: 1.0,
    Kind.PAIR: 1.0,
    Kind.TRIPLE: 1.0,
    Kind.SHORT: 1.0,
    Kind.SYMBOL: 1.0,
    Kind.WHOLE: 1.0,
    Kind.FOLDED: 0.5,
    Kind.PREFIX: 0.5,
    Kind.PART: 0.5,
}
_GENERAL = STOP_WORDS | {"happen", "happened", "happens", "anything", "everything", "diary", "today"}
_GENERAL_CHARACTERS = frozenset(
    "的了吗嗎呢吧啊呀我你您都有什么麼做过過在发發生事情干幹些哪はがをにのでとも何なかしたましありことだっけ"
)
# A whole document as a query: a word that it says a hundred times shall not be all that counts.
_MOST_REPEATS = 8
_SHORT_RUN = 200
_LETTERS_PER_WORD = 4
_SURROGATES = re.compile("[\ud800-\udfff]")
# Between CJK characters punctuation has no space around it and is no word.
_CJK_PUNCTUATION = (
    "\u3001-\u3004\u3008-\u3020\u3030\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
    "\u2014\u2018-\u201d\u2026"
)


class QueryTerm(NamedTuple):
    """One term of a query.

    `shown` is what a person reads for it, `word` what was typed, in lower case. Of a run without spaces `word` is the
    run, `run` its number in the query, `at` the place in it (`run` -1: it is a word).
    """

    text: str
    kind: Kind
    weight: float
    shown: str
    word: str
    run: int = -1
    at: int = 0


def normalize(text: str) -> str:
    """Return text as the patterns expect it: NFKC, no soft hyphens. Case is kept: it shows where `camelCase` parts."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text).replace("\u00ad", "")


def query_terms(query: str) -> list[QueryTerm]:
    """Return the distinct terms of a query in the order in which they stand, repeats added up in the weight.

    English function and question words are dropped unless nothing else is left.
    """
    text = normalize(_SURROGATES.sub("\ufffd", query))
    words = Counter(patterns().surface.findall(text))
    found = [*_words(words, STOP_WORDS), *_runs(text)] or list(_words(words, frozenset()))
    merged: dict[str, QueryTerm] = {}
    for term in found:
        before = merged.setdefault(term.text, term)
        if before is not term and before.weight < _MOST_REPEATS:
            merged[term.text] = before._replace(weight=before.weight + term.weight)
    return list(merged.values())


def _words(surfaces: Counter[str], stop: frozenset[str]) -> Iterator[QueryTerm]:
    for surface, times in surfaces.items():
        dropped = False
        for term in _expanded(surface):
            if term.kind is Kind.WORD:
                dropped = term.shown in stop
            if not dropped or term.kind is Kind.WHOLE:
                yield QueryTerm(
                    term.text, term.kind, WEIGHTS[term.kind] * min(times, _MOST_REPEATS), term.shown, term.word
                )


@lru_cache(maxsize=2_048)
def _expanded(surface: str) -> tuple[Term, ...]:
    return tuple(expand(surface))


def _runs(text: str) -> Iterator[QueryTerm]:
    if text.isascii():
        return
    pattern = patterns()
    for number, run in enumerate(pattern.cjk.findall(text)):
        yield from _grams(run, 1, Kind.CHARACTER, number)
        yield from _grams(run, 2, Kind.PAIR, number)
    for number, run in enumerate(pattern.unspaced.findall(text), start=len(text)):
        low = run.lower()
        yield from _grams(low, 3, Kind.TRIPLE, number) if len(low) > 2 else _grams(low, len(low), Kind.SHORT, number)
    for symbol in pattern.symbol.findall(text):
        for term, part in symbol_terms(symbol):
            yield QueryTerm(term, Kind.SYMBOL, 0.5 if part else 1.0, term, term)


def _grams(run: str, length: int, kind: Kind, number: int) -> Iterator[QueryTerm]:
    pieces = run if length == 1 else map("".join, zip(*(run[at:] for at in range(length)), strict=False))
    weight = WEIGHTS[kind]
    if len(run) <= _SHORT_RUN:
        for at, gram in enumerate(pieces):
            yield QueryTerm(gram, kind, weight, gram, run, number, at)
        return
    # A pasted page: where a piece stands no longer matters, so each is shown by itself.
    for gram, times in Counter(pieces).items():
        yield QueryTerm(gram, kind, weight * min(times, _MOST_REPEATS), gram, gram)


def symbol_terms(symbol: str) -> list[tuple[str, bool]]:
    """Return an emoji or symbol whole, without its variation selector, and each picture in it (True: a part)."""
    whole = symbol.replace("\ufe0f", "")
    parts = patterns().symbol_part.findall(whole)
    return [(whole, False), *((part, True) for part in dict.fromkeys(parts) if part != whole and _pictures(part))]


def _pictures(part: str) -> bool:
    """Whether a symbol says something alone: half a flag and a skin tone do not."""
    return not ("\U0001f1e6" <= part <= "\U0001f1ff" or "\U0001f3fb" <= part <= "\U0001f3ff")


def matched(terms: Sequence[QueryTerm], hit: Sequence[bool]) -> tuple[str, ...]:
    """Return the words of a query that an item holds, as they were typed.

    A word of which only the beginning was found ends in `…`. Of a run without spaces each stretch is one word.
    """
    words: dict[str, None] = {}
    begun: list[QueryTerm] = []
    runs: dict[int, list[QueryTerm]] = {}
    for term in compress(terms, hit):
        if term.run >= 0:
            runs.setdefault(term.run, []).append(term)
        elif term.kind is Kind.PREFIX:
            begun.append(term)
        else:
            words[term.word] = None
    for term in begun:
        if term.word not in words:
            words[term.shown] = None
    for found in runs.values():
        words.update(dict.fromkeys(_stretches(found)))
    return tuple(words)


def _stretches(found: Sequence[QueryTerm]) -> Iterator[str]:
    """Return what the terms of one run cover, in pieces without gaps."""
    run = found[0].word
    start = end = 0
    for at, stop in sorted((term.at, term.at + len(term.text)) for term in found):
        if at > end:
            if end:
                yield run[start:end]
            start = at
        end = max(end, stop)
    yield run[start:end]


def says_nothing(text: str) -> bool:
    """Tell whether a question, its time taken out, asks for nothing in particular: "what did I do", 做了什么."""
    clean = normalize(_SURROGATES.sub("\ufffd", text))
    pattern = patterns()
    return (
        all(
            word.lower() in _GENERAL
            for surface in pattern.surface.findall(clean)
            for word in pattern.word.findall(surface)
        )
        and all(set(run) <= _GENERAL_CHARACTERS for run in pattern.cjk.findall(clean))
        and not pattern.unspaced.search(clean)
        and not pattern.symbol.search(clean)
    )


def estimate_tokens(text: str) -> int:
    """Return the size of `text`: one for each word (a run without white space) and each CJK character.

    Thai, Lao, Khmer and Burmese words are counted as four letters each, because nothing on the page divides them.
    """
    if text.isascii():
        return len(text.split())
    words, cjk, unspaced = _sizes()
    letters = sum(map(len, unspaced.findall(text)))
    return len(words.findall(text)) + len(cjk.findall(text)) + -(-letters // _LETTERS_PER_WORD)


@cache
def _sizes() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    cjk, unspaced = (
        "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges) for ranges in (CJK_RANGES, UNSPACED_RANGES)
    )
    return re.compile(f"[^\\s{cjk}{unspaced}{_CJK_PUNCTUATION}]+"), re.compile(f"[{cjk}]"), re.compile(f"[{unspaced}]+")
