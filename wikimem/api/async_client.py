"""The client of a vault's daemon for asyncio: the verbs of `Client`, awaited.

async with AsyncClient(vault="notes") as client:
    answer = await client.retrieve("plans for the summer")
    async for event in client.events():
        print(event["data"])
"""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast

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

Answer = TypeVar("Answer")


class AsyncClient(Verbs):
    """Calls to the daemon of one vault, on one event loop. Arguments as in `Client`."""

    def __init__(
        self,
        socket_path: str | os.PathLike[str] | None = None,
        vault: str | os.PathLike[str] | None = None,
        timeout: float = TIMEOUT_S,
    ) -> None:
        path = Path(socket_path) if socket_path is not None else find_socket(vault)
        self._exchange: Exchange[socket.socket] = Exchange(path, timeout)

    @property
    def socket_path(self) -> Path:
        """The socket that this client speaks to."""
        return self._exchange.socket_path

    async def perform(self, prepared: Prepared[Answer]) -> Answer:
        """Perform one call."""
        attempt = self._exchange.attempt(prepared)
        results: list[object] = []
        async for _ in self._steps(attempt, attempt.call(prepared), results):
            raise AssertionError
        return cast("Answer", results[0])

    def follow(self, prepared: Prepared[Event]) -> AsyncIterator[Event]:
        """Follow an event stream."""
        attempt = self._exchange.attempt(prepared)
        return self._steps(attempt, attempt.follow(prepared), [])

    async def _steps(
        self, attempt: Attempt[socket.socket], plan: Any, results: list[object]
    ) -> AsyncGenerator[Event, None]:
        try:
            step = next(plan)
            while True:
                if isinstance(step, Emit):
                    yield step.event
                    step = next(plan)
                    continue
                try:
                    result = await self._do(step)
                except OSError as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(result)
        except StopIteration as done:
            results.append(done.value)
        finally:
            if attempt.connection is not None:
                attempt.connection.close()
            while len(self._exchange.idle) > MAX_IDLE:
                self._exchange.idle.pop(0).close()

    async def _do(self, step: Step) -> object:
        loop = asyncio.get_running_loop()
        match step:
            case Connect(_):
                return self._connect()
            case Send(connection, data, timeout_s):
                async with asyncio.timeout(timeout_s):
                    await loop.sock_sendall(connection, data)
            case Receive(connection, timeout_s):
                async with asyncio.timeout(timeout_s):
                    return await loop.sock_recv(connection, RECEIVE_BYTES)
            case Close(connection):
                connection.close()
            case Sleep(seconds):
                await asyncio.sleep(seconds)
            case StartUnit():
                return await asyncio.to_thread(start_unit, self.socket_path)
        return None

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            # Directly: a Unix connect never waits, and `loop.sock_connect` takes the EAGAIN of a full backlog for a
            # connection that is on its way.
            connection.connect(os.fsencode(self.socket_path))
            check_peer(connection, self.socket_path)
        except BaseException:
            connection.close()
            raise
        return connection

    async def aclose(self) -> None:
        """Close the connections. The client can be used again; it then connects anew."""
        while self._exchange.idle:
            self._exchange.idle.pop().close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()
