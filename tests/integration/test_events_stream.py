"""Changes as they happen, over the real socket, over a restart, and to clients that do not keep up."""

import asyncio
import contextlib
import itertools
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import Served, connect, read_reply, serving, wait_until
from wikimem.api.async_client import AsyncClient
from wikimem.api.protocol import Event
from wikimem.errors import Busy, InvalidCursor, WikimemError

GET = b"GET /v1/events HTTP/1.1\r\nHost: wikimem\r\n\r\n"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as one:
        one.write("wiki/notes.md", "## a\n\n1\n")
        yield one.start()


class Listener:
    """Collects events in a thread."""

    def __init__(self, events: Iterator[Event]) -> None:
        self.events: list[Event] = []
        self._source = events
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        # The daemon is gone at the end of a test, and the stream with it.
        with contextlib.suppress(WikimemError):
            self.events.extend(self._source)

    def addresses(self) -> list[object]:
        return [event["data"].get("address") for event in self.events]


def streams(served: Served) -> int:
    return served.client().status()["connections"]["streams"]


def test_a_change_by_the_api_and_one_by_hand_both_arrive(served: Served) -> None:
    listener = Listener(served.client().events())
    wait_until(lambda: streams(served) == 1, "the stream is open")
    served.client().put_item("notes", "b", "2")
    wait_until(lambda: "notes:b" in listener.addresses(), "the api's change arrives")
    served.write("wiki/by_hand.md", "## c\n\n3\n")
    wait_until(lambda: "by_hand:c" in listener.addresses(), "the change by hand arrives")
    first = listener.events[0]
    assert first["event"] == "change"
    assert first["data"]["cause"] == "api"
    assert first["id"]


def test_a_stream_goes_on_over_a_restart_without_losing_a_change(served: Served) -> None:
    listener = Listener(served.client(timeout=20).events())
    wait_until(lambda: streams(served) == 1, "the stream is open")
    served.client().put_item("notes", "before", "1")
    wait_until(lambda: "notes:before" in listener.addresses(), "the first change arrives")
    assert served.stop() == 0
    served.write("wiki/offline.md", "## meanwhile\n\n2\n")
    served.start()
    wait_until(lambda: "offline:meanwhile" in listener.addresses(), "what changed meanwhile arrives")
    served.client().put_item("notes", "after", "3")
    wait_until(lambda: "notes:after" in listener.addresses(), "what changes now arrives")
    assert listener.addresses() == ["notes:before", "offline:meanwhile", "notes:after"]
    assert [event["data"]["cause"] for event in listener.events] == ["api", "offline", "api"]


def test_the_last_event_of_a_stream_that_the_daemon_ends_is_bye(served: Served) -> None:
    with connect(served.socket) as connection:
        connection.sendall(GET)
        wait_until(lambda: streams(served) == 1, "the stream is open")
        assert served.stop() == 0
        received = b""
        while chunk := connection.recv(65_536):
            received += chunk
    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"content-type: text/event-stream\r\n" in received
    assert b'event: bye\ndata: {"reason":"stopping"}\n\n' in received
    assert received.endswith(b"0\r\n\r\n"), "the stream ends as HTTP wants it"


def test_an_open_stream_does_not_hold_the_exit(served: Served) -> None:
    crowd = [connect(served.socket) for _ in range(5)]
    for connection in crowd:
        connection.sendall(GET)
    wait_until(lambda: streams(served) == 5, "the streams are open")
    assert served.process is not None
    served.process.terminate()
    assert served.process.wait(4) == 0
    for connection in crowd:
        connection.close()


def test_a_cursor_of_another_life_says_so_first(served: Served) -> None:
    event = next(served.client().events("0123456789ab-1"))
    assert event["event"] == "fresh_instance"
    assert event["id"] == served.client().changes()["cursor"]


def test_a_cursor_that_is_none_is_refused(served: Served) -> None:
    with pytest.raises(InvalidCursor):
        next(served.client().events("nonsense"))


def test_the_cursor_may_come_in_the_query_or_the_header(served: Served) -> None:
    cursor = served.client().changes()["cursor"]
    served.client().put_item("notes", "b", "2")
    for request in (
        GET.replace(b"/v1/events", b"/v1/events?since=" + cursor.encode()),
        GET.replace(b"\r\n\r\n", b"\r\nLast-Event-ID: " + cursor.encode() + b"\r\n\r\n"),
    ):
        with connect(served.socket) as connection:
            connection.sendall(request)
            received = b""
            while b"data: " not in received:
                received += connection.recv(65_536)
            data = json.loads(received.partition(b"data: ")[2].partition(b"\n")[0])
            assert data["address"] == "notes:b"


def test_one_stream_too_many_is_busy(served: Served) -> None:
    crowd = [connect(served.socket) for _ in range(64)]
    for connection in crowd:
        connection.sendall(GET)
    wait_until(lambda: streams(served) == 64, "the streams are open")
    with connect(served.socket) as one_more:
        one_more.sendall(GET)
        reply = read_reply(one_more)
        assert (reply.status, reply.json()["code"]) == (503, "busy")
    with pytest.raises(Busy):
        next(served.client(timeout=0.3).events())
    for connection in crowd:
        connection.close()
    wait_until(lambda: streams(served) == 0, "streams of clients that went away are gone")


def test_a_stream_that_nobody_reads_costs_itself_only(served: Served) -> None:
    with connect(served.socket) as deaf:
        deaf.sendall(GET)
        wait_until(lambda: streams(served) == 1, "the stream is open")
        client = served.client()
        for number in range(40):
            served.write(f"wiki/many{number}.md", "".join(f"## n{each}\n\ntext\n\n" for each in range(50)))
        wait_until(lambda: client.status()["items"] >= 2_000, "everything is read")
        assert client.retrieve("text", limit=1)["fresh"]


def test_the_async_client_follows_too(served: Served) -> None:
    async def follow() -> list[object]:
        async with AsyncClient(served.socket) as client:
            cursor = (await client.changes())["cursor"]
            for number in range(3):
                await client.put_item("notes", f"n{number}", "x")
            events = client.events(cursor)
            return [(await anext(events))["data"]["address"] for _ in range(3)]

    assert asyncio.run(follow()) == ["notes:n0", "notes:n1", "notes:n2"]


def test_many_listeners_all_get_the_same(served: Served) -> None:
    listeners = [Listener(served.client().events()) for _ in range(8)]
    wait_until(lambda: streams(served) == 8, "the streams are open")
    client = served.client()
    for number in range(20):
        client.put_item("notes", f"n{number}", "x")
    wanted = [f"notes:n{number}" for number in range(20)]
    wait_until(lambda: all(one.addresses() == wanted for one in listeners), "everybody has everything in order")
    ids = [[event["id"] for event in one.events] for one in listeners]
    assert all(one == other for one, other in itertools.pairwise(ids))
