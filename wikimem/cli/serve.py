"""`wikimem serve` (and `wikimemd`): become the daemon.

This process execs `python -m wikimem_daemon`: the process id stays (systemd watches it), and the library never imports
the daemon. What is to be said when the socket answers is handed over in the environment.
"""

import json
import os
import shlex
import sys

import click

from wikimem.cli.options import vault_option
from wikimem.cli.program import own_program
from wikimem.config import Settings, load
from wikimem.errors import ConfigError
from wikimem.store.locks import VaultLock, vault_key

_ANNOUNCE = "WIKIMEM_ANNOUNCE"
"""Read and removed by the daemon, which prints it when its socket answers: what is pasted sooner would fail."""
_LEVELS = ("debug", "info", "notice", "warning", "error", "critical")


@click.command()
@click.option(
    "--log-level",
    type=click.Choice(_LEVELS, case_sensitive=False),
    default="info",
    show_default=True,
    help="What is logged.",
)
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
    # Nobody pastes out of a journal; what is asked for as JSON is a program's.
    announced = as_json or not (activated or _logs_to_the_journal())
    announcement = _announcement(settings, as_json=as_json) if announced else ""
    _become(settings.called, log_level, announcement)


def _logs_to_the_journal() -> bool:
    """Whether standard output is the journal's, as systemd sets it up for a service."""
    try:
        found = os.fstat(1)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def _refuse_second(settings: Settings) -> None:
    """Say early what the daemon's own lock would say, before anything is announced."""
    lock = VaultLock(settings.state_root, vault_key(settings.path), "daemon")
    lock.acquire()
    lock.release()


def _announcement(settings: Settings, *, as_json: bool) -> str:
    """Return what is served, and two lines to paste into any other terminal."""
    if as_json:
        told = {"vault": settings.name, "path": str(settings.path), "socket": str(settings.socket_path)}
        return json.dumps(told, ensure_ascii=False, indent=2)
    question = "what do I like?"
    body = shlex.quote(json.dumps({"query": question}))
    curl = f"curl --unix-socket {shlex.quote(str(settings.socket_path))} -sS http://wikimem/v1/retrieve"
    return "\n".join(
        (
            f"serving the vault {settings.path} on {settings.socket_path}",
            "ask it from another terminal:",
            f"  {curl} -H 'Content-Type: application/json' -d {body}",
            f"  {_own_command()} retrieve --vault {shlex.quote(str(settings.path))} {shlex.quote(question)}",
        )
    )


def _own_command() -> str:
    """Return `wikimem` as it is called from anywhere: the other terminal's PATH and working directory are its own."""
    program = own_program()
    if program is not None:
        return shlex.quote(str(program))
    return f"{shlex.quote(sys.executable)} -c 'from wikimem.cli import main; main()'"


def _become(vault: str | None, log_level: str, announcement: str = "") -> None:
    """Replace this process by the daemon. `-P`: a `wikimem` folder in the working directory is not imported."""
    command = [sys.executable, "-P", "-m", "wikimem_daemon", "--log-level", log_level]
    if vault is not None:
        command += ["--vault", vault]
    os.execve(sys.executable, command, {**os.environ, _ANNOUNCE: announcement})  # noqa: S606 - no shell on purpose
