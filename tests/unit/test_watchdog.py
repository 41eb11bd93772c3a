"""The watchdog is fed while every part gets on, and not one time more."""

import asyncio
import logging
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wikimem_daemon.daemon import Daemon
from wikimem_daemon.service import VaultService
from wikimem_daemon.watchdog import ExecutorProbe, Watchdog, from_environment


class Part:
    """A part of the daemon whose progress the test writes down."""

    def __init__(self) -> None:
        self.token: object | None = None

    def __call__(self) -> object | None:
        return self.token


class World:
    """A watchdog over two parts, a clock that the test moves, and a count of what the supervisor heard."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.fed = 0
        self.watcher, self.worker = Part(), Part()
        self.dog = Watchdog(
            {"watcher": self.watcher, "worker": self.worker},
            interval_s=10,
            patience_s=30,
            clock=lambda: self.now,
            feed=self._feed,
        )

    def _feed(self) -> None:
        self.fed += 1

    def after(self, seconds: float) -> tuple[str, ...]:
        self.now += seconds
        return self.dog.look()


def test_parts_with_nothing_to_do_are_well() -> None:
    world = World()
    assert [world.after(1000) for _ in range(3)] == [(), (), ()]
    assert world.fed == 3


def test_slow_work_that_gets_on_is_well() -> None:
    world = World()
    for step in range(20):
        world.worker.token = ("rebuild", step)
        assert world.after(25) == ()
    assert world.fed == 20


def test_the_same_unfinished_work_is_stuck_once_patience_is_over() -> None:
    world = World()
    world.worker.token = ("rebuild", 7)
    assert world.after(0) == ()
    assert world.after(30) == ()
    assert world.after(1) == ("worker",)
    assert world.fed == 2, "the supervisor hears nothing from then on"
    assert world.dog.stuck == ("worker",)


def test_work_that_ends_late_is_forgiven() -> None:
    world = World()
    world.watcher.token = 1
    world.after(0)
    assert world.after(40) == ("watcher",)
    world.watcher.token = None
    assert world.after(1) == ()
    assert world.fed == 2


def test_equal_work_after_an_idle_time_starts_a_new_patience() -> None:
    world = World()
    world.worker.token = 7
    world.after(0)
    world.worker.token = None
    world.after(25)
    world.worker.token = 7
    assert world.after(10) == ()
    assert world.after(29) == ()


def test_being_stuck_is_said_once_and_getting_on_too(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.worker.token = 1
    with caplog.at_level(logging.INFO, "wikimem"):
        for seconds in (0, 31, 10, 10):
            world.after(seconds)
        world.worker.token = 2
        world.after(1)
    assert [record.getMessage() for record in caplog.records] == [
        "no progress for 30 s: worker; the watchdog is not fed",
        "progress again: worker",
    ]


class Threads(Executor):
    """An executor whose one thread is the test: jobs are done when it says so."""

    def __init__(self) -> None:
        self.line: list[Future[None]] = []

    def submit(self, *_: object, **__: object) -> "Future[None]":  # type: ignore[override]  # only this form is used
        self.line.append(Future())
        return self.line[-1]

    def work(self) -> None:
        self.line[-1].set_result(None)


def test_an_executor_whose_thread_hangs_is_stuck_and_one_that_works_is_not() -> None:
    threads = Threads()
    world = World()
    probe = ExecutorProbe(threads)
    world.dog = Watchdog({"writer": probe}, interval_s=10, patience_s=30, clock=lambda: world.now, feed=world._feed)
    for _ in range(10):
        assert world.after(10) == ()
        threads.work()
    assert world.after(10) == ()
    assert [world.after(10) for _ in range(5)] == [(), (), (), (), ("writer",)]
    assert len(threads.line) == 11, "one job in line, however often it is looked"
    threads.work()
    assert world.after(10) == ()


def test_an_executor_that_was_shut_down_is_not_stuck() -> None:
    threads = ThreadPoolExecutor(1)
    probe = ExecutorProbe(threads)
    threads.shutdown()
    assert [probe(), probe()] == [None, None]


def test_the_daemon_shows_its_disk_thread_whatever_that_thread_hangs_in() -> None:
    """A read of the history that hangs in a dead mount holds up every write behind it."""
    threads, unused = Threads(), cast("Any", None)
    daemon = Daemon(unused, unused, unused, unused, unused, unused)
    assert daemon._writing() is None
    daemon._service = cast("VaultService", SimpleNamespace(writer=threads))
    assert daemon._writing() is None
    assert daemon._writing() == daemon._writing() == 1
    threads.work()
    assert daemon._writing() is None


def test_without_a_supervisor_the_task_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATCHDOG_USEC", raising=False)
    asyncio.run(asyncio.wait_for(from_environment({"watcher": Part()}).run(), 5))
