"""What a client decides about retries, deadlines and restarts, with a scripted transport and a clock of its own."""

import math
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from wikimem.api import requests
from wikimem.api.exchange import Close, Connect, Emit, Exchange, Receive, Send, Sleep, StartUnit, Step
from wikimem.api.protocol import Event
from wikimem.errors import (
    Busy,
    ConfigError,
    Conflict,
    DeniedError,
    InvalidInput,
    NotFound,
    NotRunning,
    ProtocolMismatch,
    TryAgain,
    Unreachable,
    WikimemError,
)

HEALTH = b'{"state":"ok","version":"0","protocol":1}'


def answer(body: bytes, status: int = 200, *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 %d X" % status, b"Wikimem-Protocol: 1", b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join([*lines, b"", b""]) + body


def problem(status: int, code: str) -> bytes:
    return answer(b'{"code":"%s","detail":"d","hint":"h"}' % code.encode(), status)


Result = bytes | Exception | bool


@dataclass
class World:
    """Performs the steps of a plan from a script: what each connect, send and receive gives."""

    connects: list[object] = field(default_factory=list)
    sends: list[object] = field(default_factory=list)
    receives: list[object] = field(default_factory=list)
    unit: bool | NotRunning = False
    now: float = 0.0
    sent: list[bytes] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    timeout_s: float = 10.0

    def __post_init__(self) -> None:
        self.exchange: Exchange[str] = Exchange(
            Path("/run/v.sock"), self.timeout_s, clock=lambda: self.now, jitter=lambda: 1.0
        )

    def perform(self, prepared: requests.Prepared[Any]) -> Any:
        return self.play(self.exchange.attempt(prepared).call(prepared))

    def play(self, plan: Any) -> Any:
        try:
            step = next(plan)
            while True:
                try:
                    result = self.do(step)
                except OSError as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(result)
        except StopIteration as done:
            return done.value

    def do(self, step: Step) -> object:
        self.log.append(type(step).__name__)
        match step:
            case Connect():
                return self.take(self.connects, "connection")
            case Send(_, data, _):
                self.sent.append(data)
                return self.take(self.sends, None)
            case Receive(_, timeout_s):
                assert timeout_s > 0
                return self.take(self.receives, b"")
            case Sleep(seconds):
                self.now += seconds
                return None
            case StartUnit():
                return self.take([self.unit], None)
            case Emit(event):
                self.events.append(event)
                return None
            case Close():
                return None

    @staticmethod
    def take(script: list[object], default: object) -> object:
        value = script.pop(0) if script else default
        if isinstance(value, BaseException):
            raise value
        return value


def test_a_call_is_sent_and_its_answer_returned_and_the_connection_kept() -> None:
    world = World(receives=[answer(HEALTH)])
    assert world.perform(requests.health()) == {"state": "ok", "version": "0", "protocol": 1}
    assert world.log == ["Connect", "Send", "Receive"]
    assert world.exchange.idle == ["connection"]
    assert world.sent[0].startswith(b"GET /v1/health HTTP/1.1\r\nHost: wikimem\r\nWikimem-Protocol: 1\r\n")


def test_an_answer_that_comes_byte_by_byte_is_put_together() -> None:
    data = answer(HEALTH)
    world = World(receives=[data[n : n + 1] for n in range(len(data))])
    assert world.perform(requests.health())["state"] == "ok"


def test_a_connection_that_the_daemon_closes_is_not_kept() -> None:
    world = World(receives=[answer(HEALTH, 200, b"Connection: close")])
    world.perform(requests.health())
    assert world.exchange.idle == []
    assert world.log[-1] == "Close"


@pytest.mark.parametrize("lost", [ConnectionResetError(), BrokenPipeError(), b""])
def test_a_kept_connection_that_was_lost_is_replaced_at_once(lost: object) -> None:
    world = World(receives=[answer(HEALTH), lost, answer(HEALTH)])
    world.perform(requests.health())
    world.perform(requests.health())
    assert world.log == ["Connect", "Send", "Receive", "Send", "Receive", "Close", "Connect", "Send", "Receive"]
    assert world.now == 0.0


def test_a_write_is_repeated_with_the_same_key() -> None:
    world = World(receives=[b"", answer(b'{"address":"2026-07-01:10:00"}')])
    world.perform(requests.diary_append("x"))
    first, second = world.sent
    assert first == second
    assert b"Idempotency-Key: " in first


def test_every_write_has_a_key_of_its_own() -> None:
    keys = {requests.put_item("a", "b", "c").key for _ in range(100)}
    assert len(keys) == 100
    assert requests.item("a:b").key is None


def test_an_answer_that_came_before_everything_was_sent_is_read() -> None:
    world = World(sends=[BrokenPipeError()], receives=[problem(413, "too_large")])
    with pytest.raises(WikimemError) as caught:
        world.perform(requests.put_item("a", "b", "c" * 100))
    assert (caught.value.message, caught.value.hint) == ("d", "h")


def test_a_full_backlog_is_waited_for_up_to_the_deadline() -> None:
    world = World(connects=[BlockingIOError()] * 5, receives=[answer(HEALTH)])
    world.perform(requests.health())
    assert world.log.count("Sleep") == 5
    world = World(connects=[BlockingIOError()] * 10_000)
    with pytest.raises(TryAgain):
        world.perform(requests.health())
    assert 9.0 < world.now <= 10.0


def test_pauses_grow_and_stay_below_a_quarter_of_a_second() -> None:
    world = World(connects=[BlockingIOError()] * 8, receives=[answer(HEALTH)])
    pauses: list[float] = []
    real = world.do

    def do(step: Step) -> object:
        if isinstance(step, Sleep):
            pauses.append(step.seconds)
        return real(step)

    world.do = do  # type: ignore[method-assign]
    world.perform(requests.health())
    assert pauses == sorted(pauses)
    assert pauses[-1] == 0.25


@pytest.mark.parametrize("error", [FileNotFoundError(), ConnectionRefusedError(), NotADirectoryError()])
def test_nobody_there_is_said_at_once_with_the_command_to_run(error: OSError) -> None:
    world = World(connects=[error])
    with pytest.raises(NotRunning) as caught:
        world.perform(requests.health())
    # The socket's file tells no vault that a command would know: one that no configuration names has a hash in it.
    assert "wikimem serve --vault NAME|PATH" in caught.value.hint
    assert world.log == ["Connect", "StartUnit"]


def test_an_installed_unit_is_started_once_and_its_daemon_waited_for() -> None:
    world = World(connects=[FileNotFoundError(), FileNotFoundError()], receives=[answer(HEALTH)], unit=True)
    assert world.perform(requests.health())["state"] == "ok"
    assert world.log.count("StartUnit") == 1


def test_a_daemon_that_answered_before_is_waited_for_while_it_restarts() -> None:
    world = World(receives=[answer(HEALTH)])
    world.perform(requests.health())
    world.receives = [ConnectionResetError(), answer(HEALTH)]
    world.connects = [ConnectionRefusedError(), FileNotFoundError(), FileNotFoundError()]
    assert world.perform(requests.health())["state"] == "ok"
    assert world.log.count("StartUnit") == 1


def test_a_client_that_was_answered_before_is_told_that_systemd_gave_up_since() -> None:
    world = World(receives=[answer(HEALTH), b""])
    world.perform(requests.health())
    world.connects = [ConnectionRefusedError()]
    world.unit = NotRunning("wikimem@v.service has failed")
    with pytest.raises(NotRunning, match="has failed"):
        world.perform(requests.health())
    assert world.now == 0.0


def test_a_daemon_that_does_not_come_back_is_not_running() -> None:
    world = World(receives=[answer(HEALTH), b""], timeout_s=1.0)
    world.perform(requests.health())
    world.connects = [FileNotFoundError()] * 1_000
    with pytest.raises(NotRunning):
        world.perform(requests.health())
    assert 0.7 < world.now <= 1.0


def test_busy_is_tried_again_and_then_said() -> None:
    world = World(receives=[problem(503, "busy"), answer(HEALTH)])
    assert world.perform(requests.health())["state"] == "ok"
    world = World(receives=[problem(503, "busy")] * 1_000, timeout_s=1.0)
    with pytest.raises(Busy):
        world.perform(requests.health())


def test_silence_until_the_deadline_is_unreachable() -> None:
    world = World(receives=[TimeoutError()])
    with pytest.raises(Unreachable, match="within 10 s"):
        world.perform(requests.health())


def test_a_call_that_lets_the_daemon_wait_waits_longer_itself() -> None:
    world = World(connects=[BlockingIOError()] * 10_000)
    with pytest.raises(TryAgain):
        world.perform(requests.retrieve("x", fresh_timeout_ms=30_000))
    assert 39.0 < world.now <= 40.0


def test_somebody_elses_socket_is_denied() -> None:
    world = World(connects=[PermissionError()])
    with pytest.raises(DeniedError):
        world.perform(requests.health())


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        answer(b"hello"),
        answer(b"[]"),
        answer(b"{}"),
        answer(b"[" * 50_000),
        answer(b'{"hello":"world"}'),
        answer(b"x", 500),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"x" * 70_000,
    ],
)
def test_something_else_that_listens_is_unreachable(data: bytes) -> None:
    world = World(receives=[data])
    with pytest.raises(Unreachable):
        world.perform(requests.health())


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (404, "not_found", NotFound),
        (426, "protocol_mismatch", ProtocolMismatch),
        (500, "from-the-future", WikimemError),
    ],
)
def test_an_error_comes_back_as_its_class(status: int, code: str, kind: type[WikimemError]) -> None:
    world = World(receives=[problem(status, code)])
    with pytest.raises(kind) as caught:
        world.perform(requests.item("a:b"))
    assert type(caught.value) is kind
    assert caught.value.hint == "h"


def test_a_conflict_comes_back_with_both_texts() -> None:
    body = b'{"code":"conflict","detail":"d","hint":"h","theirs":"t","yours":"y","current_hash":"c"}'
    world = World(receives=[answer(body, 409)])
    with pytest.raises(Conflict) as caught:
        world.perform(requests.put_item("a", "b", "y"))
    assert (caught.value.theirs, caught.value.yours, caught.value.current_hash) == ("t", "y", "c")


def test_a_path_that_no_socket_can_have_is_said_before_anything_is_tried() -> None:
    with pytest.raises(ConfigError, match="107"):
        Exchange(Path("/" + "x" * 200), 1.0)


def stream(*blocks: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nWikimem-Protocol: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(block), block) for block in blocks)


def followed(world: World, until: Callable[[], bool]) -> list[Event]:
    prepared = requests.events()
    plan = world.exchange.attempt(prepared).follow(prepared)
    step = next(plan)
    while not until():
        try:
            result = world.do(step)
        except OSError as error:
            step = plan.throw(error)
        else:
            step = plan.send(result)
    return world.events


def test_events_are_followed_over_a_restart_from_the_last_cursor() -> None:
    world = World(
        receives=[
            stream(
                b"id: c-0\n\n",
                b': alive\n\nid: c-1\nevent: change\ndata: {"n":1}\n\n',
                b'id: c-1\nevent: bye\ndata: {"reason":"stopping"}\n\n',
            ),
            stream(b'id: c-2\nevent: change\ndata: {"n":2}\n\n'),
        ]
    )
    events = followed(world, lambda: len(world.events) == 2)
    assert [(event["id"], event["data"]) for event in events] == [("c-1", {"n": 1}), ("c-2", {"n": 2})]
    assert b"Last-Event-ID" not in world.sent[0]
    assert b"Last-Event-ID: c-1\r\n" in world.sent[1]


def test_an_event_stream_that_fell_silent_is_opened_again() -> None:
    world = World(receives=[stream(b"id: c-0\n\n"), TimeoutError(), stream(b'id: c-1\ndata: {"n":1}\n\n')])
    assert followed(world, lambda: bool(world.events))[0]["data"] == {"n": 1}
    assert b"Last-Event-ID: c-0\r\n" in world.sent[1]


def test_an_event_stream_that_is_refused_says_why() -> None:
    world = World(receives=[problem(400, "invalid_cursor")])
    with pytest.raises(WikimemError):
        followed(world, lambda: False)


def test_an_error_that_nobody_catches_ends_with_what_to_do() -> None:
    told = traceback.format_exception(NotRunning("No daemon answers.", hint="Start it: `wikimem serve`."))
    assert told[-2:] == ["wikimem.errors.NotRunning: No daemon answers.\n", "Start it: `wikimem serve`.\n"]


@pytest.mark.parametrize(
    ("prepared", "said"),
    [
        (requests.relate("a:b", "c:d", weight=math.nan), "'weight' must be a finite number"),
        (requests.put_item("a", "\ud800", "c"), "'name' must be text without lone surrogates"),
        (requests.retrieve(cast("str", b"sea")), "'query' must be a string"),
    ],
)
def test_an_argument_that_cannot_be_sent_is_named(prepared: requests.Prepared[object], said: str) -> None:
    world = World()
    with pytest.raises(InvalidInput, match=said):
        world.perform(prepared)
    assert world.log == []
