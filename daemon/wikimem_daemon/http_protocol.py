"""uvicorn's HTTP/1.1 protocol with what it lacks: peer check, connection cap, time-outs for header, body and answer.

Stock uvicorn waits for ever for the rest of a header or a body, and its refusals are plain text. It is subclassed
because its connection states are nowhere else to be had; only `conn`, `cycle`, `flow`, `transport` and the callbacks
below are touched.
"""

import asyncio
import json
import sys
from typing import Any, Final

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from wikimem.api.problem_json import CONTENT_TYPE, problem
from wikimem.api.protocol import Problem
from wikimem_daemon.gate import Gate
from wikimem_daemon.refusals import HEADER_TOO_LARGE

_IDLE: Final = "idle"
_HEADER: Final = "header"
_BODY: Final = "body"
_EMPTY_LINE: Final = b"\r\n"


class GuardedProtocol(H11Protocol):
    """One connection. A phase that does not end in its time ends the connection, with a reason where one fits."""

    def __init__(
        self, *, gate: Gate, config: Config, server_state: ServerState, loop: asyncio.AbstractEventLoop
    ) -> None:
        super().__init__(config=config, server_state=server_state, app_state={}, _loop=loop)
        self.access_log = False
        self._gate = gate
        self._limits = gate.limits
        self._phase: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._lingering = False
        self._half_closed = False
        self._unasked = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Turn the connection away, or wait for its first request."""
        others = len(self.connections)
        super().connection_made(transport)
        if others >= self._limits.connections + self._limits.refusals:
            # Even saying no has its cap.
            self._gate.refused += 1
            transport.abort()
            return
        refusal = self._gate.admit(transport.get_extra_info("socket"), others)
        if refusal is not None:
            self._refuse(refusal)
        else:
            self._enter(_IDLE)

    def data_received(self, data: bytes) -> None:
        """Take bytes, unless this connection was refused."""
        if self._lingering:
            return
        if self.cycle is not None and self.cycle.response_complete and self.conn.their_state is h11.SEND_BODY:
            # An answer was given before the body was read (too large); the rest is dropped, within reason.
            self._unasked += len(data)
            if self._unasked > 4 * self._limits.body_bytes:
                self.transport.abort()
                return
        if data.startswith(_EMPTY_LINE) and self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
            # RFC 9112 2.2: clients of old send one behind a body, and it is no part of the next request.
            data = data.lstrip(_EMPTY_LINE)
            if not data:
                return
        super().data_received(data)
        self._look()

    def eof_received(self) -> bool:  # type: ignore[override]  # True keeps the transport open, as asyncio has it
        """Keep the connection for an answer that is due: `nc -N` and others say that they are done sending.

        A client that is gone looks the same. Then the answer finds nobody; a stream, which is long, is not kept.
        """
        asked = self.conn.their_state is not h11.SEND_BODY
        self._half_closed = asked and self.cycle is not None and not self.cycle.response_started
        return self._half_closed

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers."""
        self._enter(None)
        self._stop_write_timer()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Go on with the next request of this connection."""
        super().on_response_complete()
        if self._half_closed and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()
        if not self.transport.is_closing():
            self._look()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP: called while h11's exception is handled."""
        error = sys.exception()
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        if status == 431:
            body = HEADER_TOO_LARGE
        elif status == 501:
            body = problem(501, "not_implemented", "This transfer encoding is not known here.", "Send Content-Length.")
        else:
            body = problem(400, "bad_request", msg, "Speak HTTP/1.1, as `curl --unix-socket` does.")
        self._refuse(body)

    def shutdown(self) -> None:
        """End an idle connection; let a busy one finish its answer."""
        if not self._lingering and not self.transport.is_closing():
            super().shutdown()

    def pause_writing(self) -> None:
        """Give the client a time to take what waits for it."""
        super().pause_writing()
        self._stop_write_timer()
        self._write_timer = self.loop.call_later(self._limits.write_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the clock: the client reads again."""
        super().resume_writing()
        self._stop_write_timer()

    @property
    def busy(self) -> bool:
        """Whether a request is being answered or has begun to come in."""
        answering = self.cycle is not None and not self.cycle.response_complete
        return answering or self._phase in {_HEADER, _BODY}

    def abort(self) -> None:
        """End the connection now."""
        self.transport.abort()

    def _look(self) -> None:
        if self._lingering or self.transport.is_closing():
            self._enter(None)
        elif self.conn.their_state is h11.SEND_BODY:
            self._enter(_BODY)
        elif self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._enter(_HEADER)
        else:
            # Idle after an answer: uvicorn's keep-alive timer runs. Answering: the work has its own time-outs.
            self._enter(None)

    def _enter(self, phase: str | None) -> None:
        if phase == self._phase:
            return  # a byte now and then does not buy more time
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._phase = phase
        if phase is not None:
            seconds = {_IDLE: self._limits.idle_s, _HEADER: self._limits.header_s, _BODY: self._limits.body_s}[phase]
            self._timer = self.loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        phase, self._phase, self._timer = self._phase, None, None
        if self.transport.is_closing():
            return
        if phase == _IDLE:
            self.transport.close()
            return
        seconds = self._limits.header_s if phase == _HEADER else self._limits.body_s
        self._refuse(problem(408, "timeout", f"The {phase} did not end within {seconds:g} s.", "Send it at once."))

    def _refuse(self, body: Problem) -> None:
        """Say why, then read and drop what still comes for a moment: closing on unread input would lose the reply."""
        self._lingering = True
        self._enter(None)
        self._unset_keepalive_if_required()
        if self.cycle is not None and not self.cycle.response_complete:
            # A request of this connection is being answered, and what came behind it is broken: it has no client now.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.close()
                return
        if self.cycle is not None and self.cycle.response_complete and self.conn.their_state is h11.SEND_BODY:
            self.transport.close()  # it had its answer before the body that it never sent
            return
        self.transport.write(self._rendered(body))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()
        self.loop.call_later(self._limits.linger_s, self.transport.abort)

    def _rendered(self, body: Problem) -> bytes:
        payload = json.dumps(body).encode()
        headers: list[tuple[bytes, bytes]] = [
            *self.server_state.default_headers,
            (b"content-type", CONTENT_TYPE.encode()),
            (b"content-length", b"%d" % len(payload)),
            (b"connection", b"close"),
        ]
        if body["status"] == 503:
            headers.append((b"retry-after", b"1"))
        head = f"HTTP/1.1 {body['status']} {body['title']}\r\n".encode()
        return head + b"".join(name + b": " + value + b"\r\n" for name, value in headers) + b"\r\n" + payload

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


def make_config(app: Any, gate: Gate) -> Config:
    """Return uvicorn's configuration for a socket of our own: no access log, no server header, no web sockets."""
    config = Config(
        app,
        http=GuardedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=gate.limits.idle_s,  # type: ignore[arg-type]  # it goes to `call_later`, a float will do
        h11_max_incomplete_event_size=gate.limits.header_bytes,
    )
    config.load()
    return config
