"""`wikimem grep` and `wikimem explain` over a vault on disk, without a daemon."""

import json
import sys
from pathlib import Path

import pytest
from click import Command
from click.testing import CliRunner, Result

from wikimem.cli.explain import explain
from wikimem.cli.grep import grep
from wikimem.cli.retrieve import retrieve
from wikimem.errors import UsageError

PAGES = {
    "wiki/a.md": "## sea\n\nLikes the Sea.\nAnd waves.\n\n## hill\n\nNo waves here.\n",
    "wiki/x/b.md": "## boat\n\nA boat. [[a:sea]]\n",
    "diary/2026-07-21.md": "## 14:30\n\nSaw waves.\n",
}


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    root = tmp_path / "vault"
    for path, text in PAGES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return root


def grepped(vault: Path, *arguments: str) -> Result:
    return CliRunner().invoke(grep, [*arguments, "--vault", str(vault)])


def test_every_matching_line_comes_with_its_item_s_address(vault: Path) -> None:
    result = grepped(vault, "waves")
    assert (result.exit_code, result.output.split("\n")) == (
        0,
        ["a:sea  2  And waves.", "a:hill  1  No waves here.", "2026-07-21:14:30  1  Saw waves.", ""],
    )


def test_the_name_is_searched_as_line_zero(vault: Path) -> None:
    assert grepped(vault, "^boat$").output == "x/b:boat  0  boat\n"


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["Sea"], ["a:sea  1  Likes the Sea."]),
        (["-i", "likes the sea"], ["a:sea  1  Likes the Sea."]),
        (["-F", "[["], ["x/b:boat  1  A boat. [[a:sea]]"]),
        (["-l", "waves"], ["a:sea", "a:hill", "2026-07-21:14:30"]),
        (["--no-diary", "-l", "waves"], ["a:sea", "a:hill"]),
        (["--category", "x/b", "boat"], ["x/b:boat  0  boat", "x/b:boat  1  A boat. [[a:sea]]"]),
        (["--category", "2026-07-21", "waves"], ["2026-07-21:14:30  1  Saw waves."]),
        (["-l", ""], ["a:sea", "a:hill", "x/b:boat", "2026-07-21:14:30"]),
    ],
)
def test_options_narrow_and_shorten(vault: Path, arguments: list[str], lines: list[str]) -> None:
    assert grepped(vault, *arguments).output.splitlines() == lines


def test_no_match_ends_with_one(vault: Path) -> None:
    result = grepped(vault, "quokka")
    assert (result.exit_code, result.output) == (1, "")


def test_a_pattern_that_cannot_be_read_says_what_to_do(vault: Path) -> None:
    result = grepped(vault, "(")
    assert isinstance(result.exception, UsageError)
    assert "-F" in result.exception.hint


@pytest.mark.parametrize("pattern", ["x{99999999999999}", "(" * 20_000 + ")" * 20_000])
def test_a_pattern_that_is_too_large_says_so(vault: Path, pattern: str) -> None:
    result = grepped(vault, pattern)
    assert isinstance(result.exception, UsageError)
    assert "cannot be read" in result.exception.message


def test_a_pattern_without_end_is_given_up(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["wikimem.cli.grep"], "PATIENCE_S", 0.05)
    (vault / "wiki/c.md").write_text(f"## long\n\n{'a' * 60}!\n", "utf-8")
    result = grepped(vault, "(a+)+$")
    assert isinstance(result.exception, UsageError)
    assert "c:long" in result.exception.message


def test_grep_as_json(vault: Path) -> None:
    found = json.loads(grepped(vault, "Sea", "--json").output)
    assert found == {"items": [{"address": "a:sea", "lines": [{"line": 1, "text": "Likes the Sea."}]}]}


def test_explain_draws_the_scoring(vault: Path) -> None:
    result = CliRunner().invoke(explain, ["boat", "waves", "yesterday?", "--vault", str(vault)])
    assert result.exit_code == 0
    assert "address" in result.output.split("\n")[0]
    assert any(line.split()[:2] == ["boat", "word"] for line in result.output.split("\n"))


def test_explain_as_json_has_every_signal(vault: Path) -> None:
    answer = json.loads(CliRunner().invoke(explain, ["boat", "--json", "--vault", str(vault)]).output)
    (boat, sea) = answer["items"]
    assert boat["signals"] == {"bm25": boat["bm25_score"]}
    assert {term["kind"] for term in boat["terms"]} == {"word", "prefix"}
    assert (sea["source"], sea["via"]) == ("link", "x/b:boat")


def test_explain_wants_a_question(vault: Path) -> None:
    result = CliRunner().invoke(explain, ["  ", "--vault", str(vault)])
    assert isinstance(result.exception, UsageError)


@pytest.mark.parametrize("command", [retrieve, explain])
def test_a_budget_of_nothing_keeps_the_first_entry(vault: Path, command: Command) -> None:
    result = CliRunner().invoke(command, ["boat", "--budget", "0", "--json", "--vault", str(vault)])
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.output)["items"]) == 1


def test_retrieve_prints_what_goes_into_a_prompt(vault: Path) -> None:
    result = CliRunner().invoke(retrieve, ["boat", "--format", "prompt", "--vault", str(vault)])
    assert result.output == "- [x/b:boat] A boat. [[a:sea]]\n- [a:sea] Likes the Sea.\n  And waves.\n"
