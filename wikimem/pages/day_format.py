"""Obsidian's daily-note formats: moment.js tokens, mapped to a path and back where they name a day.

A format maps to days when it holds a year and either month and day or the day of the year, or an ISO year with its week
and the weekday. What else it shows must agree, so that exactly one path stands for a day. Month and weekday names are
English: which language a person's Obsidian runs in stands nowhere in the vault.
"""

import re
from calendar import isleap
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_TOKEN = re.compile(
    r"\[(?P<literal>[^\]]*)\]|(?P<token>YYYY|YY|Y|GGGG|GG|Q|MMMM|MMM|MM|Mo|M|DDDD|DDDo|DDD|DD|Do|D|dddd|ddd|dd|do|d"
    r"|E|WW|Wo|W)|(?P<letter>[A-Za-z])|(?P<other>.)",
    re.DOTALL,
)


def _ordinal(number: int) -> str:
    if 10 <= number % 100 <= 20:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def _weekday(day: date) -> int:
    return day.isoweekday() % 7


def _day_of_year(day: date) -> int:
    return day.timetuple().tm_yday


@dataclass(frozen=True, slots=True)
class _Token:
    """One token: what it shows for a day, the pattern it reads, and which part of a date the number is."""

    show: Callable[[date], str]
    pattern: str
    part: str = ""

    @property
    def varies(self) -> bool:
        """Tell whether it shows a number of one or more digits."""
        return self.pattern.startswith("[0-9]{1,")


_ISO_YEAR, _ISO_SHORT_YEAR, _ISO_WEEK = ("iso_year", "iso_short_year", "iso_week")
_ISO_WEEKDAY, _WEEKDAY, _WEEKDAY_NAME = ("iso_weekday", "weekday", "weekday_name")
_YEAR, _SHORT_YEAR, _MONTH, _MONTH_NAME, _MONTH_SHORT, _DAY, _YEARDAY = (
    "year",
    "short_year",
    "month",
    "month_name",
    "month_short",
    "day",
    "yearday",
)
_ORDINAL = r"[0-9]{1,3}(?:st|nd|rd|th)"
_NUMBER = r"[0-9]{1,3}"
_TOKENS = {
    "YYYY": _Token(lambda day: f"{day.year:04}", r"[0-9]{4}", _YEAR),
    "Y": _Token(lambda day: f"{day.year}", r"[0-9]{1,4}", _YEAR),
    "YY": _Token(lambda day: f"{day.year % 100:02}", r"[0-9]{2}", _SHORT_YEAR),
    "Q": _Token(lambda day: f"{(day.month + 2) // 3}", r"[1-4]"),
    "M": _Token(lambda day: f"{day.month}", r"[0-9]{1,2}", _MONTH),
    "Mo": _Token(lambda day: _ordinal(day.month), _ORDINAL, _MONTH),
    "MM": _Token(lambda day: f"{day.month:02}", r"[0-9]{2}", _MONTH),
    "MMM": _Token(lambda day: _MONTHS[day.month - 1][:3], "|".join(name[:3] for name in _MONTHS), _MONTH_SHORT),
    "MMMM": _Token(lambda day: _MONTHS[day.month - 1], "|".join(_MONTHS), _MONTH_NAME),
    "D": _Token(lambda day: f"{day.day}", r"[0-9]{1,2}", _DAY),
    "Do": _Token(lambda day: _ordinal(day.day), _ORDINAL, _DAY),
    "DD": _Token(lambda day: f"{day.day:02}", r"[0-9]{2}", _DAY),
    "DDD": _Token(lambda day: f"{_day_of_year(day)}", _NUMBER, _YEARDAY),
    "DDDo": _Token(lambda day: _ordinal(_day_of_year(day)), _ORDINAL, _YEARDAY),
    "DDDD": _Token(lambda day: f"{_day_of_year(day):03}", r"[0-9]{3}", _YEARDAY),
    "d": _Token(lambda day: f"{_weekday(day)}", r"[0-6]", _WEEKDAY),
    "do": _Token(lambda day: _ordinal(_weekday(day)), _ORDINAL, _WEEKDAY),
    "dd": _Token(lambda day: _WEEKDAYS[_weekday(day)][:2], "|".join(name[:2] for name in _WEEKDAYS), _WEEKDAY_NAME),
    "ddd": _Token(lambda day: _WEEKDAYS[_weekday(day)][:3], "|".join(name[:3] for name in _WEEKDAYS), _WEEKDAY_NAME),
    "dddd": _Token(lambda day: _WEEKDAYS[_weekday(day)], "|".join(_WEEKDAYS), _WEEKDAY_NAME),
    "E": _Token(lambda day: f"{day.isoweekday()}", r"[1-7]", _ISO_WEEKDAY),
    "W": _Token(lambda day: f"{day.isocalendar().week}", r"[0-9]{1,2}", _ISO_WEEK),
    "Wo": _Token(lambda day: _ordinal(day.isocalendar().week), _ORDINAL, _ISO_WEEK),
    "WW": _Token(lambda day: f"{day.isocalendar().week:02}", r"[0-9]{2}", _ISO_WEEK),
    "GGGG": _Token(lambda day: f"{day.isocalendar().year:04}", r"[0-9]{4}", _ISO_YEAR),
    "GG": _Token(lambda day: f"{day.isocalendar().year % 100:02}", r"[0-9]{2}", _ISO_SHORT_YEAR),
}


@dataclass(frozen=True, slots=True)
class DayFormat:
    """A format that names days. `pattern` has the groups `p0`, `p1`, … for the parts listed in `parts`."""

    pieces: tuple[str | _Token, ...]
    pattern: re.Pattern[str]
    parts: tuple[str, ...]

    def path(self, day: date) -> str:
        """Return the path below the diary folder, without `.md`."""
        return "".join(piece if isinstance(piece, str) else piece.show(day) for piece in self.pieces)

    def day(self, path: str) -> date | None:
        """Return the day that a path (without `.md`) stands for, None unless `path(day)` gives the same path."""
        found = self.pattern.fullmatch(path)
        if found is None:
            return None
        day = _date(dict(zip(self.parts, (found[f"p{index}"] for index in range(len(self.parts))), strict=True)))
        return day if day is not None and self.path(day) == path else None


def parse_day_format(text: str) -> DayFormat | None:
    """Return the format, or None when it does not name a day (no year, or a time of day, or a token unknown here)."""
    pieces: list[str | _Token] = []
    patterns: list[str] = []
    parts: list[str] = []
    for found in _TOKEN.finditer(text):
        if found["letter"] is not None:
            return None
        token = _TOKENS.get(found["token"] or "")
        if token is None:
            literal = found["literal"] if found["literal"] is not None else found["other"]
            pieces.append(literal)
            patterns.append(re.escape(literal))
            continue
        pieces.append(token)
        patterns.append(f"(?P<p{len(parts)}>{token.pattern})" if token.part else f"(?:{token.pattern})")
        parts += [token.part] if token.part else []
    if not _names_a_day(set(parts)) or not _is_path(pieces) or _is_ambiguous(pieces):
        return None
    return DayFormat(tuple(pieces), re.compile("".join(patterns)), tuple(parts))


def _names_a_day(parts: set[str]) -> bool:
    year = parts & {_YEAR, _SHORT_YEAR}
    month = parts & {_MONTH, _MONTH_NAME, _MONTH_SHORT}
    return bool(year and (_YEARDAY in parts or (month and _DAY in parts))) or _names_by_week(parts)


def _names_by_week(parts: set[str]) -> bool:
    weekday = parts & {_ISO_WEEKDAY, _WEEKDAY, _WEEKDAY_NAME}
    return bool(parts & {_ISO_YEAR, _ISO_SHORT_YEAR} and _ISO_WEEK in parts and weekday)


def _is_path(pieces: list[str | _Token]) -> bool:
    """Tell whether the format gives a relative path that stays below its folder."""
    sample = "".join(piece if isinstance(piece, str) else "0" for piece in pieces)
    return all(part not in ("", ".", "..") and not part.startswith(".") for part in sample.split("/"))


def _is_ambiguous(pieces: list[str | _Token]) -> bool:
    """Tell whether a number of varying width stands right before a digit: `DM` reads 111 in two ways."""
    shown = [(piece if isinstance(piece, str) else piece.show(date(2000, 1, 1))) for piece in pieces]
    varying = [isinstance(piece, _Token) and piece.varies for piece in pieces]
    text = "".join(shown)
    position = 0
    for piece, varies in zip(shown, varying, strict=True):
        position += len(piece)
        if varies and text[position : position + 1].isdigit():
            return True
    return False


def _date(values: dict[str, str]) -> date | None:
    number = {part: int(digits[0]) for part, text in values.items() if (digits := re.findall("[0-9]+", text))}
    try:
        if not {_YEAR, _SHORT_YEAR} & set(values):
            return date.fromisocalendar(
                _year(number, _ISO_YEAR, _ISO_SHORT_YEAR), number[_ISO_WEEK], _iso_weekday(values)
            )
        year = _year(number, _YEAR, _SHORT_YEAR)
        if _YEARDAY in number:
            if not 1 <= number[_YEARDAY] <= 365 + isleap(year):
                return None
            return date(year, 1, 1) + timedelta(days=number[_YEARDAY] - 1)
        return date(year, _month(values, number), number[_DAY])
    except (ValueError, OverflowError):
        return None


def _year(number: dict[str, int], full: str, short: str) -> int:
    """Return the year; of two digits moment reads 69 to 99 as 1969 to 1999."""
    return number[full] if full in number else number[short] + (1900 if number[short] >= 69 else 2000)


def _iso_weekday(values: dict[str, str]) -> int:
    if _ISO_WEEKDAY in values:
        return int(values[_ISO_WEEKDAY])
    if _WEEKDAY_NAME in values:
        name = values[_WEEKDAY_NAME]
        return next(index for index, day in enumerate(_WEEKDAYS) if day.startswith(name)) or 7
    return int(values[_WEEKDAY][0]) or 7


def _month(values: dict[str, str], number: dict[str, int]) -> int:
    if _MONTH in number:
        return number[_MONTH]
    name = values.get(_MONTH_NAME) or values[_MONTH_SHORT]
    return next(index for index, month in enumerate(_MONTHS, 1) if month.startswith(name))
