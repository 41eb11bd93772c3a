"""Event streams: changes as they happen, as server-sent events.

A stream holds a cursor and a bounded queue. One that falls behind is caught up from the change feed, so a slow reader
costs no memory; one that does not read at all is cut by the connection's write time-out. The last event of a stream
that the daemon ends is `bye`; a client then comes back with `Last-Event-ID` and misses nothing.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from starlette.types import Receive, Send

from wikimem.api.bodies import change_body
from wikimem_daemon import refusals
from wikimem_daemon.feed import ChangesPage, Feed, Subscription
from wikimem_daemon.gate import Gate
from wikimem_daemon.routes import Stream

_START: Final[list[tuple[bytes, bytes]]] = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
_HEARTBEAT: Final = b": alive\n\n"
PAGE: Final = 500


@dataclass(slots=True)
class Streams:
    """The open event streams."""

    feed: Feed
    gate: Gate
    _ending: asyncio.Event = field(default_factory=asyncio.Event)

    async def open(self, since: str | None) -> Stream:
        """Open a stream after a cursor, or from now on. Raises InvalidCursor, Refusal when there are too many."""
        if self.gate.streams >= self.gate.limits.streams or self._ending.is_set():
            raise refusals.too_many_streams(self.gate.limits.streams)
        first = self.feed.since(since, PAGE)
        return _Stream(self, first).run

    def end(self) -> None:
        """End every stream with its last event."""
        self._ending.set()

    async def ended(self) -> None:
        """Wait until streams are to end."""
        await self._ending.wait()


class _Stream:
    """One client's stream."""

    def __init__(self, streams: Streams, first: ChangesPage) -> None:
        self._streams = streams
        self._page: ChangesPage = first
        self._cursor = first.cursor

    async def run(self, receive: Receive, send: Send) -> None:
        """Send until the client goes, the daemon stops, or the client cannot follow."""
        gate = self._streams.gate
        gate.streams += 1
        subscription = self._streams.feed.subscribe()
        tasks = [
            asyncio.create_task(self._watch_client(receive)),
            asyncio.create_task(self._streams.ended()),
            asyncio.create_task(self._send_all(subscription, send)),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            tasks[2].cancel()
            await asyncio.gather(tasks[2], return_exceptions=True)
            if tasks[0] not in done:
                await send(_body(_event("bye", self._cursor, {"reason": "stopping"})))
                await send({"type": "http.response.body", "body": b""})
        finally:
            for task in tasks:
                task.cancel()
            self._streams.feed.unsubscribe(subscription)
            gate.streams -= 1

    async def _watch_client(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def _send_all(self, subscription: Subscription, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _START})
        await self._catch_up(send)
        heartbeat = self._streams.gate.limits.heartbeat_s
        while True:
            try:
                # Not `wait_for`: before Python 3.12 it swallows a cancellation that comes together with its result, and
                # the stream of a client that is cut would never end.
                async with asyncio.timeout(heartbeat):
                    notice = await subscription.next()
            except TimeoutError:
                await send(_body(_HEARTBEAT))
                continue
            if notice is None:
                return
            if notice.change is None or notice.resync:
                self._page = self._streams.feed.since(self._cursor, PAGE)
                await self._catch_up(send)
            else:
                self._cursor = notice.cursor
                await send(_body(_event("change", notice.cursor, change_body(notice.change))))

    async def _catch_up(self, send: Send) -> None:
        """Send what the feed holds. Only an `id`, and so no event, says where a stream without changes begins."""
        page = self._page
        if page.fresh_instance:
            await send(_body(_event("fresh_instance", page.cursor, {"fresh_instance": True})))
        while True:
            changes = list(page.changes)
            for change in changes[:-1]:
                # Only the last one of a page carries the cursor: coming back in between gets the page again.
                await send(_body(_event("change", None, change_body(change))))
            if changes:
                await send(_body(_event("change", page.cursor, change_body(changes[-1]))))
            else:
                await send(_body(f"id: {page.cursor}\n\n".encode()))
            self._cursor = page.cursor
            if not page.more:
                return
            page = self._streams.feed.since(self._cursor, PAGE)


def _body(data: bytes) -> dict[str, object]:
    return {"type": "http.response.body", "body": data, "more_body": True}


def _event(kind: str, cursor: str | None, data: Mapping[str, object]) -> bytes:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    head = f"id: {cursor}\n" if cursor is not None else ""
    return f"{head}event: {kind}\ndata: {text}\n\n".encode("utf-8", "backslashreplace")
