"""`wikimem serve` (and `wikimemd`): become the daemon.

This process execs `python -m wikimem_daemon`: the process id stays (systemd watches it), and the library never imports
the daemon.
"""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import click

from wikimem.cli.options import vault_option
from wikimem.cli.output import print_json
from wikimem.config import Settings, load
from wikimem.errors import ConfigError
from wikimem.store.locks import VaultLock, vault_key

_LEVELS = ("debug", "info", "notice", "warning", "error", "critical")


@click.command()
@click.option("--log-level", type=click.Choice(_LEVELS), default="info", show_default=True, help="What is logged.")
@vault_option
@click.option("--json", "as_json", is_flag=True, help="Say what is served as JSON.")
def serve(log_level: str, vault: str | None, *, as_json: bool) -> None:
    """Run the daemon in the foreground until it is stopped with Ctrl-C or SIGTERM.

    It follows every change of the vault on disk, and answers on the vault's socket.
    """
    activated = bool(os.environ.get("LISTEN_FDS"))
    try:
        settings = load(vault)
    except ConfigError:
        if not activated:
            raise
        # Clients already wait in the backlog of systemd's socket: the daemon answers them with the reason.
        _become(vault, log_level)
        raise
    if not activated:
        _refuse_second(settings)
    _announce(settings, as_json=as_json)
    _become(settings.name if settings.configured else str(settings.path), log_level)


def _refuse_second(settings: Settings) -> None:
    """Say early what the daemon's own lock would say, before anything is announced."""
    lock = VaultLock(settings.state_root, vault_key(settings.path), "daemon")
    lock.acquire()
    lock.release()


def _announce(settings: Settings, *, as_json: bool) -> None:
    """Print what is served, and two lines to paste into another terminal."""
    if as_json:
        print_json({"vault": settings.name, "path": str(settings.path), "socket": str(settings.socket_path)})
    else:
        body = json.dumps({"query": "what do I like?"})
        vault = shlex.quote(settings.name if settings.configured else str(settings.path))
        click.echo(f"serving the vault {settings.path} on {settings.socket_path}")
        click.echo("ask it from another terminal:")
        click.echo(
            f"  curl --unix-socket {shlex.quote(str(settings.socket_path))} -s http://wikimem/v1/retrieve"
            f" -H 'Content-Type: application/json' -d {shlex.quote(body)}"
        )
        click.echo(f"  {_own_command()} retrieve --vault {vault} {shlex.quote('what do I like?')}")
    sys.stdout.flush()  # exec drops what is buffered


def _own_command() -> str:
    """Return `wikimem` as it can be typed: its name where the PATH leads to this one, else its path."""
    beside = Path(sys.argv[0]).absolute().with_name("wikimem")
    found = shutil.which("wikimem")
    if found is not None and Path(found).resolve() == beside.resolve():
        return "wikimem"
    cwd = Path.cwd()
    return shlex.quote(str(beside.relative_to(cwd) if beside.is_relative_to(cwd) else beside))


def _become(vault: str | None, log_level: str) -> None:
    """Replace this process by the daemon. `-P`: a `wikimem` folder in the working directory is not imported."""
    command = [sys.executable, "-P", "-m", "wikimem_daemon", "--log-level", log_level]
    if vault is not None:
        command += ["--vault", vault]
    os.execv(sys.executable, command)  # noqa: S606 - no shell on purpose
