"""The daemon's life: serve at once, open the vault, follow it, reload, stop.

The socket answers before the vault is read, and also while its folder is not there: then `status` says what is
missing, and the daemon goes on by itself when it appears.
"""

import asyncio
import functools
import gc
import logging
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from wikimem import __version__
from wikimem.api import calls
from wikimem.api.calls import Call
from wikimem.api.protocol import PROTOCOL, DegradedPart, ReadStamp, ReloadAnswer
from wikimem.config import Settings
from wikimem.config_endpoint import key_of_next_start
from wikimem.errors import ConfigError, VaultError, WikimemError
from wikimem_daemon import logs, systemd
from wikimem_daemon import status as status_page
from wikimem_daemon.gate import Gate
from wikimem_daemon.holding import Hold
from wikimem_daemon.listening import Listener, bind
from wikimem_daemon.opened import OpenedVault, open_vault
from wikimem_daemon.routes import App, Stream
from wikimem_daemon.sandbox import WritableRoot
from wikimem_daemon.server import Server
from wikimem_daemon.service import VaultService
from wikimem_daemon.tasks import BackgroundTask
from wikimem_daemon.troubles import Troubles
from wikimem_daemon.watchdog import ExecutorProbe, Probe, from_environment

_log = logging.getLogger("wikimem.daemon")

_ROOT_POLL_S = 0.25
_FOLDER_LOOK_S = 2.0
_START_ANEW = 1
"""A status that `Restart=on-failure` answers with a fresh process: 75 and 78 would prevent it."""
_OPENING_S = 8.0
"""How long a call waits for the vault to be opened: less than a client waits for its answer."""
_STARTING: DegradedPart = {"code": "starting", "detail": "The vault is about to be read.", "hint": "Ask again."}


@dataclass(slots=True)
class Daemon:
    """One vault's daemon. `load` reads the configuration again, for a reload; `announce` is called once it answers.

    `key` is the embedding endpoint's, as it was at the start.
    """

    settings: Settings
    listener: Listener
    gate: Gate
    load: Callable[[], Settings]
    hold: Hold
    announce: Callable[[], None]
    key: str | None = field(default=None, repr=False)
    process: status_page.Process = field(default_factory=status_page.Process)
    _exit_status: int = 0
    _vault: OpenedVault | None = None
    _service: VaultService | None = None
    _why_closed: DegradedPart = field(default_factory=lambda: _STARTING)
    _server: Server | None = None
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _reloading: "asyncio.Task[None] | None" = None
    _settled: asyncio.Event = field(default_factory=asyncio.Event)
    _rebuild: BackgroundTask = field(default_factory=lambda: BackgroundTask("rebuild"))
    _embed: BackgroundTask = field(default_factory=lambda: BackgroundTask("embed"))
    _on_pages: status_page.PageProblems = field(default_factory=status_page.PageProblems)
    _writer_probe: Probe | None = None

    async def run(self) -> int:
        """Serve until a signal, then stop cleanly; return the exit status."""
        self._handle_signals()
        self._server = Server(App(self, self.gate), self.gate)
        await self._server.start(self.listener.sock)
        systemd.ready(f"reading {self.settings.path}")
        _log.info("serving the vault %s", self.settings.path, extra={"event": "daemon.serving"})
        self.announce()
        opening = asyncio.create_task(self._open())
        probes: dict[str, Probe] = {"reconcile": self._progress, "writer": self._writing}
        watchdog = asyncio.create_task(from_environment(probes).run())
        folder = asyncio.create_task(self._watch_folder())
        try:
            await self._stop.wait()
        finally:
            systemd.stopping()
            _log.info("stopping", extra={"event": "daemon.stopping"})
            await self._shut_down(opening, watchdog, folder)
        return self._exit_status

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload_on_signal)
        # A broken lease is told by SIGIO, whose default ends the process; the store asks for the lease's state itself.
        signal.signal(signal.SIGIO, signal.SIG_IGN)

    async def _watch_folder(self) -> None:
        """Hold the vault also when its folder is replaced, and its socket; end where that needs another process.

        And log what is degraded by now.
        """
        root, troubles = WritableRoot(self.settings.path), Troubles()
        while not self._stop.is_set():
            await asyncio.sleep(_FOLDER_LOOK_S)
            try:
                self.hold.take()
                await self._hold_socket()
            except WikimemError as error:
                self._end(error.exit_status, error.message)
            if self._vault is not None:
                troubles.look(self._vault.reconciler.status().degraded)
            if root.lost():
                self._end(_START_ANEW, "the vault's folder was replaced, and the sandbox shows the new one read-only")

    async def _hold_socket(self) -> None:
        """Listen anew where the socket's file was removed: nobody finds a daemon without one, nor can start another.

        Raises Locked when somebody else listens there by now.
        """
        gone = self.listener
        if self._server is None or gone.path is None or not gone.is_lost():
            return
        try:
            self.listener = bind(gone.path)
        except ConfigError as error:
            # As after a log-out, which takes the runtime directory away: it comes back with the next log-in.
            logs.problem("socket-lost", error.message, event="daemon.socket_lost")
            return
        await self._server.start(self.listener.sock)
        gone.sock.close()
        _log.warning("the socket %s was gone and is made anew", gone.path, extra={"event": "daemon.socket_lost"})

    def _end(self, status: int, why: str) -> None:
        _log.error("ending: %s", why, extra={"event": "daemon.ending"})
        self._exit_status = status
        self._stop.set()

    async def _shut_down(self, *tasks: "asyncio.Task[None]") -> None:
        if self._vault is not None:
            self._vault.streams.end()
        if self._server is not None:
            await self._server.stop()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._rebuild.stop()
        await self._embed.stop()
        if self._vault is not None:
            await self._vault.close()
        self.listener.close()

    # ------------------------------------------------------------- opening

    async def _open(self) -> None:
        """Open the vault, waiting for its folder if need be; end the daemon when that fails for good."""
        try:
            await self._open_when_there()
        except asyncio.CancelledError:
            raise
        except WikimemError as error:
            self._close_for({"code": error.code, "detail": error.message, "hint": error.hint})
            self._end(error.exit_status, error.message)
        except Exception:  # noqa: BLE001 - the outermost loop of the start
            _log.exception("the vault could not be opened")
            self._close_for({"code": "internal", "detail": "The vault could not be opened.", "hint": "See the log."})
            self._end(1, "the vault could not be opened")

    def _close_for(self, why: DegradedPart) -> None:
        """Answer who waits for the vault, and who comes, with the reason why it cannot be asked."""
        self._why_closed = why
        self._settled.set()

    async def _open_when_there(self) -> None:
        while self._vault is None:
            try:
                self.hold.take()
                self._vault = open_vault(self.settings, self.gate, self.key)
            except VaultError as error:
                if self._why_closed["detail"] != error.message:
                    logs.problem("missing-root", f"{error.message}; {error.hint}", event="degraded.missing-root")
                self._close_for({"code": "missing-root", "detail": error.message, "hint": error.hint})
                systemd.status(error.message)
                await asyncio.sleep(_ROOT_POLL_S)
        await self._vault.start()
        # Only now: a question before the start would have the reconciler look at a vault that it does not know yet.
        self._service = self._service_of(self._vault)
        self._settled.set()
        while self._vault.reconciler.partial:  # noqa: ASYNC110 - the reconciler has no event for it, and this ends
            await asyncio.sleep(0.05)
        await self._vault.housekeeping.merge(settled=True)
        await self._vault.vectors.start(self._vault.index.pages.values, self._vault.index.prime)
        _keep_for_long()
        items, files = self._vault.index.item_count, self._vault.reconciler.status().files
        systemd.status(f"{items} items in {files} files")
        _log.info("read %d items in %d files", items, files, extra={"event": "daemon.read"})

    def _service_of(self, vault: OpenedVault) -> VaultService:
        return VaultService(
            vault.operations,
            vault.reconciler,
            vault.writer,
            vault.lock,
            operate_with=functools.partial(self._operate, vault),
            open_stream=vault.streams.open,
            status=functools.partial(self._status, vault),
            prepare=vault.vectors.prepare,
            reached=vault.vectors.reached,
        )

    def _progress(self) -> object | None:
        return None if self._vault is None or self._service is None else self._vault.reconciler.progress()

    def _writing(self) -> object | None:
        """Whether the one thread for the disk takes work: writes, and reads of history and journal behind them."""
        if self._service is None:
            return None
        if self._writer_probe is None:
            self._writer_probe = ExecutorProbe(self._service.writer)
        return self._writer_probe()

    # ------------------------------------------------------------- service

    async def read(self, call: Call, params: Mapping[str, Any]) -> Mapping[str, object]:
        """Answer a read; only `status` is answered before the vault is open."""
        if self._service is None and call is calls.STATUS:
            return status_page.waiting_answer(
                self.settings,
                self._why_closed,
                starting=self._why_closed is _STARTING,
                process=self.process,
                connections=self._connections(),
            )
        return await (await self._opened()).read(call, params)

    async def write(
        self, call: Call, params: Mapping[str, Any], key: str | None, digest: str
    ) -> tuple[Mapping[str, object], bool]:
        """Do a write."""
        return await (await self._opened()).write(call, params, key, digest)

    async def operate(self, call: Call, params: Mapping[str, Any]) -> Mapping[str, object]:
        """Do something about the daemon itself."""
        if call is calls.HEALTH:
            return {"state": self._health(), "version": __version__, "protocol": PROTOCOL}
        return await (await self._opened()).operate(call, params)

    async def stream(self, since: str | None) -> Stream:
        """Open an event stream."""
        return await (await self._opened()).stream(since)

    async def _opened(self) -> VaultService:
        """Return the service, waiting for the moments that a start takes until the vault can be asked."""
        if self._service is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._settled.wait(), _OPENING_S)
        if self._service is None:
            raise VaultError(self._why_closed["detail"], hint=self._why_closed["hint"])
        return self._service

    def _health(self) -> str:
        if self._vault is None or self._service is None:
            return "starting" if self._why_closed is _STARTING else "degraded"
        watch = self._vault.reconciler.status()
        return "starting" if watch.partial else "degraded" if watch.degraded else "ok"

    async def _operate(self, vault: OpenedVault, call: Call, params: Mapping[str, Any]) -> Mapping[str, object]:
        if call is calls.RELOAD:
            return await self.reload()
        if call is calls.REBUILD:
            return self._rebuild.start(functools.partial(_rebuild_all, vault))
        return self._embed.start(vault.vectors.embedding(reset=params["reset"]))

    def _status(self, vault: OpenedVault, stamp: ReadStamp) -> Mapping[str, object]:
        return status_page.status_answer(
            vault,
            stamp,
            on_pages=self._on_pages,
            process=self.process,
            rebuild=self._rebuild.body(),
            embed=self._embed.body(),
            connections=self._connections(),
        )

    def _connections(self) -> Any:
        server_open = self._server.connections if self._server is not None else 0
        return status_page.connections_body(server_open, self.gate.streams, self.gate.refused)

    # -------------------------------------------------------------- reload

    async def reload(self) -> ReloadAnswer:
        """Read the configuration again and use what can be used at once. Raises ConfigError; the old one stays."""
        systemd.reloading()
        try:
            found = self.load()
            if self._vault is not None:
                await self._vault.use(found)
        except WikimemError as error:
            systemd.ready(f"reload failed: {error.message}")
            raise
        changed = dict(status_page.changed_settings(self.settings, found))
        next_key = key_of_next_start(found.embeddings, env=os.environ, base=found.config_file.parent)
        if self.key is not None and next_key not in (None, self.key):
            changed["embeddings"] = True
        self.settings = found
        systemd.ready("configuration read again")
        return {"changed": sorted(changed), "restart_needed": sorted(name for name, late in changed.items() if late)}

    def _reload_on_signal(self) -> None:
        self._reloading = asyncio.create_task(self._reload_and_log())

    async def _reload_and_log(self) -> None:
        try:
            await self.reload()
        except WikimemError as error:
            _log.error("the configuration was not read again: %s", error.message, extra={"event": "daemon.reload"})


async def _rebuild_all(vault: OpenedVault) -> str:
    await vault.reconciler.rebuild()
    await vault.housekeeping.build()
    _keep_for_long()
    return f"{vault.index.item_count} items"


def _keep_for_long() -> None:
    """Take what was read out of the collector's sight: its full round over 100,000 items stops the loop for 40 ms."""
    gc.freeze()
