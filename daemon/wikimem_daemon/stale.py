"""Fresh texts of agents that a save of an old editor buffer took away: told once, and listed until they are back."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from wikimem.pages.page import Page
from wikimem.store.history import History
from wikimem.store.stale_buffers import Gone, StaleBuffer, find_stale_buffer
from wikimem.store.state import State
from wikimem.store.writelog import WriteLog
from wikimem.text.problems import Problem

_log = logging.getLogger("wikimem.changes")

LISTED = timedelta(days=1)
_KEPT_AS = "stale_buffers"


@dataclass(frozen=True, slots=True)
class Undone:
    """A text that left its item by a save of the file at `path`."""

    path: str
    gone: Gone


@dataclass(frozen=True, slots=True)
class _Listed:
    path: str
    hash: str
    report: StaleBuffer
    until: str


class StaleBuffers:
    """What was found in the last day, by an earlier daemon too.

    `look` runs in the saving thread, `problems` on the loop.
    """

    def __init__(self, state: State, wall_ns: Callable[[], int]) -> None:
        self._state = state
        self._log = WriteLog(state)
        self._history = History(state)
        self._wall_ns = wall_ns
        self._listed = {(one.report.address, one.hash): one for one in self._kept()}
        self._kept_keys = set(self._listed)

    def look(self, undone: Iterable[Undone]) -> None:
        """Find which texts were undone by somebody who had not seen them. Raises `HistoryUnavailable`."""
        now = self._now()
        for one in undone:
            report = find_stale_buffer(one.gone, self._log, self._history, now=now)
            if report is not None:
                _log.warning("%s; to undo that: %s", report.message, report.command, extra={"event": "stale-buffer"})
                until = (now + LISTED).isoformat(timespec="seconds")
                self._listed[one.gone.address, one.gone.hash] = _Listed(one.path, one.gone.hash, report, until)
        listed = dict(self._listed)
        if set(listed) != self._kept_keys:
            self._state.set_meta(_KEPT_AS, json.dumps([asdict(one) for one in listed.values()]))
            self._kept_keys = set(listed)

    def problems(self, pages: Mapping[str, Page]) -> list[tuple[str, Problem]]:
        """Return those of the last day whose text is not back in its file."""
        now = self._now().isoformat(timespec="seconds")
        for key, one in list(self._listed.items()):
            page = pages.get(one.path)
            back = page is not None and any((item.address, item.hash) == key for item in page.items)
            if back or one.until <= now:
                self._listed.pop(key, None)
        return [
            (one.path, Problem("stale-buffer", 0, one.report.message, one.report.command))
            for one in list(self._listed.values())
        ]

    def _kept(self) -> Iterator[_Listed]:
        """Yield what an earlier daemon listed and no write to that address has answered since."""
        for fields in json.loads(self._state.meta(_KEPT_AS) or "[]"):
            one = _Listed(fields["path"], fields["hash"], StaleBuffer(**fields["report"]), fields["until"])
            last = self._log.last_at(one.report.address)
            if last is not None and last.ts == one.report.written_at:
                yield one

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._wall_ns() / 1e9, UTC)
