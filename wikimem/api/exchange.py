"""What a client does for one call, as steps: connect, send, receive, retry, give up. No I/O happens here.

A plan is a generator of steps. `Client` performs them with a blocking socket, `AsyncClient` on the event loop; both
throw the `OSError` of a failed step back into the plan, which decides what that means. So every decision about
retries, deadlines and restarts of the daemon exists once.

A repeat is safe for every call: reads change nothing, and a write carries an Idempotency-Key.
"""

import contextlib
import math
import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from wikimem.api.http_wire import EventReader, ResponseReader, decode_answer, encode_request
from wikimem.api.protocol import Event
from wikimem.api.requests import Prepared
from wikimem.errors import Busy, DeniedError, InvalidInput, NotRunning, TryAgain, Unreachable
from wikimem.places import check_socket_length

Connection = TypeVar("Connection")
"""Whatever the transport calls a connection."""

RECEIVE_BYTES: Final = 65_536
FIRST_DELAY_S: Final = 0.01
LONGEST_DELAY_S: Final = 0.25
SILENCE_S: Final = 45.0
"""An event stream that is silent for longer (three missed heartbeats) is dead."""

TIMEOUT_S: Final = 10.0
MAX_TIMEOUT_S: Final = 86_400.0
MAX_IDLE: Final = 4


@dataclass(frozen=True, slots=True)
class Connect:
    """Open a connection to the socket; gives the transport's connection."""

    timeout_s: float


@dataclass(frozen=True, slots=True)
class Send:
    """Send all of the bytes."""

    connection: Any
    data: bytes
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Receive:
    """Wait for bytes; gives them, empty at the end of the stream."""

    connection: Any
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Close:
    """Close a connection."""

    connection: Any


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class StartUnit:
    """Start the vault's systemd socket unit if it is installed; gives whether it was started."""


@dataclass(frozen=True, slots=True)
class Emit:
    """Hand an event to the caller."""

    event: Event


Step = Connect | Send | Receive | Close | Sleep | StartUnit | Emit
Plan = Generator[Step, Any, Any]


@dataclass(slots=True)
class Exchange(Generic[Connection]):
    """What a client remembers between calls: connections that are open and idle, and whether it was ever answered."""

    socket_path: Path
    timeout_s: float
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random
    idle: list[Connection] = field(default_factory=list)
    answered: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.timeout_s < MAX_TIMEOUT_S:
            raise InvalidInput(
                f"The timeout is {self.timeout_s} s.", hint=f"Give seconds above 0 and below {MAX_TIMEOUT_S:,}."
            )
        check_socket_length(self.socket_path)

    def attempt(self, prepared: Prepared[Any]) -> "Attempt[Connection]":
        """Return the state of one call, to be planned and performed.

        A call that lets the daemon wait for freshness gets that time on top of its own.
        """
        waiting = prepared.params.get("fresh_timeout_ms", 0)
        extra_s = waiting / 1000 if isinstance(waiting, int | float) else 0.0
        return Attempt(self, self.clock() + self.timeout_s + extra_s)


@dataclass(slots=True)
class Attempt(Generic[Connection]):
    """One call. The transport closes `connection` if the plan ends in an error."""

    exchange: Exchange[Connection]
    deadline: float
    connection: Connection | None = None
    _tries: int = 0
    _unit_tried: bool = False

    def call(self, prepared: Prepared[Any]) -> Plan:
        """Plan a call to its answer."""
        data = encode_request(prepared)
        while True:
            try:
                answer = yield from self._once(data, prepared.call.answer_fields)
            except ConnectionError as error:
                yield from self._again(error)
            except Busy as busy:
                yield from self._again(busy)
            except TimeoutError:
                raise self._too_late() from None
            else:
                return answer

    def follow(self, prepared: Prepared[Any]) -> Plan:
        """Plan an event stream that lasts over restarts of the daemon."""
        reader = EventReader(last_id=None)
        while True:
            try:
                yield from self._stream(encode_request(prepared, last_event_id=reader.last_id), reader)
            except (ConnectionError, Busy) as error:
                yield from self._again(error)
            except TimeoutError:
                raise self._too_late() from None

    def _once(self, data: bytes, fields: frozenset[str]) -> Plan:
        yield from self._open()
        response = yield from self._head(data)
        while not response.complete:
            yield from self._receive(response, self._left())
        self.exchange.answered = True
        if response.keep_alive and self.connection is not None:
            self.exchange.idle.append(self.connection)
            self.connection = None
        else:
            yield from self._drop()
        return decode_answer(response, fields)

    def _open(self) -> Plan:
        while self.connection is None:
            with contextlib.suppress(IndexError):
                # Threads share the list: asking first whether it is empty would be a race.
                self.connection = self.exchange.idle.pop()
                return
            try:
                self.connection = yield Connect(self._left())
            except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as absent:
                # A stale file and a regular file refuse; both mean that nobody is there.
                yield from self._absent(absent)
            except BlockingIOError as full:
                # EAGAIN: the backlog is full. The daemon is there and at work.
                yield from self._again(full)
            except PermissionError as error:
                raise DeniedError(
                    f"The socket {self.exchange.socket_path} is not yours.", hint="Use a vault of your own user."
                ) from error

    def _head(self, data: bytes) -> Plan:
        # The daemon may have answered before it had read everything (too large, busy): what it said comes first.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            yield Send(self.connection, data, self._left())
        response = ResponseReader()
        while not response.started:
            yield from self._receive(response, self._left())
        return response

    def _receive(self, response: ResponseReader, timeout_s: float) -> Plan:
        chunk = yield Receive(self.connection, timeout_s)
        if not chunk:
            raise ConnectionResetError("the connection ended before the answer did")
        response.feed(chunk)

    def _stream(self, data: bytes, reader: EventReader) -> Plan:
        yield from self._open()
        response = yield from self._head(data)
        if response.status != 200:
            while not response.complete:
                yield from self._receive(response, self._left())
            yield from self._drop()
            decode_answer(response)
        self.exchange.answered = True
        while True:
            for event in reader.feed(response.take_body()):
                if event["event"] == "bye":
                    raise ConnectionResetError("the daemon ended the stream")
                yield Emit(event)
            # An event came, or the stream is alive: what follows has the whole time-out to itself again.
            self._tries, self._unit_tried = 0, False
            self.deadline = self.exchange.clock() + self.exchange.timeout_s
            try:
                yield from self._receive(response, SILENCE_S)
            except TimeoutError:
                raise ConnectionResetError("the event stream fell silent") from None
            finally:
                self.deadline = self.exchange.clock() + self.exchange.timeout_s

    def _drop(self) -> Plan:
        if self.connection is not None:
            connection, self.connection = self.connection, None
            yield Close(connection)

    def _left(self) -> float:
        left = self.deadline - self.exchange.clock()
        if left <= 0:
            raise TimeoutError
        return left

    def _again(self, error: Exception) -> Plan:
        """Wait a little and return, or raise the error for good when the deadline would pass meanwhile."""
        yield from self._drop()
        delay = 0.0 if self._tries == 0 and isinstance(error, ConnectionError) else self._delay()
        self._tries += 1
        if self.exchange.clock() + delay >= self.deadline:
            raise self._final(error) from error
        if delay:
            yield Sleep(delay)

    def _delay(self) -> float:
        longest = min(LONGEST_DELAY_S, FIRST_DELAY_S * math.ldexp(1, min(self._tries, 10)))
        return longest * (0.5 + self.exchange.jitter() / 2)

    def _absent(self, error: OSError) -> Plan:
        # Asked once a call, also by a client that was answered before: systemd may have given up on the daemon since,
        # and then the step raises with the reason. A restart of the daemon alone never leads here under systemd.
        started = False
        if not self._unit_tried:
            self._unit_tried = True
            started = yield StartUnit()
        # A daemon that answered a moment ago is being restarted: its socket comes back.
        self.exchange.answered = self.exchange.answered or started
        if not self.exchange.answered:
            raise self._not_running() from error
        yield from self._again(error)

    def _not_running(self) -> NotRunning:
        # Only the socket is known here: its name is that of a vault only where a configuration names the vault.
        path = self.exchange.socket_path
        if path.suffix != ".sock" and not path.is_socket():
            return NotRunning(
                f"{path} is no socket.",
                hint="Name a vault by `vault=`, its name or path; `socket_path` is the daemon's.",
            )
        return NotRunning(
            f"No daemon answers on {path}.",
            hint="Start it: `wikimem serve --vault NAME|PATH`; as a service: `wikimem service install NAME PATH`.",
        )

    def _final(self, error: Exception) -> Exception:
        if isinstance(error, FileNotFoundError | ConnectionRefusedError | NotADirectoryError):
            return self._not_running()
        if isinstance(error, Busy):
            return error
        if isinstance(error, BlockingIOError):
            return TryAgain("The daemon has more callers than it can take.", hint="Try again in a moment.")
        return Unreachable(
            f"The daemon on {self.exchange.socket_path} ended the connection before it answered.",
            hint="Look at its log: `journalctl --user -u 'wikimem@*'`.",
        )

    def _too_late(self) -> Unreachable:
        return Unreachable(
            f"The daemon on {self.exchange.socket_path} did not answer within {self.exchange.timeout_s:g} s.",
            hint="See what it does: `wikimem status`; or give the client a longer timeout.",
        )
