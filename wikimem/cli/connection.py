"""Reach a vault: through its daemon when one answers on the socket, in this process otherwise."""

from typing import TYPE_CHECKING, TypeAlias

import click

from wikimem.config import Settings, load, require_vault
from wikimem.errors import NotRunning

if TYPE_CHECKING:
    from wikimem.api.client import Client
    from wikimem.api.local import LocalClient

    # The two have the same verbs; a command need not know which one it holds.
    MemoryClient: TypeAlias = Client | LocalClient


def settings_for(vault: str | None) -> Settings:
    """Return the settings of the vault that a command's `--vault` names. The folder may be missing."""
    return load(vault, require=False)


def connect(settings: Settings) -> "MemoryClient":
    """Return a client of the vault's daemon if one answers, else one that works in this process.

    An installed systemd unit that is not running is started. Raises `VaultError` when no daemon answers and the
    folder cannot be read or is no vault.
    """
    if answers(settings) or _started(settings):
        from wikimem.cli.daemon_else_here import DaemonElseHere  # noqa: PLC0415 - only when there is a daemon

        return DaemonElseHere(settings.socket_path, lambda: here(settings))
    return here(settings)


def here(settings: Settings) -> "LocalClient":
    """Return a client that works in this process, closed at the end of the command. Raises `VaultError`."""
    require_vault(settings.path, configured=settings.configured)
    from wikimem.api.local import LocalClient  # noqa: PLC0415 - brings numpy and bm25s, which a daemon spares us

    client = LocalClient(settings)
    context = click.get_current_context(silent=True)
    if context is not None:
        context.call_on_close(client.close)
    return client


def connect_daemon(settings: Settings, *, start: bool = True) -> "Client":
    """Return a client of the vault's daemon; with `start` an installed systemd unit is started first.

    Raises `NotRunning` when none answers.
    """
    if answers(settings) or (start and _started(settings)):
        return daemon_client(settings)
    require_vault(settings.path, configured=settings.configured)
    raise not_running(settings)


def not_running(settings: Settings) -> NotRunning:
    """Return what to say when no daemon answers: what systemd knows of the vault's service, where it has one."""
    from wikimem.api import finding  # noqa: PLC0415 - only when nothing answers

    serve = f"`wikimem serve --vault {settings.called}`"
    return (
        finding.not_running(settings.socket_path)
        or _held_elsewhere(settings, serve)
        or NotRunning(f"no daemon runs for the vault {settings.name}", hint=f"start it: {serve}")
    )


def _held_elsewhere(settings: Settings, serve: str) -> NotRunning | None:
    """Tell of a daemon that listens elsewhere: it was started by a path before the folder got this name."""
    from wikimem.store.locks import VaultLock, vault_key  # noqa: PLC0415 - only when nothing answers

    try:
        lock = VaultLock(settings.state_root, vault_key(settings.path), "daemon")
    except OSError:
        return None
    if not lock.is_held():
        return None
    return NotRunning(
        f"a daemon (process {lock.holder()}) serves the vault, but does not answer under the name {settings.name}",
        hint=f"if it is not just starting or ending, stop it and start it by this name: {serve}",
    )


def daemon_client(settings: Settings) -> "Client":
    """Return a client of the socket, whether or not anything listens there yet."""
    from wikimem.api.client import Client  # noqa: PLC0415 - only commands that talk to the daemon pay for it

    return Client(settings.socket_path)


def answers(settings: Settings) -> bool:
    """Whether something accepts connections on the vault's socket."""
    from wikimem.service_files import listens  # noqa: PLC0415 - light, but not for commands that need no daemon

    return listens(settings.socket_path)


def _started(settings: Settings) -> bool:
    from wikimem.api.finding import start_unit  # noqa: PLC0415 - only when nothing answers

    return start_unit(settings.socket_path)
