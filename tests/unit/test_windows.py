"""A time in a question, seen from Wednesday the 22nd of July 2026."""

from datetime import date

import pytest

from wikimem.text.windows import LONGEST_QUESTION, find_window

TODAY = date(2026, 7, 22)


def window(question: str, today: date = TODAY) -> tuple[str, str] | None:
    found = find_window(question, today)
    return None if found is None else (found.start.isoformat(), found.end.isoformat())


DAYS = {
    "what did I do yesterday": "2026-07-21",
    "the day before yesterday": "2026-07-20",
    "what happened last night": "2026-07-21",
    "today": "2026-07-22",
    "3 days ago": "2026-07-19",
    "three days ago": "2026-07-19",
    "last Monday": "2026-07-20",
    "last Wednesday": "2026-07-15",
    "on Wednesday": "2026-07-22",
    "sunday's dinner": "2026-07-19",
    "Monday last week": "2026-07-13",
    "last week Tuesday": "2026-07-14",
    "July 21": "2026-07-21",
    "on July 21st, 2026": "2026-07-21",
    "21 July 2025": "2025-07-21",
    "the 21st of July": "2026-07-21",
    "Dec 25": "2025-12-25",
    "May 5": "2026-05-05",
    "2026-07-21 meeting": "2026-07-21",
    "2026/7/1": "2026-07-01",
    "2026.07.21": "2026-07-21",
    "昨天吃了什么": "2026-07-21",
    "昨日の会議": "2026-07-21",
    "昨晩のご飯": "2026-07-21",
    "今晩": "2026-07-22",
    "先一昨日": "2026-07-19",
    "about 3 days ago": "2026-07-19",
    "the meeting at 10 yesterday": "2026-07-21",
    "was it good yesterday": "2026-07-21",
    "who came first on Tuesday": "2026-07-21",
    "my note 2026-07-21.md": "2026-07-21",
    "what I did 3 days ago, or so": "2026-07-19",
    "July 21, 10 people came": "2026-07-21",
    "前天": "2026-07-20",
    "大前天": "2026-07-19",
    "今天": "2026-07-22",
    "上周三吃了什么": "2026-07-15",
    "上上周一": "2026-07-06",
    "上個禮拜五": "2026-07-17",
    "这周五": "2026-07-24",
    "周三开会": "2026-07-22",
    "星期天": "2026-07-19",
    "上个月21号": "2026-06-21",
    "去年7月3日": "2025-07-03",
    "7月21日": "2026-07-21",
    "12月25日": "2025-12-25",
    "2026年7月21号": "2026-07-21",
    "二〇二六年七月二十一日": "2026-07-21",
    "三天前天气怎样": "2026-07-19",
    "十二天前": "2026-07-10",
    "一昨日": "2026-07-20",
    "おととい": "2026-07-20",
    "先週の水曜日": "2026-07-15",
    "水曜日": "2026-07-22",
    "先月の3日": "2026-06-03",
    "3日前": "2026-07-19",
    "７月２１日": "2026-07-21",
}
SPANS = {
    "two weeks ago": ("2026-07-06", "2026-07-12"),
    "last week": ("2026-07-13", "2026-07-19"),
    "over the past 7 days": ("2026-07-15", "2026-07-22"),
    "over last week": ("2026-07-13", "2026-07-19"),
    "this week": ("2026-07-20", "2026-07-26"),
    "the week before last": ("2026-07-06", "2026-07-12"),
    "last weekend": ("2026-07-18", "2026-07-19"),
    "last month": ("2026-06-01", "2026-06-30"),
    "this year": ("2026-01-01", "2026-12-31"),
    "last year": ("2025-01-01", "2025-12-31"),
    "2 months ago": ("2026-05-01", "2026-05-31"),
    "a year ago": ("2025-01-01", "2025-12-31"),
    "past 7 days": ("2026-07-15", "2026-07-22"),
    "in July": ("2026-07-01", "2026-07-31"),
    "in September": ("2025-09-01", "2025-09-30"),
    "July 2025": ("2025-07-01", "2025-07-31"),
    "in 2025": ("2025-01-01", "2025-12-31"),
    "2026-02": ("2026-02-01", "2026-02-28"),
    "since Monday": ("2026-07-20", "2026-07-22"),
    "from 2026-07-01 to 2026-07-05": ("2026-07-01", "2026-07-05"),
    "between July 1 and July 5": ("2026-07-01", "2026-07-05"),
    "上周": ("2026-07-13", "2026-07-19"),
    "上上个星期": ("2026-07-06", "2026-07-12"),
    "本周": ("2026-07-20", "2026-07-26"),
    "上周末": ("2026-07-18", "2026-07-19"),
    "两周前": ("2026-07-06", "2026-07-12"),
    "三个月前": ("2026-04-01", "2026-04-30"),
    "上个月": ("2026-06-01", "2026-06-30"),
    "去年": ("2025-01-01", "2025-12-31"),
    "前年": ("2024-01-01", "2024-12-31"),
    "去年7月": ("2025-07-01", "2025-07-31"),
    "9月份": ("2025-09-01", "2025-09-30"),
    "2026年": ("2026-01-01", "2026-12-31"),
    "最近三天": ("2026-07-19", "2026-07-22"),
    "7月1日到7月5日": ("2026-07-01", "2026-07-05"),
    "先週": ("2026-07-13", "2026-07-19"),
    "先々週": ("2026-07-06", "2026-07-12"),
    "今月": ("2026-07-01", "2026-07-31"),
    "2週間前": ("2026-07-06", "2026-07-12"),
    "3ヶ月前": ("2026-04-01", "2026-04-30"),
    "一昨年": ("2024-01-01", "2024-12-31"),
    "昨日から今日まで": ("2026-07-21", "2026-07-22"),
}
NONE = [
    "1.5 years ago",
    "1,000 days ago",
    "-3 days ago",
    "2-3 days ago",
    "2 or 3 days ago",
    "two or three days ago",
    "twenty-one days ago",
    "twenty one days ago",
    "half a year ago",
    "over a year ago",
    "the last week of June",
    "the last month of 2025",
    "first Monday of July",
    "every other Monday",
    "Monday after next",
    "the Monday before last",
    "Monday week",
    "Good Friday",
    "on Black Friday",
    "Friday the 13th",
    "a page of monday.com",
    "July 21, '25",
    "Jul 21, 26",
    "2026-07-01..2026-07-05",
    "几十天前",
    "数十年前",
    "三四天前",
    "两三个月前",
    "一百二十天前",
    "2、3日前",
    "2〜3日前",
    "1.5年前",
    "第三天前",
    "大昨天",
    "前前天",
    "七月初一",
    "七月廿一日",
    "农历七月",
    "那年今日",
    "",
    "the sea",
    "next Monday",
    "every Monday",
    "Mondays",
    "before March",
    "until yesterday",
    "the 21st",
    "07/21/2026",
    "21.7.",
    "it may 5 times",
    "they march 3 miles",
    "2026-02-30",
    "2026-13-01",
    "February 30",
    "2026-07-2100",
    "2026-07-21-3",
    "version 2026.7",
    "call 2026-0721",
    "99999 days ago",
    "9999 years ago",
    "some days ago",
    "a couple of days ago",
    "the other day",
    "recently",
    "yesterday or last week",
    "Monday, Tuesday and Friday",
    "from July 5 to July 1",
    "sun and sat",
    "room 2026",
    "明天",
    "下周三",
    "每周三",
    "两周一次",
    "大大前天",
    "昨天之前",
    "7月3日前",
    "7月45日",
    "13月",
    "26年7月21日",
    "7月1日到5日",
    "几天前",
    "前几天",
    "如今年轻人",
    "日本月球",
    "下个月",
    "2020年代",
    "二十天",
    "来週の水曜日",
    "毎週水曜日",
    "来月",
    "明日",
    "昨日まで",
    "一年级",
]


@pytest.mark.parametrize(("question", "day"), DAYS.items())
def test_a_question_names_one_day(question: str, day: str) -> None:
    assert window(question) == (day, day)


@pytest.mark.parametrize(("question", "days"), SPANS.items())
def test_a_question_names_days(question: str, days: tuple[str, str]) -> None:
    assert window(question) == days


@pytest.mark.parametrize("question", NONE)
def test_what_is_not_surely_a_time_is_none(question: str) -> None:
    assert window(question) is None


def test_the_words_of_the_time_are_told_from_the_rest() -> None:
    found = find_window("Dinner the day before yesterday with Anna", TODAY)
    assert found is not None
    assert (found.text, found.rest) == ("the day before yesterday", "Dinner   with Anna")


def test_a_leap_day_is_a_date_in_a_leap_year_alone() -> None:
    assert window("February 29, 2024") == ("2024-02-29", "2024-02-29")
    assert window("February 29, 2025") is None
    assert window("2月29日", date(2024, 3, 1)) == ("2024-02-29", "2024-02-29")


@pytest.mark.parametrize("question", ["yesterday", "last year", "上个月", "3 weeks ago", "先々週", "in July"])
def test_the_first_days_of_the_calendar_have_nothing_before_them(question: str) -> None:
    assert window(question, date.min) is None or question == "in July"


@pytest.mark.parametrize("question", ["today", "this week", "this month", "this year", "本周", "今月"])
def test_the_last_day_of_the_calendar_is_a_day(question: str) -> None:
    window(question, date.max)


def test_months_and_weeks_cross_the_year() -> None:
    january = date(2026, 1, 1)
    assert window("last month", january) == ("2025-12-01", "2025-12-31")
    assert window("last week", january) == ("2025-12-22", "2025-12-28")
    assert window("先月", january) == ("2025-12-01", "2025-12-31")


def test_a_pasted_page_asks_about_no_time() -> None:
    assert window("notes " * LONGEST_QUESTION + "yesterday") is None


@pytest.mark.parametrize("question", ["\x00yesterday\x00", "\ud800 yesterday", "yesterday" + "!" * 900])
def test_odd_characters_beside_a_time_do_no_harm(question: str) -> None:
    assert window(question) == ("2026-07-21", "2026-07-21")
