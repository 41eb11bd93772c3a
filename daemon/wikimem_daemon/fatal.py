"""When the daemon cannot start: clients that systemd's socket keeps waiting get the reason, not a reset.

Without this the waiting client would trigger the next start at once, and after five of them systemd marks service
and socket as failed. So: accept what waits, answer it, exit with the error's status.
"""

import json
import selectors
import socket
import time
from dataclasses import dataclass, field
from typing import Final

from wikimem import __version__
from wikimem.api.problem_json import CONTENT_TYPE, problem_of
from wikimem.api.protocol import PROTOCOL, PROTOCOL_HEADER, VERSION_HEADER
from wikimem.errors import WikimemError

WAIT_S: Final = 0.5
"""For how long clients are accepted."""

LONGEST_S: Final = 1.5
"""For how long this takes at most: one that sends nothing, or never ends, must not hold up the exit."""

MAX_CLIENTS: Final = 256
_MAX_HEAD_BYTES: Final = 65_536


def answer_waiting(listening: socket.socket, error: WikimemError) -> int:
    """Answer everybody in the backlog, and who comes within half a second, with the error; return how many."""
    answering = _Answering(_rendered(error))
    started = time.monotonic()
    with selectors.DefaultSelector() as ready:
        listening.setblocking(False)
        ready.register(listening, selectors.EVENT_READ)
        while (passed := time.monotonic() - started) < WAIT_S or (answering.open and passed < LONGEST_S):
            for key, _ in ready.select((WAIT_S if passed < WAIT_S else LONGEST_S) - passed):
                if key.fileobj is listening:
                    answering.accept(listening, ready)
                elif not answering.step(key.data):
                    ready.unregister(key.fileobj)
                    answering.drop(key.data)
            if passed >= WAIT_S and listening in ready.get_map():
                ready.unregister(listening)
        answering.end()
    return answering.answered


@dataclass(slots=True, eq=False)
class _Waiting:
    """One client and what it sent."""

    connection: socket.socket
    received: bytes = b""
    told: bool = False


@dataclass(slots=True)
class _Answering:
    """Clients side by side: a silent one costs the others nothing."""

    data: bytes
    open: set[_Waiting] = field(default_factory=set)
    answered: int = 0

    def accept(self, listening: socket.socket, ready: selectors.BaseSelector) -> None:
        """Take one client from the backlog."""
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        if len(self.open) >= MAX_CLIENTS:
            connection.close()
            return
        connection.setblocking(False)
        client = _Waiting(connection)
        self.open.add(client)
        ready.register(connection, selectors.EVENT_READ, client)

    def step(self, client: _Waiting) -> bool:
        """Read what came; answer once the request is in; False when the client is done."""
        try:
            chunk = client.connection.recv(_MAX_HEAD_BYTES)
        except OSError:
            chunk = b""
        if not client.told:
            client.received += chunk
            if not chunk or b"\r\n\r\n" in client.received or len(client.received) >= _MAX_HEAD_BYTES:
                self._tell(client)
        # What still comes is read: closing on unread input resets the connection, and the reply is lost.
        return bool(chunk)

    def drop(self, client: _Waiting) -> None:
        """Let go of a client."""
        self.open.discard(client)
        client.connection.close()

    def end(self) -> None:
        """Tell those that never got to the end of their request, and let go of all."""
        for client in self.open:
            if not client.told:
                self._tell(client)
            client.connection.close()

    def _tell(self, client: _Waiting) -> None:
        client.told = True
        try:
            client.connection.sendall(self.data)  # less than a socket's buffer
            client.connection.shutdown(socket.SHUT_WR)
        except OSError:
            return
        self.answered += 1


def _rendered(error: WikimemError) -> bytes:
    payload = json.dumps({**problem_of(error), "status": 503, "title": "Service Unavailable"}).encode()
    head = (
        "HTTP/1.1 503 Service Unavailable\r\n"
        f"{VERSION_HEADER}: {__version__}\r\n{PROTOCOL_HEADER}: {PROTOCOL}\r\n"
        f"Content-Type: {CONTENT_TYPE}\r\nContent-Length: {len(payload)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + payload
