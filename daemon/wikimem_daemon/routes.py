"""From an HTTP request to an answer: checks at the door, parameters, dispatch, errors. Pure ASGI.

What each call does is not decided here: a `Service` performs it (`service.py`).
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from wikimem.api.calls import CALLS, Call, request_digest
from wikimem.api.checks import check_body, check_query
from wikimem.api.openapi import openapi
from wikimem.api.problem_json import CONTENT_TYPE, problem_of
from wikimem.api.protocol import KEY_HEADER, REPLAYED_HEADER, Problem
from wikimem.errors import InvalidInput, WikimemError
from wikimem_daemon import refusals
from wikimem_daemon.door import check_door, in_origin_form
from wikimem_daemon.gate import Gate
from wikimem_daemon.refusals import Refusal

_log = logging.getLogger("wikimem.requests")

_JSON: Final = (b"content-type", b"application/json")
_PROBLEM: Final = (b"content-type", CONTENT_TYPE.encode())
_CLOSE: Final = (b"connection", b"close")
_RETRY: Final = (b"retry-after", b"1")

Stream = Callable[[Receive, Send], Awaitable[None]]


class ClientGoneError(Exception):
    """The client went away before its request was complete: there is nobody to answer."""


class Service(Protocol):
    """What performs the calls."""

    async def read(self, call: Call, params: Mapping[str, Any]) -> Mapping[str, object]:
        """Answer a read."""

    async def write(
        self, call: Call, params: Mapping[str, Any], key: str | None, digest: str
    ) -> tuple[Mapping[str, object], bool]:
        """Do a write; return its answer, and whether it is a former one that is replayed."""

    async def operate(self, call: Call, params: Mapping[str, Any]) -> Mapping[str, object]:
        """Do something about the daemon itself."""

    async def stream(self, since: str | None) -> Stream:
        """Open an event stream after a cursor."""


class App:
    """The ASGI application."""

    def __init__(self, service: Service, gate: Gate) -> None:
        self._service = service
        self._gate = gate
        methods: dict[str, dict[str, Call]] = {}
        for call in CALLS:
            methods.setdefault(call.path, {})[call.method] = call
        self._router = Router(
            [Route(path, _Endpoint(self, by_method)) for path, by_method in methods.items()]
            + [Route("/openapi.json", _Asgi(self._openapi))],
            redirect_slashes=False,
            default=self._unknown,
        )
        self._document = _dump(openapi())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever happens, with one answer."""
        try:
            check_door(scope, self._gate.limits.header_bytes)
            await self._router(in_origin_form(scope), receive, send)
        except Refusal as refusal:
            await self._problem(scope, send, refusal.body, refusal.headers)
        except WikimemError as error:
            body = problem_of(error)
            await self._problem(scope, send, body, (_RETRY,) if body["status"] == 503 else ())
        except (ClientGoneError, asyncio.CancelledError):
            # Cancelled: the daemon stops and has cut this connection. The task ends here either way.
            return
        except Exception:  # noqa: BLE001 - the outermost loop: one request's fault must not end the others'
            _log.exception("the request %s %s failed", scope["method"], scope["path"])
            await self._problem(scope, send, refusals.internal())

    async def perform(self, call: Call, scope: Scope, receive: Receive, send: Send) -> None:
        """Perform one call of the table."""
        headers = _headers(scope)
        if call.in_query:
            params = check_query(call.params, scope["query_string"])
        else:
            if scope["query_string"]:
                raise InvalidInput("This call takes its parameters in the body.", hint="Send them as a JSON object.")
            params = check_body(call.params, await self._body(headers, receive))
        extra: tuple[tuple[bytes, bytes], ...] = ()
        if call.streams:
            stream = await self._service.stream(_last_event_id(headers) or params.get("since"))
            await stream(receive, send)
            return
        if call.kind == "read":
            answer = await self._service.read(call, params)
        elif call.kind == "write":
            key = headers.get(KEY_HEADER.lower().encode())
            answer, replayed = await self._service.write(call, params, _key(key), request_digest(call, params))
            extra = ((REPLAYED_HEADER.lower().encode(), b"true"),) if replayed else ()
        else:
            answer = await self._service.operate(call, params)
        await self._send(send, call.status, _JSON, _dump(answer), extra)

    async def _openapi(self, scope: Scope, _: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            raise refusals.wrong_method(scope["method"], ("GET",))
        await self._send(send, 200, _JSON, self._document)

    async def _unknown(self, scope: Scope, _receive: Receive, _send: Send) -> None:
        raise refusals.no_route(scope["path"])

    async def _body(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        _check_type(headers)
        limit = self._gate.limits.body_bytes
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length[:20]) > limit:
            # Refused before any of it is asked for: a client that sent `Expect: 100-continue` sends nothing.
            raise refusals.too_large(limit)
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise ClientGoneError
            body += message.get("body", b"")
            if len(body) > limit:
                raise refusals.too_large(limit)
            if not message.get("more_body", False):
                return bytes(body)

    async def _problem(
        self, scope: Scope, send: Send, body: Problem, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        if any(name == b"expect" for name, _ in scope["headers"]):
            # Who asked before sending its body, and is refused, sends none: its next request would be taken for it.
            headers = (*headers, _CLOSE)
        await self._send(send, body["status"], _PROBLEM, _dump(body), headers)

    async def _send(
        self,
        send: Send,
        status: int,
        kind: tuple[bytes, bytes],
        payload: bytes,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        closing = (_CLOSE,) if self._gate.stopping else ()
        all_headers = [kind, (b"content-length", b"%d" % len(payload)), *headers, *closing]
        await send({"type": "http.response.start", "status": status, "headers": all_headers})
        await send({"type": "http.response.body", "body": payload})


class _Asgi:
    """An ASGI callable as an object: a `Route` takes a function or a method for a view of Starlette's own kind."""

    def __init__(self, application: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._application(scope, receive, send)


class _Endpoint:
    """One path with its methods."""

    def __init__(self, app: App, by_method: Mapping[str, Call]) -> None:
        self._app = app
        self._by_method = by_method

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = self._by_method.get(scope["method"])
        if call is None:
            raise refusals.wrong_method(scope["method"], tuple(sorted(self._by_method)))
        await self._app.perform(call, scope, receive, send)


def _headers(scope: Scope) -> Mapping[bytes, bytes]:
    return dict(scope["headers"])


def _check_type(headers: Mapping[bytes, bytes]) -> None:
    kind = headers.get(b"content-type")
    if kind is not None and kind.partition(b";")[0].strip().lower() != b"application/json":
        raise refusals.wrong_type(kind.decode("latin-1"))
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise refusals.wrong_type("an encoded " + (kind or b"body").decode("latin-1"))


def _key(value: bytes | None) -> str | None:
    if value is None:
        return None
    try:
        return value.decode("ascii")
    except UnicodeDecodeError:
        raise refusals.bad_header(KEY_HEADER, "plain ASCII") from None


def _last_event_id(headers: Mapping[bytes, bytes]) -> str | None:
    value = headers.get(b"last-event-id")
    return None if not value else value.decode("latin-1")


def _dump(value: object) -> bytes:
    # A path on disk may hold bytes that are no UTF-8, as surrogates; `\udc80` is what JSON calls them.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")
