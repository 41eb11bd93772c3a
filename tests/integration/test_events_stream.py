"""Changes as they happen, over the real socket, over a restart, and to clients that do not keep up."""

import asyncio
import contextlib
import itertools
import json
import threading
import time
from collections.abc import Iterator

import pytest

from tests.serving import PATIENCE_S, Served, connect, read_reply, serving, wait_until
from wikimem.api.async_client import AsyncClient
from wikimem.api.protocol import Event
from wikimem.errors import Busy, InvalidCursor

GET = b"GET /v1/events HTTP/1.1\r\nHost: wikimem\r\n\r\n"


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One daemon for all tests of this module, started again by the test that has stopped it."""
    with serving(tmp_path_factory.mktemp("events")) as one:
        one.write("wiki/notes.md", "## a\n\n1\n")
        yield one


@pytest.fixture
def served(lasting: Served) -> Iterator[Served]:
    if lasting.process is None:
        lasting.start()
    yield lasting
    if lasting.process is not None:
        wait_until(lambda: streams(lasting) == 0, "no stream is left open")


class Listener:
    """Collects events in a thread until so many are there."""

    def __init__(self, events: Iterator[Event], count: int) -> None:
        self.events: list[Event] = []
        self._thread = threading.Thread(target=self._listen, args=(events, count))
        self._thread.start()

    def _listen(self, events: Iterator[Event], count: int) -> None:
        for event in itertools.islice(events, count):
            self.events.append(event)
        events.close()  # type: ignore[attr-defined]  # it is a generator; closing it closes the connection

    def all(self) -> list[Event]:
        self._thread.join(20)
        assert not self._thread.is_alive()
        return self.events

    def addresses(self) -> list[object]:
        return [event["data"].get("address") for event in self.events]


def streams(served: Served) -> int:
    return served.client().status()["connections"]["streams"]


def test_a_change_by_the_api_and_one_by_hand_both_arrive(served: Served) -> None:
    listener = Listener(served.client().events(), 2)
    wait_until(lambda: streams(served) == 1, "the stream is open")
    served.client().put_item("notes", "b", "2")
    wait_until(lambda: "notes:b" in listener.addresses(), "the api's change arrives")
    served.write("wiki/by_hand.md", "## c\n\n3\n")
    first, second = listener.all()
    assert (first["event"], first["data"]["cause"]) == ("change", "api")
    assert (second["data"]["address"], second["data"]["cause"]) == ("by_hand:c", "disk")
    assert first["id"] != second["id"]


def test_a_stream_goes_on_over_a_restart_without_losing_a_change(served: Served) -> None:
    listener = Listener(served.client(timeout=20).events(), 3)
    wait_until(lambda: streams(served) == 1, "the stream is open")
    served.client().put_item("notes", "before", "1")
    wait_until(lambda: "notes:before" in listener.addresses(), "the first change arrives")
    assert served.stop() == 0
    served.write("wiki/offline.md", "## meanwhile\n\n2\n")
    served.start()
    wait_until(lambda: "offline:meanwhile" in listener.addresses(), "what changed meanwhile arrives")
    served.client().put_item("notes", "after", "3")
    events = listener.all()
    assert listener.addresses() == ["notes:before", "offline:meanwhile", "notes:after"]
    assert [event["data"]["cause"] for event in events] == ["api", "offline", "api"]


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
    started = time.monotonic()
    assert served.stop() == 0
    assert time.monotonic() - started < PATIENCE_S / 2, "stock uvicorn waits for the streams to end by themselves"
    for connection in crowd:
        connection.close()


def test_a_cursor_of_another_life_says_so_first(served: Served) -> None:
    with contextlib.closing(served.client().events("0123456789ab-1")) as events:  # type: ignore[type-var]
        event = next(events)
    assert event["event"] == "fresh_instance"
    assert event["id"] == served.client().changes()["cursor"]


def test_a_cursor_that_is_none_is_refused(served: Served) -> None:
    with pytest.raises(InvalidCursor):
        next(served.client().events("nonsense"))


def test_the_cursor_may_come_in_the_query_or_the_header(served: Served) -> None:
    cursor = served.client().changes()["cursor"]
    served.client().put_item("notes", "found", "2")
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
            assert data["address"] == "notes:found"


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
                await client.put_item("notes", f"async{number}", "x")
            async with contextlib.aclosing(client.events(cursor)) as events:  # type: ignore[type-var]
                return [(await anext(events))["data"]["address"] for _ in range(3)]

    assert asyncio.run(follow()) == ["notes:async0", "notes:async1", "notes:async2"]


def test_many_listeners_all_get_the_same(served: Served) -> None:
    listeners = [Listener(served.client().events(), 20) for _ in range(8)]
    wait_until(lambda: streams(served) == 8, "the streams are open")
    client = served.client()
    for number in range(20):
        client.put_item("notes", f"many{number}", "x")
    ids = [[event["id"] for event in one.all()] for one in listeners]
    assert all(one.addresses() == [f"notes:many{number}" for number in range(20)] for one in listeners)
    assert all(one == other for one, other in itertools.pairwise(ids))
