"""One slow, greedy or dead client costs itself only: a real server with small limits, in this process."""

# ruff: noqa: ARG002 - a fake has the shape of its port

import asyncio
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from tests.serving import connect, http, raw, read_reply, wait_until
from wikimem.api.calls import Call
from wikimem.api.client import Client
from wikimem.errors import Busy, WikimemError
from wikimem_daemon.gate import Gate
from wikimem_daemon.limits import Limits, within_descriptors
from wikimem_daemon.listening import bind
from wikimem_daemon.routes import App, Stream
from wikimem_daemon.server import Server

SMALL = Limits(
    header_bytes=4_096,
    header_s=0.2,
    body_bytes=20_000,
    body_s=0.3,
    idle_s=0.4,
    write_s=0.3,
    linger_s=0.3,
    connections=8,
    refusals=4,
    streams=2,
    drain_s=0.5,
)
HEALTH = b"GET /v1/health HTTP/1.1\r\nHost: wikimem\r\n\r\n"


class Parrot:
    """A service that answers with what it was given; an address of `big` or `slow` is just that."""

    def __init__(self) -> None:
        self.release = asyncio.Event()

    async def read(self, call: Call, params: Mapping[str, Any]) -> Mapping[str, object]:
        if params.get("address") == "a:big":
            return {"content": "x" * 4_000_000}
        if params.get("address") == "a:slow":
            await self.release.wait()
        if params.get("address") == "a:bug":
            raise ZeroDivisionError("secret detail")
        return dict(params)

    async def write(
        self, call: Call, params: Mapping[str, Any], key: str | None, digest: str
    ) -> tuple[Mapping[str, object], bool]:
        return dict(params), False

    async def operate(self, call: Call, params: Mapping[str, Any]) -> Mapping[str, object]:
        return {"state": "ok"}

    async def stream(self, since: str | None) -> Stream:
        raise NotImplementedError


class Running:
    """A server on a loop in a thread of its own."""

    def __init__(self, path: Path, limits: Limits, **gate: Any) -> None:
        self.path = path
        self.gate = Gate(limits, **gate)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run)
        self.started = threading.Event()

    def _run(self) -> None:
        self.loop.run_until_complete(self._serve())
        self.loop.close()

    async def _serve(self) -> None:
        self.parrot = Parrot()
        self.server = Server(App(self.parrot, self.gate), self.gate)
        self.ending = asyncio.Event()
        listener = bind(self.path)
        await self.server.start(listener.sock)
        self.started.set()
        await self.ending.wait()
        await self.server.stop()
        listener.close()

    def __enter__(self) -> Self:
        self.thread.start()
        assert self.started.wait(5)
        return self

    def end(self) -> None:
        self.loop.call_soon_threadsafe(self.ending.set)

    def __exit__(self, *_: object) -> None:
        if self.thread.is_alive():
            self.end()
        self.thread.join(10)
        assert not self.thread.is_alive()

    @property
    def open(self) -> int:
        return self.server.connections


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with Running(tmp_path / "run" / "v.sock", SMALL) as one:
        yield one


def ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(65_536) == b""
    except ConnectionResetError:
        return True


def test_a_header_that_never_ends_is_timed_out_and_others_are_served(running: Running) -> None:
    with connect(running.path) as slow:
        slow.sendall(b"GET /v1/health HTTP/1.1\r\nHost: wik")
        assert http(running.path, "GET", "/v1/health").status == 200
        reply = read_reply(slow)
        assert (reply.status, reply.json()["code"]) == (408, "timeout")
        assert ended(slow)


def test_a_header_that_dribbles_in_buys_no_time(running: Running) -> None:
    stop = threading.Event()

    def dribble(connection: socket.socket) -> None:
        while not stop.wait(0.02):
            try:
                connection.sendall(b"x")
            except OSError:
                return

    with connect(running.path) as slow:
        slow.sendall(b"GET /v1/health HTTP/1.1\r\nHost: wikimem\r\nX: ")
        thread = threading.Thread(target=dribble, args=(slow,))
        thread.start()
        try:
            assert read_reply(slow).status == 408
        finally:
            stop.set()
            thread.join()


def test_a_body_that_never_ends_is_timed_out(running: Running) -> None:
    with connect(running.path) as slow:
        slow.sendall(
            b"POST /v1/retrieve HTTP/1.1\r\nHost: wikimem\r\n"
            b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        reply = read_reply(slow)
        assert (reply.status, reply.json()["code"]) == (408, "timeout")
        assert ended(slow)


def test_an_idle_connection_is_closed_whether_it_ever_spoke_or_not(running: Running) -> None:
    with connect(running.path) as silent, connect(running.path) as spoke:
        spoke.sendall(HEALTH)
        assert read_reply(spoke).status == 200
        assert ended(silent)
        assert ended(spoke)
    wait_until(lambda: running.open == 0, "every connection is gone")


def test_a_connection_is_kept_between_requests(running: Running) -> None:
    with connect(running.path) as one:
        for _ in range(5):
            one.sendall(HEALTH)
            assert read_reply(one).status == 200


def test_requests_sent_ahead_are_answered_in_order(running: Running) -> None:
    with connect(running.path) as one:
        one.sendall(b"".join(b"GET /v1/item?address=a:%d HTTP/1.1\r\nHost: wikimem\r\n\r\n" % n for n in range(20)))
        received = b""
        while received.count(b"HTTP/1.1 200") < 20 or not received.endswith(b"}"):
            received += one.recv(65_536)
        assert [json.loads(part.partition(b"\r\n\r\n")[2])["address"] for part in received.split(b"HTTP/1.1 ")[1:]] == [
            f"a:{n}" for n in range(20)
        ]


def test_garbage_behind_a_request_that_is_being_answered_is_refused_without_a_fault(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    slow = b"GET /v1/item?address=a:slow HTTP/1.1\r\nHost: wikimem\r\nContent-Length: 5\r\n\r\n"
    with connect(running.path) as one:
        one.sendall(slow)
        wait_until(lambda: running.open == 1, "it is in")
        one.sendall(b"12345\0\0garbage\r\n\r\n")
        running.loop.call_soon_threadsafe(running.parrot.release.set)
        read_reply(one)
    with connect(running.path) as one:
        one.sendall(b"POST /v1/retrieve HTTP/1.1\r\nHost: evil\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\nzz\r\n")
        read_reply(one)
    wait_until(lambda: running.open == 0, "both are gone")
    assert caplog.records == []


def test_a_client_that_is_done_sending_still_gets_its_answers(running: Running) -> None:
    with connect(running.path) as one:
        one.sendall(HEALTH * 3)
        one.shutdown(socket.SHUT_WR)
        received = b""
        while chunk := one.recv(65_536):
            received += chunk
        assert received.count(b"HTTP/1.1 200") == 3


@pytest.mark.parametrize("length", [4_100, 100_000])
@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"], ids=["cut off", "in one piece"])
def test_headers_that_are_too_large_are_refused(running: Running, length: int, end: bytes) -> None:
    reply = raw(running.path, b"GET /v1/health HTTP/1.1\r\nHost: wikimem\r\nX: " + b"x" * length + end)
    assert (reply.status, reply.json()["code"]) == (431, "headers_too_large")


def test_a_target_that_is_a_whole_uri_is_its_path(running: Running) -> None:
    head = b" HTTP/1.1\r\nHost: wikimem\r\n\r\n"
    reply = raw(running.path, b"GET http://wikimem/v1/item?address=a:b%20c" + head)
    assert (reply.status, reply.json()["address"]) == (200, "a:b c")
    assert raw(running.path, b"GET HTTP://localhost:80/v1/health" + head).status == 200
    for target in (b"http://evil.example/v1/health", b"http:///v1/health", b"http://wikimem@evil.example/v1/health"):
        assert raw(running.path, b"GET " + target + head).status == 403
    for target in (b"http://wikimem", b"http://wikimem//v1/health", b"https://wikimem/v1/health"):
        assert raw(running.path, b"GET " + target + head).status == 404
    evil = b"GET http://wikimem/v1/health HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    assert raw(running.path, evil).status == 403


def test_an_empty_line_before_a_request_is_no_part_of_it(running: Running) -> None:
    with connect(running.path) as one:
        for _ in range(2):
            one.sendall(b"\r\n")
            one.sendall(b"\r\n" + HEALTH)
            assert read_reply(one).status == 200


def test_many_small_headers_and_a_long_address_count_as_well(running: Running) -> None:
    many = b"GET /v1/health HTTP/1.1\r\nHost: wikimem\r\n" + b"X: a\r\n" * 1_000 + b"\r\n"
    assert raw(running.path, many).status == 431
    assert http(running.path, "GET", "/v1/item?address=a:" + "x" * 4_100).status == 431


def test_a_body_with_two_lengths_is_refused_and_its_connection_closed(running: Running) -> None:
    with connect(running.path) as one:
        one.sendall(
            b"POST /v1/retrieve HTTP/1.1\r\nHost: wikimem\r\nContent-Type: application/json\r\n"
            b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
        )
        reply = read_reply(one)
        assert (reply.status, reply.json()["code"]) == (400, "bad_request")
        assert ended(one)


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_that_is_too_large_is_refused_and_the_reply_is_not_lost(running: Running, declared: bool) -> None:
    size = 200_000
    head = b"PUT /v1/item HTTP/1.1\r\nHost: wikimem\r\nContent-Type: application/json\r\n"
    if declared:
        data = head + b"Content-Length: %d\r\n\r\n" % size + b"x" * size
    else:
        data = head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % size + b"x" * size + b"\r\n0\r\n\r\n"
    with connect(running.path) as one:
        sender = threading.Thread(target=one.sendall, args=(data,))
        sender.start()
        reply = read_reply(one)
        sender.join(5)
        assert (reply.status, reply.json()["code"]) == (413, "too_large")


def test_a_client_that_asks_first_sends_no_body_that_is_too_large(running: Running) -> None:
    head = (
        b" HTTP/1.1\r\nHost: wikimem\r\nContent-Type: application/json\r\n"
        b"Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n"
    )
    for line, status in ((b"PUT /v1/item", 413), (b"PUT /nowhere", 404)):
        with connect(running.path) as one:
            one.sendall(line + head)
            assert read_reply(one).status == status
            assert ended(one), "what it sends next is no body"


def test_the_client_says_what_was_too_large(running: Running) -> None:
    with Client(running.path, timeout=5) as client, pytest.raises(WikimemError, match="larger than 20,000 bytes"):
        client.put_item("a", "b", "x" * 3_000_000)


def test_one_connection_too_many_is_told_that_the_daemon_is_busy(running: Running) -> None:
    crowd = [connect(running.path) for _ in range(SMALL.connections)]
    wait_until(lambda: running.open == SMALL.connections, "the crowd is in")
    reply = http(running.path, "GET", "/v1/health")
    assert (reply.status, reply.json()["code"]) == (503, "busy")
    assert reply.headers["retry-after"] == "1"
    assert running.gate.refused == 1
    with Client(running.path, timeout=0.2) as client, pytest.raises(Busy):
        client.health()
    crowd.pop().close()
    with Client(running.path, timeout=5) as client:
        assert client.health()["state"] == "ok"
    for one in crowd:
        one.close()


def test_saying_no_has_a_cap_too(running: Running) -> None:
    crowd = [connect(running.path) for _ in range(60)]
    wait_until(lambda: running.gate.refused == 60 - SMALL.connections, "all of them came in")
    wait_until(lambda: running.open <= SMALL.connections + SMALL.refusals, "no more are held than that")
    for one in crowd:
        one.close()
    wait_until(lambda: running.open == 0, "every connection is gone")
    assert http(running.path, "GET", "/v1/health").status == 200


def test_a_client_that_does_not_read_is_cut_and_others_are_served(running: Running) -> None:
    with connect(running.path) as deaf:
        deaf.sendall(b"GET /v1/item?address=a:big HTTP/1.1\r\nHost: wikimem\r\n\r\n")
        assert http(running.path, "GET", "/v1/health").status == 200
        wait_until(lambda: running.open == 0, "the deaf one is cut")


def test_a_client_that_reads_slowly_but_in_time_gets_everything(running: Running) -> None:
    with connect(running.path) as one:
        one.sendall(b"GET /v1/item?address=a:big HTTP/1.1\r\nHost: wikimem\r\n\r\n")
        assert len(read_reply(one).json()["content"]) == 4_000_000


def test_a_client_that_dies_in_the_middle_leaves_nothing(running: Running) -> None:
    for data in (HEALTH[:10], b"POST /v1/retrieve HTTP/1.1\r\nHost: wikimem\r\nContent-Length: 9\r\n\r\n{", HEALTH):
        connect_and_die = connect(running.path)
        connect_and_die.sendall(data)
        connect_and_die.close()
    wait_until(lambda: running.open == 0, "every connection is gone")
    assert http(running.path, "GET", "/v1/health").status == 200


def test_a_fault_of_ours_is_one_answer_without_its_detail(running: Running, caplog: pytest.LogCaptureFixture) -> None:
    reply = http(running.path, "GET", "/v1/item?address=a:bug")
    assert (reply.status, reply.json()["code"]) == (500, "internal")
    assert b"secret" not in reply.body
    assert "ZeroDivisionError" in caplog.text
    assert http(running.path, "GET", "/v1/health").status == 200


def test_another_user_is_refused_with_the_reason(tmp_path: Path) -> None:
    with Running(tmp_path / "run" / "v.sock", SMALL, uid_of=lambda _: 12_345) as running:
        reply = http(running.path, "GET", "/v1/health")
        assert (reply.status, reply.json()["code"]) == (403, "denied")
        wait_until(lambda: running.open == 0, "the connection is gone")


def test_a_stop_lets_the_running_request_finish_and_closes_the_idle_ones(tmp_path: Path) -> None:
    patient = Running(tmp_path / "run" / "v.sock", replace(SMALL, idle_s=60))
    with patient as running, connect(running.path) as idle, connect(running.path) as busy:
        idle.sendall(HEALTH)
        read_reply(idle)
        busy.sendall(b"GET /v1/item?address=a:slow HTTP/1.1\r\nHost: wikimem\r\n\r\n")
        wait_until(lambda: running.open == 2, "both are in")
        running.end()
        assert ended(idle)
        running.loop.call_soon_threadsafe(running.parrot.release.set)
        reply = read_reply(busy)
        assert reply.status == 200
        assert reply.headers["connection"] == "close"
        assert ended(busy)


def test_a_stop_does_not_wait_for_a_client_that_hangs(running: Running, caplog: pytest.LogCaptureFixture) -> None:
    with connect(running.path) as busy:
        busy.sendall(b"GET /v1/item?address=a:slow HTTP/1.1\r\nHost: wikimem\r\n\r\n")
        wait_until(lambda: running.open == 1, "it is in")
        running.end()
        running.thread.join(5)
        assert not running.thread.is_alive()
    assert [record.message for record in caplog.records] == ["1 connections did not end in 0.5 s and are cut"]


def test_no_more_connections_are_taken_than_descriptors_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (256, 256))
    monkeypatch.setattr("resource.setrlimit", lambda *_: None)
    assert within_descriptors(Limits()).connections == 64
    monkeypatch.setattr("resource.getrlimit", lambda _: (65_536, 65_536))
    assert within_descriptors(Limits()) == Limits()
    assert replace(Limits(), connections=1).connections == 1
