"""`python -m wikimem_daemon`: arguments, logs, lock, socket, and then the daemon. Wiring only.

Everything is imported here, at the start: a process that imports later would load the code of a version that was
installed meanwhile.
"""

import argparse
import asyncio
import importlib
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from wikimem import config
from wikimem.errors import ConfigError, WikimemError
from wikimem.search.mapped import one_heap
from wikimem_daemon import logs, systemd, watchdog
from wikimem_daemon.daemon import Daemon
from wikimem_daemon.fatal import answer_waiting
from wikimem_daemon.gate import Gate
from wikimem_daemon.holding import Hold
from wikimem_daemon.limits import Limits, within_descriptors
from wikimem_daemon.listening import Listener, adopt, bind

_log = logging.getLogger("wikimem.daemon")

_ANNOUNCE = "WIKIMEM_ANNOUNCE"
"""What `wikimem serve`, which became this process, would say to who started it once the socket answers."""

SWITCH_INTERVAL_S = 0.0005
"""How long a working thread may keep the loop waiting (concurrency.md: the default of 5 ms is p99 of a query)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the daemon; return its exit status."""
    chosen = _arguments(arguments)
    known = chosen.log_level in logs.LEVELS
    logs.setup(chosen.log_level if known else "info", vault=chosen.vault or "")
    announcement = os.environ.pop(_ANNOUNCE, "")
    watchdog.trace_on_abort()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    passed = adopt(systemd.listen_fds())
    try:
        if not known:
            # Not the parser's to refuse: systemd takes it from a file of variables, and clients wait for the reason.
            hint = f"WIKIMEM_LOG_LEVEL or --log-level is one of {', '.join(logs.LEVELS)}"
            raise ConfigError(f"{chosen.log_level!r} is no log level", hint=hint)
        return _serve(chosen.vault, passed, announcement)
    except WikimemError as error:
        return _give_up(error, passed)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="wikimem_daemon", description="Serve one vault on its Unix socket.")
    parser.add_argument("--vault", metavar="NAME|PATH", help="the vault; else WIKIMEM_VAULT, else the one around you")
    parser.add_argument("--log-level", type=_level, default="info", help="what is logged (default: info)")
    return parser.parse_args(arguments)


def _level(text: str) -> str:
    # A variable that is set to nothing is one that is not set.
    return text.strip().lower() or "info"


def _serve(vault: str | None, passed: Listener | None, announcement: str) -> int:
    def load() -> config.Settings:
        return config.load(vault, env=os.environ, cwd=Path.cwd(), require=False)

    settings = load()
    if passed is None or config.is_closed(settings.path) or settings.path.is_dir():
        # A folder that is not there yet (a disk that is not mounted) is waited for, under a supervisor.
        config.require_vault(settings.path, configured=settings.configured)
    key = None
    if settings.embeddings.provider == "http":
        # A key that is missing is told before systemd hears READY, like every other wrong setting.
        key = config.endpoint_key(settings)
        # It brings httpx: 4 MB that a vault without embeddings has no use for.
        importlib.import_module("wikimem.cache.http_embedder")
    one_heap()
    hold = Hold(settings.state_root, settings.path, settings.name)
    hold.take()
    try:
        listener = passed or bind(settings.socket_path)
        gate = Gate(within_descriptors(Limits()))
        daemon = Daemon(settings, listener, gate, load, hold, lambda: _say(announcement), key=key)
        return asyncio.new_event_loop().run_until_complete(daemon.run())
    finally:
        hold.release()


def _say(announcement: str) -> None:
    """Print the announcement; a standard output that is closed stops nobody.

    Not through `sys.stdout`'s buffer: what a closed pipe did not take would fail again at the end. As bytes: a path
    stays what it is, whatever the terminal's encoding.
    """
    if announcement and sys.stdout is not None:
        with suppress(OSError):
            os.write(sys.stdout.fileno(), os.fsencode(announcement) + b"\n")


def _give_up(error: WikimemError, passed: Listener | None) -> int:
    _log.error("%s", error.message, extra={"event": f"daemon.{error.code}"})
    if error.hint:
        _log.error("%s", error.hint)
    systemd.notify(STATUS=error.message)
    if passed is not None:
        answer_waiting(passed.sock, error)
    return error.exit_status


def _end(status: int) -> NoReturn:
    """End at once: all is kept and closed by now, and a build that runs in a thread is needed by nobody any more."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _end(main())
