"""Serving one listening socket: accept, and stop in an order in which no client sees an error.

uvicorn's own server closes the listening socket first, which resets everybody in its backlog, and then waits for
event streams. Here: stop accepting and leave the backlog standing, let what runs finish with `Connection: close`,
end the streams, and only then let go. Who waits in the backlog of systemd's socket is served by the next process.
"""

import asyncio
import functools
import inspect
import logging
import socket
from typing import Any, cast

from uvicorn.server import ServerState

from wikimem import __version__
from wikimem.api.protocol import PROTOCOL, PROTOCOL_HEADER, VERSION_HEADER
from wikimem_daemon.gate import Gate
from wikimem_daemon.http_protocol import GuardedProtocol, make_config
from wikimem_daemon.listening import BACKLOG

_log = logging.getLogger("wikimem.server")
_POLL_S = 0.01


class Server:
    """Serves an ASGI application on a socket that is bound and listening."""

    def __init__(self, app: Any, gate: Gate) -> None:
        self._gate = gate
        self._state = ServerState()
        # Everything that is answered carries these, also what uvicorn says by itself.
        self._state.default_headers = [
            (VERSION_HEADER.encode(), __version__.encode()),
            (PROTOCOL_HEADER.encode(), str(PROTOCOL).encode()),
        ]
        self._config = make_config(app, gate)
        self._listening: asyncio.Server | None = None
        # Its warnings are one line for every broken request: a way to fill a disk. Its errors are bugs of ours.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._state.connections)

    async def start(self, sock: socket.socket) -> None:
        """Accept connections on `sock` from now on, and on no other; those that are open stay."""
        if self._listening is not None:
            self._listening.close()
        loop = asyncio.get_running_loop()
        factory = functools.partial(
            GuardedProtocol, gate=self._gate, config=self._config, server_state=self._state, loop=loop
        )
        # A duplicate: when this one is closed, the listening socket itself and its backlog stay.
        accepting = sock.dup()
        options: dict[str, Any] = {}
        if "cleanup_socket" in inspect.signature(loop.create_unix_server).parameters:
            options["cleanup_socket"] = False  # Python 3.13 would delete systemd's file
        self._listening = await loop.create_unix_server(factory, sock=accepting, backlog=BACKLOG, **options)

    async def stop(self) -> None:
        """Stop accepting, let what runs finish within `drain_s`, then end what is left."""
        self._gate.stopping = True
        if self._listening is not None:
            # First stop accepting, then let what is accepted get its protocol: `close` makes asyncio drop a connection
            # that has none yet, and its client sees a reset.
            for sock in self._listening.sockets:
                asyncio.get_running_loop().remove_reader(sock.fileno())
            for _ in range(5):
                await asyncio.sleep(0)
            self._listening.close()
        # A request that a client has already sent is in the kernel: one turn of the loop brings it in.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self._close_idle()
        deadline = asyncio.get_running_loop().time() + self._gate.limits.drain_s
        while self._state.connections and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_POLL_S)
            self._close_idle()
        left = list(self._protocols())
        if left:
            _log.warning("%d connections did not end in %g s and are cut", len(left), self._gate.limits.drain_s)
        for protocol in left:
            protocol.abort()
        await asyncio.sleep(0)  # they are told that their client is gone before they are cancelled
        for task in list(self._state.tasks):
            task.cancel()
        if self._state.tasks:
            await asyncio.wait(self._state.tasks, timeout=self._gate.limits.drain_s)

    def _close_idle(self) -> None:
        for protocol in self._protocols():
            if not protocol.busy:
                protocol.shutdown()

    def _protocols(self) -> list[GuardedProtocol]:
        return cast("list[GuardedProtocol]", list(self._state.connections))
