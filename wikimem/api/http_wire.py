"""HTTP/1.1 as the clients need it, without a socket: a request to bytes, bytes to an answer and to events.

The standard library's `http.client` costs a command line 20 ms of imports (it brings the email package) and has no
asyncio form; what we need of HTTP is one request, one answer with a length or in chunks.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote, urlencode

from wikimem.api.problem_json import error_of
from wikimem.api.protocol import KEY_HEADER, PROTOCOL, PROTOCOL_HEADER, Event
from wikimem.api.requests import Prepared
from wikimem.errors import InvalidInput, Unreachable

Answer = TypeVar("Answer")

HOST: Final = "wikimem"
MAX_HEAD_BYTES: Final = 65_536


def encode_request(prepared: Prepared[Any], *, last_event_id: str | None = None) -> bytes:
    """Return the bytes of a request."""
    call, target, body = prepared.call, prepared.call.path, b""
    if call.in_query:
        query = urlencode({name: _query_text(value) for name, value in prepared.params.items()}, quote_via=quote)
        target = f"{target}?{query}" if query else target
    else:
        body = _json_bytes(prepared)
    lines = [f"{call.method} {target} HTTP/1.1", f"Host: {HOST}", f"{PROTOCOL_HEADER}: {PROTOCOL}"]
    if not call.in_query:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    if prepared.key:
        lines.append(f"{KEY_HEADER}: {prepared.key}")
    if last_event_id:
        lines.append(f"Last-Event-ID: {quote(last_event_id, safe=':._-')}")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


def _json_bytes(prepared: Prepared[Any]) -> bytes:
    """Return the parameters as compact JSON in UTF-8. Raises InvalidInput for what JSON or UTF-8 cannot hold."""
    try:
        return json.dumps(prepared.params, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (UnicodeEncodeError, ValueError, TypeError) as error:
        from wikimem.api.checks import check_params  # noqa: PLC0415 - a client pays for it only to hear which one it is

        check_params(prepared.call.params, prepared.params)
        raise InvalidInput(f"An argument cannot be sent: {error}.", hint="Pass text, numbers and booleans.") from error


def _query_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput("An argument holds a lone surrogate.", hint="Pass text that UTF-8 can hold.") from error
    return text


@dataclass(slots=True)
class ResponseReader:
    """Reads one answer from bytes as they come; once `complete`, `status`, `headers` and `body` stand.

    Raises Unreachable when what comes is not an answer of the daemon.
    """

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    complete: bool = False
    _pending: bytearray = field(default_factory=bytearray)
    _left: int | None = None
    _chunked: bool = False

    @property
    def started(self) -> bool:
        """Whether the head is complete."""
        return self.status != 0

    @property
    def keep_alive(self) -> bool:
        """Whether the connection can take another request."""
        return self.headers.get("connection", "").lower() != "close"

    def feed(self, data: bytes) -> None:
        """Take bytes as they came."""
        self._pending += data
        if not self.started and not self._read_head():
            return
        if self._chunked:
            self._read_chunks()
            return
        self.body += self._pending
        self._pending.clear()
        self.complete = self._left is not None and len(self.body) >= self._left

    def take_body(self) -> bytes:
        """Return the body read so far and forget it (for a stream)."""
        taken = bytes(self.body)
        self.body.clear()
        return taken

    def _read_head(self) -> bool:
        while True:
            end = self._pending.find(b"\r\n\r\n")
            if end < 0:
                if len(self._pending) > MAX_HEAD_BYTES:
                    raise _no_daemon("its answer has no end of headers")
                return False
            lines = bytes(self._pending[:end]).decode("latin-1").split("\r\n")
            del self._pending[: end + 4]
            self.status = _status_of(lines[0])
            if self.status >= 200:  # 1xx: the answer proper follows
                break
            self.status = 0
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        self._chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        length = self.headers.get("content-length")
        self._left = int(length) if length is not None and length.isdecimal() else None
        return True

    def _read_chunks(self) -> None:
        while not self.complete:
            end = self._pending.find(b"\r\n")
            if end < 0:
                return
            try:
                size = int(bytes(self._pending[:end]).partition(b";")[0], 16)
            except ValueError:
                raise _no_daemon("a chunk has no size") from None
            if len(self._pending) < end + 2 + size + 2:
                return
            self.body += self._pending[end + 2 : end + 2 + size]
            del self._pending[: end + 2 + size + 2]
            self.complete = size == 0


def _status_of(line: str) -> int:
    parts = line.split(" ", 2)
    if len(parts) < 2 or not parts[0].startswith("HTTP/1.") or not parts[1].isdecimal() or len(parts[1]) != 3:
        raise _no_daemon("it does not speak HTTP")
    return int(parts[1])


def _no_daemon(why: str) -> Unreachable:
    return Unreachable(
        f"What listens on the socket is not the daemon: {why}.", hint="Look at the socket's path: `wikimem socket`."
    )


def decode_answer(response: ResponseReader, fields: Collection[str] = ()) -> Mapping[str, object]:
    """Return the answer, or raise the error that it stands for.

    `fields`: what a daemon of this version puts into it. One of an earlier version may lack some of them, not all.
    """
    if PROTOCOL_HEADER.lower() not in response.headers:
        raise _no_daemon(f"its answer carries no {PROTOCOL_HEADER}")
    try:
        body = json.loads(bytes(response.body) or b"{}")
    except (ValueError, RecursionError):
        raise _no_daemon("its answer is not JSON") from None
    if not isinstance(body, dict):
        raise _no_daemon("its answer is no object")
    if response.status >= 400:
        raise error_of(response.status, body)
    if fields and body.keys().isdisjoint(fields):
        raise _no_daemon("its answer holds nothing of what was asked for")
    return body


@dataclass(slots=True)
class EventReader:
    """Reads server-sent events from bytes as they come."""

    last_id: str | None = None
    _pending: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> Iterator[Event]:
        """Take bytes; yield the events that they complete."""
        self._pending += data
        while (end := self._pending.find(b"\n\n")) >= 0:
            block = bytes(self._pending[:end]).decode("utf-8", "replace")
            del self._pending[: end + 2]
            event = self._event(block)
            if event is not None:
                yield event

    def _event(self, block: str) -> Event | None:
        kind, data = "change", list[str]()
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                self.last_id = value
            elif name == "event":
                kind = value
            elif name == "data":
                data.append(value)
        if not data:
            return None
        try:
            content = json.loads("\n".join(data))
        except ValueError:
            raise _no_daemon("an event is not JSON") from None
        return cast("Event", {"event": kind, "id": self.last_id or "", "data": content})
