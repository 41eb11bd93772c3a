"""The user's systemd, asked through its own commands: `systemctl --user`, `journalctl --user`, `loginctl`.

Light enough for the client's path: what is not needed to say "not running" is imported when it is.
"""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from wikimem import places
from wikimem.errors import NotRunning, Unreachable, WikimemError
from wikimem.service_units import SERVICE, dropins_of, service_of, socket_of

_WAIT_S = 90.0
"""Longer than TimeoutStartSec=: systemctl itself waits for the start to end."""


class Ran(NamedTuple):
    """How a command ended. Texts are decoded, undecodable bytes as U+FFFD."""

    status: int
    out: str
    err: str


Run = Callable[[Sequence[str]], Ran]


@dataclass(frozen=True, slots=True)
class UnitState:
    """One unit as `systemctl show` tells it, or with its name alone what is known where nobody tells.

    `load` is `not-found` for a unit whose file is gone.
    """

    unit: str
    load: str = ""
    active: str = "unknown"
    sub: str = ""
    result: str = ""
    enabled: str = ""
    main_pid: int = 0
    restarts: int = 0
    exit_status: int = 0
    status_text: str = ""
    invocation: str = ""

    @property
    def failed(self) -> bool:
        """Whether systemd has given up on it."""
        return self.active == "failed"


@dataclass(frozen=True, slots=True)
class FailedUnit:
    """A unit that systemd has given up on: why, its last line in the journal, and how to start it again."""

    unit: str
    result: str
    last_line: str
    hint: str

    def error(self) -> NotRunning:
        """Return what to tell a client."""
        said = f": {self.last_line}" if self.last_line else ""
        return NotRunning(f"{self.unit} has failed, {self.result}{said}", hint=self.hint)


def run(command: Sequence[str]) -> Ran:
    """Run a command to its end. A command that is not there ends with 127, one that hangs with 124."""
    import subprocess  # noqa: PLC0415 - 10 ms that a client whose daemon answers never pays

    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_WAIT_S,
            check=False,
            env=environment(os.environ),
        )
    except FileNotFoundError:
        return Ran(127, "", f"{command[0]}: not found")
    except OSError as error:
        return Ran(126, "", f"{command[0]}: {error.strerror}")
    except subprocess.TimeoutExpired:
        return Ran(124, "", f"{command[0]} did not end within {_WAIT_S:.0f} s")
    return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return `env` with the runtime folder filled in where a cron job or `su` left it out, and an untranslated locale.

    Without it `systemctl --user` says "No medium found", although the manager runs.
    """
    folder = Path(f"/run/user/{os.getuid()}")
    found = {**env, "LC_ALL": "C.UTF-8", "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"}
    if places.is_own_folder(folder):
        found.setdefault("XDG_RUNTIME_DIR", str(folder))
    return found


def units_folder(env: Mapping[str, str]) -> Path:
    """Return where a program installs units of one user; `~/.config/systemd/user` stays the user's own."""
    return places.data_home(env) / "systemd" / "user"


def is_installed(name: str, env: Mapping[str, str]) -> bool:
    """Whether `wikimem service install NAME` was done for this user. Looks at a file, runs nothing.

    The units themselves may be gone: then the vault has a service all the same, one that has to be mended.
    """
    return (units_folder(env) / dropins_of(name) / "10-vault.conf").is_file()


def installed_names(env: Mapping[str, str]) -> list[str]:
    """Return the vaults that have a service, sorted."""
    prefix, suffix = SERVICE.removesuffix(".service"), ".service.d"
    try:
        folders = [entry.name for entry in units_folder(env).iterdir()]
    except OSError:
        return []
    names = [name[len(prefix) : -len(suffix)] for name in folders if name.startswith(prefix) and name.endswith(suffix)]
    return sorted(name for name in names if name and is_installed(name, env))


def require_manager(run: Run = run) -> None:
    """Raise `Unreachable`, with what to do instead, unless a systemd user manager answers."""
    if shutil.which("systemctl") is None:
        raise Unreachable(
            "there is no systemd here (no `systemctl`)",
            hint="run the daemon in the foreground: `wikimem serve`; for macOS, docs/macos.md has a launchd job",
        )
    answer = run(["systemctl", "--user", "is-system-running"])
    # "degraded" (some other unit failed) and "starting" are managers too, with a status of 1.
    if answer.out.strip() not in ("running", "degraded", "starting", "initializing", "maintenance", "stopping"):
        raise Unreachable(
            f"the systemd of this user does not answer: {first_line(answer.err) or answer.out.strip() or 'no reply'}",
            hint="log in as this user (ssh, not su), or `loginctl enable-linger` it; else run `wikimem serve`",
        )


def systemctl(*words: str, run: Run = run) -> Ran:
    """Run `systemctl --user` with these words."""
    return run(["systemctl", "--user", "--no-pager", *words])


def tell(*words: str, run: Run = run) -> None:
    """Run `systemctl --user` with these words; raises `WikimemError` with what it said when that fails."""
    answer = systemctl(*words, run=run)
    if answer.status != 0:
        said = first_line(answer.err) or f"it ended with {answer.status}"
        raise WikimemError(f"systemctl --user {' '.join(words)}: {said}", hint="mend that, then run the same again")


def properties(unit: str, names: str, *, run: Run = run) -> dict[str, str] | None:
    """Return a unit's properties, of which `names` is a list with commas; None when no manager answers."""
    answer = systemctl("show", unit, "-p", names, run=run)
    if answer.status != 0:
        return None
    return dict(line.split("=", 1) for line in answer.out.splitlines() if "=" in line)


def unit_state(unit: str, *, run: Run = run) -> UnitState | None:
    """Return the unit's state; None when no manager answers."""
    wanted = (
        "LoadState,ActiveState,SubState,Result,UnitFileState,MainPID,NRestarts,ExecMainStatus,StatusText,InvocationID"
    )
    found = properties(unit, wanted, run=run)
    if found is None:
        return None
    return UnitState(
        unit=unit,
        load=found.get("LoadState", ""),
        active=found.get("ActiveState", ""),
        sub=found.get("SubState", ""),
        result=found.get("Result", ""),
        enabled=found.get("UnitFileState", ""),
        main_pid=_number(found.get("MainPID", "")),
        restarts=_number(found.get("NRestarts", "")),
        exit_status=_number(found.get("ExecMainStatus", "")),
        status_text=found.get("StatusText", ""),
        invocation=found.get("InvocationID", ""),
    )


def start_socket(name: str, *, run: Run = run) -> bool:
    """Start the vault's socket unit; its first client then starts the daemon. False when that failed.

    Raises `NotRunning` for a unit that systemd has given up on: it would fail again at the first client.
    """
    failed = failed_unit(name, run=run)
    if failed is not None:
        raise failed.error()
    return systemctl("start", socket_of(name), run=run).status == 0


def restart_socket(name: str) -> bool:
    """Have systemd make the socket's file anew. The daemon is restarted with it."""
    return systemctl("restart", socket_of(name)).status == 0


def not_running(name: str, *, run: Run = run) -> NotRunning | None:
    """Return what to say of an installed service whose daemon does not answer; None when no manager answers.

    `service_elsewhere.elsewhere` knows of one that answers where nobody looked.
    """
    failed = failed_unit(name, run=run)
    if failed is not None:
        return failed.error()
    service, listening = unit_state(service_of(name), run=run), unit_state(socket_of(name), run=run)
    if service is None or listening is None:
        return None
    units = f"{socket_of(name)} {service_of(name)}"
    if "active" not in (service.active, listening.active) and "not-found" in (service.load, listening.load):
        hint = f"put them back: `wikimem service install {name}`"
        return NotRunning(f"the unit files of {service_of(name)} are gone", hint=hint)
    if "active" not in (service.active, listening.active):
        return NotRunning(f"{service_of(name)} is {service.active}", hint=f"start it: `systemctl --user start {units}`")
    return NotRunning(
        f"nobody answers on the socket of {service_of(name)}, which is {service.active}",
        hint=f"the socket's file was removed or replaced; make it anew: `systemctl --user restart {units}`",
    )


def failed_unit(name: str, *, run: Run = run) -> FailedUnit | None:
    """Return why the vault's service or socket is failed, None when neither is (or no manager answers).

    After StartLimitBurst= crashes both are failed, and a client gets ECONNREFUSED (or no file at all) until
    `reset-failed`.
    """
    service = unit_state(service_of(name), run=run)
    for unit in (service_of(name), socket_of(name)):
        state = service if unit == service_of(name) else unit_state(unit, run=run)
        if service is None or state is None or not state.failed:
            continue
        again = f"systemctl --user reset-failed {service_of(name)} {socket_of(name)}"
        start = f"systemctl --user start {socket_of(name)} {service_of(name)}"
        line = last_line(service, run=run)
        hint = f"see `wikimem service logs {name}`; when it is mended: `{again}`, then `{start}`"
        return FailedUnit(unit, _result(state), line, hint)
    return None


def last_line(service: UnitState, *, run: Run = run) -> str:
    """Return what the unit itself (not systemd) said last: its newest error that has an event, else its newest line.

    An error without an event is a hint, or one line of many of a traceback. Only what the last process said: what was
    wrong with one before may be mended. `` when the journal has nothing.
    """
    own = ["_SYSTEMD_USER_UNIT=" + service.unit]
    own += ["_SYSTEMD_INVOCATION_ID=" + service.invocation] if service.invocation else []
    answer = run(["journalctl", "--user", "--no-pager", "-q", "-n", "20", "-o", "json", *own])
    entries = [_entry(line) for line in answer.out.splitlines()] if answer.status == 0 else []
    said = [entry for entry in entries if isinstance(entry.get("MESSAGE"), str)]
    errors = [entry for entry in said if "WIKIMEM_EVENT" in entry and str(entry.get("PRIORITY")) in "0123"]
    newest = errors or said
    return str(newest[-1]["MESSAGE"]).strip().rpartition("\n")[2] if newest else ""


def has_logged(name: str, *, run: Run = run) -> bool:
    """Whether the journal has anything of the vault's service, which may be uninstalled or of a package by now."""
    return bool(run(["journalctl", "--user", "--no-pager", "-q", "-n", "1", "-o", "cat", "-u", service_of(name)]).out)


def _entry(line: str) -> dict[str, object]:
    import json  # noqa: PLC0415 - see `run`

    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def first_line(text: str) -> str:
    """Return the first line that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _result(state: UnitState) -> str:
    return f"{state.result} (status {state.exit_status})" if state.exit_status else state.result


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
