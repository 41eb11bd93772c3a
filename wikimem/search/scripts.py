r"""Which characters make words, which scripts write without spaces, and the patterns that find them.

Python's `\w` drops the vowel signs of Indic scripts and every combining mark, which breaks Thai words and NFD text;
`re` has no `\p{…}`. So the classes are computed from `unicodedata` once, when the first text is tokenised. They are
exact inside the Basic Multilingual Plane, where `re` looks a character up in a table. Beyond it `re` walks the ranges
one by one for every character that is not in the table, so there they are a few coarse ranges.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

# Han and kana: written without spaces, found by single characters and by pairs.
CJK_RANGES = (
    (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303C), (0x3041, 0x3096),
    (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF), (0xFF66, 0xFF9D), (0x20000, 0x3FFFF),
)  # fmt: skip
# Thai, Lao, Burmese, Khmer, Tai Le, New Tai Lue, Tai Tham, Tai Viet: written without spaces, found by threes.
UNSPACED_RANGES = (
    (0x0E00, 0x0E3A), (0x0E40, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17DA), (0x17DC, 0x17F9), (0x1950, 0x19DF),
    (0x1A20, 0x1AAF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F), (0xAA80, 0xAADF),
)  # fmt: skip
# Planes 1 and 2 as words, but for the blocks of symbols and emoji.
_WORD_BEYOND = ((0x10000, 0x1CEFF), (0x1D400, 0x1EFFF))
_SYMBOLS_BEYOND = ((0x1CF00, 0x1D3FF), (0x1F000, 0x1FAFF))
_VARIATION_SELECTORS = range(0xFE00, 0xFE10)
# What ties the words of an identifier, a path, a version, an address together, or stands at its edge.
GLUE = "./\\:@+#$~&-"

_ZWJ = "\u200d"
_VS16 = "\ufe0f"
_TONES = "\U0001f3fb-\U0001f3ff"
_FLAGS = "\U0001f1e6-\U0001f1ff"


class Patterns(NamedTuple):
    """`surface` finds words with their glue, `word` the words in one, the rest find what has no spaces."""

    surface: re.Pattern[str]
    word: re.Pattern[str]
    cjk: re.Pattern[str]
    unspaced: re.Pattern[str]
    symbol: re.Pattern[str]
    symbol_part: re.Pattern[str]


@cache
def patterns() -> Patterns:
    """Return the compiled patterns. They expect text in NFKC."""
    categories = list(map(unicodedata.category, map(chr, range(0x10000))))
    other = {code for low, high in (*CJK_RANGES, *UNSPACED_RANGES) for code in range(low, min(high, 0xFFFF) + 1)}
    other.update(_VARIATION_SELECTORS)
    word_codes = (code for code, kind in enumerate(categories) if kind[0] in "LMN" and code not in other)
    # ASCII symbols are glue or syntax; the rest (arrows, currency, ticks, emoji) can be looked for.
    symbol_codes = (c for c, kind in enumerate(categories) if kind in {"So", "Sm", "Sc"} and c > 0x7F)
    words = f"_{_class(_runs(word_codes))}{_class(_WORD_BEYOND)}"
    cjk, unspaced = _class(CJK_RANGES), _class(UNSPACED_RANGES)
    symbols = f"{_class(_runs(symbol_codes))}{_class(_SYMBOLS_BEYOND)}"
    modifier = f"[{_TONES}{_VS16}]*"
    return Patterns(
        surface=re.compile(f"[{re.escape(GLUE)}{words}]+"),
        word=re.compile(f"[{words}]+"),
        cjk=re.compile(f"[{cjk}]+"),
        unspaced=re.compile(f"[{unspaced}]+"),
        symbol=re.compile(f"[{_FLAGS}]{{2}}|[{symbols}]{modifier}(?:{_ZWJ}[{symbols}]{modifier})*"),
        symbol_part=re.compile(f"[{symbols}]"),
    )


def _runs(codes: Iterable[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return runs


def _class(ranges: Iterable[tuple[int, int]]) -> str:
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
