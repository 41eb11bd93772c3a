"""Days, weeks and months as inclusive pairs of days, and the numbers that questions are written with.

What no calendar has raises `ValueError` or `OverflowError`.
"""

from datetime import date, timedelta

Span = tuple[date, date]


def one_day(day: date) -> Span:
    """Return a day as a span."""
    return day, day


def week(today: date, back: int = 0) -> Span:
    """Return the week from Monday to Sunday that lies `back` weeks before the one of `today`."""
    monday = today - timedelta(days=today.weekday() + 7 * back)
    return monday, monday + timedelta(days=6)


def weekend(today: date, back: int) -> Span:
    """Return Saturday and Sunday of that week."""
    monday, sunday = week(today, back)
    return monday + timedelta(days=5), sunday


def month(today: date, back: int = 0) -> Span:
    """Return the month that lies `back` months before the one of `today`."""
    count = today.year * 12 + today.month - 1 - back
    return month_of(count // 12, count % 12 + 1)


def month_of(year: int, month: int) -> Span:
    """Return a month of a year."""
    start = date(year, month, 1)
    following = date(year + month // 12, month % 12 + 1, 1) if (year, month) != (9999, 12) else date.max
    return start, following - timedelta(days=1)


def year(number: int) -> Span:
    """Return a year."""
    return date(number, 1, 1), date(number, 12, 31)


def weekday(number: int, today: date) -> Span:
    """Return the latest day of that name (0: Monday) that is not after `today`."""
    return one_day(today - timedelta(days=(today.weekday() - number) % 7))


def latest(month: int, day: int | None, today: date) -> Span:
    """Return a month or a day without a year: the latest that has begun."""
    start = date(2024, month, day or 1)  # 2024 has every day of a year there can be
    year = today.year if (start.month, start.day) <= (today.month, today.day) else today.year - 1
    return one_day(date(year, month, day)) if day is not None else month_of(year, month)


def absolute(year: int, month: int, day: int | None) -> Span:
    """Return a date, or a month when there is no day."""
    return one_day(date(year, month, day)) if day is not None else month_of(year, month)


_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
ENGLISH_NUMBERS = {
    word: value
    for value, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=1
    )
} | {"a": 1, "an": 1}
CJK_NUMBER = r"(?:\d{1,4}|[一二两兩三四五六七八九]?十[一二三四五六七八九]?|[一二两兩三四五六七八九])"


def number(text: str) -> int:
    """Return a number as digits, an English word, or Chinese numerals up to 99."""
    if text.isdecimal():
        return int(text)
    if text.lower() in ENGLISH_NUMBERS:
        return ENGLISH_NUMBERS[text.lower()]
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return _DIGITS[text]
    return (_DIGITS[tens] if tens else 1) * 10 + (_DIGITS[ones] if ones else 0)


def year_number(text: str) -> int:
    """Return a year of four digits, ours or Chinese."""
    return int(text) if text.isdecimal() else int("".join(str(_DIGITS[char]) for char in text))
