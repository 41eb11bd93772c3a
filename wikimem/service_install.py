"""Install a vault's daemon as a service of the user, and take it out again without a trace.

Planning reads and decides; only `install` and `uninstall` change something, in an order that can be run again after
it was cut short at any point.
"""

import contextlib
import os
import re
import secrets
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from wikimem import places, service_units, user_manager
from wikimem.config_read import read_toml
from wikimem.config_vaults import UserFile, read_user_file, require_vault
from wikimem.errors import ConfigError, Locked, NotFound, WikimemError
from wikimem.service_config import with_vault, without_vault
from wikimem.service_units import Instance, UnitFile, service_of, socket_of
from wikimem.shipped import shipped
from wikimem.user_manager import Run, run, systemctl

Say = Callable[[str], None]

_PINNED = ("XDG_CONFIG_HOME", "XDG_STATE_HOME")
"""What a shell may set and the user's manager may not know: the daemon would look elsewhere than its clients."""

_SHARED = (service_units.SANDBOX, service_units.SERVICE, service_units.SOCKET)
"""Shipped files that every vault's service uses."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that an installation does. `config` is the new text of the configuration, None when it stays as it is."""

    instance: Instance
    folder: Path
    files: tuple[UnitFile, ...]
    config_file: Path
    config: bytes | None
    made: tuple[Path, ...]
    notes: tuple[str, ...]

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """What systemd is told once the files are there, in order."""
        units = (socket_of(self.instance.name), service_of(self.instance.name))
        return (("daemon-reload",), ("enable", *units), ("start", *units))


def plan_install(name: str, path: str | None, *, env: Mapping[str, str], cwd: Path, sandbox: bool) -> Plan:
    """Decide what an installation of the vault `name` at `path` writes. Nothing is changed.

    Raises `InvalidInput` for a name that cannot be one, `VaultError` for a folder that is no vault, `ConfigError`
    when the configuration knows the name with another folder, or the folder under another name.
    """
    service_units.check_name(name)
    user = read_user_file(env)
    vault = _folder(name, path, env=env, cwd=cwd, user=user)
    plain = {key: value for key, value in env.items() if key != "WIKIMEM_SOCKET"}
    places.socket_file(name, env=plain, cwd=cwd)  # raises when the path is too long for the kernel
    key_file, notes = _key_file(name, user, env)
    instance = Instance(
        name=name,
        vault=vault,
        python=Path(sys.executable),
        state=places.state_home(env),
        disk=own_disk(vault, home=places.home(env)),
        key_file=key_file,
        variables={key: env[key] for key in _PINNED if env.get(key, "").startswith("/")},
    )
    if env.get("WIKIMEM_SOCKET"):
        notes += (f"WIKIMEM_SOCKET is set: clients will look there, the service listens at {name}.sock",)
    return Plan(
        instance=instance,
        folder=user_manager.units_folder(env),
        files=service_units.instance_files(instance, _shipped_units(), sandbox=sandbox),
        config_file=user.file,
        config=None if name in user.vaults else with_vault(_bytes(user.file), name, str(vault)),
        made=(instance.state, instance.state / name),
        notes=notes,
    )


def install(plan: Plan, *, env: Mapping[str, str], run: Run = run, say: Say) -> None:
    """Carry the plan out and wait until the daemon is ready; raises `WikimemError` when it does not become so."""
    name = plan.instance.name
    before = user_manager.unit_state(service_of(name), run=run)
    if before is None or before.active != "active":
        _refuse_other_daemon(name, env=env, run=run)
    for folder in plan.made:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if plan.config is not None:
        _write(plan.config_file, plan.config, new_mode=0o600)
        say(f"added [vaults.{name}] to {plan.config_file}")
    changed = _write_units(plan, say)
    for command in plan.commands[:2]:
        _systemctl(*command, run=run)
    if before is not None and before.active == "active":
        # The new files and, after an upgrade, the new code. Clients wait in the socket's backlog meanwhile.
        if service_units.SOCKET in changed:
            _systemctl("restart", socket_of(name), run=run)
        _start("restart", service_of(name), name=name, run=run)
    else:
        systemctl("reset-failed", socket_of(name), service_of(name), run=run)
        _start("start", socket_of(name), service_of(name), name=name, run=run)
    say(f"{service_of(name)} is ready")


def uninstall(name: str, *, purge: bool, env: Mapping[str, str], run: Run = run, say: Say) -> None:
    """Stop the vault's service and remove every file that `install` wrote; `purge` takes its history too.

    The vault itself is never touched. Raises `NotFound` when there is nothing of that name.
    """
    service_units.check_name(name)
    folder = user_manager.units_folder(env)
    own = folder / service_units.dropins_of(name)
    if not own.is_dir():
        names = ", ".join(user_manager.installed_names(env)) or "none"
        raise NotFound(f"no service is installed for a vault {name}", hint=f"installed here: {names}")
    units = (socket_of(name), service_of(name))
    _systemctl("disable", "--now", *units, run=run)
    for file in sorted(own.iterdir()):
        file.unlink()
    own.rmdir()
    if not user_manager.installed_names(env):
        _remove_shared(folder)
    _systemctl("daemon-reload", run=run)
    systemctl("reset-failed", *units, run=run)
    say(f"removed {service_of(name)} and {socket_of(name)}")
    _forget(name, env, say)
    with contextlib.suppress(OSError, ConfigError):
        places.runtime_folder(env)[0].rmdir()  # only when it is empty
    _clear_state(places.state_home(env) / name, purge=purge, say=say)
    own_units = places.config_home(env).parent / "systemd" / "user"
    if (own_units / service_units.dropins_of(name)).is_dir():
        say(f"left: {own_units / service_units.dropins_of(name)}, which is your own")
    for empty in (own_units, own_units.parent):  # where `systemctl enable` had made its links
        with contextlib.suppress(OSError):
            empty.rmdir()


def uninstall_steps(name: str, *, purge: bool, env: Mapping[str, str]) -> list[str]:
    """Return what `uninstall` would do, a line each. Nothing is changed."""
    folder = user_manager.units_folder(env)
    own = folder / service_units.dropins_of(service_units.check_name(name))
    units = f"{socket_of(name)} {service_of(name)}"
    removed = sorted(own.iterdir()) if own.is_dir() else []
    if user_manager.installed_names(env) == [name]:
        removed += [folder / shared for shared in _SHARED]
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


def sandbox_dropin() -> str:
    """Return the shipped sandbox drop-in."""
    return _shipped_units()[service_units.SANDBOX]


def _folder(name: str, path: str | None, *, env: Mapping[str, str], cwd: Path, user: UserFile) -> Path:
    known = user.vaults.get(name)
    if path is None:
        if known is None:
            hint = f"say where it is: `wikimem service install {name} PATH`"
            raise ConfigError(f"{user.file} knows no vault {name}", hint=hint)
        require_vault(known.path, configured=True)
        return known.path
    vault = places.expand(path, env=env, base=cwd)
    real = os.path.realpath(vault)
    if known is not None and os.path.realpath(known.path) != real:
        hint = f"choose another name, or change `path` in {user.file} and run `wikimem service install {name}`"
        raise ConfigError(f"the vault {name} is configured as {known.path}, not {vault}", hint=hint)
    for other in user.vaults.values():
        if other.name != name and os.path.realpath(other.path) == real:
            hint = f"`wikimem service install {other.name}`: two daemons cannot hold one vault"
            raise ConfigError(f"{vault} is configured as the vault {other.name}", hint=hint)
    require_vault(vault, configured=known is not None)
    return vault


def own_disk(vault: Path, *, home: Path, mounts: str | None = None) -> Path | None:
    """Return where the disk that holds the vault is mounted, None when the home is on it too (or nobody can tell).

    `mounts` is the text of `/proc/self/mountinfo`.
    """
    if mounts is None:
        try:
            mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None
    # The fifth field; spaces and such are written in octal.
    points = [re.sub(r"\\([0-7]{3})", _octal, line.split(" ")[4]) for line in mounts.splitlines()]
    real = Path(os.path.realpath(vault))
    holding = [point for point in map(Path, points) if real.is_relative_to(point)]
    nearest = max(holding, key=lambda point: len(point.parts), default=None)
    if nearest is None or Path(os.path.realpath(home)).is_relative_to(nearest):
        return None
    return nearest


def _octal(match: re.Match[str]) -> str:
    return chr(int(match[1], 8))


def _key_file(name: str, user: UserFile, env: Mapping[str, str]) -> tuple[Path | None, tuple[str, ...]]:
    known = user.vaults.get(name)
    given = known.flat.get("embeddings.api_key_file") if known else None
    if not isinstance(given, str):
        return None, ()
    file = places.expand(given, env=env, base=user.file.parent)
    if file.is_file():
        return file, ()
    # LoadCredential= of a missing file would end every start with 243/CREDENTIALS.
    return None, (f"the key file {file} is missing: write it, then run `wikimem service install {name}` again",)


def _refuse_other_daemon(name: str, *, env: Mapping[str, str], run: Run) -> None:
    """Systemd would remove the socket file of a daemon that was started by hand, and two would fight for the vault."""
    held = user_manager.unit_state(socket_of(name), run=run)
    if held is not None and held.active == "active":
        return
    file, _ = places.socket_file(name, env=env, cwd=Path.cwd())
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(os.fsencode(file))
        except OSError:
            return
    raise Locked(f"a daemon that systemd did not start answers on {file}", hint="stop it, then install the service")


def _write_units(plan: Plan, say: Say) -> set[str]:
    """Write the unit files that differ, remove drop-ins of an earlier plan; return what changed."""
    changed = set()
    wanted = {plan.folder / file.path: file for file in plan.files}
    for target, file in wanted.items():
        if _bytes(target) != file.text.encode():
            target.parent.mkdir(parents=True, exist_ok=True)
            _write(target, file.text.encode(), new_mode=0o644)
            changed.add(str(file.path))
            say(f"wrote {target}")
    places_of_ours = [plan.folder / service_units.SANDBOX]
    places_of_ours += (plan.folder / service_units.dropins_of(plan.instance.name)).glob("*.conf")
    for stale in places_of_ours:
        if stale not in wanted and stale.exists():
            stale.unlink()
            changed.add(str(stale.relative_to(plan.folder)))
            say(f"removed {stale}")
    return changed


def _start(*command: str, name: str, run: Run) -> None:
    answer = systemctl(*command, run=run)
    if answer.status == 0:
        return
    line = user_manager.last_line(service_of(name), run=run)
    state = user_manager.unit_state(service_of(name), run=run)
    reason = line or user_manager.first_line(answer.err) or f"systemctl ended with {answer.status}"
    hint = f"`wikimem service logs {name}` shows more; then `wikimem service install {name}` again"
    error = ConfigError if state is not None and state.exit_status == ConfigError.exit_status else WikimemError
    raise error(f"{service_of(name)} did not start: {reason}", hint=hint)


def _systemctl(*command: str, run: Run) -> None:
    answer = systemctl(*command, run=run)
    if answer.status != 0:
        said = user_manager.first_line(answer.err) or f"it ended with {answer.status}"
        raise WikimemError(f"systemctl --user {' '.join(command)}: {said}", hint="mend that, then run the same again")


def _remove_shared(folder: Path) -> None:
    for shared in _SHARED:
        (folder / shared).unlink(missing_ok=True)
    for empty in ((folder / service_units.SANDBOX).parent, folder, folder.parent):
        with contextlib.suppress(OSError):
            empty.rmdir()


def _forget(name: str, env: Mapping[str, str], say: Say) -> None:
    file = places.config_home(env) / "config.toml"
    vaults = read_toml(file).get("vaults", {})
    table = vaults.get(name) if isinstance(vaults, dict) else None
    if not isinstance(table, dict):
        return
    rest = without_vault(_bytes(file), name, str(table.get("path", "")))
    if rest is None:
        say(f"left: [vaults.{name}] in {file}, which you have made your own")
    elif rest:
        _write(file, rest, new_mode=0o600)
        say(f"took [vaults.{name}] out of {file}")
    else:
        file.unlink()
        say(f"removed {file}, which held nothing else")
        with contextlib.suppress(OSError):
            file.parent.rmdir()


def _clear_state(folder: Path, *, purge: bool, say: Say) -> None:
    if purge:
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.rmdir()
    if folder.exists():
        say(f"left: {folder}, the history of the vault; `--purge` removes it")
    with contextlib.suppress(OSError):
        folder.parent.rmdir()


def _shipped_units() -> dict[str, str]:
    folder = shipped("systemd")
    return {name: (folder / name).read_text(encoding="utf-8") for name in _SHARED}


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""


def _write(file: Path, data: bytes, *, new_mode: int) -> None:
    """Replace a file of the user's in one step; a link (dotfiles in a repository) stays a link."""
    target = Path(os.path.realpath(file))
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else new_mode
    with _temporary(target) as temporary:
        with temporary.open("xb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        temporary.chmod(mode)
        temporary.replace(target)


@contextlib.contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
