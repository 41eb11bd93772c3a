"""The fixture itself, with small stand-ins for a daemon: what it must be able to show before the real one is tried."""

from pathlib import Path

import pytest

from tests.systemd.private_manager import Manager, PrivateManager, eventually


def test_the_manager_answers(manager: Manager) -> None:
    assert manager.run("systemctl", "--user", "is-system-running").stdout.strip() in ("running", "degraded")


def test_a_units_own_lines_are_found_in_the_journal(manager: Manager) -> None:
    # It lives on: of a process that is gone already journald cannot find out the unit.
    words = ["sh", "-c", "echo a line of its own; exec sleep 60"]
    manager.run("systemd-run", "--user", "--unit=wm-said", *words, check=True)

    def found() -> bool:
        told = manager.run("journalctl", "--user", "-q", "-o", "cat", "_SYSTEMD_USER_UNIT=wm-said.service")
        return "a line of its own" in told.stdout

    eventually(found, "the line is in the journal")
    manager.run("systemctl", "--user", "stop", "wm-said.service", check=True)


def test_a_mount_sandbox_really_makes_the_home_read_only(manager: Manager) -> None:
    told = manager.run(
        *("systemd-run", "--user", "--wait", "--pipe", "-p", "PrivateUsers=yes", "-p", "ProtectHome=read-only"),
        *("touch", str(manager.home / "made-in-the-sandbox")),
    )
    assert told.returncode != 0
    assert "Read-only file system" in told.stderr


def test_a_command_sees_nothing_of_the_person_who_runs_the_tests(manager: Manager) -> None:
    if not isinstance(manager, PrivateManager):
        pytest.skip("only the private manager hides things")
    assert manager.run("sh", "-c", "echo ~").stdout.strip() == str(manager.home)
    assert manager.run("ls", str(Path.home())).returncode != 0 or Path.home() == Path("/root")
    assert not Path(manager.home).exists(), "its home is a mount that nobody else sees"
