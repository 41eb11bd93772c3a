"""`wikimem hook install` and `uninstall`: what they add to a tool's settings, and that every other byte stays."""

import json
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.serving import WIKIMEM, Served, ran, serving
from wikimem import hook_install
from wikimem.errors import ConfigError


def unserved(tmp_path: Path) -> Served:
    one = Served(tmp_path)
    one.write("wiki/a.md", "# a\n\n## b\n\nThe sea.\n")
    return one


def installing(
    served: Served, *arguments: str, verb: str = "install", **env: str
) -> "subprocess.CompletedProcess[str]":
    vault = ["--vault", str(served.vault)] if verb == "install" else []
    return ran([*WIKIMEM, "hook", verb, *arguments, *vault], {**served.env, **env})


@pytest.mark.parametrize(
    ("tool", "variable", "file"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude/settings.json"),
        ("codex", "CODEX_HOME", ".codex/hooks.json"),
        ("gemini", "", ".gemini/settings.json"),
        ("cursor", "", ".cursor/hooks.json"),
    ],
)
def test_install_shows_the_change_and_makes_it_on_yes(tmp_path: Path, tool: str, variable: str, file: str) -> None:
    one = unserved(tmp_path)
    settings = one.base / "home" / file
    shown = installing(one, tool)
    assert shown.returncode == 0, shown.stderr
    assert "+++ " in shown.stdout
    assert not settings.exists()
    done = installing(one, tool, "--yes")
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    added = commands_of(json.loads(settings.read_text(encoding="utf-8")))
    assert len(added) == (1 if tool == "cursor" else 2)
    option = " --json" if tool == "gemini" else ""
    assert all(command.endswith(f"wikimem hook --vault {one.vault}{option}") for command in added)
    again = installing(one, tool, "--yes")
    assert "already there" in again.stdout
    assert "otherwise" not in again.stdout
    assert commands_of(json.loads(settings.read_text(encoding="utf-8"))) == added
    gone = installing(one, tool, "--yes", verb="uninstall")
    assert (gone.returncode, gone.stderr) == (0, "")
    assert "hooks" not in json.loads(settings.read_text(encoding="utf-8"))
    if variable:
        elsewhere = one.base / "elsewhere"
        assert installing(one, tool, "--yes", **{variable: str(elsewhere)}).returncode == 0
        assert (elsewhere / settings.name).exists()


def commands_of(settings: dict[str, Any]) -> list[str]:
    found = []
    for entries in settings["hooks"].values():
        for entry in entries:
            found += [one["command"] for one in entry.get("hooks", [entry])]
    return found


def test_the_installed_command_is_one_that_runs(tmp_path: Path) -> None:
    with serving(tmp_path) as one:
        one.write("wiki/a.md", "# a\n\n## b\n\nThe sea.\n")
        one.start()
        assert installing(one, "claude-code", "--yes").returncode == 0
        settings = json.loads((one.base / "home/.claude/settings.json").read_text(encoding="utf-8"))
        command = settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]
        sent = {"hook_event_name": "UserPromptSubmit", "prompt": "sea"}
        done = ran(["/bin/sh", "-c", command], {**one.env, "PATH": "/usr/bin:/bin"}, json.dumps(sent))
    assert "The sea." in done.stdout, done.stderr


def test_a_read_only_settings_file_is_refused_before_any_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, fixed = tmp_path / "a" / "free.json", tmp_path / "fixed.json"
    fixed.write_text("{}")
    hook_install.require_writable([free, fixed])
    # Played: whoever runs the tests may be allowed everything.
    monkeypatch.setattr("os.access", lambda path, _mode: Path(path) != fixed)
    with pytest.raises(ConfigError, match=r"fixed\.json is read-only"):
        hook_install.require_writable([free, fixed])
    monkeypatch.setattr("os.access", lambda path, _mode: Path(path) != tmp_path)
    with pytest.raises(ConfigError, match=r"free\.json is read-only"):
        hook_install.require_writable([free])


def test_install_keeps_everything_else_of_the_file_and_its_link_and_mode(tmp_path: Path) -> None:
    one = unserved(tmp_path)
    kept = one.base / "dotfiles.json"
    text = '{\r\n\t"model" : "x",\r\n\t"hooks": {"Stop": [ ]},\r\n\t"n": 1.50e3\r\n}'
    kept.write_bytes(text.encode())
    kept.chmod(0o640)
    (one.base / "home/.claude").mkdir()
    (one.base / "home/.claude/settings.json").symlink_to(kept)
    done = installing(one, "--yes")
    assert done.returncode == 0, done.stderr
    after = kept.read_bytes().decode()
    assert (one.base / "home/.claude/settings.json").is_symlink()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert after.startswith('{\r\n\t"model" : "x",\r\n\t"hooks": {"Stop": [ ],\r\n')
    assert after.endswith('},\r\n\t"n": 1.50e3\r\n}')


@pytest.mark.parametrize("text", ["{", "[1]", '{"hooks": []}', '{"hooks": {"SessionStart": {}}}', "// x\n{}"])
def test_a_file_that_is_not_what_the_tool_reads_is_refused(tmp_path: Path, text: str) -> None:
    one = unserved(tmp_path)
    file = one.base / "home/.codex/hooks.json"
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    done = installing(one, "codex", "--yes")
    assert done.returncode == 78
    assert "nothing was changed" in done.stderr
    assert file.read_text(encoding="utf-8") == text


def test_an_entry_that_a_person_changed_is_left_alone(tmp_path: Path) -> None:
    one = unserved(tmp_path)
    file = one.base / "home/.cursor/hooks.json"
    file.parent.mkdir()
    text = json.dumps({"version": 1, "hooks": {"sessionStart": [{"command": "/x/wikimem hook --budget-tokens 50"}]}})
    file.write_text(text, encoding="utf-8")
    done = installing(one, "--yes")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "cursor: already there: sessionStart: /x/wikimem hook --budget-tokens 50",
        "what is there calls it otherwise; to have it anew, take it out first: `wikimem hook uninstall`",
    ]
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("entry", ['"/x/wikimem hook --vault a"', '"/x/wikimem", "args": ["hook", "--vault", "a"]'])
def test_what_calls_the_hook_is_known_and_taken_out_and_nothing_else(tmp_path: Path, entry: str) -> None:
    one = unserved(tmp_path)
    file = one.base / "home/.claude/settings.json"
    file.parent.mkdir()
    other = '{"type": "command",  "command": "other wikimem hooks"}'
    before = f'{{"a": [1,2],\n "hooks": {{"SessionStart": [{{"hooks": [{other}]}}], "Stop": [ ]}}\n}}\n'
    ours = f'{{"type": "command", "command": {entry}}}'
    with_ours = before.replace(f"{other}]}}]", f'{other},\n{ours}]}}, {{"matcher": "", "hooks": [{ours}]}}]')
    file.write_text(with_ours, encoding="utf-8")
    assert "already there: SessionStart: /x/wikimem hook --vault a" in installing(one, "claude-code").stdout
    assert "no such call" in installing(one, "--vault", "b", "--yes", verb="uninstall").stdout
    shown = installing(one, "--vault", "a", verb="uninstall")
    assert "nothing is changed yet" in shown.stdout
    assert file.read_text(encoding="utf-8") == with_ours
    assert installing(one, "--yes", verb="uninstall").returncode == 0
    assert file.read_text(encoding="utf-8") == before
    again = installing(one, "--yes", verb="uninstall")
    assert (again.returncode, again.stdout) == (0, f"claude-code: {file} has no such call of `wikimem hook`\n")


def test_a_vault_that_is_not_there_is_not_installed(tmp_path: Path) -> None:
    """The hook itself is silent: a misspelt vault would never be noticed."""
    one = unserved(tmp_path)
    done = ran([*WIKIMEM, "hook", "install", "claude-code", "--yes", "--vault", str(tmp_path / "mispelt")], one.env)
    assert done.returncode == 78
    assert "mispelt" in done.stderr
    assert not (one.base / "home/.claude").exists()


def test_without_any_tool_install_says_how_to_name_one(tmp_path: Path) -> None:
    done = installing(unserved(tmp_path))
    assert done.returncode == 1
    assert "wikimem hook install claude-code" in done.stderr
