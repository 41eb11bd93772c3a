"""The clock as a port: three readings that differ when a machine sleeps or somebody sets the time."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """`monotonic` stands still during suspend, `boottime` does not; `wall_ns` is what files are stamped with."""

    def monotonic(self) -> float:
        """Return seconds."""

    def boottime(self) -> float:
        """Return seconds."""

    def wall_ns(self) -> int:
        """Return nanoseconds since 1970."""


class SystemClock:
    """The machine's own."""

    def monotonic(self) -> float:
        """As in `Clock`."""
        return time.monotonic()

    def boottime(self) -> float:
        """As in `Clock`; macOS has no such clock, and its `monotonic` goes on during sleep."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()

    def wall_ns(self) -> int:
        """As in `Clock`."""
        return time.time_ns()


def timestamp(wall_ns: int) -> str:
    """Return ISO-8601 UTC, to the second."""
    return datetime.fromtimestamp(wall_ns // 1_000_000_000, tz=UTC).isoformat()


class ClockWatch:
    """Notices that the machine slept, or that the wall clock was set."""

    TOLERANCE_S = 1.0

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asleep, self._offset = self._read()

    def _read(self) -> tuple[float, float]:
        boottime = self._clock.boottime()
        return boottime - self._clock.monotonic(), self._clock.wall_ns() / 1e9 - boottime

    def jumped(self) -> str | None:
        """Return `resume` or `clock-step` when that happened since the last call, else None."""
        asleep, offset = self._read()
        slept, stepped = asleep - self._asleep, abs(offset - self._offset)
        self._asleep, self._offset = asleep, offset
        if slept > self.TOLERANCE_S:
            return "resume"
        return "clock-step" if stepped > self.TOLERANCE_S else None
