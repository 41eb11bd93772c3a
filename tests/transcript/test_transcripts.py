"""Command sessions as text files: see `session.py` for the format."""

from pathlib import Path

import pytest

from tests.transcript.session import Session, matches, parse

SCRIPTS = sorted(Path(__file__).parent.glob("*.session"))


@pytest.mark.timeout(180)  # some forty processes one after the other
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_session_does_what_it_says(script: Path, tmp_path: Path) -> None:
    with Session(tmp_path) as session:
        session.play(script.read_text(encoding="utf-8"))


def test_a_line_that_differs_is_noticed(tmp_path: Path) -> None:
    with Session(tmp_path) as session, pytest.raises(AssertionError, match="line 2"):
        session.play("\n$ echo two\nthree\n")


def test_an_exit_status_that_differs_is_noticed(tmp_path: Path) -> None:
    with Session(tmp_path) as session, pytest.raises(AssertionError, match="exit status 3, not 0"):
        session.play("$ exit 3\n")


def test_a_change_on_disk_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    with Session(tmp_path) as session, pytest.raises(AssertionError, match="kept was changed"):
        session.play("% unchanged kept\n$ touch kept/new\n")


def test_wild_cards_stand_for_parts_of_lines_and_for_lines() -> None:
    assert matches(["a <*> c", "<...>", "z"], ["a b c", "x", "y", "z"])
    assert not matches(["a <*> c"], ["a b d"])
    assert not matches(["a"], ["a", "b"])


def test_a_script_is_read_block_by_block() -> None:
    (block,) = parse("% unchanged v\n$ cat <<X\n> text\n> X\ntext\n! warned\n? 4\n")
    assert (block.command, block.out, block.err, block.status) == ("cat <<X\ntext\nX", ["text"], ["warned"], 4)
    assert block.unchanged == ["v"]
