"""What an installation of a vault's service would write and run. Reads and decides; nothing is changed here."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wikimem import places, service_units, user_manager
from wikimem.config_vaults import UserFile, read_user_file, require_vault
from wikimem.errors import ConfigError
from wikimem.service_config import with_vault
from wikimem.service_files import read_bytes
from wikimem.service_units import Instance, UnitFile, service_of, socket_of
from wikimem.shipped import shipped

_PINNED = ("XDG_CONFIG_HOME", "XDG_STATE_HOME")
"""What a shell may set and the user's manager may not know: the daemon would look elsewhere than its clients."""

SHARED = (service_units.SANDBOX, service_units.SERVICE, service_units.SOCKET)
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
        files=service_units.instance_files(instance, shipped_units(), sandbox=sandbox),
        config_file=user.file,
        config=None if name in user.vaults else with_vault(read_bytes(user.file), name, str(vault)),
        made=(instance.state, instance.state / name),
        notes=notes,
    )


def sandbox_dropin() -> str:
    """Return the shipped sandbox drop-in."""
    return shipped_units()[service_units.SANDBOX]


def shipped_units() -> dict[str, str]:
    """Return the shipped units, by their path below the unit folder."""
    folder = shipped("systemd")
    return {name: (folder / name).read_text(encoding="utf-8") for name in SHARED}


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
