"""`wikimem embed`: make the vectors that are missing, through the daemon or in this process, with a bar."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from wikimem.cli.connection import answers, daemon_client, settings_for
from wikimem.cli.embed_view import View, progress_bar, tell
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import note, print_json
from wikimem.config import Settings, endpoint_key, require_vault
from wikimem.config_endpoint import shown_address
from wikimem.errors import ConfigError, UsageError, WikimemError

if TYPE_CHECKING:
    from wikimem.api.client import Client
    from wikimem.cache.opening import Embeddings
    from wikimem.cache.progress import Progress

_PAUSE_S = 0.1
_PATIENCE_S = 15.0
"""So long an endpoint may fail before the command says so and ends; a daemon goes on trying."""
_RATE_LIMITED = "embeddings-rate-limited"
_AFTER_ANSWER = b"\nstopping, after the answer to what was sent; Ctrl-C again gives it up\n"
_LONGEST_WAIT_S = 600.0
"""An endpoint that asks to be left alone is waited for so long."""


@click.command()
@click.option("--reset", is_flag=True, help="Embed every text anew, with the model that is configured now.")
@click.option("--yes", is_flag=True, help="Do not ask what --reset costs.")
@vault_option
@json_option
def embed(*, reset: bool, yes: bool, vault: str | None, as_json: bool) -> None:
    """Make the vectors that are missing, and try again those that failed.

    A running daemon does this by itself; the command shows how far it is. Ctrl-C ends the command: a daemon goes on,
    and without one everything that was paid for is kept and the next run continues.
    """
    settings = settings_for(vault)
    if settings.embeddings.provider == "none":
        raise ConfigError(
            f"no embeddings are configured for the vault {settings.name}",
            hint=_how_to_configure(settings),
        )
    work = _through_daemon if answers(settings) else _here
    try:
        last = work(settings, lambda cost: reset and _agreed(settings, cost, yes=yes))
    except KeyboardInterrupt:
        daemon = work is _through_daemon
        note("stopped; " + ("the daemon goes on: `wikimem status`" if daemon else "run it again to continue"))
        raise click.Abort from None
    if as_json:
        print_json(asdict(last))
    else:
        tell(last)


def _agreed(settings: Settings, cost: int, *, yes: bool) -> bool:
    """Say what a reset costs and ask; raise click.Abort (or UsageError where nobody can be asked) without a yes."""
    chosen = settings.embeddings
    note(f"--reset sends all {cost:,} texts to {shown_address(chosen.base_url or '')} to be embedded by {chosen.model}")
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("--reset costs something, and nobody is here to be asked", hint="pass --yes")
        click.confirm("go on?", abort=True, err=True)
    return True


# ---------------------------------------------------------------- with a daemon


def _through_daemon(settings: Settings, agreed: Callable[[int], bool]) -> View:
    client = daemon_client(settings)
    while client.status()["vectors"]["state"] == "starting":
        time.sleep(_PAUSE_S)
    used, chosen = client.status()["vectors"]["model"], settings.embeddings.model
    if used != chosen:
        hint = "restart it: what is sent now would be paid for with the model before"
        raise WikimemError(f"the daemon works with {used or 'no model'}, the configuration says {chosen}", hint=hint)
    reset = agreed(client.status()["vectors"].get("reset_cost", 0))
    stop = threading.Event()
    with progress_bar() as draw, _stopped_by_signals(stop):
        client.embed(reset=reset)
        return _watch(lambda: _daemon_view(client), draw, lambda: _pause(stop))


def _pause(stop: threading.Event) -> None:
    if stop.wait(_PAUSE_S):
        raise KeyboardInterrupt


def _daemon_view(client: "Client") -> View:
    status = client.status()
    body = status["vectors"]
    failed = [f"{one['path']}: {one['message']}" for one in status["problems"] if one["kind"] == "not-embedded"]
    # A reset that was just asked for has not begun yet.
    busy = status["embed"]["state"] == "running" and body["state"] != "failing"
    return View(
        state="pending" if busy else body["state"],
        count=body["count"],
        pending=body["pending"],
        sent=body.get("sent", 0),
        tokens=body.get("tokens", 0),
        rate=body.get("rate", 0.0),
        eta_s=body.get("eta_s"),
        model=body["model"] or "",
        detail=body.get("detail", ""),
        hint=body.get("hint", ""),
        reset_cost=body.get("reset_cost", 0),
        retry_in_s=body.get("retry_in_s"),
        rate_limited=any(part["code"] == _RATE_LIMITED for part in status["degraded"]),
        failed=tuple(failed),
    )


def _how_to_configure(settings: Settings) -> str:
    table = f"set `provider`, `base_url` and `model` in `[vaults.{settings.name}.embeddings]` of {settings.config_file}"
    if settings.configured:
        return table
    return f"{table}, and above it `[vaults.{settings.name}]` with the vault's `path`"


# ------------------------------------------------------------- without a daemon


def _here(settings: Settings, agreed: Callable[[int], bool]) -> View:
    # They bring numpy and httpx, which a running daemon spares us.
    from wikimem.cache.opening import open_embeddings  # noqa: PLC0415
    from wikimem.store.locks import VaultLock, vault_key  # noqa: PLC0415

    require_vault(settings.path, configured=settings.configured)
    key = endpoint_key(settings)
    whole, stop = [True], threading.Event()
    parts = open_embeddings(settings, key, whole=lambda: whole[0], stopped=stop.is_set)
    if parts is None:
        raise ConfigError("no embeddings are configured", hint="set `provider`")
    # Two processes must not write one cache. A daemon that starts meanwhile waits for its turn and answers by words.
    with VaultLock(settings.state_root, vault_key(settings.path), "vectors"):
        whole[0] = _read(settings, parts)
        sync = parts.sync
        if agreed(sync.progress.cost_of_reset):
            sync.reset()
        try:
            with progress_bar() as draw, _stopped_by_signals(stop, _AFTER_ANSWER):
                _watch(lambda: _local_view(sync.progress), draw, lambda: _step(parts, stop))
        finally:
            sync.commit()
            parts.client.close()
        last = _local_view(sync.progress)
        if last.state == "failing":
            raise WikimemError(last.detail, hint=last.hint)
        return last


def _read(settings: Settings, parts: "Embeddings") -> bool:
    """Read the vault; return whether all of it could be read."""
    from wikimem.api.scanning import NoPages, Scanner  # noqa: PLC0415
    from wikimem.search.index import MemoryIndex  # noqa: PLC0415
    from wikimem.store.opening import open_store  # noqa: PLC0415
    from wikimem.store.relations import RelationsFile  # noqa: PLC0415

    with open_store(settings) as store:
        index = MemoryIndex(NoPages())
        relations = RelationsFile(store)
        unread = Scanner(store, index, relations).scan()
        parts.sync.load()
        parts.sync.follow(index.pages.values())
    return not unread


@contextlib.contextmanager
def _stopped_by_signals(stop: threading.Event, said: bytes = b"") -> Iterator[None]:
    """Let the first Ctrl-C (or `kill`) set `stop`, saying what it waits for. The second does not wait.

    An exception out of the handler would not do: Python drops one that meets it in an import or a finalizer.
    """

    def on_signal(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        if said:
            os.write(2, said)  # not through `print`: the signal may have come while it was at work

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _step(parts: "Embeddings", stop: threading.Event) -> None:
    wait = parts.sync.step()
    if stop.is_set():
        raise KeyboardInterrupt
    if wait:
        time.sleep(min(wait, _PAUSE_S))


def _local_view(now: "Progress") -> View:
    return View(
        state=now.state,
        count=now.count,
        pending=now.pending,
        sent=now.sent,
        tokens=now.tokens,
        rate=now.rate,
        eta_s=now.eta_s,
        model=now.model,
        detail=now.detail,
        hint=now.hint,
        reset_cost=now.cost_of_reset,
        retry_in_s=None if now.retry_at is None else max(0.0, now.retry_at - time.monotonic()),
        rate_limited=now.code == _RATE_LIMITED,
        failed=tuple(f"{one.file}: {one.name}: {one.reason}" for one in now.failed),
    )


# ------------------------------------------------------------------------ both


def _watch(look: Callable[[], View], draw: Callable[[View], None], go_on: Callable[[], None]) -> View:
    """Return the last view: all is done. Raises `WikimemError` when it cannot be, or not now."""
    moved_at, seen = time.monotonic(), -1
    while True:
        view = look()
        draw(view)
        if view.state in ("ready", "incomplete") and not view.pending:
            return view
        if view.state == "mismatch":
            raise WikimemError(view.detail, hint=view.hint)
        # Who asked to be left alone for a while is not failing.
        limited = view.rate_limited and (view.retry_in_s or 0.0) <= _LONGEST_WAIT_S
        if view.sent != seen or view.state != "failing" or limited:
            moved_at, seen = time.monotonic(), view.sent
        elif time.monotonic() - moved_at > _PATIENCE_S:
            raise WikimemError(f"{view.pending:,} texts have no vector: {view.detail}", hint=view.hint)
        go_on()
