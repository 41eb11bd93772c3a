"""Work that goes on behind an answer of 202: one run at a time, and `status` tells how it went."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Literal

from wikimem.api.protocol import AcceptedAnswer, TaskBody

_log = logging.getLogger("wikimem.tasks")


def utc_now() -> str:
    """Return the time as answers give it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class BackgroundTask:
    """One kind of work."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._task: asyncio.Task[None] | None = None
        self._state: Literal["idle", "running", "done", "failed"] = "idle"
        self._started_at: str | None = None
        self._finished_at: str | None = None
        self._detail = ""

    def start(self, work: Callable[[], Awaitable[str]]) -> AcceptedAnswer:
        """Begin, unless it is running already. `work` returns a word on how it went."""
        if self._task is not None and not self._task.done():
            return {"accepted": True, "task": self._name, "detail": "It is running already."}
        self._state, self._started_at, self._finished_at, self._detail = "running", utc_now(), None, ""
        self._task = asyncio.create_task(self._run(work))
        return {
            "accepted": True,
            "task": self._name,
            "detail": "`wikimem status`, or GET /v1/status, shows how far it is.",
        }

    async def _run(self, work: Callable[[], Awaitable[str]]) -> None:
        try:
            self._detail = await work()
            self._state = "done"
        except asyncio.CancelledError:
            self._state, self._detail = "failed", "The daemon stopped."
            raise
        except Exception as error:  # noqa: BLE001 - an outermost loop: background work must not end the daemon
            _log.exception("%s failed", self._name)
            self._state, self._detail = "failed", str(error)
        finally:
            self._finished_at = utc_now()

    def body(self) -> TaskBody:
        """Return how it stands."""
        return {
            "state": self._state,
            "started_at": self._started_at,
            "finished_at": self._finished_at,
            "detail": self._detail,
        }

    async def stop(self) -> None:
        """End it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
