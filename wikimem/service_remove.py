"""Take a vault's service out again without a trace. The vault itself is never touched."""

import contextlib
import fcntl
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from wikimem import places, service_units, user_manager
from wikimem.config_read import read_toml
from wikimem.errors import ConfigError, NotFound, WikimemError
from wikimem.service_config import without_vault
from wikimem.service_files import listens, read_bytes, replace_file
from wikimem.service_plan import SHARED
from wikimem.service_units import service_of, socket_of
from wikimem.user_manager import Run, run, systemctl

Say = Callable[[str], None]


def uninstall(name: str, *, purge: bool, env: Mapping[str, str], run: Run = run, say: Say) -> None:
    """Stop the vault's service and remove every file that `install` wrote; `purge` takes its history too.

    The vault itself is never touched. Raises `NotFound` when there is nothing of that name.
    """
    folder = user_manager.units_folder(env)
    own = _require_installed(name, env)
    units = (socket_of(name), service_of(name))
    # Before the units are stopped: a client that finds nobody starts the units of what is installed.
    for file in sorted(own.iterdir()) if own.is_dir() else ():
        file.unlink()
    with contextlib.suppress(FileNotFoundError):
        own.rmdir()
    _stop(units, run)
    for link in _links(name, env):
        link.unlink()
    if not user_manager.installed_names(env):
        _remove_shared(folder)
    user_manager.tell("daemon-reload", run=run)
    systemctl("reset-failed", *units, run=run)
    say(f"removed {service_of(name)} and {socket_of(name)}")
    vault = _forget(name, env, say)
    _remove_socket(name, env)
    _clear_state(places.state_home(env), name, vault, purge=purge, say=say)
    own_units = _own_units(env)
    if (own_units / service_units.dropins_of(name)).is_dir():
        say(f"left: {own_units / service_units.dropins_of(name)}, which is your own")
    # Where `systemctl enable` had made its links.
    _remove_empty(own_units / "default.target.wants", own_units / "sockets.target.wants", own_units, own_units.parent)


def _require_installed(name: str, env: Mapping[str, str]) -> Path:
    """Return the folder of the vault's drop-ins. Raises `NotFound` when neither it nor a link of the units is there."""
    own = user_manager.units_folder(env) / service_units.dropins_of(service_units.check_name(name))
    if not own.is_dir() and not _links(name, env):
        names = ", ".join(user_manager.installed_names(env)) or "none"
        raise NotFound(f"no service is installed for a vault {name}", hint=f"installed here: {names}")
    return own


def _own_units(env: Mapping[str, str]) -> Path:
    return places.config_home(env).parent / "systemd" / "user"


def _links(name: str, env: Mapping[str, str]) -> list[Path]:
    """Return the links by which the vault's units are enabled."""
    units = (service_of(name), socket_of(name))
    return [link for unit in units for link in _own_units(env).glob(f"*.wants/{unit}")]


def _stop(units: tuple[str, str], run: Run) -> None:
    """Stop and disable the units, also when systemd does not know (or no longer knows) their files."""
    answer = systemctl("disable", "--now", *units, run=run)
    if answer.status == 0:
        return
    systemctl("stop", *units, run=run)
    states = [user_manager.unit_state(unit, run=run) for unit in units]
    if any(state is not None and state.active not in ("inactive", "failed", "") for state in states):
        said = user_manager.first_line(answer.err)
        raise WikimemError(f"the service could not be stopped: {said}", hint="stop it, then run the same again")


def uninstall_steps(name: str, *, purge: bool, env: Mapping[str, str]) -> list[str]:
    """Return what `uninstall` would do, a line each. Nothing is changed."""
    folder = user_manager.units_folder(env)
    own = _require_installed(name, env)
    units = f"{socket_of(name)} {service_of(name)}"
    removed = sorted(own.iterdir()) if own.is_dir() else []
    if user_manager.installed_names(env) == [name]:
        removed += [folder / shared for shared in SHARED]
    if purge:
        removed.append(places.state_home(env) / name)
    table = f"# take [vaults.{name}] out of {places.config_home(env) / 'config.toml'}, if `install` put it there"
    return [
        f"systemctl --user disable --now {units}",
        *(f"# remove {file}" for file in removed if file.exists()),
        "systemctl --user daemon-reload",
        f"systemctl --user reset-failed {units}",
        table,
    ]


def _remove_shared(folder: Path) -> None:
    for shared in SHARED:
        (folder / shared).unlink(missing_ok=True)
    _remove_empty((folder / service_units.SANDBOX).parent, folder, folder.parent)


def _remove_empty(*folders: Path) -> None:
    """Remove the folders that hold nothing, in this order."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _remove_socket(name: str, env: Mapping[str, str]) -> None:
    """Remove the socket that systemd left: it removes it with the unit, but not for a unit whose file was gone."""
    with contextlib.suppress(OSError, ConfigError):
        runtime = places.runtime_folder(env)[0]
        if not listens(runtime / f"{name}.sock"):
            (runtime / f"{name}.sock").unlink(missing_ok=True)
        _remove_empty(runtime)


def _forget(name: str, env: Mapping[str, str], say: Say) -> Path | None:
    """Take the vault out of the configuration; return its folder when it has no name from now on."""
    file = places.config_home(env) / "config.toml"
    try:
        vaults = read_toml(file).get("vaults", {})
    except ConfigError as error:
        say(f"left: [vaults.{name}] in the configuration, which cannot be read: {error.message}")
        return None
    table = vaults.get(name) if isinstance(vaults, dict) else None
    if not isinstance(table, dict):
        return None
    path = str(table.get("path", ""))
    rest = without_vault(read_bytes(file), name, path)
    if rest is None:
        say(f"left: [vaults.{name}] in {file}, which you have made your own")
        return None
    if rest:
        replace_file(file, rest, new_mode=0o600)
        say(f"took [vaults.{name}] out of {file}")
    else:
        file.unlink()
        say(f"removed {file}, which held nothing else")
        with contextlib.suppress(OSError):
            file.parent.rmdir()
    return Path(path)


def _clear_state(state: Path, name: str, vault: Path | None, *, purge: bool, say: Say) -> None:
    """Remove the history if that is wanted; else keep it where the vault, named or not, finds it again."""
    kept = state / name
    if purge:
        shutil.rmtree(kept, ignore_errors=True)
        _remove_locks(state, name, vault)
    _remove_empty(kept, state / "locks", state)
    if kept.exists() and vault is not None and not (state / places.name_of(vault)).exists():
        kept = kept.rename(state / places.name_of(vault))
    if kept.exists():
        say(f"left: {kept}, the history of the vault; `--purge` would have removed it")


def _remove_locks(state: Path, name: str, vault: Path | None) -> None:
    """Remove the vault's lock files, but for one that somebody holds: two would hold two files of one name.

    Where no other vault has a state, those of folders that are gone too: nobody can tell whose they were.
    """
    keys = {f"absent-{name}"}
    with contextlib.suppress(OSError):
        found = vault.stat() if vault is not None else None
        keys |= {f"{found.st_dev:x}-{found.st_ino:x}"} if found is not None else set()
    alone = state.is_dir() and {entry.name for entry in state.iterdir()} <= {"locks"}
    for file in sorted((state / "locks").glob("*")):
        if not alone and file.stem not in keys:
            continue
        with contextlib.suppress(OSError), file.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.unlink()
