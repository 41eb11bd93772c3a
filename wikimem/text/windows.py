r"""A time in a question to a window of days: "yesterday", 上周三, 先月, 2026-07-21.

Deliberately narrow: English, Chinese and Japanese, one expression a question (or two that are joined to a range).
What is not understood in full is no window, never a guess: an impossible date, a date with a piece missing, "next
Monday", "before March", two times that nothing joins. A week starts on Monday. A day of the week or a date without a
year is the latest one that is not in the future. "Two weeks ago" is that whole week, "three months ago" that month.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from wikimem.text.days import Span
from wikimem.text.time_forms import Reader, forms

# A pasted page holds dates and asks about none of them.
LONGEST_QUESTION = 1_000
# Nothing below matches without one of these; most questions end here.
_HINT = re.compile(
    r"\d|day|night|morning|afternoon|evening|week|month|year|[今昨前周週月年天日]|星期|礼拜|禮拜|曜|おととい|きのう|きょう"
    r"|ゆうべ|おととし|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FoundWindow:
    """An inclusive pair of days, the words that said so, and the question without them."""

    start: date
    end: date
    text: str
    rest: str


def find_window(question: str, today: date) -> FoundWindow | None:
    """Return the window that a question names, seen from `today`; None when it names none that is surely meant."""
    if len(question) > LONGEST_QUESTION:
        return None
    text = unicodedata.normalize("NFKC", question)
    if not _HINT.search(text):
        return None
    found = list(_matches(text, today))
    if not found or len(found) > 2 or any(one.span is None for one in found):
        return None
    first, last = found[0], found[-1]
    span = first.span
    if len(found) == 2:
        span = _joined(text[first.end : last.start], first.span, last.span)
    elif _since(text, first.start, first.end) and span is not None:
        span = (span[0], today) if span[0] <= today else None
    elif _is_other(text, first.start, first.end):
        return None
    if span is None or span[0] > span[1]:
        return None
    return FoundWindow(*span, text[first.start : last.end], f"{text[: first.start]} {text[last.end :]}")


@dataclass(frozen=True, slots=True)
class _Match:
    start: int
    end: int
    span: Span | None


def _matches(text: str, today: date) -> Iterator[_Match]:
    """Yield what the patterns find, from left to right, the longest where they overlap."""
    every = [(m.start(), m.end(), m, read) for pattern, read in forms() for m in pattern.finditer(text)]
    # The longest first: "the day before yesterday" holds "yesterday", 大前天 holds 前天.
    every.sort(key=lambda one: (one[0] - one[1], one[0]))
    taken: list[tuple[int, int, re.Match[str], Reader]] = []
    for one in every:
        if all(one[1] <= other[0] or one[0] >= other[1] for other in taken):
            taken.append(one)
    for start, end, match, read in sorted(taken, key=lambda one: one[0]):
        try:
            yield _Match(start, end, read(match, today))
        except (ValueError, OverflowError):
            # A date that no calendar has, or one before the year 1.
            yield _Match(start, end, None)


_JOINT = re.compile(r"\s*(?:to|through|until|till|and|-|–|—|~|〜|到|至|から|より)\s*\Z", re.IGNORECASE)
_SINCE_BEFORE = re.compile(r"\b(?:ever\s+)?since\s+(?:the\s+)?\Z|自从?\Z", re.IGNORECASE)
_SINCE_AFTER = re.compile(r"\s*(?:以来|以來|以降)")
_BLOCKED_BEFORE = re.compile(
    r"\b(?:next|every|each|before|after|until|till|by|than|from|between|not|except|coming|following|previous)\s+"
    r"(?:the\s+)?\Z|[每下来來毎翌明]\Z|(?:除了|毎週|来週|再来週|不是)の?\Z|(?:农历|農曆|阴历|陰曆|旧暦|那年)\Z",
    re.IGNORECASE,
)
_BLOCKED_AFTER = re.compile(
    r"\s*(?:之前|以前|之后|之後|以后|以後|より前|まで|から|前(?=[的の,.、。\s]|\Z)|[到至~〜–—]|-\s*\d|(?:to|until|through)\b)"
    r"|\s+(?:of|after\s+next|before\s+last|week|the\s+\d+(?:st|nd|rd|th))\b|\.\.|\.com\b"
    r"|,?\s*'\d\d\b|,\s*\d\d\s*\Z|廿|卅|初[一二三四五六七八九十]",
    re.IGNORECASE,
)
# Part of a longer count is not what is meant: "twenty-one days ago", "1.5 years ago", 三四天前, 几十年前.
_AGO = re.compile(r"(?:ago|前)\Z", re.IGNORECASE)
_MORE_COUNT = re.compile(
    r"\b(?:or|over|half)\s+\Z|(?:\d|\b(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|and))"
    r"[\s.,~〜–-]+\Z|[-.几幾数第〜~、一二三四五六七八九十百千零〇两兩]\Z",
    re.IGNORECASE,
)
_BARE_WEEKDAY = re.compile(r"(?!to|yester)[a-z]+day\Z", re.IGNORECASE)
_ANOTHER_DAY = re.compile(
    r"\b(?:other|alternate|first|second|third|fourth|fifth|good|black|cyber|easter|palm|ash)\s+\Z", re.IGNORECASE
)


def _is_other(text: str, start: int, end: int) -> bool:
    """Tell whether the words around an expression give it a meaning of their own."""
    before, found = text[:start], text[start:end]
    return (
        _BLOCKED_BEFORE.search(before) is not None
        or _BLOCKED_AFTER.match(text, end) is not None
        or (_AGO.search(found) is not None and _MORE_COUNT.search(before) is not None)
        or (_BARE_WEEKDAY.match(found) is not None and _ANOTHER_DAY.search(before) is not None)
    )


def _joined(between: str, first: Span | None, last: Span | None) -> Span | None:
    if first is None or last is None:
        return None
    if first == last:
        return first
    return (first[0], last[1]) if _JOINT.match(between) else None


def _since(text: str, start: int, end: int) -> bool:
    return _SINCE_BEFORE.search(text[:start]) is not None or _SINCE_AFTER.match(text, end) is not None
