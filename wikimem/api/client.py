"""The blocking client of a vault's daemon: standard library only, one connection kept open.

    from wikimem.api.client import Client

    with Client(vault="notes") as client:
        for item in client.retrieve("plans for the summer", limit=5)["items"]:
            print(item["address"], item["content"])

Errors come back as the classes of `wikimem.errors`. Over a restart of the daemon a call waits up to its `timeout`.
"""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from wikimem.api.exchange import (
    MAX_IDLE,
    RECEIVE_BYTES,
    TIMEOUT_S,
    Attempt,
    Close,
    Connect,
    Emit,
    Exchange,
    Receive,
    Send,
    Sleep,
    StartUnit,
    Step,
)
from wikimem.api.finding import check_peer, find_socket, start_unit
from wikimem.api.protocol import Event
from wikimem.api.requests import Prepared
from wikimem.api.verbs import Verbs

if TYPE_CHECKING:
    from wikimem.api.async_client import AsyncClient

__all__ = ["AsyncClient", "Client"]

Answer = TypeVar("Answer")


def __getattr__(name: str) -> object:
    """Import `AsyncClient` when it is asked for: asyncio is 30 ms that a command line does not pay."""
    if name == "AsyncClient":
        from wikimem.api.async_client import AsyncClient  # noqa: PLC0415

        return AsyncClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Client(Verbs):
    """Calls to the daemon of one vault.

    `socket_path` or else `vault` (a configured name or a path) says which; without either, the vault that a command
    would take. `timeout`: seconds for one call, retries included. Threads may share a client.
    """

    def __init__(
        self,
        socket_path: str | os.PathLike[str] | None = None,
        vault: str | os.PathLike[str] | None = None,
        timeout: float = TIMEOUT_S,
    ) -> None:
        path = Path(socket_path) if socket_path is not None else find_socket(vault)
        self._exchange: Exchange[socket.socket] = Exchange(path, timeout)
        self._lock = threading.Lock()
        self._pid = os.getpid()

    @property
    def socket_path(self) -> Path:
        """The socket that this client speaks to."""
        return self._exchange.socket_path

    def perform(self, prepared: Prepared[Answer]) -> Answer:
        """Perform one call."""
        attempt = self._attempt(prepared)
        steps = self._steps(attempt, attempt.call(prepared))
        try:
            while True:
                next(steps)
        except StopIteration as done:
            return cast("Answer", done.value)

    def follow(self, prepared: Prepared[Event]) -> Iterator[Event]:
        """Follow an event stream."""
        attempt = self._attempt(prepared)
        return self._steps(attempt, attempt.follow(prepared))

    def _attempt(self, prepared: Prepared[Any]) -> Attempt[socket.socket]:
        if self._pid != os.getpid():
            # After a fork two processes would read each other's answers from one connection. Ours are copies: closing
            # them leaves the parent's as they are. A thread that held the lock is not among us to let it go.
            self._pid, self._lock = os.getpid(), threading.Lock()
            self.close()
        return self._exchange.attempt(prepared)

    def _steps(self, attempt: Attempt[socket.socket], plan: Any) -> Generator[Event, None, object]:
        try:
            step = next(plan)
            while True:
                if isinstance(step, Emit):
                    yield step.event
                    step = next(plan)
                    continue
                try:
                    result = self._do(step)
                except OSError as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(result)
        except StopIteration as done:
            return cast("object", done.value)
        finally:
            if attempt.connection is not None:
                attempt.connection.close()
            self._trim()

    def _do(self, step: Step) -> object:
        match step:
            case Connect(timeout_s):
                return self._connect(timeout_s)
            case Send(connection, data, timeout_s):
                connection.settimeout(timeout_s)
                connection.sendall(data)
            case Receive(connection, timeout_s):
                connection.settimeout(timeout_s)
                return connection.recv(RECEIVE_BYTES)
            case Close(connection):
                connection.close()
            case Sleep(seconds):
                time.sleep(seconds)
            case StartUnit():
                return start_unit(self.socket_path)
        return None

    def _connect(self, timeout_s: float) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(timeout_s)
            connection.connect(os.fsencode(self.socket_path))
            check_peer(connection, self.socket_path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _trim(self) -> None:
        with self._lock:
            while len(self._exchange.idle) > MAX_IDLE:
                self._exchange.idle.pop(0).close()

    def close(self) -> None:
        """Close the connections. The client can be used again; it then connects anew."""
        with self._lock:
            while self._exchange.idle:
                self._exchange.idle.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        # A client that is dropped without close() gives its descriptors back without a ResourceWarning.
        with contextlib.suppress(AttributeError):
            self.close()
