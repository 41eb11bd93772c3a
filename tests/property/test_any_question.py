"""Whatever is asked, the answer is a right one or a clear refusal."""

import math
from datetime import date
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.searching import diary, index_of, wiki
from wikimem.errors import InvalidInput
from wikimem.text.windows import find_window

PIECES = [
    *(
        "yesterday",
        "last ",
        "week",
        "the ",
        "day ",
        "before ",
        "2 ",
        "months ",
        "ago",
        "July ",
        "21",
        "st",
        ", ",
        "2026",
    ),
    *(
        "-07",
        "-",
        "/",
        ".",
        "昨",
        "天",
        "上",
        "个",
        "周",
        "三",
        "月",
        "日",
        "年",
        "前",
        "去年",
        "先",
        "週",
        "の",
        "水曜",
        "7",
        "到",
        "から",
    ),
    *(" to ", "since ", "next ", "in ", "\x00", "\ud800", "　", "２", "Ⅳ", "٣", "十", "〇"),
]
QUESTIONS = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))
INDEX = index_of(
    wiki("a", {"sea": "The sea. [[a:hill]] [[b:gone]]", "hill": "海边 café `snake_case` 🎉"}),
    diary("2026-07-21", [("10:00", "ทะเล in the morning")]),
)


@settings(deadline=None, max_examples=400)
@given(QUESTIONS, DAYS)
def test_a_window_is_ordered_and_its_words_stand_in_the_question(question: str, today: date) -> None:
    found = find_window(question, today)
    if found is not None:
        assert found.start <= found.end
        assert len(found.rest) >= 1


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "limit": st.integers(-1, 5),
        "budget_tokens": st.integers(-1, 20),
        "time_range": st.tuples(QUESTIONS | DAYS.map(str), DAYS.map(str)),
        "tz": st.sampled_from(["UTC", "Asia/Tokyo", "", "..", "\x00"]),
        "category": st.sampled_from(["*", "a", "2026*", "[", "\ud800"]),
        "tag": QUESTIONS,
        "since": st.sampled_from(["2026-07-01", "now", ""]),
        "expand_links": st.booleans(),
    },
)


@settings(deadline=None, max_examples=300)
@given(QUESTIONS, OPTIONS)
def test_any_arguments_are_answered_or_refused_by_name(question: str, options: dict[str, Any]) -> None:
    refused: InvalidInput | None = None
    try:
        answer = INDEX.retrieve(question, explain=True, **options)
    except InvalidInput as error:
        refused = error
    if refused is not None:
        assert refused.hint
        assert options
        return
    places = [entry.item.address for entry in answer.items]
    assert len(places) == len(set(places))
    hits = [entry.score or 0.0 for entry in answer.items if entry.source == "hit"]
    assert len(hits) <= options.get("limit", 10)
    assert hits == sorted(hits, reverse=True)
    assert all(math.isfinite(score) for score in hits)
    assert answer.budget_used <= options.get("budget_tokens", math.inf) or len(places) == 1
