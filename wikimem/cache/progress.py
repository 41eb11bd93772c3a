"""How far the vectors are: what `status` and the progress bar show."""

from collections import deque
from dataclasses import dataclass
from typing import Literal

State = Literal["starting", "ready", "pending", "incomplete", "failing", "mismatch", "locked"]
"""`incomplete`: all is embedded but texts that the endpoint does not take. `failing`: the endpoint is, for now; it is
asked again. `mismatch`: the vectors are of another model. `locked`: another process makes vectors for this vault."""
_WINDOW_S = 60.0


@dataclass(frozen=True, slots=True)
class Failed:
    """A text that is given up until it changes, or until somebody says to try again."""

    file: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Progress:
    """One look at the work.

    `count` and `pending` are of the wiki; `diary_pending` entries of the diary were asked for and have no vector yet.
    `sent` counts the texts that the endpoint was paid for since the process started, `tokens` what it said they cost.
    `rate` is in texts a second, `eta_s` in seconds. `uncommitted` vectors are in memory only. `failing_at` and
    `retry_at` are moments of the clock that the work goes by (monotonic seconds): since when it fails, and when it is
    tried again.
    """

    state: State = "starting"
    count: int = 0
    pending: int = 0
    model: str = ""
    dim: int = 0
    diary_pending: int = 0
    uncommitted: int = 0
    failed: tuple[Failed, ...] = ()
    sent: int = 0
    requests: int = 0
    tokens: int = 0
    rate: float = 0.0
    eta_s: float | None = None
    commits: int = 0
    written_bytes: int = 0
    code: str = ""
    detail: str = ""
    hint: str = ""
    failing_at: float | None = None
    retry_at: float | None = None
    cost_of_reset: int = 0


class Rate:
    """Texts a second over the last minute of work."""

    def __init__(self) -> None:
        self._done: deque[tuple[float, float, int]] = deque()

    def add(self, started: float, ended: float, count: int) -> None:
        """Count some texts that took from one moment to another."""
        self._done.append((started, ended, count))
        while self._done and self._done[0][1] < ended - _WINDOW_S:
            self._done.popleft()

    def value(self, now: float) -> float:
        """Return the rate, 0 when nothing was done for a minute."""
        if not self._done or self._done[-1][1] < now - _WINDOW_S:
            return 0.0
        spent = self._done[-1][1] - self._done[0][0]
        return sum(count for _, _, count in self._done) / spent if spent > 0 else 0.0
