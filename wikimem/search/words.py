r"""One written word to the terms it is found by: its stem, its form without accents, its beginning, its parts.

Measured choices (`docs/retrieval.md`): stems by script, not by language; the stem of the accent-folded word where it
differs; the first four characters of the folded word, in a name space of their own (`PREFIX`), which carry German,
Spanish and Turkish endings and compounds. A word with glue (`C++`, `--flag`, `1.2.3`, `src/app/main.py`) is found
whole and by its parts, an identifier (`snake_case`, `camelCase`) too.
"""

import re
import unicodedata
from enum import Enum
from functools import cache
from typing import NamedTuple

import Stemmer

from wikimem.search.scripts import GLUE, patterns

PREFIX = "\x01"
PREFIX_LENGTH = 4
# A line of base64 is one word to the pattern; nobody types its hundredth character.
LONGEST_WORD = 100
LONGEST_WHOLE = 200

_LETTERS_BEYOND_NFD = str.maketrans(
    {"ß": "ss", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i", "ħ": "h", "ـ": ""}
    # A Persian or Urdu keyboard and an Arabic one write these letters with different code points.
    | {"ک": "ك", "ی": "ي", "ہ": "ه", "ھ": "ه"}
)
_STEMMERS = (
    (0x00C0, 0x024F, "english"),
    (0x1E00, 0x1EFF, "english"),
    (0x0400, 0x052F, "russian"),
    (0x0370, 0x03FF, "greek"),
    (0x1F00, 0x1FFF, "greek"),
    (0x0600, 0x077F, "arabic"),
    (0x0900, 0x097F, "hindi"),
)
_HANGUL = range(0xAC00, 0xD7A4)
# Letters that carry nothing a fold would take away; most words are done here.
_BARE = re.compile("[a-z0-9_а-ик-яіα-ω]*")
_END_OF_SENTENCE = ".:-"
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W\d_A-Za-z]+|\d+")
_COMPONENT_GLUE = re.compile(r"[/\\:@&]+")
_LEADS = frozenset({"-", "--", ".", "..", "/", "./", "../", "~/", "@", "#", "$", "+", "\\\\"})
_TRAILS = frozenset({"+", "++", "#"})


class Kind(Enum):
    """Why a text has a term. The first four count in its length, the rest only help to find it."""

    WORD = "word"
    CHARACTER = "character"  # of a CJK run
    PAIR = "pair"  # of a CJK run
    TRIPLE = "triple"  # of a Thai, Lao, Khmer or Burmese run
    SHORT = "short"  # two characters of such a run, for queries that have no more
    SYMBOL = "symbol"
    FOLDED = "folded"
    PREFIX = "prefix"
    PART = "part"
    WHOLE = "whole"


class Term(NamedTuple):
    """One term of a word; `shown` is what a person reads for it, `word` the written word in lower case."""

    kind: Kind
    text: str
    shown: str
    word: str


@cache
def stemmer(language: str) -> "Stemmer.Stemmer":
    """Return the Snowball stemmer. Its own cache is off: each distinct word is asked once."""
    made = Stemmer.Stemmer(language)
    made.maxCacheSize = 0
    return made


def stem(word: str) -> str:
    """Return the Snowball stem of a lower-case word, by the script of its first letter; else the word."""
    language = _language(word)
    stemmed: str = stemmer(language).stemWord(word) if language else word
    return stemmed


def stem_all(words: list[str]) -> list[str]:
    """Return the stem of each word: as `stem`, a third of its time for many."""
    by_language: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        by_language.setdefault(_language(word), []).append(place)
    stems = list(words)
    for language, places in by_language.items():
        if language:
            for place, stemmed in zip(places, stemmer(language).stemWords([words[p] for p in places]), strict=True):
                stems[place] = stemmed
    return stems


def _language(word: str) -> str:
    for char in word:
        if "a" <= char <= "z":
            return "english"
        code = ord(char)
        for low, high, language in _STEMMERS:
            if low <= code <= high:
                return language
        if char.isalpha():
            break
    return ""


def fold(word: str) -> str:
    """Return a lower-case word without accents and without the letters that NFD leaves whole (`ß`, `ø`, `ł`)."""
    if _BARE.fullmatch(word):
        return word
    # Only marks with a combining class go: Indic vowel signs have none and are letters to their readers.
    bare = "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", bare).translate(_LETTERS_BEYOND_NFD)


def expand(surface: str) -> list[Term]:
    """Return the terms of one match of `patterns().surface`, in NFKC and in its own case."""
    terms: list[Term] = []
    for part in patterns().word.findall(surface):
        if part.strip("_"):
            terms.extend(_word(part[:LONGEST_WORD]))
    if len(surface) <= LONGEST_WHOLE:
        terms.extend(Term(Kind.WHOLE, whole, whole, whole) for whole in _wholes(surface.lower()))
    return terms


def plain_word(surface: str) -> str:
    """Return a surface's one word in lower case if it has one, is no identifier, and has no parts; else nothing."""
    core = surface.rstrip(_END_OF_SENTENCE)
    if not core.isalpha() or len(core) > LONGEST_WORD or ord(core[0]) in _HANGUL:
        return ""
    return core.lower() if core.islower() or core.istitle() or core.isupper() else ""


def word_terms(low: str, stemmed: str) -> list[Term]:
    """Return the terms of a lower-case word and its stem, but for its parts."""
    folded = fold(low)
    terms = [Term(Kind.WORD, stemmed, low, low)]
    if folded is not low and (bare := stem(folded)) != stemmed:
        terms.append(Term(Kind.FOLDED, bare, folded, low))
    begin = folded.lstrip("_")[:PREFIX_LENGTH]
    if len(begin) == PREFIX_LENGTH:
        terms.append(Term(Kind.PREFIX, PREFIX + begin, f"{begin}…", low))
    return terms


def _word(part: str) -> list[Term]:
    low = part.lower()
    terms = word_terms(low, stem(low))
    terms.extend(Term(Kind.PART, stem(piece), piece, low) for piece in _parts(part, low))
    return terms


def _parts(part: str, low: str) -> list[str]:
    """Return what an identifier consists of, and the beginnings of a Korean word, which carries its particles."""
    if ord(low[0]) in _HANGUL:
        return [low[:length] for length in (2, 3) if len(low) > length]
    if part.isalpha() and (part.islower() or part.isupper() or part.istitle()):
        return []
    pieces = [piece.lower() for piece in _HUMPS.findall(part)]
    if len(pieces) < 2 and "_" not in part:
        return []
    # `NASAs` and `1990s` are no two words; one letter is no part worth finding.
    if not pieces or pieces[-1] == "s" or (len(pieces) == 2 and part.endswith("s") and part[:-1].isupper()):
        return []
    return [piece for piece in pieces if len(piece) > 1]


def _wholes(surface: str) -> list[str]:
    """Return the glued forms in a surface: all of it, without its edges, and what stands between `/`, `:` or `@`."""
    core = surface.strip(GLUE)
    if core == surface or not core:
        edges = core
    else:
        lead, trail = surface.split(core, 1)[0], surface.rsplit(core, 1)[1].rstrip("./\\:@$~&-")
        edges = f"{lead if lead in _LEADS else ''}{core}{trail if trail in _TRAILS else ''}"
    found = [text for text in dict.fromkeys((edges, core)) if not text.isalnum() and not _is_word(text)]
    components = _COMPONENT_GLUE.split(core)
    if len(components) > 1:
        found.extend(text for text in components if (bare := text.strip(GLUE)) == text and not _is_word(bare))
    return list(dict.fromkeys(found))


def _is_word(text: str) -> bool:
    return not any(char in text for char in GLUE)
