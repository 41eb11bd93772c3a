"""The machine's part: what the kernel allows to be watched, and the systemd units of the vault."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from wikimem import user_manager
from wikimem.config import Settings
from wikimem.doctor_finding import Finding
from wikimem.service_drift import drift
from wikimem.service_elsewhere import elsewhere
from wikimem.service_files import listens
from wikimem.service_machine import linger
from wikimem.service_units import service_of

_PROC = Path("/proc/sys/fs/inotify")
_SPARE_INSTANCES = 8


def inotify_findings(folders: int, limits: Path = _PROC) -> Iterator[Finding]:
    """Compare the kernel's limits with the folders that have to be watched (one watch each)."""
    watches, instances = _limit(limits / "max_user_watches"), _limit(limits / "max_user_instances")
    if watches is None or instances is None:
        yield Finding("note", "watching", "no inotify here: changes are found by scanning")
        return
    # The limit is the user's, shared with every editor and file manager: half of it is what one vault may count on.
    if folders * 2 > watches:
        yield Finding(
            "warning",
            "watching",
            f"{folders} folders to watch, and the limit for all your programs is {watches}",
            f"raise it: `sudo sysctl fs.inotify.max_user_watches={max(folders * 8, 524_288)}`",
        )
    elif instances < _SPARE_INSTANCES:
        yield Finding(
            "warning",
            "watching",
            f"only {instances} programs of yours can watch files",
            "raise it: `sudo sysctl fs.inotify.max_user_instances=128`",
        )
    else:
        yield Finding("ok", "watching", f"{folders} folders to watch, {watches} allowed")


def unit_findings(settings: Settings, env: Mapping[str, str], cwd: Path, run: user_manager.Run) -> Iterator[Finding]:
    """Look at the vault's service, where one was installed."""
    name = settings.name
    if not user_manager.is_installed(name, env):
        yield Finding("note", "service", "no systemd service is installed for this vault")
        return
    yield from _drift_findings(name, env, cwd)
    failed = user_manager.failed_unit(name, run=run)
    if failed is not None:
        last = f"; its last line: {failed.last_line}" if failed.last_line else ""
        yield Finding("error", "service", f"{failed.unit} has failed ({failed.result}){last}", failed.hint)
        return
    state = user_manager.unit_state(service_of(name), run=run)
    if state is None:
        yield Finding("note", "service", "it is installed, and no systemd user manager answers")
        return
    silent = None
    if not listens(settings.socket_path):
        silent = elsewhere(name, settings.socket_path, run=run) or user_manager.not_running(name, run=run)
    if silent is not None:
        yield Finding("warning", "service", silent.message, silent.hint)
        return
    yield Finding("ok", "service", f"{state.unit} is {state.active}, {state.enabled}")
    if linger(env, run=run) is False:
        yield Finding("note", "service", "it stops when you log out; to keep it running: `loginctl enable-linger`")


def _drift_findings(name: str, env: Mapping[str, str], cwd: Path) -> Iterator[Finding]:
    for one in drift(name, env=env, cwd=cwd):
        hint = one.hint or f"bring it up to date: `wikimem service install {name}`"
        yield Finding("error" if one.fatal else "warning", "service", one.detail, hint)


def _limit(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
