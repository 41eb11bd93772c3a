"""The alarm: one timer of the event loop for whatever is due next."""

import asyncio
from collections.abc import Callable, Iterable


class Alarm:
    """Calls `ring` when the earliest due time has come, and at least every `limit()` seconds. Times are monotonic."""

    def __init__(
        self,
        ring: Callable[[], None],
        *,
        now: Callable[[], float],
        due: Callable[[], Iterable[float]],
        limit: Callable[[], float],
    ) -> None:
        self._ring = ring
        self._now = now
        self._due = due
        self._limit = limit
        self._timer: asyncio.TimerHandle | None = None
        self._at = 0.0
        self._closed = False

    def arm(self) -> None:
        """Look again at what is due. Cheap when nothing is due earlier than before."""
        now = self._now()
        at = min([now + self._limit(), *self._due()])
        if self._closed or (self._timer is not None and now < self._at <= at):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._at = at
        self._timer = asyncio.get_running_loop().call_later(max(at - now, 0.01), self._rung)

    def close(self) -> None:
        """Never ring again."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _rung(self) -> None:
        self._timer = None
        try:
            self._ring()
        finally:
            self.arm()
