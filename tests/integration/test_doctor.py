"""What the doctor finds, and what it says to do."""

import os
import stat
from pathlib import Path
from typing import Any, cast

import pytest

from wikimem import user_manager
from wikimem.api.protocol import StatusAnswer
from wikimem.config import Settings
from wikimem.doctor import examine
from wikimem.doctor_finding import Finding, verdict
from wikimem.doctor_machine import inotify_findings
from wikimem.errors import NotRunning, Unreachable

HEALTHY: dict[str, Any] = {
    "state": "ok",
    "items": 3,
    "watch": {"mode": "inotify"},
    "degraded": [],
    "restart_needed": False,
    "problems": [],
    "problems_total": 0,
    "links": {"unresolved": 0, "ambiguous": 0},
}


def no_manager(_command: object) -> user_manager.Ran:
    return user_manager.Ran(127, "", "not found")


def look(home: Path, status: dict[str, Any] | Exception | None = None, config: str = "") -> list[Finding]:
    """Examine `home/memory` with a daemon that answers `status`, or raises it, or is not there."""
    file = home / ".config/wikimem/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[vaults.memory]\npath = "~/memory"\n' + config, encoding="utf-8")

    def ask(_settings: Settings) -> StatusAnswer:
        if status is None:
            raise NotRunning("no daemon runs", hint="start one")
        if isinstance(status, Exception):
            raise status
        return cast("StatusAnswer", status)

    env = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home)}
    return examine("memory", env=env, cwd=home, ask_status=ask, run=no_manager)


def told(findings: list[Finding], check: str) -> list[tuple[str, str]]:
    return [(finding.level, finding.detail) for finding in findings if finding.check == check]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "memory/wiki").mkdir(parents=True)
    (tmp_path / "memory/wiki/a.md").write_text("# a\n")
    return tmp_path


def test_a_healthy_vault_has_nothing_to_be_done(home: Path) -> None:
    findings = look(home, HEALTHY)
    assert verdict(findings) == 0
    assert ("ok", "1 notes in 2 folders, all yours to read and write") in told(findings, "vault")


def test_no_daemon_is_worth_knowing_and_nothing_wrong(home: Path) -> None:
    findings = look(home)
    assert told(findings, "daemon") == [("note", "no daemon runs; start one")]
    assert verdict(findings) == 0


def test_without_a_daemon_the_notes_are_read_here(home: Path) -> None:
    (home / "memory/wiki/open.md").write_text("# open\n\n## a\n\n```\nnever closed\n")
    found = told(look(home), "notes")
    assert [level for level, detail in found if "wiki/open.md" in detail] == ["warning"]


def test_edges_that_a_sync_tool_put_aside_are_named(home: Path) -> None:
    copy = "relations.sync-conflict-20260721-101500-K4QPLQZ.jsonl"
    (home / "memory" / copy).write_text("{}\n")
    (home / "memory/wikimem (Conflicted copy desk 202607211015).toml").write_text("")
    (home / "memory/vectors.sync-conflict-20260721-101500-K4QPLQZ.npy").write_text("")
    warned = [detail for level, detail in told(look(home, HEALTHY), "vault") if level == "warning"]
    assert len(warned) == 2
    assert any(copy in detail for detail in warned)


def test_a_broken_configuration_is_the_first_finding(home: Path) -> None:
    (finding,) = look(home, HEALTHY, '[vaults.memory.watch]\nmode = "magic"\n')
    assert (finding.level, finding.check) == ("error", "configuration")
    assert finding.hint


def test_a_vault_that_is_away_is_an_error_and_the_rest_is_looked_at(home: Path) -> None:
    (home / "memory").rename(home / "elsewhere")
    findings = look(home, HEALTHY)
    assert told(findings, "vault")[0][0] == "error"
    assert told(findings, "daemon")[0][0] == "ok"


def test_what_a_daemon_complains_of_is_passed_on_with_its_next_step(home: Path) -> None:
    status = HEALTHY | {
        "state": "degraded",
        "degraded": [{"code": "x", "detail": "wiki/ cannot be read", "hint": "mount it"}],
        "restart_needed": True,
        "problems": [{"path": "wiki/a.md", "kind": "k", "line": 7, "message": "a fence is open", "hint": "close it"}],
        "problems_total": 5,
        "links": {"unresolved": 2, "ambiguous": 1},
    }
    findings = look(home, status)
    assert ("warning", "wiki/ cannot be read") in told(findings, "daemon")
    assert [finding.hint for finding in findings if finding.detail == "wiki/ cannot be read"] == ["mount it"]
    assert any("another version" in detail for _, detail in told(findings, "daemon"))
    assert told(findings, "notes") == [("warning", "wiki/a.md:7: a fence is open"), ("note", "and 4 problems more")]
    assert told(findings, "links") == [("note", "2 links unresolved, 1 ambiguous; `wikimem links` lists them")]
    assert verdict(findings) == 1


def test_a_daemon_that_does_not_answer_is_an_error(home: Path) -> None:
    assert told(look(home, Unreachable("no reply", hint="restart it")), "daemon") == [("error", "no reply")]


def test_a_state_folder_that_others_can_read_is_a_warning(home: Path) -> None:
    folder = home / ".local/state/wikimem/memory"
    folder.mkdir(parents=True, mode=0o755)
    folder.chmod(0o755)
    ((level, detail),) = told(look(home, HEALTHY), "state")
    assert level == "warning"
    assert str(folder) in detail


def test_a_key_file_that_others_can_read_is_a_warning(home: Path) -> None:
    (home / "key").write_text("secret")
    (home / "key").chmod(0o644)
    config = (
        '[vaults.memory.embeddings]\nprovider = "http"\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\n'
        'api_key_file = "~/key"\n'
    )
    findings = look(home, HEALTHY, config)
    assert told(findings, "embeddings")[0][0] == "warning"
    assert not any("secret" in finding.detail + finding.hint for finding in findings)
    (home / "key").chmod(stat.S_IRUSR)
    assert told(look(home, HEALTHY, config), "embeddings")[0][0] == "ok"


def test_a_file_in_the_place_of_the_socket_is_an_error(home: Path) -> None:
    (home / "wikimem").mkdir()
    (home / "wikimem/memory.sock").write_text("")
    assert told(look(home, HEALTHY), "socket")[0][0] == "error"


@pytest.mark.parametrize(
    ("watches", "instances", "level"),
    [("100000", "128", "ok"), ("30", "128", "warning"), ("100000", "2", "warning"), (None, None, "note")],
)
def test_the_kernels_limits_are_compared_with_the_folders(
    tmp_path: Path, watches: str | None, instances: str | None, level: str
) -> None:
    if watches is not None and instances is not None:
        (tmp_path / "max_user_watches").write_text(watches)
        (tmp_path / "max_user_instances").write_text(instances)
    (finding,) = inotify_findings(20, tmp_path)
    assert finding.level == level
    assert ("sysctl" in finding.hint) == (level == "warning")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything; the transcripts give that up")
def test_a_note_that_cannot_be_read_is_an_error(home: Path) -> None:
    (home / "memory/wiki/a.md").chmod(0)
    assert told(look(home, HEALTHY), "vault")[0][0] == "error"
