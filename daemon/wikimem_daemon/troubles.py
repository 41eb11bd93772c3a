"""What is degraded goes to the log too: when it begins, once a day while it lasts, and when it is over.

`status` tells it at any time; the log tells it to whoever looks later. A trouble that comes and goes is one line a day.
"""

import logging
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime

from wikimem_daemon import logs
from wikimem_daemon.freshness import Degraded


class Troubles:
    """Compares what is degraded now with the last look. Cheap: meant for a timer."""

    def __init__(self, today: Callable[[], date] = lambda: datetime.now(UTC).date()) -> None:
        self._today = today
        self._told: dict[Degraded, date] = {}

    def look(self, parts: Iterable[Degraded]) -> None:
        """Log what began since the last look, what lasts since yesterday, and what is over."""
        today = self._today()
        found = set(parts)
        for part in sorted(found, key=lambda one: (one.code, one.detail)):
            if self._told.get(part) != today:
                self._told[part] = today
                text = f"{part.detail}; {part.hint}" if part.hint else part.detail
                logs.problem(f"{part.code}:{part.detail}", text, event=f"degraded.{part.code}")
        for part in [known for known in self._told if known not in found]:
            del self._told[part]
            over = f"no more: {part.detail}"
            logs.problem(f"over:{part.code}:{part.detail}", over, level=logging.INFO, event=f"recovered.{part.code}")
