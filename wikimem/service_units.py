"""What `wikimem service install` writes, as text: unit names, drop-ins, and systemd's quoting. Nothing is run here.

The units themselves are shipped files (`systemd/`), the same for every vault. What differs from vault to vault, and
from one installation of Python to the next, goes into drop-ins of the instance `wikimem@NAME`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from wikimem.config_tables import CREDENTIAL
from wikimem.errors import InvalidInput
from wikimem.places import VAULT_NAME

SERVICE = "wikimem@.service"
SOCKET = "wikimem@.socket"
SANDBOX = "wikimem@.service.d/20-sandbox.conf"

_UNQUOTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class UnitFile:
    """One file below the user's unit folder: `path` is relative to it."""

    path: PurePosixPath
    text: str


@dataclass(frozen=True, slots=True)
class Instance:
    """One vault's service. Paths are absolute; `variables` are set for the daemon as they are here.

    `disk` is where the vault's own disk is mounted, None when the vault lies on the disk of the home.
    """

    name: str
    vault: Path
    python: Path
    state: Path
    disk: Path | None = None
    key_file: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


def service_of(name: str) -> str:
    """Return the unit that runs the vault's daemon."""
    return f"wikimem@{name}.service"


def socket_of(name: str) -> str:
    """Return the unit that holds the vault's socket."""
    return f"wikimem@{name}.socket"


def dropins_of(name: str) -> PurePosixPath:
    """Return the folder of the instance's own drop-ins, relative to the unit folder."""
    return PurePosixPath(f"{service_of(name)}.d")


def check_name(name: str) -> str:
    r"""Return `name` if it can be an instance, a file name and a key of the configuration.

    Raises `InvalidInput`. A path as instance name would make a socket path that is too long, full of `\x20`.
    """
    if not VAULT_NAME.fullmatch(name):
        hint = "letters (a to z), digits, `-`, `_` and `.`, at most 64, as in `wikimem service install notes ~/notes`"
        raise InvalidInput(f"{name!r} is no name for a vault", hint=hint)
    return name


def quoted(text: str) -> str:
    """Return `text` as one word of a setting that takes words: in quotes, `%` doubled.

    Raises `InvalidInput` for control characters and bytes that are not UTF-8: systemd ignores such a line.
    """
    return '"' + _literal(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def argument(text: str) -> str:
    """Return `text` as one argument of a command line, where `$` would start a variable."""
    return quoted(text).replace("$", "$$")


def instance_files(instance: Instance, shipped: Mapping[str, str], *, sandbox: bool) -> tuple[UnitFile, ...]:
    """Return every file of the instance, the shipped ones first. `shipped` maps their paths to their text."""
    names = [SERVICE, SOCKET, *([SANDBOX] if sandbox else [])]
    own = dropins_of(check_name(instance.name))
    files = [UnitFile(PurePosixPath(name), shipped[name]) for name in names]
    files.append(UnitFile(own / "10-vault.conf", vault_dropin(instance)))
    if instance.key_file is not None:
        files.append(UnitFile(own / "30-api-key.conf", key_dropin(instance.key_file)))
    if _below_tmp(instance.vault) or _below_tmp(instance.python):
        files.append(UnitFile(own / "40-shared-tmp.conf", _SHARED_TMP))
    return tuple(files)


def vault_dropin(instance: Instance) -> str:
    """Return `10-vault.conf`: where the vault is, what may be written, which interpreter runs."""
    python = quoted(str(instance.python))
    variables = {"WIKIMEM_VAULT": str(instance.vault), **instance.variables}
    # `-`: a vault whose disk is away must not keep the daemon from starting (226/NAMESPACE); it reports that itself.
    # The state folder is made by the installer: one that appears later is read-only inside the sandbox.
    # A vault on a disk of its own: the mount point. A folder below it would be bound, and that bind keeps the disk
    # mounted for the daemon when a person unmounts it: they pull it out, and the daemon writes on.
    writable = [quoted(f"-{place}") for place in (instance.disk or instance.vault, instance.state)]
    return "\n".join(
        [
            f"# Written by `wikimem service install {instance.name}`, which writes it anew each time.",
            "# Put settings of your own into another file: `systemctl --user edit` makes one.",
            "[Service]",
            *(f"Environment={quoted(f'{name}={value}')}" for name, value in variables.items()),
            *_variable_files(instance),
            f"ReadWritePaths={' '.join(writable)} -%t/wikimem",
            "ExecStart=",
            # -P: a file called `click.py` in the home, where user services start, must not be imported.
            f"ExecStart={python} -P -m wikimem_daemon --vault %i --log-level ${{WIKIMEM_LOG_LEVEL}}",
            "ExecReload=",
            f"ExecReload={python} -P -c {argument('from wikimem.cli import main; main()')} service reload %i",
            "",
        ]
    )


def _variable_files(instance: Instance) -> list[str]:
    """Return lines for the files of variables beside the configuration, where the units' own `%E` is another folder."""
    config = instance.variables.get("XDG_CONFIG_HOME")
    if config is None:
        return []
    # No quotes here either.
    return [f"EnvironmentFile=-{_literal(config)}/wikimem/{name}" for name in ("env", "%i.env")]


def key_dropin(key_file: Path) -> str:
    """Return `30-api-key.conf`.

    The blank `SetCredential=` (systemd takes no empty one) stands in for a file that is removed later: without it every
    start would end with 243/CREDENTIALS before the daemon could tell anybody why.
    """
    # No quotes: systemd takes the rest of this line as it stands, but for `%`.
    return f"[Service]\nSetCredential={CREDENTIAL}:\\n\nLoadCredential={CREDENTIAL}:{_literal(str(key_file))}\n"


_SHARED_TMP = (
    "# The vault or the interpreter lies below /tmp, which PrivateTmp= would hide.\n[Service]\nPrivateTmp=no\n"
)


def _literal(text: str) -> str:
    if _UNQUOTABLE.search(text):
        hint = "rename it: systemd cannot read control characters, nor names that are not UTF-8"
        raise InvalidInput(f"{text.removeprefix('-')!r} cannot stand in a unit file", hint=hint)
    return text.replace("%", "%%")


def _below_tmp(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in ("/tmp", "/var/tmp"))  # noqa: S108 - compared, never used
