"""The watchdog: systemd hears from the daemon only while every part of it gets on with its work.

A loop that still turns proves little: the watcher may have stopped reading and a worker may sit in a dead network
mount, and answers would be stale for ever. So each part gives a `Probe`, and a part that shows the same unfinished
work for `patience_s` is stuck. Then the feeding stops, systemd sends SIGABRT, `faulthandler` writes every thread's
traceback into the journal, and `Restart=on-failure` starts a fresh process.
"""

import asyncio
import faulthandler
import logging
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TypeAlias

from wikimem_daemon import systemd

_log = logging.getLogger("wikimem.watchdog")

Probe: TypeAlias = Callable[[], object | None]
"""What a part of the daemon says about its work in hand. Cheap, called on the event loop, must not block.

None: nothing is due. Anything else is a token that must compare unequal to the last one whenever a step was made (a
counter of slices done, the id of the job in hand). A reconcile that gets on slowly gives a new token each time; one
that hangs gives the same.
"""


@dataclass(slots=True)
class _Held:
    token: object
    since: float


class Watchdog:
    """Feeds the supervisor from the event loop while no probe has shown one token for longer than `patience_s`."""

    def __init__(
        self,
        probes: Mapping[str, Probe],
        *,
        interval_s: float | None,
        patience_s: float,
        clock: Callable[[], float] = time.monotonic,
        feed: Callable[[], object] = lambda: systemd.notify("WATCHDOG=1"),
    ) -> None:
        self._probes = dict(probes)
        self._interval_s = interval_s
        self._patience_s = patience_s
        self._clock = clock
        self._feed = feed
        self._held: dict[str, _Held] = {}
        self._stuck: tuple[str, ...] = ()

    @property
    def stuck(self) -> tuple[str, ...]:
        """The parts that made no progress at the last look."""
        return self._stuck

    def look(self) -> tuple[str, ...]:
        """Ask every probe once, feed if all is well, and return the names of the parts that are stuck."""
        now = self._clock()
        stuck = tuple(name for name, probe in self._probes.items() if self._is_stuck(name, probe(), now))
        if stuck != self._stuck:
            self._report(stuck)
        self._stuck = stuck
        if not stuck:
            self._feed()
        return stuck

    async def run(self) -> None:
        """Look for ever; returns at once where no watchdog waits for this process."""
        while self._interval_s is not None:
            self.look()
            await asyncio.sleep(self._interval_s)

    def _is_stuck(self, name: str, token: object | None, now: float) -> bool:
        held = self._held.get(name)
        if token is None:
            self._held.pop(name, None)
            return False
        if held is None or held.token != token:
            self._held[name] = _Held(token, now)
            return False
        return now - held.since > self._patience_s

    def _report(self, stuck: tuple[str, ...]) -> None:
        if stuck:
            names = ", ".join(stuck)
            systemd.status(f"no progress: {names}")
            extra = {"event": "watchdog.stuck", "fields": {"parts": names}}
            _log.error("no progress for %.0f s: %s; the watchdog is not fed", self._patience_s, names, extra=extra)
        else:
            systemd.status("progress again")
            _log.log(25, "progress again: %s", ", ".join(self._stuck), extra={"event": "watchdog.recovered"})


class ExecutorProbe:
    """Whether the threads of an executor still take work: for each look a job that does nothing is put in line.

    One job is in line at a time, so a worker that hangs (a dead network mount, a lock that is never let go) shows the
    same token until the watchdog's patience is over. Work that takes longer than that patience must go elsewhere.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._waiting: Future[None] | None = None
        self._asked = 0

    def __call__(self) -> object | None:
        """Return the number of the job that is in line, None when the last one was done."""
        if self._waiting is not None and not self._waiting.done():
            return self._asked
        self._asked += 1
        try:
            self._waiting = self._executor.submit(_nothing)
        except RuntimeError:  # it was shut down: the process is on its way out
            self._waiting = None
        return None


def _nothing() -> None:
    return


def from_environment(probes: Mapping[str, Probe]) -> Watchdog:
    """Make the watchdog that this process's supervisor asked for; without one it never feeds and `run` returns.

    A part may hold one token for a whole `WatchdogSec=`, then the silence lasts another: a hang of a part ends
    within twice that time, a hang of the loop itself within once.
    """
    limit = systemd.watchdog_limit()
    return Watchdog(probes, interval_s=systemd.watchdog_interval(), patience_s=limit if limit is not None else 0.0)


def trace_on_abort() -> None:
    """Make SIGABRT (the watchdog's signal) and crashes leave every thread's traceback on standard error."""
    # A pipe that is closed, or a test's replaced stream, has no descriptor: then there is nowhere to write.
    try:
        faulthandler.enable(file=sys.__stderr__ or sys.stderr, all_threads=True)
    except (AttributeError, OSError, RuntimeError, ValueError):
        _log.debug("no traceback on abort: standard error has no descriptor")
