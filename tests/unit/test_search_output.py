"""An answer as a person sees it, and as a prompt takes it."""

from typing import Any

import click
import pytest
from click.testing import CliRunner

from wikimem.cli.marking import matched_spans
from wikimem.cli.search_output import marked, print_answer, print_scoring, prompt_text

HIT: dict[str, Any] = {
    "address": "preferences:likes-the-sea",
    "category": "preferences",
    "name": "likes-the-sea",
    "content": "Likes the sea.\nAlso 海边.",
    "owner": None,
    "source_conv": None,
    "ts": None,
    "source": "hit",
    "score": 1.25,
    "bm25_score": 1.25,
    "cos_score": None,
    "via": None,
    "matched_terms": ["sea", "海边"],
    "tokens_est": 6,
}
LINK = {
    **HIT,
    "address": "trips:beach",
    "name": "beach",
    "content": "By\x1b[2Jtrain",
    "source": "link",
    "via": HIT["address"],
    "matched_terms": [],
    "score": 0.0,
}
EXPLAINED = {
    **HIT,
    "signals": {"bm25": 1.25, "cos": 0.5},
    "terms": [
        {"term": "sea", "kind": "word", "weight": 1.0, "df": 2, "score": 0.25},
        {"term": "海边", "kind": "pair", "weight": 1.0, "df": 1, "score": 1.0},
    ],
}


def answer(*items: dict[str, Any], **more: Any) -> Any:
    return {
        "items": list(items),
        "budget_tokens": None,
        "budget_used": 6,
        "embedding_used": False,
        "dropped": [],
        "unresolved_links": [],
        "time_range": None,
        "time_range_source": None,
        "time_range_widened": False,
        **more,
    }


def printed(show: Any, *args: Any, color: bool = False, **options: Any) -> str:
    @click.command(context_settings={"color": color})
    def command() -> None:
        show(*args, **options)

    result = CliRunner().invoke(command, color=color, catch_exceptions=False)
    return result.output


def test_a_hit_shows_title_address_score_matched_terms_and_text() -> None:
    lines = printed(print_answer, answer(HIT, LINK)).split("\n")
    assert lines[0] == "1. likes-the-sea  preferences:likes-the-sea  1.250  matched sea, 海边"
    assert lines[1:3] == ["   Likes the sea.", "   Also 海边."]
    assert lines[4] == "2. ↳ beach  trips:beach  0.000  via preferences:likes-the-sea"


def test_on_a_terminal_the_matched_terms_are_bold() -> None:
    shown = printed(print_answer, answer(HIT), color=True)
    bold, plain = "\x1b[1m", "\x1b[0m"
    assert f"Likes the {bold}sea{plain}." in shown
    assert f"Also {bold}海边{plain}." in shown
    assert f"likes-the-{bold}sea{plain}" in shown


@pytest.mark.parametrize("color", [False, True])
def test_a_note_cannot_move_the_cursor(color: bool) -> None:
    assert "\x1b[2J" not in printed(print_answer, answer(LINK), color=color)


def test_the_prompt_is_one_line_an_item_by_the_address_it_can_be_linked_with() -> None:
    likes = "- [preferences:likes-the-sea] Likes the sea.\n  Also 海边."
    assert prompt_text([HIT, LINK], None).startswith(f"{likes}\n- [trips:beach] ")
    long = {**HIT, "content": "A" * 100_000}
    assert len(prompt_text([long, LINK], 100)) < 1_400
    assert len(prompt_text([long], None)) > 100_000
    assert printed(print_answer, answer(HIT), form="prompt") == f"{likes}\n"
    assert "\x1b" not in printed(print_answer, answer(LINK), form="prompt")
    assert printed(print_answer, answer(), form="prompt") == ""


def test_what_holds_for_the_whole_answer_stands_below_it() -> None:
    shown = printed(
        print_answer,
        answer(
            HIT,
            budget_tokens=10,
            unresolved_links=["a:b", "c"],
            time_range=["2026-07-20", "2026-07-22"],
            time_range_source="query",
            time_range_widened=True,
        ),
    )
    assert "diary of 2026-07-20 to 2026-07-22 (read from the question, a day wider on each side" in shown
    assert "6 of 10 tokens" in shown
    assert "links that lead nowhere: a:b, c" in shown


def test_no_hit_says_so() -> None:
    assert printed(print_answer, answer()) == "nothing found\n"
    assert printed(print_scoring, answer()) == "nothing found\n"


def test_the_scoring_is_a_table_of_signals_and_one_of_terms() -> None:
    dropped = [{"address": "a:b", "reason": "budget", "score": 0.5, "tokens_est": 9}]
    lines = [line.split() for line in printed(print_scoring, answer(EXPLAINED, dropped=dropped)).split("\n")]
    assert ["address", "score", "bm25", "cos", "matched"] in lines
    assert ["1.", "preferences:likes-the-sea", "1.250", "1.250", "0.500", "sea,", "海边"] in lines
    assert lines.index(["海边", "pair", "1", "1", "1.000"]) < lines.index(["sea", "word", "1", "2", "0.250"])
    assert ["a:b", "budget", "0.500", "9", "tokens"] in lines


def test_explain_adds_the_terms_below_each_item() -> None:
    assert "海边  pair" in printed(print_answer, answer(EXPLAINED), explain=True)


@pytest.mark.parametrize(
    ("text", "terms", "expected"),
    [
        ("Running and runs", ["run"], ["Running", "runs"]),
        ("the Café", ["cafe"], ["Café"]),
        ("cafeteria", ["cafe…"], ["cafeteria"]),
        ("get_user_name", ["user"], ["get_user_name"]),
        ("see src/main.py", ["src/main.py"], ["src/main.py"]),
        ("C++ and c++", ["c++"], ["C++", "c++"]),
        ("去海边玩", ["海边"], ["海边"]),
        ("接龙成语", ["成语接龙"], ["接龙成语"]),
        ("ＳＥＡ", ["sea"], ["ＳＥＡ"]),
        ("party 🎉", ["🎉"], ["🎉"]),
        ("Привет", ["привет"], ["Привет"]),
        ("nothing", ["else"], []),
        ("", ["sea"], []),
        ("sea", [], []),
    ],
)
def test_terms_are_marked_where_the_search_found_them(text: str, terms: list[str], expected: list[str]) -> None:
    assert [text[start:end] for start, end in matched_spans(text, terms)] == expected


def test_marks_do_not_overlap() -> None:
    spans = matched_spans("成语接龙 sea.txt", ["成语接", "语接龙", "sea", "sea.txt"])
    assert spans == [(0, 4), (5, 12)]
    assert click.unstyle(marked("成语接龙 sea.txt", spans)) == "成语接龙 sea.txt"
