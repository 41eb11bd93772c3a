"""Where the common coding agents keep their hooks, and what `wikimem hook install` adds there. Nothing is written here.

Claude Code: `settings.json` in `$CLAUDE_CONFIG_DIR` or `~/.claude`. Codex: `hooks.json` in `$CODEX_HOME` or `~/.codex`.
Cursor: `~/.cursor/hooks.json`. The first two have the same shape, an array of groups an event; Cursor has an array of
commands an event and `"version": 1` beside it.
"""

import difflib
import itertools
import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

from wikimem import places
from wikimem.errors import ConfigError
from wikimem.hook_json import insert

_TIMEOUT_S: Final = 5
"""What the tool is told; the hook itself ends within one second."""


class Tool(NamedTuple):
    """A coding agent: its folder's variable (if any) and default, its hooks' file, and the events that inject."""

    name: str
    variable: str
    folder: str
    file: str
    events: tuple[str, ...]
    grouped: bool
    empty: str


TOOLS: Final = {
    tool.name: tool
    for tool in (
        Tool(
            "claude-code",
            "CLAUDE_CONFIG_DIR",
            ".claude",
            "settings.json",
            ("SessionStart", "UserPromptSubmit"),
            True,
            "{}",
        ),
        Tool("codex", "CODEX_HOME", ".codex", "hooks.json", ("SessionStart", "UserPromptSubmit"), True, "{}"),
        Tool("cursor", "", ".cursor", "hooks.json", ("sessionStart",), False, '{\n  "version": 1\n}'),
    )
}


@dataclass(frozen=True, slots=True)
class Change:
    """What would become of one file. `before` is None for a file that is not there; equal texts: nothing to do."""

    tool: str
    file: Path
    before: bytes | None
    after: bytes
    kept: tuple[str, ...]

    @property
    def diff(self) -> str:
        """The change as `diff -u` shows it; empty when there is none."""
        old = _lines(self.before or b"")
        new = _lines(self.after)
        name = str(self.file)
        if self.before == self.after:
            return ""
        return "\n".join(
            difflib.unified_diff(old, new, name if self.before is not None else "/dev/null", name, lineterm="")
        )


def tool_folder(tool: Tool, env: Mapping[str, str]) -> Path:
    """Return the folder of a tool's own files."""
    given = env.get(tool.variable, "") if tool.variable else ""
    if given:
        return places.expand(given, env=env, base=places.home(env))
    return places.home(env) / tool.folder


def installed_tools(env: Mapping[str, str]) -> list[str]:
    """Return the tools whose folder is there."""
    return [name for name, tool in TOOLS.items() if tool_folder(tool, env).is_dir()]


def plan(name: str, command: str, *, env: Mapping[str, str]) -> Change:
    """Return the change that makes a tool call `command` at its events. An event that has it already is left alone.

    Raises ConfigError for a file that is not the JSON that the tool reads; nothing is guessed.
    """
    tool = TOOLS[name]
    file = tool_folder(tool, env) / tool.file
    try:
        before: bytes | None = file.read_bytes()
    except FileNotFoundError:
        before = None
    text = _text(file, before, tool)
    kept: list[str] = []
    try:
        for event in tool.events:
            there = sorted({one for one in _commands(_hooks_of(text), event) if is_ours(one)})
            kept += [f"{event}: {one}" for one in there]
            if not there:
                text = insert(text, ("hooks", event), _entry(tool, command))
    except ValueError as error:
        raise ConfigError(f"{file} is not laid out as {name} reads it: {error}", hint=_BY_HAND) from error
    mark = b"\xef\xbb\xbf" if before is not None and before.startswith(b"\xef\xbb\xbf") else b""
    after = before if before is not None and len(kept) >= len(tool.events) else mark + text.encode()
    return Change(name, file, before, after, tuple(kept))


def is_ours(command: str) -> bool:
    """Tell whether a hook's command line calls `wikimem hook`, however it is spelled."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return any(PurePath(word).name == "wikimem" and rest == "hook" for word, rest in itertools.pairwise(words))


_BY_HAND = "nothing was changed; mend the file first, or add `wikimem hook` by hand as docs/agents.md shows"


def _text(file: Path, before: bytes | None, tool: Tool) -> str:
    if before is None or not before.strip():
        return f"{tool.empty}\n"
    try:
        text = before.decode("utf-8-sig")
        whole = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{file} does not parse as JSON: {error}", hint=_BY_HAND) from error
    except RecursionError as error:
        raise ConfigError(f"{file} nests too deeply", hint=_BY_HAND) from error
    if not isinstance(whole, dict):
        raise ConfigError(f"{file} is not a JSON object", hint=_BY_HAND)
    return text


def _hooks_of(text: str) -> Mapping[str, Any]:
    hooks = json.loads(text).get("hooks", {})
    if not isinstance(hooks, dict):
        raise ValueError("`hooks` is no object")  # noqa: TRY004 - one kind of error for one kind of file
    return hooks


def _commands(hooks: Mapping[str, Any], event: str) -> Iterator[str]:
    """Return the command lines of an event, in groups or not."""
    entries = hooks.get(event, [])
    for entry in entries if isinstance(entries, list) else ():
        for one in [entry, *(entry.get("hooks", ()) if isinstance(entry, dict) else ())]:
            command = one.get("command") if isinstance(one, dict) else None
            if isinstance(command, str):
                yield command


def _entry(tool: Tool, command: str) -> dict[str, Any]:
    if not tool.grouped:
        return {"command": command}
    return {"hooks": [{"type": "command", "command": command, "timeout": _TIMEOUT_S}]}


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").splitlines()
