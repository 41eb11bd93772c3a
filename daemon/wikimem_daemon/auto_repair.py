"""Links that follow a rename by themselves: `auto_repair = true` in the user's own configuration.

Only after a minute in which nothing in the vault changed: an autosave every two seconds while somebody types a heading
is a chain of renames, and rewriting the notes of a person who is still typing would be the harm that this should spare.
Since when renames wait is kept, so that a daemon that ends within the minute leaves them to the next one.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping

from wikimem.errors import WikimemError
from wikimem.pages.changes import Change
from wikimem.store.renames import follow_renames
from wikimem.store.repairs import Repaired

_log = logging.getLogger("wikimem.repair")

QUIET_S = 60.0


async def _keep_nothing(_since: str | None) -> None:
    pass


class AutoRepair:
    """Collects renames from the change feed and has them followed when all is quiet.

    `repair` rewrites what the renames left behind (in the writer's thread); `now` is monotonic seconds; `keep` stores
    the feed's cursor before the first rename that waits, None when none does.
    """

    def __init__(
        self,
        repair: Callable[[Mapping[str, str]], Awaitable[Repaired]],
        now: Callable[[], float],
        quiet_s: float = QUIET_S,
        keep: Callable[[str | None], Awaitable[None]] = _keep_nothing,
    ) -> None:
        self._repair = repair
        self._now = now
        self._quiet_s = quiet_s
        self._keep = keep
        self._since: str | None = None
        self._kept: str | None = None
        self._waiting: list[Change] = []
        self._last_change = 0.0
        self._woken = asyncio.Event()

    def follow(self, change: Change, before: str = "") -> None:
        """Take one entry of the change feed; `before` is the feed's cursor before it."""
        self._last_change = self._now()
        if change.action in ("rename", "add"):
            if change.action == "rename" and self._since is None:
                self._since = before
            self._waiting.append(change)
            self._woken.set()

    def resume(self, since: str, changes: Iterable[Change]) -> None:
        """Take what an earlier process left: the changes after the cursor that it kept."""
        self._since = self._kept = since
        for change in changes:
            self.follow(change)
        self._woken.set()

    def due_in(self) -> float | None:
        """Return the seconds until the renames are followed, None when there are none."""
        if not any(change.action == "rename" for change in self._waiting):
            return None
        return max(0.0, self._last_change + self._quiet_s - self._now())

    async def run_if_due(self) -> Repaired | None:
        """Follow the renames if the vault has been quiet for long enough; a failure is logged, and they are dropped."""
        if self.due_in() != 0.0:
            return None
        renames = follow_renames(self._waiting)
        self._waiting.clear()
        self._since = None
        if not renames:
            return None
        try:
            done = await self._repair(renames)
        except (WikimemError, OSError) as error:
            _log.warning("links could not follow a rename: %s; `wikimem links --repair` tries again", error)
            return None
        if done.links or done.relations:
            _log.info("rewrote %d links in %d files after a rename", done.links, len(done.paths))
        for path, reason in done.refused:
            _log.warning("%s: links left as they are: %s", path, reason)
        return done

    async def run(self) -> None:
        """Do so for ever."""
        while True:
            wait = self.due_in()
            if wait is None:
                self._waiting.clear()  # additions without a rename are of no interest
                self._woken.clear()
                self._since = None
                await self.keep_since()
                await self._woken.wait()
            elif wait > 0:
                await self.keep_since()
                await asyncio.sleep(wait)
            else:
                await self.run_if_due()

    async def keep_since(self) -> None:
        """Store since when renames wait, if that is not stored."""
        since = self._since
        if since == self._kept:
            return
        try:
            await self._keep(since)
        except WikimemError as error:
            _log.warning("renames that wait cannot be kept: %s", error)
        self._kept = since
