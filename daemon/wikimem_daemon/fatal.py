"""When the daemon cannot start: clients that systemd's socket keeps waiting get the reason, not a reset.

Without this the waiting client would trigger the next start at once, and after five of them systemd marks service
and socket as failed. So: accept what waits, answer it, exit with the error's status.
"""

import contextlib
import json
import select
import socket
import time
from typing import Final

from wikimem import __version__
from wikimem.api.problem_json import CONTENT_TYPE, problem_of
from wikimem.api.protocol import PROTOCOL, PROTOCOL_HEADER, VERSION_HEADER
from wikimem.errors import WikimemError

WAIT_S: Final = 0.5
READ_S: Final = 1.0
MAX_CLIENTS: Final = 256


def answer_waiting(listening: socket.socket, error: WikimemError) -> int:
    """Answer everybody in the backlog, and who comes within half a second, with the error; return how many."""
    payload = json.dumps({**problem_of(error), "status": 503, "title": "Service Unavailable"}).encode()
    head = (
        "HTTP/1.1 503 Service Unavailable\r\n"
        f"{VERSION_HEADER}: {__version__}\r\n{PROTOCOL_HEADER}: {PROTOCOL}\r\n"
        f"Content-Type: {CONTENT_TYPE}\r\nContent-Length: {len(payload)}\r\nConnection: close\r\n\r\n"
    )
    answered = 0
    deadline = time.monotonic() + WAIT_S
    listening.setblocking(False)
    while answered < MAX_CLIENTS and (left := deadline - time.monotonic()) > 0:
        if not select.select([listening], [], [], left)[0]:
            break
        with contextlib.suppress(OSError):
            connection, _ = listening.accept()
            answered += 1
            with connection:
                _answer(connection, head.encode() + payload)
    return answered


def _answer(connection: socket.socket, data: bytes) -> None:
    """Read the request first: closing on unread input resets the connection, and the reply is lost."""
    connection.settimeout(READ_S)
    received = b""
    with contextlib.suppress(OSError):
        while b"\r\n\r\n" not in received and len(received) < 65_536:
            chunk = connection.recv(65_536)
            if not chunk:
                break
            received += chunk
    connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)
    with contextlib.suppress(OSError):
        while connection.recv(65_536):
            pass
