"""The reconciler: one way from the disk to the index, whatever asks for it.

A start, an event, an overflow, a burst, the timer, a resume and the root's return all do the same.

It belongs to the event loop's thread. Work is done in slices, so queries are answered meanwhile; a request that wants
a fresh answer drains the watcher, and waits for what was on the list before it, never for what comes later.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from wikimem.pages.changes import Cause, Change
from wikimem.pages.layout import Layout
from wikimem.store.history import History
from wikimem.store.manifest import Manifest
from wikimem.store.state import State
from wikimem_daemon.alarm import Alarm
from wikimem_daemon.choose import Choice, check_device, choose, racy_ns_on
from wikimem_daemon.clock import Clock, ClockWatch, SystemClock, timestamp
from wikimem_daemon.comparisons import Comparisons
from wikimem_daemon.consequences import Consequences
from wikimem_daemon.disk import Disk
from wikimem_daemon.feed import ChangesPage, Feed
from wikimem_daemon.freshness import Degraded, Freshness, WatchStatus, shorten
from wikimem_daemon.indexing import FedPages, Index
from wikimem_daemon.mirror import Mirror
from wikimem_daemon.mounts import MountWatch
from wikimem_daemon.ownwrites import OwnWrites
from wikimem_daemon.placing import Placing
from wikimem_daemon.saver import Saver
from wikimem_daemon.sidebands import Sidebands
from wikimem_daemon.slices import Around, Slices
from wikimem_daemon.stale import StaleBuffers
from wikimem_daemon.survey import SurveyedDisk, Surveyor, Surveys
from wikimem_daemon.tree import Tree
from wikimem_daemon.unsaved import Keeper
from wikimem_daemon.vigil import Vigil
from wikimem_daemon.watcher import CannotWatch, Watcher
from wikimem_daemon.worklist import LookAt, WorkList

__all__ = ["FedPages", "Freshness", "Reconciler", "WatchStatus"]

_log = logging.getLogger("wikimem.reconcile")

INLINE_S = 0.005  # what a request does itself before it lets the slices do it
TICK_S = 1.0
ROOT_LOST_TICK_S = 0.2
POLL_S = 2.0
RETRY_S = 30.0
_COMPLETE = "manifest_complete"


class Reconciler:
    """Keeps `index` in step with the vault at `root`. `docs/watching.md` says how the daemon wires it.

    `own` is what the store's `AnnouncingFiles` tells its writes to. `sidebands` are files beside the notes: each is
    called with the file's bytes (None: no file) at the start and whenever they changed.
    """

    def __init__(
        self,
        root: Path,
        layout: Layout,
        index: Index,
        state: State,
        *,
        mode: str = "auto",
        scan_interval_s: float = 300.0,
        max_file_bytes: int | None = None,
        own: OwnWrites | None = None,
        clock: Clock | None = None,
        new_watcher: Callable[[], Choice] | None = None,
        sidebands: Mapping[str, Callable[[bytes | None], None]] | None = None,
        new_id: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        self.root = root
        self.partial = True
        self._index = index
        self._state = state
        self._scan_interval_s = scan_interval_s
        self._clock = clock or SystemClock()
        self._clocks = ClockWatch(self._clock)
        self._manifest = Manifest(state)
        self.feed = Feed(state)
        self._consequences = Consequences(self.feed, now=self._clock.monotonic, ts=self._ts, new_id=new_id)
        self._stale = StaleBuffers(state, self._clock.wall_ns)
        keeper = Keeper(state, self._manifest, History(state), self.feed.save, self._stale.look)
        self._saver = Saver(self._consequences, self.feed, keeper)
        limit = layout.max_file_bytes if max_file_bytes is None else max_file_bytes
        self._raw = Disk(root, max_bytes=limit, wall_ns=self._clock.wall_ns, racy_ns=racy_ns_on(root))
        self._disk = SurveyedDisk(self._raw)
        self._placing = Placing(layout)
        self._work = WorkList()
        self._mirror = Mirror(
            placing=self._placing,
            disk=self._disk,
            index=index,
            manifest=self._manifest,
            own=own or OwnWrites(),
            clock=self._clock,
            watcher=self._on_duty,
            settle=self._settle,
            departed=self._consequences.departures,
            take_back=self._consequences.take_back,
            unsaved_body=self._consequences.unsaved_body,
        )
        self._tree = Tree(self._mirror, self._disk, self._work, self._placing, self._on_duty)
        if mode == "auto":
            self._tree.check_device = lambda folder: check_device(root / folder)
        self._mirror.around = self._tree
        poll_s = min(scan_interval_s, POLL_S)
        self._vigil = Vigil(
            root,
            new_watcher=new_watcher
            or (lambda: choose(root, self._placing.tops, mode, poll_s=poll_s, now=self._clock.monotonic)),
            poll_s=poll_s,
            wake=self._wake,
            is_hollow=self._tree.is_empty_where_it_was_full,
        )
        self._sidebands = Sidebands(self._raw, sidebands or {})
        self._comparisons = Comparisons(
            self._work,
            self._tree,
            made=lambda: self._consequences.made,
            now=self._clock.monotonic,
            ts=self._ts,
            finished=self._compared,
        )
        self._retry_at = self._retry_s = self._watch_again_at = 0.0
        self._mounts = MountWatch()
        self._moved = asyncio.Event()
        self._surveys = Surveys(self._disk, self._surveyor, self._compare_surveyed)
        around = Around(
            settle=self._settle,
            is_first_diff=lambda: self.partial and not self._mirror.baseline,
            is_lost=lambda: self._vigil.lost is not None,
            cannot_watch=self._cannot_watch,
            between=self._drain,
            idle=self._arm,
        )
        self._slices = Slices(self._work, self._mirror, self._tree, around, self._clock.monotonic)
        self._alarm = Alarm(self.tick, now=self._clock.monotonic, due=self._due_times, limit=self._tick_s)

    def _on_duty(self) -> Watcher | None:
        return self._vigil.watcher

    def _ts(self) -> str:
        return timestamp(self._clock.wall_ns())

    # ------------------------------------------------------------------ life

    async def start(self) -> None:
        """Begin to watch, and to read the vault in slices: `partial` is true until that is done."""
        self._mirror.known.load(self._manifest.load().values())
        self._consequences.load_gone(self._manifest.gone(), self._mirror.known.entries)
        self._mirror.baseline = self._state.meta(_COMPLETE) is None
        if self._mirror.baseline:
            # There may have been a first life that ended before it was kept: what it saw cannot be compared with.
            self.feed.begin_anew()
        self._vigil.begin(asyncio.get_running_loop(), self._root_identity())
        self._watch_again_at = self._clock.monotonic() + self._scan_interval_s
        self._compare_all("start")
        self._alarm.arm()

    async def close(self) -> None:
        """Stop, and keep what is not kept yet."""
        self._alarm.close()
        await self._surveys.close()
        await self._slices.close()
        self._vigil.close()
        self._mounts.close()
        self._settle()
        self.feed.close()
        await self._saver.close()

    # ------------------------------------------------------------- freshness

    async def ensure_fresh(self, timeout_s: float) -> Freshness:
        """Take in every write that finished before this call, within `timeout_s`, and say whether that was possible."""
        deadline = self._clock.monotonic() + timeout_s
        done = await self._catch_up(deadline)
        while self._waits_for_writer() and self._clock.monotonic() < deadline:
            quiet = max(one.quiet for one in self._mirror.waiting.values())
            self._moved.clear()
            with suppress(TimeoutError):
                pause = max(min(quiet, deadline) - self._clock.monotonic(), 0.001)
                await asyncio.wait_for(self._moved.wait(), pause)
            done = await self._catch_up(deadline)
        return self._freshness(done, asked=timeout_s > 0 or self._vigil.is_direct)

    async def _catch_up(self, deadline: float) -> bool:
        if not self._vigil.is_direct:
            return await self._survey_within(deadline)
        self._check_root()
        if self._mounts.changed():
            self._tree.note_places()
        self._drain()
        self._look_at_due()
        # While the slices are at it, a request adds none of its own: twenty would stop the loop for all.
        done = self._slices.run(INLINE_S) if not self._slices.running else not len(self._work)
        if not done:
            done = await self._within(self._slices.reach(), deadline)
        # The kernel may have run out of watches meanwhile: then the drain was not everything.
        return done if self._vigil.is_direct else await self._survey_within(deadline)

    async def _survey_within(self, deadline: float) -> bool:
        if deadline <= self._clock.monotonic():
            return False
        return await self._within(asyncio.shield(self._surveys.soon()), deadline)

    async def _within(self, done: "asyncio.Future[bool]", deadline: float) -> bool:
        try:
            return await asyncio.wait_for(done, max(deadline - self._clock.monotonic(), 0))
        except TimeoutError:
            return False

    def _waits_for_writer(self) -> bool:
        now = self._clock.monotonic()
        return any(one.quiet > now for one in self._mirror.waiting.values())

    def _freshness(self, done: bool, *, asked: bool) -> Freshness:
        found = self._withheld()
        if self.partial:
            found.append(Degraded("starting", "the vault is still being read", "ask again, or wait longer"))
        elif not done and asked and self._vigil.lost is None:
            long_note = self._mirror.long_notes.reading
            detail = f"the disk is still being compared; {len(self._work)} steps are left"
            detail = f"{long_note} is long and is being read" if long_note is not None else detail
            found.append(Degraded("behind", detail, "ask again in a moment"))
        return Freshness(done and not found, self.partial, shorten(found), self.cursor())

    def _withheld(self) -> list[Degraded]:
        found = [self._vigil.lost] if self._vigil.lost is not None else []
        found += [*self._tree.held.values(), *self._mirror.held.values()]
        for path, waiting in self._mirror.waiting.items():
            hint = "ask again in a moment"
            found.append(Degraded("being-written", f"{path} {waiting.reason}; its last good text is used", hint))
        return found

    def note_write(self, path: str, data_hash: str = "", cause: Cause = "api") -> None:
        """Take in a file that this process just wrote.

        `data_hash` (as in `bytes_hash`) is needed only where the write was not announced by `AnnouncingFiles`.
        """
        if cause == "api" and data_hash:
            self._mirror.own.expect(path, data_hash)
        if self._vigil.lost is None:
            self._drain()
            self._disk.forget(path)
            self._mirror.look_at(path)
            self._settle()

    # --------------------------------------------------------------- changes

    def cursor(self) -> str:
        """Return the token for everything up to now."""
        return self.feed.cursor()

    def changes_since(self, cursor: str | None, limit: int = 1_000) -> ChangesPage:
        """Return what changed after a cursor. Raises `InvalidCursor`."""
        return self.feed.since(cursor, limit)

    def subscribe(self, callback: Callable[[Change, str], None]) -> None:
        """Call `callback(change, cursor)` on the loop for every change. `feed.subscribe()` gives a queue instead."""
        self.feed.listen(callback)

    # ---------------------------------------------------------------- status

    async def verify(self) -> None:
        """Compare everything now, and wait for it."""
        await self._compare_and_wait("verify")

    async def rebuild(self) -> None:
        """Read everything again, whatever the stamps say, and wait for it."""
        self._mirror.known.doubt_stamps()
        await self._compare_and_wait("rebuild")

    async def relayout(self, layout: Layout) -> None:
        """Go by another layout: what it no longer reads leaves, what it now reads comes."""
        self._placing.relayout(layout)
        self._mirror.known.doubt_all()
        for path in list(self._mirror.known.entries):
            self._work.add(LookAt(path))
        await self._compare_and_wait("reload")

    async def _compare_and_wait(self, why: str) -> None:
        if not self._vigil.is_direct:
            await asyncio.shield(self._surveys.soon(why))
            return
        self._check_root()
        if self._vigil.lost is None:
            self._drain()
            self._compare_all(why)
            await self._slices.reach()

    def status(self) -> WatchStatus:
        """Return how things stand."""
        watcher, choice = self._vigil.watcher, self._vigil.choice
        degraded = self._withheld() + ([self._saver.degraded] if self._saver.degraded is not None else [])
        return WatchStatus(
            mode=watcher.mode if watcher is not None else "none",
            compared_at=self._comparisons.last.ts,
            compared_by=self._comparisons.last.by,
            partial=self.partial,
            fallback=choice.reason if choice is not None else "",
            hint=choice.hint if choice is not None else "",
            watches=watcher.watches if watcher is not None else 0,
            files=len(self._mirror.known.entries),
            pending=len(self._work),
            comparisons=self._comparisons.count,
            comparisons_without_change=self._comparisons.without_change,
            looks=self._work.taken,
            removals_waiting=self._consequences.waiting,
            degraded=shorten(degraded),
            problems=tuple(
                sorted(
                    [
                        *self._tree.problems.items(),
                        *self._mirror.problems.items(),
                        *self._stale.problems(self._index.pages),
                    ],
                    key=lambda found: found[0],
                )
            ),
        )

    def progress(self) -> object | None:
        """Return None when nothing is due, else a token that changes with every step: the watchdog's probe."""
        return self._work.taken if len(self._work) and self._vigil.lost is None else None

    # ------------------------------------------------------------------ work

    def _wake(self) -> None:
        """Take what the watcher has: called by the loop when its descriptor is ready."""
        self._drain()
        if not self._slices.run():
            self._slices.go_on()
        self._moved.set()

    def _drain(self) -> None:
        watcher = self._vigil.watcher
        seen = watcher.drain() if watcher is not None else None
        if not seen:
            return
        if seen.root_lost:
            self._check_root(told=True)
        elif not self._vigil.is_direct:
            self._surveys.soon()
        else:
            if seen.overflow:
                _log.warning("inotify lost events; comparing everything")
                self._compare_all("overflow")
            for folder in seen.folders:
                self._tree.note_folder(folder)
            for path in seen.paths:
                if not self._sidebands.take(path):
                    self._tree.note_path(path)

    def _cannot_watch(self, error: CannotWatch) -> None:
        self._vigil.replace(error)
        self._compare_all("fallback")

    def _settle(self) -> None:
        """Work out what the edits since the last call mean."""
        effects = self._mirror.take_effects()
        if effects:
            self._mirror.known.set_ids(self._consequences.take(effects, patient=not self.partial))
        for path, reborn in self._consequences.take_reborn().items():
            self._mirror.known.rename_ids(path, reborn)
        for entry in self._mirror.known.take_restamped():
            self._consequences.unsaved.restamp(entry)
        self._saver.schedule()

    # ----------------------------------------------------------- comparisons

    def _compare_all(self, why: str) -> None:
        if not self._vigil.is_direct:
            self._surveys.soon(why)
        elif self._vigil.lost is None:
            self._comparisons.ask(why)
            self._slices.go_on()

    def _compared(self) -> None:
        """Everything was listed and looked at."""
        if self.partial:
            self._settle()
            self.partial = self._mirror.offline = self._mirror.baseline = False
            self._consequences.tell_due(len(self._mirror.known.entries))
            self._saver.then(lambda: self._state.set_meta(_COMPLETE, "1"))
        self._sidebands.take_all()

    def _surveyor(self) -> Surveyor:
        return Surveyor(self._raw, self._placing, self._mirror.known.entries)

    async def _compare_surveyed(self, why: str) -> bool:
        self._check_root()
        if self._vigil.lost is not None:
            return True
        self._comparisons.ask(why)
        return await self._slices.reach()

    # ------------------------------------------------------------------ time

    def _arm(self) -> None:
        self._alarm.arm()

    def _due_times(self) -> list[float]:
        if self._vigil.lost is not None:
            return []
        removal = self._consequences.next_due() if not self.partial else None
        return [*(one.due for one in self._mirror.waiting.values()), *([removal] if removal is not None else [])]

    def _tick_s(self) -> float:
        return TICK_S if self._vigil.lost is None else ROOT_LOST_TICK_S

    def tick(self) -> None:
        """Do what is due by the clock: waiting files, removals, the timer, what a sleep or a lost root calls for."""
        if self._vigil.is_direct:
            self._check_root()
        elif self._vigil.lost is not None:
            self._surveys.soon()
        if self._vigil.lost is not None:
            return
        now = self._clock.monotonic()
        jumped = self._clocks.jumped()
        if jumped is not None:
            # Stamps of before a step of the clock may come again.
            self._mirror.known.doubt_stamps()
            self._compare_all(jumped)
        elif self.partial and not (len(self._work) or self._slices.running or self._surveys.running):
            self._compare_all("start")  # the first one did not come to its end
        elif not self.partial and now - self._comparisons.last.at >= self._scan_interval_s:
            self._compare_all("timer")
        self._watch_again(now)
        if self._mounts.changed():
            self._tree.note_places()
        self._drain()
        self._look_at_due()
        self._retry_held(now)
        if not self._slices.run():
            self._slices.go_on()
        elif not self.partial and self._consequences.tell_due(len(self._mirror.known.entries)):
            self._saver.schedule()
        self._moved.set()

    def _watch_again(self, now: float) -> None:
        """Look from time to time whether the kernel has watches again; not while a survey answers for the disk."""
        if now >= self._watch_again_at and not (self._surveys.running or len(self._work)):
            self._watch_again_at = now + self._scan_interval_s
            if self._vigil.watch_again(self._tree.folders):
                self._compare_all("watches-again")

    def _retry_held(self, now: float) -> None:
        """Look again at what is withheld, less and less often: usually an event tells."""
        if not self._tree.held and not self._mirror.held:
            self._retry_s = 0.0
        elif now >= self._retry_at:
            self._retry_s = min(max(self._retry_s * 2, TICK_S), RETRY_S)
            self._retry_at = now + self._retry_s
            self._tree.retry_held()

    def _look_at_due(self) -> None:
        now = self._clock.monotonic()
        for path, waiting in list(self._mirror.waiting.items()):
            if waiting.due <= now:
                self._disk.forget(path)
                self._work.add(LookAt(path))

    def _root_identity(self) -> tuple[int, int] | None:
        try:
            return self._disk.identity()
        except OSError:
            return None

    def _check_root(self, *, told: bool = False) -> None:
        """Notice that the root went, or came back: an ancestor's rename and a mount over it raise no event."""
        found = self._vigil.check(self._root_identity(), told=told)
        if found == "returned":
            self._compare_all("root-return")
        elif found == "lost":
            self._mirror.take_back_below("")
