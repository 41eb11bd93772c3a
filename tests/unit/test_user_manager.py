"""What systemd's commands say, and what is made of it."""

from pathlib import Path

import pytest

from tests.commands import Commands
from wikimem import user_manager
from wikimem.api import finding
from wikimem.errors import NotRunning, Unreachable
from wikimem.service_elsewhere import elsewhere
from wikimem.user_manager import Ran

FAILED = "ActiveState=failed\nSubState=failed\nResult=exit-code\nExecMainStatus=1\nNRestarts=5\n"
RUNNING = "ActiveState=active\nSubState=running\nResult=success\nMainPID=77\nStatusText=a=b\n"


def test_a_running_service_is_not_failed() -> None:
    commands = Commands({"show": Ran(0, RUNNING, "")})
    assert user_manager.failed_unit("notes", run=commands) is None
    state = user_manager.unit_state("wikimem@notes.service", run=commands)
    assert state is not None
    assert (state.active, state.main_pid, state.status_text) == ("active", 77, "a=b")


def test_a_failed_service_comes_with_its_last_line_and_the_way_out() -> None:
    commands = Commands({"show": Ran(0, FAILED, ""), "journalctl": Ran(0, '{"MESSAGE": "no space left"}\n', "")})
    failed = user_manager.failed_unit("notes", run=commands)
    assert failed is not None
    assert (failed.unit, failed.result, failed.last_line) == (
        "wikimem@notes.service",
        "exit-code (status 1)",
        "no space left",
    )
    assert "systemctl --user reset-failed wikimem@notes.service wikimem@notes.socket" in failed.hint
    assert "systemctl --user start wikimem@notes.socket wikimem@notes.service" in failed.hint


def test_a_failed_socket_is_found_behind_a_service_that_is_only_dead() -> None:
    dead = Ran(0, "ActiveState=inactive\nSubState=dead\nResult=success\n", "")
    failed = user_manager.failed_unit(
        "notes", run=Commands({"show wikimem@notes.socket": Ran(0, FAILED, ""), "show": dead})
    )
    assert failed is not None
    assert failed.unit == "wikimem@notes.socket"


def test_a_client_is_told_why_a_failed_unit_is_not_started_again() -> None:
    commands = Commands({"show": Ran(0, FAILED, ""), "journalctl": Ran(0, '{"MESSAGE": "no space left"}\n', "")})
    with pytest.raises(
        NotRunning, match=r"wikimem@notes\.service has failed, exit-code \(status 1\): no space left"
    ) as caught:
        user_manager.start_socket("notes", run=commands)
    assert "reset-failed" in caught.value.hint
    assert not any(" start " in line for line in commands.asked)


def test_nothing_is_failed_where_no_manager_answers() -> None:
    commands = Commands({}, otherwise=Ran(1, "", "Failed to connect to bus: No medium found"))
    assert user_manager.failed_unit("notes", run=commands) is None
    assert not user_manager.start_socket("notes", run=commands)


@pytest.mark.parametrize("word", ["running", "degraded", "starting"])
def test_a_manager_that_is_up_is_enough(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: "/bin/systemctl")
    user_manager.require_manager(Commands({}, otherwise=Ran(1, word + "\n", "")))


def test_a_user_without_a_manager_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: "/bin/systemctl")
    commands = Commands({}, otherwise=Ran(1, "offline\n", "Failed to connect to bus: No medium found\n"))
    with pytest.raises(Unreachable, match="Failed to connect to bus: No medium found") as caught:
        user_manager.require_manager(commands)
    assert "wikimem serve" in caught.value.hint
    assert caught.value.exit_status == 69


def test_a_machine_without_systemd_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(Unreachable, match="no systemd here") as caught:
        user_manager.require_manager(Commands({}))
    assert "wikimem serve" in caught.value.hint
    assert "docs/macos.md" in caught.value.hint


def test_a_command_that_does_not_exist_is_an_answer_not_an_exception() -> None:
    assert user_manager.run(["wikimem-no-such-command"]).status == 127


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", ""),
        ('{"MESSAGE": "Traceback (most recent call last):"}\n{"MESSAGE": "ImportError: numpy"}', "ImportError: numpy"),
        (
            """{"MESSAGE": "unknown key `x`", "PRIORITY": "3", "WIKIMEM_EVENT": "daemon.config"}
{"MESSAGE": "did you mean `y`?", "PRIORITY": "3"}
{"MESSAGE": "bye", "PRIORITY": "6", "WIKIMEM_EVENT": "daemon.bye"}""",
            "unknown key `x`",
        ),
        ('{"MESSAGE": "first"}\n{"MESSAGE": [98, 108, 111, 98]}\nno json', "first"),
    ],
)
def test_the_last_words_of_a_unit_are_its_error_not_its_hint(lines: str, said: str) -> None:
    commands = Commands({"show": Ran(0, FAILED, ""), "journalctl": Ran(0, lines, "")})
    failed = user_manager.failed_unit("notes", run=commands)
    assert failed is not None
    assert failed.last_line == said


def test_the_last_words_are_those_of_the_last_process_not_of_one_whose_fault_was_mended() -> None:
    commands = Commands({"show": Ran(0, FAILED + "InvocationID=c0ffee\n", "")})
    user_manager.failed_unit("notes", run=commands)
    asked = next(line for line in commands.asked if "journalctl" in line)
    assert asked.endswith("_SYSTEMD_USER_UNIT=wikimem@notes.service _SYSTEMD_INVOCATION_ID=c0ffee")


@pytest.mark.parametrize(
    ("service", "listening", "said", "hint"),
    [
        ("inactive", "inactive", "is inactive", "start wikimem@notes.socket wikimem@notes.service"),
        ("active", "active", "nobody answers on the socket", "restart wikimem@notes.socket wikimem@notes.service"),
        ("failed", "failed", "has failed", "reset-failed wikimem@notes.service wikimem@notes.socket"),
    ],
)
def test_who_finds_nobody_is_told_what_systemd_knows(service: str, listening: str, said: str, hint: str) -> None:
    shown = "ActiveState={}\n"
    answers = {
        "show wikimem@notes.service": Ran(0, shown.format(service), ""),
        "show wikimem@notes.socket": Ran(0, shown.format(listening), ""),
    }
    found = user_manager.not_running("notes", run=Commands(answers))
    assert found is not None
    assert said in found.message
    assert f"systemctl --user {hint}" in found.hint


def test_a_service_without_its_unit_files_is_to_be_installed_again() -> None:
    gone = Commands({}, otherwise=Ran(0, "LoadState=not-found\nActiveState=inactive\n", ""))
    found = user_manager.not_running("notes", run=gone)
    assert found is not None
    assert "unit files of wikimem@notes.service are gone" in found.message
    assert "`wikimem service install notes`" in found.hint


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("ActiveState=active\nListen=/run/user/1/wikimem/notes.sock (Stream)\n", True),
        ("ActiveState=inactive\nListen=/run/user/1/wikimem/notes.sock (Stream)\n", False),
        ("ActiveState=active\nListen=/elsewhere/notes.sock (Stream)\n", False),
        ("ActiveState=active\n", False),
        ("", False),
    ],
)
def test_a_socket_unit_that_listens_elsewhere_is_told_of(shown: str, said: bool) -> None:
    found = elsewhere("notes", Path("/elsewhere/notes.sock"), run=Commands({}, otherwise=Ran(0, shown, "")))
    assert (found is not None) is said


def test_another_spelling_of_the_folder_is_no_other_place(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "var").symlink_to(tmp_path / "run")
    shown = f"ActiveState=active\nListen={tmp_path}/run/wikimem/notes.sock (Stream)\n"
    commands = Commands({}, otherwise=Ran(0, shown, ""))
    assert elsewhere("notes", tmp_path / "var" / "wikimem" / "notes.sock", run=commands) is None


def test_a_unit_that_listens_elsewhere_is_not_restarted_for_every_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    def systemctl(*words: str, **_: object) -> Ran:
        told.append(words[0])
        return Ran(0, "ActiveState=active\nListen=/run/user/1/wikimem/notes.sock (Stream)\n", "")

    monkeypatch.setattr(user_manager, "systemctl", systemctl)
    monkeypatch.setattr(user_manager, "is_installed", lambda *_: True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(NotRunning, match=r"listens on /run/user/1/wikimem/notes\.sock"):
        finding.start_unit(tmp_path / "wikimem" / "notes.sock")
    assert "restart" not in told


def test_nothing_is_known_of_a_service_where_no_manager_answers() -> None:
    assert user_manager.not_running("notes", run=Commands({}, otherwise=Ran(1, "", "No medium found"))) is None
