"""What may be wrong with a vault on this machine, each finding with what to do about it.

Every check looks and changes nothing. A check that cannot be made says so: silence never stands for "all is well".
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from wikimem import config, places, user_manager
from wikimem.api.protocol import StatusAnswer
from wikimem.config import Settings, endpoint_key
from wikimem.config_endpoint import shown_address
from wikimem.doctor_finding import Finding
from wikimem.doctor_machine import inotify_findings, unit_findings
from wikimem.errors import ConfigError, NotRunning, WikimemError
from wikimem.pages.skipped import is_conflict_copy

AskStatus = Callable[[Settings], StatusAnswer]

_SHOWN = 3
_NOTES = 50


def examine(
    vault: str | None,
    *,
    env: Mapping[str, str],
    cwd: Path,
    ask_status: AskStatus,
    run: user_manager.Run = user_manager.run,
) -> list[Finding]:
    """Look at everything. `ask_status` asks the daemon and raises `NotRunning`; `run` runs systemctl and the like."""
    try:
        settings = config.load(vault, env=env, cwd=cwd, require=False)
    except ConfigError as error:
        return [Finding("error", "configuration", error.message, error.hint)]
    findings = [Finding("ok", "configuration", f"the vault {settings.name}, {settings.path}")]
    try:
        config.require_vault(settings.path, configured=settings.configured)
    except ConfigError as error:
        findings.append(Finding("error", "vault", error.message, error.hint))
    else:
        findings += _vault(settings)
    findings += _key(settings, env)
    findings += _state(settings)
    findings += _socket(settings)
    findings += _daemon(settings, ask_status)
    findings += unit_findings(settings, env, cwd, run)
    return findings


def _vault(settings: Settings) -> Iterator[Finding]:
    """Walk the vault: what cannot be read, written, or entered; how many folders there are to watch."""
    unreadable: list[str] = []
    foreign: list[str] = []
    folders = notes = 0
    errors: list[OSError] = []
    for folder, names, files in os.walk(settings.path, onerror=errors.append):
        names[:] = [name for name in names if not name.startswith(".")]
        folders += 1
        if not os.access(folder, os.W_OK):
            foreign.append(folder)
        for name in files:
            if name.endswith(".md") and not name.startswith("."):
                notes += 1
                file = os.path.join(folder, name)  # noqa: PTH118 - os.walk's own strings
                if not os.access(file, os.R_OK):
                    unreadable.append(file)
                elif not os.access(file, os.W_OK):
                    foreign.append(file)
    unreadable += [str(error.filename) for error in errors]
    if unreadable:
        hint = f"give yourself the right to read them: `chmod -R u+rX {settings.path}`"
        yield Finding("error", "vault", f"cannot be read: {_some(unreadable)}", hint)
    if foreign:
        hint = f"agents cannot write there; if they should: `chmod -R u+w {settings.path}`"
        yield Finding("warning", "vault", f"cannot be written: {_some(foreign)}", hint)
    yield from _copies(settings.path)
    if not unreadable and not foreign:
        yield Finding("ok", "vault", f"{notes} notes in {folders} folders, all yours to read and write")
    yield from inotify_findings(folders)


def _copies(root: Path) -> Iterator[Finding]:
    """Find what a sync tool kept of the vault's own files: edges that another machine wrote, and nobody reads."""
    try:
        names = sorted(entry.name for entry in root.iterdir())
    except OSError:
        return  # found above
    for name in names:
        if is_conflict_copy(name) and name.startswith("relations") and name.endswith(".jsonl"):
            hint = "add its lines to relations.jsonl, then remove it"
            yield Finding("warning", "vault", f"a sync tool left {name}: edges of another machine", hint)
        elif is_conflict_copy(name) and name.startswith("wikimem") and name.endswith(".toml"):
            hint = "take from it what is missing in wikimem.toml, then remove it"
            yield Finding("warning", "vault", f"a sync tool left {name}: settings of another machine", hint)


def _key(settings: Settings, env: Mapping[str, str]) -> Iterator[Finding]:
    embeddings = settings.embeddings
    if embeddings.provider != "http":
        return
    try:
        endpoint_key(settings, env)
    except ConfigError as error:
        yield Finding("error", "embeddings", error.message, error.hint)
        return
    if embeddings.api_key_file:
        file = places.expand(embeddings.api_key_file, env=env, base=settings.config_file.parent)
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            yield Finding("warning", "embeddings", f"others can read the key file {file}", f"`chmod 600 {file}`")
            return
    yield Finding("ok", "embeddings", f"{embeddings.model} at {shown_address(embeddings.base_url or '')}")


def _state(settings: Settings) -> Iterator[Finding]:
    folder = settings.state_dir
    existing = folder if folder.exists() else next(parent for parent in folder.parents if parent.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        hint = f"give yourself the right to write there, or set XDG_STATE_HOME: `ls -ld {existing}`"
        yield Finding("error", "state", f"history cannot be kept: {existing} cannot be written", hint)
    elif folder.exists() and stat.S_IMODE(folder.stat().st_mode) & 0o077:
        yield Finding("warning", "state", f"others can look into {folder}", f"`chmod 700 {folder}`")
    else:
        yield Finding("ok", "state", str(folder))


def _socket(settings: Settings) -> Iterator[Finding]:
    file = settings.socket_path
    try:
        found = file.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        yield Finding("error", "socket", f"{file}: {error.strerror}", "see who owns the folder it lies in")
        return
    if not stat.S_ISSOCK(found.st_mode):
        yield Finding("error", "socket", f"{file} is no socket", f"move it away: `mv {file} {file}.was`")
    elif found.st_uid != os.getuid():
        yield Finding("error", "socket", f"{file} is another user's", "set XDG_RUNTIME_DIR to a folder of your own")
    elif stat.S_IMODE(found.st_mode) & 0o077 and stat.S_IMODE(file.parent.stat().st_mode) & 0o077:
        yield Finding("warning", "socket", f"others can reach {file}", f"`chmod 700 {file.parent}`")
    else:
        yield Finding("ok", "socket", str(file))


def _daemon(settings: Settings, ask_status: AskStatus) -> Iterator[Finding]:
    try:
        status = ask_status(settings)
    except NotRunning as error:
        yield Finding("note", "daemon", f"{error.message}; {error.hint}" if error.hint else error.message)
        yield from _notes_here(settings)
        return
    except WikimemError as error:
        yield Finding("error", "daemon", error.message, error.hint)
        return
    if status["state"] == "degraded":
        for part in status["degraded"]:
            yield Finding("warning", "daemon", part["detail"], part["hint"] or "see `wikimem status`")
    else:
        yield Finding("ok", "daemon", f"{status['state']}, {status['items']} items, {status['watch']['mode']}")
    if status["restart_needed"]:
        hint = f"`systemctl --user restart wikimem@{settings.name}`, or stop and start `wikimem serve`"
        yield Finding("warning", "daemon", "it runs another version than the one that is installed", hint)
    for problem in status["problems"]:
        yield _note(problem["path"], problem["line"], problem["message"], problem["hint"])
    more = status["problems_total"] - len(status["problems"])
    if more > 0:
        yield Finding("note", "notes", f"and {more} problems more")
    if status["links"]["unresolved"] or status["links"]["ambiguous"]:
        counts = f"{status['links']['unresolved']} links unresolved, {status['links']['ambiguous']} ambiguous"
        yield Finding("note", "links", f"{counts}; `wikimem links` lists them")


def _notes_here(settings: Settings) -> Iterator[Finding]:
    """Read the notes in this process, where no daemon has read them."""
    from wikimem.store.opening import open_store  # noqa: PLC0415 - a daemon's answer spares us this

    try:
        store = open_store(settings)
        problems = store.problems()
    except (OSError, WikimemError):
        return  # what cannot be read was found above, with its path
    for path, problem in problems[:_NOTES]:
        yield _note(path, problem.line, problem.message, problem.hint)
    if len(problems) > _NOTES:
        yield Finding("note", "notes", f"and {len(problems) - _NOTES} problems more")


def _note(path: str, line: int, message: str, hint: str) -> Finding:
    return Finding("warning", "notes", f"{path}:{line}: {message}" if line else f"{path}: {message}", hint or "edit it")


def _some(paths: list[str]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[:_SHOWN]) + more
