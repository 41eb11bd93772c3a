"""Saving: what happened reaches the state file in batches, in a thread, and is tried again while that fails."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from wikimem.errors import HistoryUnavailable
from wikimem.store.changes import FeedRow
from wikimem_daemon.consequences import Consequences
from wikimem_daemon.feed import Feed
from wikimem_daemon.freshness import Degraded
from wikimem_daemon.unsaved import Keeper, Unsaved

_log = logging.getLogger("wikimem.reconcile")

DELAY_S = 0.2  # an fsync a batch, not one a save
_RETRY_S = 2.0


class Saver:
    """Writes what `consequences` and `feed` have collected. `on_kept` is called in the thread after a batch is kept."""

    def __init__(self, consequences: Consequences, feed: Feed, keeper: Keeper) -> None:
        self._consequences = consequences
        self._feed = feed
        self._keeper = keeper
        self._task: asyncio.Task[None] | None = None
        self._saving: asyncio.Future[None] | None = None
        self._after: list[Callable[[], None]] = []
        self.degraded: Degraded | None = None

    def then(self, action: Callable[[], None]) -> None:
        """Do `action` in the thread after the next batch was kept."""
        self._after.append(action)
        self.schedule()

    def schedule(self) -> None:
        """See to it that what there is will be kept soon."""
        if self._is_due() and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Keep what is left."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._saving is not None:
            await self._saving
        if self._is_due():
            await self._save()

    @property
    def idle(self) -> bool:
        """Whether all that happened is kept."""
        return not self._is_due() and (self._task is None or self._task.done())

    def _is_due(self) -> bool:
        return bool(self._consequences.unsaved) or self._feed.has_unsaved() or bool(self._after)

    async def _run(self) -> None:
        while self._is_due():
            await asyncio.sleep(DELAY_S if self.degraded is None else _RETRY_S)
            # A batch that was begun is finished: cancelling would leave it neither kept nor put back.
            self._saving = asyncio.ensure_future(self._save())
            await asyncio.shield(self._saving)

    async def _save(self) -> None:
        unsaved, self._consequences.unsaved = self._consequences.unsaved, Unsaved()
        rows = self._feed.take_unsaved()
        after, self._after = self._after, []
        try:
            await asyncio.to_thread(self._keep, unsaved, rows, after)
        except HistoryUnavailable as error:
            self._consequences.unsaved = self._consequences.unsaved.behind(unsaved)
            self._feed.put_back(rows)
            self._after = after + self._after
            if self.degraded is None:
                _log.error("what changed on disk cannot be kept in the state: %s", error)
            self.degraded = Degraded("history-unavailable", error.message, error.hint)
        else:
            self.degraded = None

    def _keep(self, unsaved: Unsaved, rows: list[FeedRow], after: list[Callable[[], None]]) -> None:
        self._keeper.keep(unsaved, rows)
        for action in after:
            action()
