"""Fresh texts of agents that a save of an old editor buffer took away: told once, and listed until they are back."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from wikimem.pages.page import Page
from wikimem.store.history import History
from wikimem.store.stale_buffers import Gone, StaleBuffer, find_stale_buffers
from wikimem.store.state import State
from wikimem.store.writelog import WriteLog
from wikimem.text.problems import Problem

_log = logging.getLogger("wikimem.changes")

LISTED = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Undone:
    """A text that left its item by a save of the file at `path`."""

    path: str
    gone: Gone


@dataclass(frozen=True, slots=True)
class _Listed:
    undone: Undone
    report: StaleBuffer
    until: datetime


class StaleBuffers:
    """What was found since the start. `look` runs in the saving thread, `problems` on the loop."""

    def __init__(self, state: State, wall_ns: Callable[[], int]) -> None:
        self._log = WriteLog(state)
        self._history = History(state)
        self._wall_ns = wall_ns
        self._listed: dict[tuple[str, str], _Listed] = {}

    def look(self, undone: Iterable[Undone]) -> None:
        """Find which texts were undone by somebody who had not seen them. Raises `HistoryUnavailable`."""
        now = self._now()
        for one in undone:
            for report in find_stale_buffers([one.gone], self._log, self._history, now=now):
                _log.warning("%s; to undo that: %s", report.message, report.command, extra={"event": "stale-buffer"})
                self._listed[one.gone.address, one.gone.hash] = _Listed(one, report, now + LISTED)

    def problems(self, pages: Mapping[str, Page]) -> list[tuple[str, Problem]]:
        """Return those of the last day whose text is not back in its file."""
        now = self._now()
        for key, one in list(self._listed.items()):
            page = pages.get(one.undone.path)
            back = page is not None and any((item.address, item.hash) == key for item in page.items)
            if back or one.until <= now:
                self._listed.pop(key, None)
        return [
            (one.undone.path, Problem("stale-buffer", 0, one.report.message, one.report.command))
            for one in list(self._listed.values())
        ]

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._wall_ns() / 1e9, UTC)
