"""The figures that the tokenizer was chosen for, and the bench that measures them."""

import json
from pathlib import Path

import pytest

from bench.quality import QuestionSet, main, measure, read_set

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "xquad"
# MRR@10 of the reference tokenizer, each language alone, less 0.005.
BARS = {"en": 0.959, "zh": 0.954, "de": 0.933, "ru": 0.945, "th": 0.952}


@pytest.mark.parametrize("language", BARS)
def test_the_right_paragraph_is_found_as_often_as_it_was(language: str) -> None:
    file = DATA / f"xquad.{language}.json"
    if not file.is_file():
        pytest.skip(f"the question set is not here: {file.name}")
    assert measure(language, [read_set(file)]).mrr_at_10 >= BARS[language]


def squad(path: Path, *pairs: tuple[str, str]) -> Path:
    paragraphs = [{"context": text, "qas": [{"question": asked}]} for text, asked in pairs]
    path.write_text(json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]}), "utf-8")
    return path


def test_the_bench_counts_ranks_alone_and_pooled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right = squad(tmp_path / "right.json", ("the sea is wide", "how wide is the sea"), ("a hill", "which hill"))
    wrong = squad(tmp_path / "wrong.json", ("nothing", "quokka"), ("nothing", "a wombat"))
    out = tmp_path / "out.json"
    assert main([str(right), str(wrong), "--json", str(out)]) == 0
    figures = {one["name"]: one for one in json.loads(out.read_text("utf-8"))["sets"]}
    assert figures["right"]["mrr_at_10"] == figures["right"]["recall_at_1"] == 1.0
    assert figures["wrong"]["mrr_at_10"] == figures["wrong"]["recall_at_10"] == 0.0
    assert (figures["wrong"]["items"], figures["pooled"]["questions"]) == (1, 4)
    assert figures["pooled"]["mrr_at_10"] == 0.5
    assert "| right | 2 | 2 | 1.000 |" in capsys.readouterr().out


def test_a_second_place_counts_half() -> None:
    paragraphs = ("sea", "sea sea sea sea sea sea")
    ranks = {measure("x", [QuestionSet("x", paragraphs, (("sea", gold),))]).mrr_at_10 for gold in (0, 1)}
    assert ranks == {1.0, 0.5}
