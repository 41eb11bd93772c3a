"""How times are written: one table of patterns and what each means. A new form is one row."""

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache

from wikimem.text import days
from wikimem.text.days import CJK_NUMBER, ENGLISH_NUMBERS, Span

Reader = Callable[[re.Match[str], date], Span | None]

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_DAY_NAME = f"(?P<weekday>{'|'.join(_WEEKDAYS)})"
# "may" and "march" are words of their own: they are months only where they are written as names.
_LONG = "|".join(name for name in _MONTHS if name not in {"may", "march"})
_MONTH_NAME = (
    f"(?P<month>(?:{_LONG}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\\b\\.?|(?-i:May|March|MAY|MARCH)\\b)"
)
_DAY_NUMBER = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?![\w]|[/.:-]\d)"
_YEAR_NUMBER = r"(?P<year>\d{4})(?!\w|[/.-]\d)"
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(ENGLISH_NUMBERS)})"
_ZH_DAY = "[一二三四五六日天]"
_ZH_WEEK = "(?:[周週]|星期|礼拜|禮拜)"
# 日本 holds 本 and is no "this".
_ZH_WHICH = "(?<!日)(?P<which>上上|上|这|這|本)"
_ZH_YEAR = r"(?:(?P<year>(?<!\d)\d{4}|[〇零一二三四五六七八九]{4})年|(?P<said>去年|今年|前年|昨年|一昨年))の?\s*"
_ZH_MONTH = r"(?P<month>\d{1,2}|十[一二]?|[一二三四五六七八九])月"
_ZH_DAY_NUMBER = r"(?P<day>\d{1,2}|[二三]?十[一二三四五六七八九]?|[一二三四五六七八九])(?:日|号|號)"
_NOT_AFTER_NUMBER = r"(?<![\d年月一二三四五六七八九十〇零])"
_NO_NUMBER_BEFORE = r"(?<![\d一二两兩三四五六七八九十百几幾数每毎下来来翌])"
_YEARS_BACK = {"今年": 0, "去年": 1, "昨年": 1, "前年": 2, "一昨年": 2}


def _ago(match: re.Match[str], today: date) -> Span:
    count = days.number(match["count"])
    unit = match["unit"].lower()
    if unit in {"day", "天", "日"}:
        return days.one_day(today - timedelta(days=count))
    if unit in {"week", "周", "週", "星期", "礼拜", "禮拜", "週間"}:
        return days.week(today, count)
    return days.month(today, count) if unit in {"month", "月"} else days.year(today.year - count)


def _past(match: re.Match[str], today: date) -> Span:
    count = days.number(match["count"])
    unit = match["unit"].lower()
    if unit in {"day", "天", "日"}:
        return today - timedelta(days=count), today
    if unit in {"week", "周", "週", "星期", "週間"}:
        return today - timedelta(weeks=count), today
    first, _ = days.month(today, count)
    return first.replace(day=min(today.day, days.month(today, count)[1].day)), today


def _period(match: re.Match[str], today: date) -> Span:
    back = {"this": 0, "last": 1}[match["which"].lower()]
    return _unit(match["unit"].lower(), back, today)


def _unit(unit: str, back: int, today: date) -> Span:
    if unit == "week":
        return days.week(today, back)
    if unit == "weekend":
        return days.weekend(today, back)
    return days.month(today, back) if unit == "month" else days.year(today.year - back)


def _english_weekday(match: re.Match[str], today: date) -> Span:
    number = _WEEKDAYS.index(match["weekday"].lower())
    groups = match.groupdict()
    week = (groups.get("week") or "").lower()
    if week:
        return days.one_day(days.week(today, 1 if week == "last" else 0)[0] + timedelta(days=number))
    which = (groups.get("which") or "").lower()
    if which == "this":
        return days.one_day(days.week(today)[0] + timedelta(days=number))
    # "Last Monday", said on a Monday, is not today.
    return days.weekday(number, today - timedelta(days=1) if which == "last" else today)


def _english_date(match: re.Match[str], today: date) -> Span:
    name = match["month"].lower().rstrip(".")
    month = next(number for number, full in enumerate(_MONTHS, start=1) if full.startswith(name[:3]))
    groups = match.groupdict()
    day = int(groups["day"]) if groups.get("day") else None
    if groups.get("year"):
        return days.absolute(int(groups["year"]), month, day)
    return days.latest(month, day, today)


def _numeric(match: re.Match[str], _: date) -> Span:
    day = match.groupdict().get("day")
    return days.absolute(int(match["year"]), int(match["month"]), int(day) if day else None)


def _cjk_date(match: re.Match[str], today: date) -> Span:
    groups = match.groupdict()
    day = days.number(groups["day"]) if groups.get("day") else None
    if groups.get("said"):
        year = today.year - _YEARS_BACK[groups["said"]]
    elif groups.get("year"):
        year = days.year_number(groups["year"])
    else:
        return days.latest(days.number(match["month"]), day, today)
    return days.absolute(year, days.number(groups["month"]), day) if groups.get("month") else days.year(year)


def _chinese_week(match: re.Match[str], today: date) -> Span:
    back = {"上": 1, "上上": 2}.get(match["which"], 0)
    if match["end"]:
        return days.weekend(today, back)
    return _one_of_week(days.week(today, back), match["weekday"], "一二三四五六日")


def _chinese_weekday(match: re.Match[str], today: date) -> Span:
    return days.weekday("一二三四五六日".index(match["weekday"].replace("天", "日")), today)


def _japanese_week(match: re.Match[str], today: date) -> Span:
    back = {"先々": 2, "先先": 2, "先": 1, "今": 0}[match["which"]]
    if match["end"]:
        return days.weekend(today, back)
    return _one_of_week(days.week(today, back), match["weekday"], "月火水木金土日")


def _japanese_weekday(match: re.Match[str], today: date) -> Span:
    return days.weekday("月火水木金土日".index(match["weekday"]), today)


def _one_of_week(week: Span, name: str | None, names: str) -> Span:
    return days.one_day(week[0] + timedelta(days=names.index(name.replace("天", "日")))) if name else week


def _month_back(match: re.Match[str], today: date) -> Span:
    return days.month(today, {"上": 1, "上上": 2, "先": 1, "先々": 2, "先先": 2}.get(match["which"], 0))


def _month_back_day(match: re.Match[str], today: date) -> Span:
    first, _ = _month_back(match, today)
    return days.one_day(first.replace(day=days.number(match["day"])))


def _back(count: int) -> Reader:
    return lambda _, today: days.one_day(today - timedelta(days=count))


_TABLE: tuple[tuple[str, Reader], ...] = (
    # English
    (r"\b(?:today|this\s+(?:morning|afternoon|evening)|tonight)\b", _back(0)),
    (r"\b(?:yesterday|last\s+night)\b", _back(1)),
    (r"\b(?:the\s+)?day\s+before\s+yesterday\b", _back(2)),
    (rf"\b{_COUNT}\s+(?P<unit>day|week|month|year)s?\s+ago\b", _ago),
    (rf"\b(?:in\s+)?(?:the\s+)?(?:last|past)\s+{_COUNT}\s+(?P<unit>day|week|month)s?\b", _past),
    (r"\b(?P<which>last|this)\s+(?P<unit>weekend|week|month|year)\b", _period),
    (
        r"\b(?:the\s+)?(?P<unit>weekend|week|month|year)\s+before\s+last\b",
        lambda match, today: _unit(match["unit"].lower(), 2, today),
    ),
    (rf"\b(?:(?:on\s+)?(?P<which>last|this)\s+|on\s+)?{_DAY_NAME}\b", _english_weekday),
    (rf"\b(?:on\s+)?{_DAY_NAME}\s+(?:of\s+)?(?P<week>last|this)\s+week\b", _english_weekday),
    (rf"\b(?P<week>last|this)\s+week\s+(?:on\s+)?{_DAY_NAME}\b", _english_weekday),
    (rf"\b(?:on\s+)?{_MONTH_NAME}\s+(?:the\s+)?{_DAY_NUMBER}(?:,?\s+{_YEAR_NUMBER})?", _english_date),
    (
        rf"\b(?:on\s+)?(?:the\s+)?(?<![\d/.-]){_DAY_NUMBER}\s+(?:of\s+)?{_MONTH_NAME}(?:,?\s+{_YEAR_NUMBER})?",
        _english_date,
    ),
    (rf"\b(?:in\s+)?{_MONTH_NAME},?\s+(?:of\s+)?{_YEAR_NUMBER}", _english_date),
    (rf"\bin\s+{_MONTH_NAME}(?!\s*\d)", _english_date),
    (rf"\b(?:in|during)\s+(?:the\s+year\s+)?{_YEAR_NUMBER}(?!\s*年)", lambda match, _: days.year(int(match["year"]))),
    # digits
    (r"(?<![\w./-])(?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})(?!\d|[-/.]\d)", _numeric),
    (r"(?<![\w./-])(?P<year>\d{4})[-/](?P<month>\d{1,2})(?![\w/-])", _numeric),
    # Chinese, and what Japanese writes alike
    (r"今[天日晚晩早夜]|今朝|今儿|今兒|きょう", _back(0)),
    (r"(?<!大)昨[天日晚晩夜]|昨儿|昨兒|きのう|ゆうべ", _back(1)),
    (r"(?<![大前外])前[天晚]|(?<!先)一昨日|おととい|(?<!先)一昨日の夜", _back(2)),
    (r"(?<!大)大前天|一昨々日|一昨昨日|先一昨日|さきおととい", _back(3)),
    (rf"(?<!\d)(?P<count>{CJK_NUMBER})(?P<unit>[天日])[之以]?前", _ago),
    (rf"(?<!\d)(?P<count>{CJK_NUMBER})个?個?(?P<unit>[周週]|星期|礼拜|禮拜|週間)[之以]?前", _ago),
    (rf"(?<!\d)(?P<count>{CJK_NUMBER})[个個ヶケかカヵ箇](?P<unit>月)[之以]?前", _ago),
    (rf"(?<!\d)(?P<count>{CJK_NUMBER})(?P<unit>年)[之以]?前", _ago),
    (
        rf"(?:最近|过去|過去|近|ここ)の?(?P<count>{CJK_NUMBER})[个個ヶケかカヵ箇]?(?P<unit>[天日周月]|週間|星期)間?",
        _past,
    ),
    (
        rf"{_ZH_WHICH}(?:一?[个個])?{_ZH_WEEK}(?:(?P<weekday>{_ZH_DAY})|(?P<end>末))?(?![期年岁歲边邊围圍])",
        _chinese_week,
    ),
    (rf"{_NO_NUMBER_BEFORE}(?<![上这這本个個]){_ZH_WEEK}(?P<weekday>{_ZH_DAY})(?![次期])", _chinese_weekday),
    (rf"{_ZH_WHICH}(?:一?[个個])?月(?![球亮光饼餅份])", _month_back),
    (rf"{_ZH_WHICH}(?:一?[个個])?月(?:份)?的?{_ZH_DAY_NUMBER}", _month_back_day),
    (rf"{_ZH_WHICH}(?:一?[个個])?月份", _month_back),
    (r"(?<![如大一])(?P<said>今年|去年|昨年|前年)(?![轻輕])|一昨年|おととし", lambda match, today: days.year(
        today.year - _YEARS_BACK[match["said"] or "一昨年"])),
    (rf"{_ZH_YEAR}(?:{_ZH_MONTH}份?(?:の|的)?(?:\s*{_ZH_DAY_NUMBER})?)", _cjk_date),
    (
        r"(?<![\d])(?P<year>\d{4}|[〇零一二三四五六七八九]{4})年(?![前间間来來度级級代])(?!\s*[\d一二三四五六七八九十]+月)",
        _cjk_date,
    ),
    (rf"{_NOT_AFTER_NUMBER}{_ZH_MONTH}(?:\s*{_ZH_DAY_NUMBER})", _cjk_date),
    (rf"{_NOT_AFTER_NUMBER}(?<![个個ヶケかカヵ箇]){_ZH_MONTH}份?(?!\s*[\d一二三四五六七八九十]|[间間前])", _cjk_date),
    # Japanese
    (r"(?P<which>先々|先先|先|今)週(?:の?(?P<weekday>[月火水木金土日])曜日?|の?(?P<end>末))?", _japanese_week),
    (r"(?<![週の毎来翌次])(?P<weekday>[月火水木金土日])曜日?", _japanese_weekday),
    (r"(?P<which>先々|先先|先|今)月", _month_back),
    (rf"(?P<which>先々|先先|先|今)月の?{_ZH_DAY_NUMBER}", _month_back_day),
)  # fmt: skip


@cache
def forms() -> tuple[tuple[re.Pattern[str], Reader], ...]:
    """Return the table compiled, when the first question is asked: the command line never asks one."""
    return tuple((re.compile(pattern, re.IGNORECASE), read) for pattern, read in _TABLE)
