"""The recipes of docs/agents.md that the page itself cannot run: clients' settings, the shell script, Node."""

import asyncio
import json
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.docs.blocks import ROOT, blocks
from tests.transcript.session import Session

PAGE = ROOT / "docs/agents.md"


def texts(language: str) -> list[str]:
    return [block.text for block in blocks(PAGE) if block.language == language]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(tmp_path_factory.mktemp("agents")) as one:
        assert one.run("wikimem init ~/memory").returncode == 0
        one.start_daemon("~/memory")
        yield one


def servers() -> list[dict[str, Any]]:
    """Return what each client's settings say about the server."""
    found = []
    for text in texts("json"):
        value = json.loads(text)
        found += [value[key]["wikimem"] for key in ("mcpServers", "servers") if key in value]
    found += [tomllib.loads(text)["mcp_servers"]["wikimem"] for text in texts("toml")]
    return found


def test_there_are_settings_for_four_mcp_clients() -> None:
    assert len(servers()) == 4
    for server in servers():
        assert set(server) <= {"type", "command", "args"}
        assert server.get("type", "stdio") == "stdio"


def test_the_command_of_every_mcp_client_serves(session: Session) -> None:
    commands = {(server["command"], *server["args"]) for server in servers()}

    async def look(command: str, *arguments: str) -> None:
        parameters = StdioServerParameters(command=command, args=list(arguments), env=session.env, cwd=session.folder)
        async with stdio_client(parameters) as (reading, writing), ClientSession(reading, writing) as client:
            started = await client.initialize()
            assert started.server_info.name == "wikimem"
            result: Any = await client.call_tool("retrieve", {"query": "sunrise at the coast"})
            assert "knowledge:sunrise-times" in result.content[0].text

    for command in commands:
        found = shutil.which(command[0], path=session.env["PATH"])
        assert found is not None
        asyncio.run(look(found, *command[1:]))


def hook_commands() -> list[str]:
    found: list[str] = []
    for value in map(json.loads, texts("json")):
        for entries in value.get("hooks", {}).values():
            for entry in entries:
                found += [one["command"] for one in entry.get("hooks", [entry])]
    return found


def test_the_command_of_every_hook_gives_memory(session: Session) -> None:
    assert len(hook_commands()) == 5
    sent = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": "sunrise at the coast"})
    for command in sorted(set(hook_commands())):
        done = session.run(f"echo '{sent}' | {command}")
        assert "- [knowledge:sunrise-times]" in done.stdout, done.stderr


def test_the_hooks_written_by_hand_are_those_that_install_writes(session: Session) -> None:
    assert session.run("wikimem hook install claude-code gemini cursor --vault ~/memory --yes").returncode == 0
    shown = [json.loads(text) for text in texts("json") if "hooks" in json.loads(text)]
    files = (".claude/settings.json", ".gemini/settings.json", ".cursor/hooks.json")
    for file, by_hand in zip(files, shown, strict=True):
        written = json.loads((session.folder / file).read_text(encoding="utf-8"))
        assert shape(written) == shape(by_hand)


def shape(value: Any) -> Any:
    """Return the value with every command as one word: whose path it has is the machine's matter."""
    if isinstance(value, dict):
        return {key: "COMMAND" if key == "command" else shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else value


def test_the_shell_script_makes_a_prompt(session: Session, tmp_path: Path) -> None:
    (text,) = texts("sh")
    script = tmp_path / "ask"
    script.write_text(text, encoding="utf-8")
    done = session.run(f"sh {script} 'sunrise at the coast'")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Notes that may bear on the question")
    assert "\n- [knowledge:sunrise-times] Sunrise" in done.stdout
    assert done.stdout.endswith("\nQuestion: sunrise at the coast\n")
    assert session.run(f"sh {script} 'xyzzy'").stdout == "Question: xyzzy\n"


def test_the_node_recipe_writes_and_finds(session: Session, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed here")
    (text,) = texts("js")
    script = tmp_path / "ask.js"
    script.write_text(text, encoding="utf-8")
    done = subprocess.run([node, str(script)], env=session.env, capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "people:Ann Sister; sails.\n", done.stderr
