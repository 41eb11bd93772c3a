"""Links that follow a rename by themselves: `auto_repair = true` in the user's own configuration.

Only after a minute in which nothing in the vault changed: an autosave every two seconds while somebody types a heading
is a chain of renames, and rewriting the notes of a person who is still typing would be the harm that this should spare.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from wikimem.errors import WikimemError
from wikimem.pages.changes import Change
from wikimem.store.renames import follow_renames
from wikimem.store.repairs import Repaired

_log = logging.getLogger("wikimem.repair")

QUIET_S = 60.0


class AutoRepair:
    """Collects renames from the change feed and has them followed when all is quiet.

    `repair` rewrites what the renames left behind (in the writer's thread); `now` is monotonic seconds.
    """

    def __init__(
        self,
        repair: Callable[[Mapping[str, str]], Awaitable[Repaired]],
        now: Callable[[], float],
        quiet_s: float = QUIET_S,
    ) -> None:
        self._repair = repair
        self._now = now
        self._quiet_s = quiet_s
        self._waiting: list[Change] = []
        self._last_change = 0.0
        self._woken = asyncio.Event()

    def follow(self, change: Change, _cursor: str = "") -> None:
        """Take one entry of the change feed."""
        self._last_change = self._now()
        if change.action in ("rename", "add"):
            self._waiting.append(change)
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
                await self._woken.wait()
            elif wait > 0:
                await asyncio.sleep(wait)
            else:
                await self.run_if_due()
