"""A daemon that cannot start tells who waits on systemd's socket why, and is held up by nobody."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import connect, read_reply
from wikimem.errors import ConfigError
from wikimem_daemon.fatal import answer_waiting
from wikimem_daemon.listening import Listener, bind

HEALTH = b"GET /v1/health HTTP/1.1\r\nHost: wikimem\r\n\r\n"
WRONG = ConfigError("the key `x` is unknown", hint="did you mean `y`?")


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    one = bind(tmp_path / "run" / "v.sock")
    yield one
    one.close()


def test_everybody_in_the_backlog_is_told(listener: Listener) -> None:
    assert listener.path is not None
    crowd = [connect(listener.path) for _ in range(20)]
    for one in crowd:
        one.sendall(HEALTH)
    assert answer_waiting(listener.sock, WRONG) == 20
    for one in crowd:
        reply = read_reply(one)
        assert (reply.status, reply.json()["code"], reply.json()["hint"]) == (503, "config", "did you mean `y`?")
        one.close()


def test_a_client_that_says_nothing_and_one_that_never_ends_hold_nobody_up(listener: Listener) -> None:
    assert listener.path is not None
    gone = threading.Event()

    def dribble(connection: socket.socket) -> None:
        while not gone.wait(0.02):
            try:
                connection.sendall(b"x")
            except OSError:
                return

    with connect(listener.path) as silent, connect(listener.path) as endless, connect(listener.path) as asking:
        endless.sendall(HEALTH)
        thread = threading.Thread(target=dribble, args=(endless,))
        thread.start()
        asking.sendall(HEALTH)
        try:
            assert answer_waiting(listener.sock, WRONG) == 3
        finally:
            gone.set()
            thread.join()
        assert [read_reply(one).status for one in (asking, silent)] == [503, 503]


def test_a_client_that_is_gone_already_is_no_obstacle(listener: Listener) -> None:
    assert listener.path is not None
    connect(listener.path).close()
    with connect(listener.path) as asking:
        asking.sendall(HEALTH)
        answer_waiting(listener.sock, WRONG)
        assert read_reply(asking).status == 503
