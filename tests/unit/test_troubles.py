"""What is degraded, in the log: a line when it begins, one a day while it lasts, one when it is over."""

import logging
from datetime import UTC, date, datetime

import pytest

from wikimem_daemon.freshness import Degraded
from wikimem_daemon.logs import OncePerDay
from wikimem_daemon.troubles import Troubles

CLOSED = Degraded("unreadable", "wiki/a.md cannot be read: Permission denied", "check its permissions")


class Days:
    """A clock, and what the log holds by it."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.day = 1
        self.once = OncePerDay(lambda: datetime(2026, 7, self.day, tzinfo=UTC))
        self.troubles = Troubles(lambda: date(2026, 7, self.day))
        self._caplog = caplog
        caplog.set_level(logging.INFO)

    def look(self, *parts: Degraded) -> list[str]:
        self._caplog.clear()
        self.troubles.look(parts)
        return [record.getMessage() for record in self._caplog.records if self.once.filter(record)]


def test_a_trouble_is_told_once_with_its_next_step_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    days = Days(caplog)
    assert days.look() == []
    assert days.look(CLOSED) == [f"{CLOSED.detail}; {CLOSED.hint}"]
    assert days.look(CLOSED) == []
    assert days.look() == [f"no more: {CLOSED.detail}"]


def test_a_trouble_that_lasts_is_told_again_the_next_day(caplog: pytest.LogCaptureFixture) -> None:
    days = Days(caplog)
    days.look(CLOSED)
    days.day = 2
    assert days.look(CLOSED) == [f"{CLOSED.detail}; {CLOSED.hint}"]


def test_a_trouble_that_comes_and_goes_is_one_line_a_day_and_a_count(caplog: pytest.LogCaptureFixture) -> None:
    days = Days(caplog)
    lines = [line for _ in range(5) for line in (*days.look(CLOSED), *days.look())]
    assert len(lines) == 2
    days.day = 2
    assert days.look(CLOSED)[0].endswith("(and 4 times more since 2026-07-01T00:00+00:00)")
