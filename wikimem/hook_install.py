"""Where the common coding agents keep their hooks, and what `wikimem hook install` adds there. Nothing is written here.

Claude Code: `settings.json` in `$CLAUDE_CONFIG_DIR` or `~/.claude`. Codex: `hooks.json` in `$CODEX_HOME` or `~/.codex`.
Gemini CLI: `~/.gemini/settings.json`. These have the same shape, an array of groups an event; Gemini counts time-outs
in milliseconds and takes JSON only. Cursor: `~/.cursor/hooks.json`, an array of commands an event and `"version": 1`
beside it. docs/agents.md says what each was checked against.
"""

import contextlib
import difflib
import itertools
import json
import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

from wikimem import places
from wikimem.errors import ConfigError
from wikimem.hook_json import insert, remove

_PROMPT_AND_START: Final = ("SessionStart", "UserPromptSubmit")


class Tool(NamedTuple):
    """A coding agent: its folder's variable (if any) and default, its hooks' file, and the events that inject.

    `timeout`: what the tool is told, five seconds in its own unit (the hook ends within one); None where it knows no
    groups and no time-out. `option` is added to the command.
    """

    name: str
    variable: str
    folder: str
    file: str
    events: tuple[str, ...]
    timeout: int | None
    option: str = ""
    empty: str = "{}"


TOOLS: Final = {
    tool.name: tool
    for tool in (
        Tool("claude-code", "CLAUDE_CONFIG_DIR", ".claude", "settings.json", _PROMPT_AND_START, 5),
        Tool("codex", "CODEX_HOME", ".codex", "hooks.json", _PROMPT_AND_START, 5),
        Tool("gemini", "", ".gemini", "settings.json", ("SessionStart", "BeforeAgent"), 5_000, " --json"),
        Tool("cursor", "", ".cursor", "hooks.json", ("sessionStart",), None, empty='{\n  "version": 1\n}'),
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
    file, before, was = _read(tool, env)
    text = was
    kept: list[str] = []
    with _laid_out(file, name):
        for event in tool.events:
            there = sorted({one.command for one in _commands(text, event) if is_ours(one.command)})
            kept += [f"{event}: {one}" for one in there]
            if not there:
                text = insert(text, ("hooks", event), _entry(tool, command + tool.option))
    return Change(name, file, before, _bytes(before, was, text), tuple(kept))


def plan_removal(name: str, vaults: Collection[str], *, env: Mapping[str, str]) -> Change:
    """Return the change that takes every call of `wikimem hook` out of a tool's settings, whoever added it.

    With `vaults` (names and paths of one) only the calls that name it. Raises ConfigError as `plan` does.
    """
    file, before, was = _read(TOOLS[name], env)
    text = was
    with _laid_out(file, name):
        for event in _hooks_of(was):
            while ours := next((one for one in _commands(text, event) if is_ours(one.command, vaults)), None):
                text = remove(text, ("hooks", event, *ours.at))
    return Change(name, file, before, _bytes(before, was, text), ())


def require_writable(files: Iterable[Path]) -> None:
    """Raise ConfigError for a file that is read-only: it is so on purpose, or made from another one.

    A file is replaced as a whole, which would pass over its own mode and needs its folder.
    """
    for file in files:
        real = Path(os.path.realpath(file))
        needed = {real, real.parent} if real.exists() else {next(one for one in real.parents if one.exists())}
        if not all(os.access(one, os.W_OK) for one in needed):
            raise ConfigError(f"{file} is read-only", hint=_BY_HAND)


def _bytes(before: bytes | None, was: str, text: str) -> bytes:
    if text == was:
        return before or b""
    return (_MARK if before is not None and before.startswith(_MARK) else b"") + text.encode()


def is_ours(command: str, vaults: Collection[str] = ()) -> bool:
    """Tell whether a hook's command line calls `wikimem hook` (of one of `vaults`), however it is spelled."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    pairs = list(itertools.pairwise(words))
    called = any(PurePath(word).name == "wikimem" and rest == "hook" for word, rest in pairs)
    named = {os.path.expanduser(rest) for word, rest in pairs if word == "--vault"}  # noqa: PTH111 - may be no path
    return called and (not vaults or not named.isdisjoint(vaults))


_MARK: Final = b"\xef\xbb\xbf"
_BY_HAND: Final = "nothing was changed; mend the file first, or edit it by hand as docs/agents.md shows"


def _read(tool: Tool, env: Mapping[str, str]) -> tuple[Path, bytes | None, str]:
    """Return a tool's file, its bytes (none: it is not there), and its text, which is an object."""
    file = tool_folder(tool, env) / tool.file
    try:
        before: bytes | None = file.read_bytes()
    except FileNotFoundError:
        before = None
    if before is None or not before.strip():
        return file, before, f"{tool.empty}\n"
    try:
        text = before.decode("utf-8-sig")
        whole = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{file} does not parse as JSON: {error}", hint=_BY_HAND) from error
    except RecursionError as error:
        raise ConfigError(f"{file} nests too deeply", hint=_BY_HAND) from error
    if not isinstance(whole, dict):
        raise ConfigError(f"{file} is not a JSON object", hint=_BY_HAND)
    return file, before, text


@contextlib.contextmanager
def _laid_out(file: Path, name: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ConfigError(f"{file} is not laid out as {name} reads it: {error}", hint=_BY_HAND) from error


def _hooks_of(text: str) -> Mapping[str, Any]:
    hooks = json.loads(text).get("hooks", {})
    if not isinstance(hooks, dict):
        raise ValueError("`hooks` is no object")  # noqa: TRY004 - one kind of error for one kind of file
    return hooks


class _Command(NamedTuple):
    """A command line of an event, and where it stands below the event."""

    command: str
    at: tuple[str | int, ...]


def _commands(text: str, event: str) -> Iterator[_Command]:
    """Return the command lines of an event, in groups or not."""
    entries = _hooks_of(text).get(event, [])
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        inner = entry.get("hooks", ()) if isinstance(entry, dict) else ()
        yield from _command(entry, (index,))
        for position, one in enumerate(inner if isinstance(inner, list) else ()):
            # Of a group that holds nothing else the group goes, whatever it matches.
            yield from _command(one, (index, "hooks", position) if len(inner) > 1 else (index,))


def _command(entry: object, at: tuple[str | int, ...]) -> Iterator[_Command]:
    command = entry.get("command") if isinstance(entry, dict) else None
    if isinstance(entry, dict) and isinstance(command, str):
        words = entry.get("args")
        more = [str(word) for word in words] if isinstance(words, list) else []
        yield _Command(" ".join([command, *map(shlex.quote, more)]), at)


def _entry(tool: Tool, command: str) -> dict[str, Any]:
    if tool.timeout is None:
        return {"command": command}
    return {"hooks": [{"type": "command", "command": command, "timeout": tool.timeout}]}


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").splitlines()
