"""What is printed: nothing of a note reaches the terminal as an order."""

from types import SimpleNamespace
from typing import cast

import click
import pytest

from wikimem.api.protocol import StatusAnswer
from wikimem.cli import output
from wikimem.cli.status import _tell
from wikimem.config import Settings
from wikimem.errors import Conflict, NotFound


def test_control_characters_of_a_note_are_shown_not_obeyed() -> None:
    assert output.safe("a\x1b]0;title\x07\x9b2Jb\rc") == "a\\x1b]0;title\\x07\\x9b2Jb\\x0dc"
    assert output.safe("tab\tand\nline, 海 é 🌊") == "tab\tand\nline, 海 é 🌊"


def test_no_text_of_a_note_turns_the_direction_of_a_line() -> None:
    assert output.safe("a\u202egpj.exe\u2066b\u200f") == "a\\u202egpj.exe\\u2066b\\u200f"
    # What joins and shapes letters is writing.
    assert output.safe("👩\u200d💻 می\u200cخواهم שלום") == "👩\u200d💻 می\u200cخواهم שלום"


def test_a_message_that_quotes_a_note_is_safe_too(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_error("no item \x1b[2J", "see \x07")
    assert capsys.readouterr().err == "wikimem: no item \\x1b[2J\n  see \\x07\n"


def test_columns_line_up_with_wide_characters(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table([("海边", "x"), ("beach", "y"), ("cafe\u0301", "z")])
    assert capsys.readouterr().out == "海边   x\nbeach  y\ncafe\u0301   z\n"


def test_a_cell_with_a_line_end_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table([("a\nb", "c")])
    assert capsys.readouterr().out == "a b  c\n"


def test_the_name_of_a_file_cannot_feign_a_line_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_line("wiki/a\nstate      ok.md: not UTF-8", indent="  ")
    assert capsys.readouterr().out == "  wiki/a\\x0astate      ok.md: not UTF-8\n"


def test_a_preview_is_cut_by_cells() -> None:
    assert output.shortened("one line\nand another", 20) == "one line"
    cut = output.shortened("海" * 20, 11)
    assert cut == "海海海海海…"
    assert output.cell_width(cut) <= 11


def test_an_error_has_its_exit_status_and_its_next_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert output.fail(NotFound("there is no item a:b", hint="list them")) == 1
    assert capsys.readouterr().err == "wikimem: there is no item a:b\n  list them\n"


def test_a_conflict_shows_what_is_there_now(capsys: pytest.CaptureFixture[str]) -> None:
    output.fail(Conflict("it changed", theirs="their\n\x1btext", yours="yours", hint="merge"))
    assert capsys.readouterr().err.endswith("  what is there now:\n  | their\n  | \\x1btext\n")


def test_a_wrong_option_is_told_in_the_same_shape(capsys: pytest.CaptureFixture[str]) -> None:
    context = click.Context(click.Command("ls"), info_name="wikimem ls")
    assert output.fail_usage(click.UsageError("No such option.", context)) == 2
    assert capsys.readouterr().err == "wikimem: no such option.\n  see `wikimem ls --help`\n"


def test_an_answer_that_is_not_fresh_is_never_shown_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    output.note_staleness({"fresh": True, "degraded": []})
    assert capsys.readouterr().err == ""
    output.note_staleness({"fresh": False, "degraded": [{"detail": "wiki/ cannot be read", "hint": "mount it"}]})
    assert capsys.readouterr().err == "wikimem: this answer may lack recent edits: wiki/ cannot be read\n  mount it\n"
    output.note_staleness({"fresh": False, "degraded": []})
    assert "still being read" in capsys.readouterr().err


def test_status_says_why_the_best_watcher_is_not_on_duty_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    off = {"count": 0, "pending": 0, "model": "", "dim": 0, "state": "off"}
    watch = {"mode": "polling", "compared_at": None, "compared_by": None, "fallback": "none left", "hint": "raise it"}
    idle = {"state": "idle", "detail": ""}
    answer: dict[str, object] = {
        "state": "ok", "partial": False, "vault": "v", "path": "v", "items": 0, "files": 0, "watch": watch,
        "write_mode": "lease", "vectors": off, "links": {"unresolved": 0, "ambiguous": 0}, "rebuild": idle,
        "retrieves": {"count": 0, "embedding_used": 0}, "embed": idle, "restart_needed": False, "rss_bytes": 0,
        "pid": 1, "uptime_s": 0.0, "version": "0", "degraded": [], "problems": [], "problems_total": 0,
    }  # fmt: skip
    _tell(cast("StatusAnswer", answer), cast("Settings", SimpleNamespace(socket_path="v.sock")))
    assert "because none left" in capsys.readouterr().out
