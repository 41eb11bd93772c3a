"""Where files go on this machine: configuration, state, sockets, and what an unnamed vault is called.

Only `$XDG_*` values that are absolute count (the XDG base directory specification says that others are ignored).
"""

import hashlib
import os
import pwd
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from wikimem.errors import ConfigError

MAX_SOCKET_BYTES = 107
"""Of a socket's path: the kernel's `sun_path` holds 108 with its final NUL."""

# `locks` is the folder of all vaults' locks, beside the vaults' own state folders.
VAULT_NAME = re.compile(r"(?!locks$)[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


def home(env: Mapping[str, str]) -> Path:
    """Return the user's home, from `$HOME` or the password database."""
    given = env.get("HOME", "")
    return Path(given if given.startswith("/") else pwd.getpwuid(os.getuid()).pw_dir)


def config_home(env: Mapping[str, str]) -> Path:
    """Return the folder of `config.toml`."""
    return _xdg(env, "XDG_CONFIG_HOME", ".config") / "wikimem"


def state_home(env: Mapping[str, str]) -> Path:
    """Return the folder that holds one folder a vault, and the locks."""
    return _xdg(env, "XDG_STATE_HOME", ".local/state") / "wikimem"


def data_home(env: Mapping[str, str]) -> Path:
    """Return `$XDG_DATA_HOME` itself: systemd looks for user units below it."""
    return _xdg(env, "XDG_DATA_HOME", ".local/share")


def expand(text: str, *, env: Mapping[str, str], base: Path) -> Path:
    """Return `text` as an absolute path: `~` is the home, what is relative starts at `base`. Links are kept."""
    if text == "~" or text.startswith("~/"):
        text = str(home(env)) + text[1:]
    elif text.startswith("~"):
        text = str(Path(text).expanduser())
    return Path(os.path.normpath(base / text))


def name_of(path: Path) -> str:
    """Return the name of a vault that no configuration names: the folder's, and a hash of its real path."""
    real = os.path.realpath(path)
    slug = re.sub(r"[^A-Za-z0-9_]+", "-", os.path.basename(real)).strip("-")[:24] or "vault"  # noqa: PTH119 - a string
    return f"{slug}-{hashlib.sha256(os.fsencode(real)).hexdigest()[:8]}"


def socket_file(name: str, *, env: Mapping[str, str], cwd: Path) -> tuple[Path, str]:
    """Return the vault's socket and where that path came from.

    Raises `ConfigError` when the path is too long for the kernel, or the fallback folder is not safely ours.
    """
    given = env.get("WIKIMEM_SOCKET", "")
    if given:
        file, origin = expand(given, env=env, base=cwd), "WIKIMEM_SOCKET"
    else:
        folder, origin = runtime_folder(env)
        file = folder / f"{name}.sock"
    check_socket_length(file)
    return file, origin


def check_socket_length(file: Path) -> None:
    """Raise `ConfigError` for a socket's path that the kernel cannot hold."""
    length = len(os.fsencode(file))
    if length > MAX_SOCKET_BYTES:
        raise ConfigError(
            f"the socket's path has {length} bytes, and the kernel takes {MAX_SOCKET_BYTES}: {file}",
            hint="set WIKIMEM_SOCKET or XDG_RUNTIME_DIR to a shorter path, or give the vault a shorter name",
        )


def runtime_folder(env: Mapping[str, str]) -> tuple[Path, str]:
    """Return the folder of the sockets and where it came from. It need not exist yet."""
    given = env.get("XDG_RUNTIME_DIR", "")
    if given.startswith("/"):
        return Path(given) / "wikimem", "XDG_RUNTIME_DIR"
    run = Path(f"/run/user/{os.getuid()}")
    if is_own_folder(run):
        return run / "wikimem", str(run)
    fallback = Path(f"/tmp/wikimem-{os.getuid()}")  # noqa: S108 - checked below, never reused when not ours
    check_private(fallback)
    return fallback, "no XDG_RUNTIME_DIR"


def check_private(folder: Path) -> None:
    """Refuse a folder under `/tmp` that somebody else could have made or can look into. Absent is fine.

    `lstat`, because a link planted by another user would lead us into a folder of theirs.
    """
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise ConfigError(
            f"{folder} is not a folder that is yours alone (mode 0700)",
            hint="set XDG_RUNTIME_DIR to a folder of your own, or remove this one if you made it",
        )


def is_own_folder(path: Path) -> bool:
    """Whether a folder is there, no link, and the user's own."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def _xdg(env: Mapping[str, str], variable: str, fallback: str) -> Path:
    given = env.get(variable, "")
    return Path(given) if given.startswith("/") else home(env) / fallback
