"""What a daemon does now and then, beside its answers: merges, the graph, temperatures, upkeep, renamed links."""

import asyncio
import functools
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from wikimem.api.warmth import Warmth
from wikimem.errors import WikimemError
from wikimem.search.build import Builder, ChildBuilder
from wikimem.search.index import MemoryIndex
from wikimem.store.vault import MemoryStore

_log = logging.getLogger("wikimem.upkeep")

KEEP_S: Final = 60.0
SECOND_LOOK_S: Final = 6.0
BUSY_LOOK_S: Final = 0.1
IDLE_LOOK_S: Final = 1.0
# Two milliseconds of the loop: the walkable graph of a large vault takes a second, and `related` must not wait for it.
SETTLE_ITEMS: Final = 300


@dataclass(slots=True)
class Housekeeping:
    """The background work of one vault. `writer` is its one writer thread, `lock` what a write holds."""

    store: Callable[[], MemoryStore]
    index: MemoryIndex
    warmth: Warmth
    writer: ThreadPoolExecutor
    lock: asyncio.Lock
    builder: Builder = field(default_factory=ChildBuilder)
    _tasks: "list[asyncio.Task[None]]" = field(default_factory=list)

    def begin(self, *more: Awaitable[None]) -> None:
        """Start the loops, and others that are given."""
        for work in (self._merge_for_ever(), self._keep_for_ever(), *more):
            self._tasks.append(asyncio.ensure_future(work))

    async def end(self) -> None:
        """Stop the loops and keep what is not kept yet."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.keep_warmth()

    async def recover(self) -> None:
        """Decide what a crash cut off, and find out how writes can be done here: the first thing of all."""
        async with self.lock:
            await self._in_writer(self.store().recover, "what a crash left cannot be settled")
            await self._in_writer(self.store().probe, "the way of writing cannot be found out")

    async def merge(self, *, settled: bool = False) -> None:
        """Bring the index's arrays up to its texts, in a thread, with `settled` whether it is due or not."""
        await asyncio.to_thread(self.index.merge, self.builder, settled=settled)

    async def build(self) -> None:
        """Build the index's arrays anew, in a child process."""
        await asyncio.to_thread(self.index.rebuild_arrays, self.builder)

    async def keep_warmth(self) -> None:
        """Save the temperatures that changed."""
        changed = self.warmth.take()
        if changed:
            await self._in_writer(functools.partial(self.warmth.keep, changed), "temperatures cannot be kept")

    async def _merge_for_ever(self) -> None:
        while True:
            due = self.index.merge_due()
            if due:
                try:
                    await self.merge()
                except Exception:  # noqa: BLE001 - an outermost loop: answers go on from the unmerged index
                    _log.exception("a merge failed")
                    await asyncio.sleep(KEEP_S)
            settled = self.index.graph.settle(SETTLE_ITEMS)
            # Changes come in bursts: soon after one there may be another, and an idle daemon seldom wakes up.
            await asyncio.sleep(IDLE_LOOK_S if settled and not due else BUSY_LOOK_S)

    async def _keep_for_ever(self) -> None:
        """Look a second time at files that writes displaced, soon; save temperatures and tidy the history, seldom.

        A transaction a read would cost too much, and a minute of warmth that is lost costs nothing.
        """
        revision, looks, kept = self.store().revision, 0, time.monotonic()
        while True:
            await asyncio.sleep(SECOND_LOOK_S)
            if self.store().revision != revision:
                revision, looks = self.store().revision, 2  # the last one may have come just now, and be due next time
            if time.monotonic() - kept >= KEEP_S:
                kept, looks = time.monotonic(), max(looks, 1)
                await self.keep_warmth()
            if looks:
                looks -= 1
                async with self.lock:
                    await self._in_writer(self.store().tidy, "the history cannot be tidied")

    async def _in_writer(self, work: Callable[[], object], trouble: str) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self.writer, work)
        except (WikimemError, OSError) as error:
            _log.warning("%s: %s", trouble, error)
