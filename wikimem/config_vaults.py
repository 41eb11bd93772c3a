"""Which vault is meant: a configured name, a path, the surroundings of the working directory, or the default."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wikimem import places
from wikimem.config_read import VAULT_FILE, Flat, nearest, read_tables, read_toml, unknown
from wikimem.config_tables import TABLES
from wikimem.errors import ConfigError, VaultError


@dataclass(frozen=True, slots=True)
class UserVault:
    """One `[vaults.NAME]`: its folder, and the settings that the user's file gives it."""

    name: str
    path: Path
    flat: Flat = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserFile:
    """The user's configuration as read. `default` names one of `vaults`."""

    file: Path
    default: str | None = None
    vaults: Mapping[str, UserVault] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Choice:
    """The vault that was chosen and by what."""

    name: str
    path: Path
    origin: str
    flat: Flat = field(default_factory=dict)
    configured: bool = False


def read_user_file(env: Mapping[str, str]) -> UserFile:
    """Read `$XDG_CONFIG_HOME/wikimem/config.toml`; a missing file is an empty one."""
    file = places.config_home(env) / "config.toml"
    tables = read_toml(file)
    for name in tables:
        if name not in ("default", "vaults"):
            raise unknown(file, name, ("default", "vaults"))
    vaults = tables.get("vaults", {})
    if not isinstance(vaults, dict):
        raise ConfigError(
            f"{file}: `vaults` is no table", hint='write `[vaults.notes]` and below it `path = "~/notes"`'
        )
    read = {name: _read_vault(file, name, table, env) for name, table in vaults.items()}
    default = tables.get("default")
    if default is not None and default not in read:
        names = ", ".join(sorted(read)) or "none"
        raise ConfigError(f"{file}: `default` names no vault: {default!r}", hint=f"configured here: {names}")
    return UserFile(file=file, default=str(default) if default is not None else None, vaults=read)


def choose(vault: str | None, *, env: Mapping[str, str], cwd: Path, user: UserFile) -> Choice:
    """Return the vault that `--vault`, `WIKIMEM_VAULT`, the working directory or `default` names, in this order.

    The folder is not looked into: a daemon keeps answering for a vault whose disk is away.
    """
    if vault:
        return _named(vault, "--vault", env=env, cwd=cwd, user=user)
    if env.get("WIKIMEM_VAULT"):
        return _named(env["WIKIMEM_VAULT"], "WIKIMEM_VAULT", env=env, cwd=cwd, user=user)
    around = _around(cwd, user)
    if around is not None:
        return around
    if user.default is not None:
        return _configured(user.vaults[user.default], f"default in {user.file}")
    raise VaultError(
        f"no vault is named, and none lies around {cwd}",
        hint="make one with `wikimem init DIR`, or say which: `--vault NAME|PATH`",
    )


def is_vault(path: Path) -> bool:
    """Whether the folder looks like a vault: it holds `wiki/` or `wikimem.toml`."""
    try:
        return (path / "wiki").is_dir() or (path / VAULT_FILE).is_file()
    except OSError:
        return False


def is_closed(path: Path) -> bool:
    """Whether a folder is there that may not be entered, or lies in one (then nobody can tell that it is there)."""
    try:
        return stat.S_ISDIR(path.stat().st_mode) and not os.access(path, os.X_OK)
    except PermissionError:
        return True
    except OSError:
        return False


def require_vault(path: Path, *, configured: bool, env: Mapping[str, str] = os.environ) -> None:
    """Raise `VaultError` unless `path` is a folder that can be read and is a vault.

    A configured folder needs neither `wiki/` nor `wikimem.toml`: the user's file says that it is one.
    """
    try:
        if not path.is_dir():
            _refuse_no_folder(path, configured=configured, env=env)
        readable = os.access(path, os.R_OK | os.X_OK)
    except PermissionError:
        readable = False
    except OSError as error:
        raise VaultError(f"the vault {path} cannot be read: {error.strerror}", hint="look at the disk") from error
    if not readable:
        hint = f"give yourself the right to read and enter it: `chmod u+rx {path}`"
        raise VaultError(f"the vault {path} cannot be read: Permission denied", hint=hint)
    if not configured and not is_vault(path):
        hint = f"make it one, existing notes stay as they are: `wikimem init {path}`"
        if _was_a_vault(path, env):
            hint = "it was one: mount its disk, or put its files back; `wikimem init` would make another in their place"
        raise VaultError(f"{path} is no vault: it holds neither wiki/ nor {VAULT_FILE}", hint=hint)


def _was_a_vault(path: Path, env: Mapping[str, str]) -> bool:
    """Say whether a state was kept for the folder at this path: then its vault is away, as after an unmount.

    `init` would make another one in the place of the notes, which the returning disk then hides.
    """
    try:
        return (places.state_home(env) / places.name_of(path)).is_dir()
    except OSError:
        return False


def _refuse_no_folder(path: Path, *, configured: bool, env: Mapping[str, str]) -> None:
    if path.exists():
        hint = "name the folder that holds `wiki/` or `wikimem.toml`"
        raise VaultError(f"the vault {path} is a file, not a folder", hint=hint)
    if path.is_symlink():
        raise VaultError(f"the vault {path} is a link to nothing", hint=f"see where it leads: `ls -l {path}`")
    hint = f"make it: `wikimem init {path}`"
    if configured or _was_a_vault(path, env):
        hint = f"put it back, or mount its disk; a new one: `wikimem init {path}`"
    raise VaultError(f"the vault {path} does not exist", hint=hint)


def _read_vault(file: Path, name: str, table: object, env: Mapping[str, str]) -> UserVault:
    if not places.VAULT_NAME.fullmatch(name):
        hint = "a name is letters, digits, `-`, `_` and `.`, at most 64, and not `locks`, as it is part of file names"
        raise ConfigError(f"{file}: `vaults.{name}` is no name for a vault", hint=hint)
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: `vaults.{name}` is no table", hint=f"write `[vaults.{name}]` and below it `path`")
    tables = {key: value for key, value in table.items() if key != "path"}
    for key in tables:
        if key not in TABLES:
            raise unknown(file, f"vaults.{name}.{key}", ("path", *TABLES))
    path = table.get("path")
    if not isinstance(path, str) or not path.strip():
        what = "is missing" if path is None else "is no path"
        raise ConfigError(f"{file}: `vaults.{name}.path` {what}", hint='write it in quotes: `path = "~/notes"`')
    flat = read_tables(file, tables, f"vaults.{name}.")
    return UserVault(name=name, path=places.expand(path, env=env, base=file.parent), flat=flat)


def _named(text: str, origin: str, *, env: Mapping[str, str], cwd: Path, user: UserFile) -> Choice:
    if text in user.vaults:
        return _configured(user.vaults[text], origin)
    path = places.expand(text, env=env, base=cwd)
    is_name = not text.startswith(("/", ".", "~")) and "/" not in text
    if is_name and not os.path.lexists(path) and not _was_a_vault(path, env):
        near = nearest(text, user.vaults)
        names = f"did you mean `{near}`?" if near else f"make it with `wikimem init {text}`"
        said = f" ({origin})" if origin == "WIKIMEM_VAULT" else ""
        raise VaultError(f"no vault is called {text!r}{said}, and {path} does not exist", hint=names)
    return _by_path(path, origin, user)


def _by_path(path: Path, origin: str, user: UserFile) -> Choice:
    real = os.path.realpath(path)
    for known in user.vaults.values():
        if os.path.realpath(known.path) == real:
            return Choice(known.name, path, origin, known.flat, configured=True)
    return Choice(places.name_of(path), path, origin)


def _around(cwd: Path, user: UserFile) -> Choice | None:
    configured = {os.path.realpath(known.path) for known in user.vaults.values()}
    for folder in (cwd, *cwd.parents):
        if os.path.realpath(folder) in configured or is_vault(folder):
            return _by_path(folder, "the working directory", user)
    return None


def _configured(vault: UserVault, origin: str) -> Choice:
    return Choice(vault.name, vault.path, origin, vault.flat, configured=True)
