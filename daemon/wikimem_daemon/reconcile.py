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
from dataclasses import dataclass, field, replace
from pathlib import Path

from wikimem.errors import HistoryUnavailable
from wikimem.pages.changes import Cause, Change
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.store.manifest import Manifest
from wikimem.store.state import State
from wikimem.text.problems import Problem
from wikimem_daemon.choose import Choice, choose, fall_back
from wikimem_daemon.clock import Clock, ClockWatch, SystemClock, timestamp
from wikimem_daemon.consequences import Consequences
from wikimem_daemon.disk import Disk
from wikimem_daemon.feed import ChangesPage, Feed, Subscription
from wikimem_daemon.mirror import Degraded, Index, Mirror
from wikimem_daemon.ownwrites import OwnWrites
from wikimem_daemon.plan import is_mass_loss
from wikimem_daemon.tree import Tree
from wikimem_daemon.watcher import Watcher, WatchesExhausted
from wikimem_daemon.worklist import ListFolder, LookAt, Marker, Work, WorkList

_log = logging.getLogger("wikimem.reconcile")

SLICE_S = 0.005
_SETTLE_EVERY = 500
_SAVE_DELAY_S = 0.2
_TICK_S = 1.0
_ROOT_LOST_TICK_S = 0.2
_COMPLETE = "manifest_complete"


@dataclass(frozen=True, slots=True)
class Freshness:
    """Whether an answer given now holds every write that finished before it was asked for, and if not, why."""

    fresh: bool
    partial: bool
    degraded: tuple[Degraded, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """How the disk is watched.

    `compared_at` is when disk and index were last compared in full, `compared_by` what asked for it;
    `removals_waiting` counts removals whose grace period is not over.
    """

    mode: str
    compared_at: str | None
    compared_by: str | None
    partial: bool
    fallback: str = ""
    hint: str = ""
    watches: int = 0
    files: int = 0
    pending: int = 0
    comparisons: int = 0
    comparisons_without_change: int = 0
    removals_waiting: int = 0
    degraded: tuple[Degraded, ...] = ()
    problems: tuple[tuple[str, Problem], ...] = field(default=())


class FedPages:
    """The source for a `MemoryIndex` that this module feeds: it never has anything to say by itself."""

    revision = 0

    def pages(self) -> tuple[Page, ...]:
        """Return nothing: pages arrive by `replace_page`."""
        return ()

    def changed_since(self, revision: int) -> list[str]:
        """Return nothing."""
        del revision
        return []

    def read_page(self, path: str) -> Page | None:
        """Return nothing."""
        del path
        return None


class Reconciler:
    """Keeps `index` in step with the vault at `root`. See `docs/watching.md` for how the daemon wires it."""

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
        self.own = own or OwnWrites()
        self._clock = clock or SystemClock()
        self._state = state
        self._mode = mode
        self._scan_interval_s = scan_interval_s
        self._new_watcher = new_watcher or self._choose_watcher
        self._sidebands = dict(sidebands or {})
        self._manifest = Manifest(state)
        self.feed = Feed(state)
        self._consequences = Consequences(
            state, self.feed, now=self._clock.monotonic, ts=lambda: timestamp(self._clock.wall_ns()), new_id=new_id
        )
        self._disk = Disk(root, max_bytes=max_file_bytes or layout.max_file_bytes, wall_ns=self._clock.wall_ns)
        self._work = WorkList()
        self._mirror = Mirror(
            layout=layout,
            disk=self._disk,
            index=index,
            manifest=self._manifest,
            own=self.own,
            clock=self._clock,
            watcher=lambda: self._watcher,
            is_place_gone=self._is_place_gone,
            settle=self._settle,
        )
        self._tree = Tree(self._mirror, self._disk, self._work, layout, lambda: self._watcher)
        self._index = index
        self._watcher: Watcher | None = None
        self._choice: Choice | None = None
        self._clocks = ClockWatch(self._clock)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pump: asyncio.Task[None] | None = None
        self._saver: asyncio.Task[None] | None = None
        self._ticker: asyncio.Task[None] | None = None
        self._root_lost: Degraded | None = None
        self._unsaved_since: Degraded | None = None
        self.partial = True
        self._compared_at: str | None = None
        self._compared_by: str | None = None
        self._compared_mono = 0.0
        self._comparisons = 0
        self._without_change = 0
        self._touched = 0

    # ------------------------------------------------------------------ life

    async def start(self) -> None:
        """Begin to watch, and to read the vault in slices: `partial` is true until that is done."""
        self._loop = asyncio.get_running_loop()
        self._mirror.load(self._manifest.load())
        self._consequences.load_gone()
        self._mirror.baseline = self._state.meta(_COMPLETE) is None
        self._open_watcher()
        self._compare_all("start")
        self._ticker = asyncio.create_task(self._tick_for_ever())

    async def close(self) -> None:
        """Stop, and keep what is not kept yet."""
        for task in (self._ticker, self._pump, self._saver):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        if self._watcher is not None:
            self._watcher.close()
        self._settle()
        self.feed.close()
        self._save_now()

    def _choose_watcher(self) -> Choice:
        return choose(self.root, self._tree.tops, self._mode, poll_s=min(self._scan_interval_s, 2.0))

    def _open_watcher(self) -> None:
        """Watch the root; a kernel without room for watches, or a root that is gone, are states, not ends."""
        if self._watcher is not None:
            self._watcher.close()
        self._watcher = None
        choice = self._new_watcher()
        try:
            choice.watcher.start()
        except WatchesExhausted as error:
            choice.watcher.close()
            choice = self._fall_back(error)
            choice.watcher.start()
        except OSError as error:
            choice.watcher.close()
            self._lose_root(str(error.strerror or error))
            return
        self._choice, self._watcher = choice, choice.watcher
        if self._loop is not None:
            choice.watcher.attach(self._loop, self._wake)
        self._root_lost = None
        self._tree.root_identity = self._disk.identity()

    def _fall_back(self, error: WatchesExhausted) -> Choice:
        _log.warning("the kernel has no inotify watches left; polling instead. Raise %s", error.setting)
        return fall_back(self.root, error, poll_s=min(self._scan_interval_s, 2.0))

    def _lose_root(self, why: str) -> None:
        if self._root_lost is None:
            _log.error("the vault %s is gone: %s; what was known is kept", self.root, why)
        hint = "put the folder back, or mount it; the daemon goes on by itself"
        self._root_lost = Degraded("missing-root", f"the vault {self.root} is gone: {why}", hint)
        self._work.clear()

    # ------------------------------------------------------------- freshness

    async def ensure_fresh(self, timeout_s: float) -> Freshness:
        """Take in every write that finished before this call, within `timeout_s`, and say whether that was possible."""
        deadline = self._clock.monotonic() + timeout_s
        self._check_root()
        exact = self._watcher is not None and self._watcher.exact
        self._drain()
        if not exact and self._root_lost is None:
            self._work.add(ListFolder(""))
        done = self._run(SLICE_S)
        if not done:
            done = await self._reach(deadline)
        quiet = self._quiet_at()
        while quiet is not None and quiet > self._clock.monotonic() and self._clock.monotonic() < deadline:
            await asyncio.sleep(max(min(quiet, deadline) - self._clock.monotonic(), 0.001))
            self._drain()
            self._look_at_waiting()
            done = self._run(SLICE_S) or await self._reach(deadline)
            quiet = self._quiet_at()
        return self._freshness(done)

    async def _reach(self, deadline: float) -> bool:
        """Wait until what is on the list now is done; say whether that was in time."""
        marker = self._work.mark(asyncio.get_running_loop())
        self._start_pump()
        try:
            await asyncio.wait_for(marker, max(deadline - self._clock.monotonic(), 0))
        except TimeoutError:
            return False
        return True

    def _quiet_at(self) -> float | None:
        return max((one.quiet for one in self._mirror.waiting.values()), default=None)

    def _freshness(self, done: bool) -> Freshness:
        degraded = [*self._degraded()]
        for path, waiting in self._mirror.waiting.items():
            degraded.append(
                Degraded(
                    "being-written", f"{path}: {waiting.reason}; its last good text is used", "ask again in a moment"
                )
            )
        if self.partial:
            degraded.append(Degraded("starting", "the vault is still being read", "ask again, or wait longer"))
        elif not done:
            left = len(self._work)
            degraded.append(Degraded("behind", f"{left} changes on disk are still being read", "ask again in a moment"))
        return Freshness(not degraded, self.partial, tuple(degraded), self.cursor())

    def _degraded(self) -> list[Degraded]:
        found = [self._root_lost] if self._root_lost is not None else []
        return [*found, *self._tree.held.values(), *self._mirror.held.values()]

    def note_write(self, path: str, data_hash: str, cause: Cause = "api") -> None:
        """Take in a file that this process just wrote (`data_hash` as in `bytes_hash`, "" when it was removed)."""
        if cause == "api":
            self.own.expect(path, data_hash)
        if self._root_lost is None:
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

    def unsubscribe(self, callback: Callable[[Change, str], None]) -> None:
        """Stop calling it."""
        self.feed.unlisten(callback)

    def open_subscription(self) -> Subscription:
        """Return a bounded queue of changes; close it with `feed.unsubscribe`."""
        return self.feed.subscribe()

    # ---------------------------------------------------------------- status

    async def verify(self) -> None:
        """Compare everything now, and wait for it."""
        await self._compare_and_wait("verify")

    async def rebuild(self) -> None:
        """Read everything again, whatever the stamps say, and wait for it."""
        for path, entry in self._mirror.entries.items():
            self._mirror.entries[path] = replace(entry, settled=False)
        await self._compare_and_wait("rebuild")

    async def _compare_and_wait(self, why: str) -> None:
        self._check_root()
        if self._root_lost is not None:
            return
        self._drain()
        done = asyncio.get_running_loop().create_future()
        self._compare_all(why)
        self._work.add(Marker(lambda: None if done.done() else done.set_result(None)))
        self._start_pump()
        await done

    def status(self) -> WatchStatus:
        """Return how things stand."""
        return WatchStatus(
            mode=self._watcher.mode if self._watcher is not None else "none",
            compared_at=self._compared_at,
            compared_by=self._compared_by,
            partial=self.partial,
            fallback=self._choice.reason if self._choice is not None else "",
            hint=self._choice.hint if self._choice is not None else "",
            watches=self._watcher.watches if self._watcher is not None else 0,
            files=len(self._mirror.entries),
            pending=len(self._work),
            comparisons=self._comparisons,
            comparisons_without_change=self._without_change,
            removals_waiting=self._consequences.waiting,
            degraded=tuple(self._degraded() + ([self._unsaved_since] if self._unsaved_since else [])),
            problems=tuple(sorted({**self._tree.problems, **self._mirror.problems}.items())),
        )

    def progress(self) -> object | None:
        """Return None when nothing is due, else a token that changes with every step: the watchdog's probe."""
        return self._work.taken if len(self._work) and self._root_lost is None else None

    # ------------------------------------------------------------------ work

    def _wake(self) -> None:
        self._drain()
        if not self._run(SLICE_S):
            self._start_pump()

    def _drain(self) -> None:
        watcher = self._watcher
        if watcher is None:
            return
        seen = watcher.drain()
        if not seen:
            return
        if seen.root_lost:
            self._check_root(lost=True)
            return
        if seen.overflow:
            _log.warning("inotify lost events; comparing everything")
            self._compare_all("overflow")
        for folder in seen.folders:
            self._tree.note_folder(folder)
        for path in seen.paths:
            if path in self._sidebands:
                self._read_sideband(path)
            elif self._tree.is_ours(path):
                self._work.add(LookAt(path))

    def _run(self, budget_s: float) -> bool:
        """Do work for so long; say whether all is done."""
        if self._root_lost is not None:
            return True
        until = self._clock.monotonic() + budget_s
        while (work := self._work.take()) is not None:
            try:
                self._do(work)
            except WatchesExhausted as error:
                self._replace_watcher(error)
            if len(self._mirror.effects) >= _SETTLE_EVERY:
                self._settle()
            if self._clock.monotonic() >= until:
                break
        done = not len(self._work)
        if done:
            self._settle()
        return done

    def _is_place_gone(self, path: str) -> bool:
        return self._tree.is_place_gone(path)

    def _do(self, work: Work) -> None:
        if isinstance(work, LookAt):
            self._touched += 1
            self._mirror.look_at(work.path, scanned=work.scanned)
        elif isinstance(work, Marker):
            self._settle()
            work.reached()
        else:
            self._tree.do(work)

    def _start_pump(self) -> None:
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._pump_all())

    async def _pump_all(self) -> None:
        while not self._run(SLICE_S):
            await asyncio.sleep(0)
            self._drain()

    def _settle(self) -> None:
        effects = self._mirror.take_effects()
        if effects:
            dropped = sum(1 for effect in effects if effect.entry is None)
            mass = is_mass_loss(dropped, len(self._mirror.entries) + dropped)
            ids = self._consequences.take(effects, mass=mass, patient=not self._mirror.offline)
            self._mirror.set_ids(ids)
        for path, renamed in self._consequences.take_restamped().items():
            self._mirror.rename_ids(path, renamed)
        for path in self._mirror.take_restamped():
            self._consequences.keep_entry(self._mirror.entries[path])
        if self._consequences.has_unsaved():
            self._schedule_save()

    def _compare_all(self, why: str) -> None:
        before = self._changes_made()
        self._tree.begin_comparison()
        self._work.add(ListFolder(""))

        def finished() -> None:
            self._finish_comparison(why, before)

        self._work.add(Marker(finished))
        self._start_pump()

    def _changes_made(self) -> int:
        return self._consequences.made

    def _finish_comparison(self, why: str, before: int) -> None:
        self._tree.end_comparison()
        self._settle()
        self._compared_at, self._compared_by = timestamp(self._clock.wall_ns()), why
        self._compared_mono = self._clock.monotonic()
        self._comparisons += 1
        if self._changes_made() == before:
            self._without_change += 1
        if self.partial:
            self.partial = False
            self._mirror.offline = self._mirror.baseline = False
            for path in self._sidebands:
                self._read_sideband(path)
            self._schedule_save(complete=True)

    def _read_sideband(self, path: str) -> None:
        look = self._disk.look(path)
        self._sidebands[path](look.data if look.stamp is not None else None)

    def _replace_watcher(self, error: WatchesExhausted) -> None:
        if self._watcher is not None:
            self._watcher.close()
        self._choice = self._fall_back(error)
        self._watcher = self._choice.watcher
        self._watcher.start()
        if self._loop is not None:
            self._watcher.attach(self._loop, self._wake)
        self._compare_all("fallback")

    # ------------------------------------------------------------------ time

    async def _tick_for_ever(self) -> None:
        while True:
            due = self._next_due()
            limit = _TICK_S if self._root_lost is None else _ROOT_LOST_TICK_S
            await asyncio.sleep(limit if due is None else min(max(due - self._clock.monotonic(), 0.01), limit))
            self.tick()

    def _next_due(self) -> float | None:
        times = [one.due for one in self._mirror.waiting.values()]
        removal = self._consequences.next_due()
        return min([*times, *([removal] if removal is not None else [])], default=None)

    def tick(self) -> None:
        """Do what is due by the clock: waiting files, removals, the timer, what a sleep or a lost root calls for."""
        self._check_root()
        if self._root_lost is not None:
            return
        jumped = self._clocks.jumped()
        if jumped is not None:
            self._compare_all(jumped)
        elif not self.partial and self._clock.monotonic() - self._compared_mono >= self._scan_interval_s:
            self._compare_all("timer")
        self._drain()
        self._look_at_waiting()
        self._tree.retry_held()
        if not self._run(SLICE_S):
            self._start_pump()
        elif self._consequences.tell_due():
            self._schedule_save()

    def _look_at_waiting(self) -> None:
        now = self._clock.monotonic()
        for path, waiting in list(self._mirror.waiting.items()):
            if waiting.due <= now:
                self._work.add(LookAt(path))

    def _check_root(self, *, lost: bool = False) -> None:
        """Notice that the root went, or came back: an ancestor's rename and a mount over it raise no event."""
        try:
            now = self._disk.identity()
        except OSError as error:
            self._lose_root(str(error.strerror or error))
            return
        if now is None:
            self._lose_root("there is no folder")
        elif self._root_lost is not None or lost or now != self._tree.root_identity:
            if self._tree.is_empty_where_it_was_full():
                self._lose_root("it is empty; is it mounted?")
                return
            self._open_watcher()
            if self._root_lost is None:
                _log.warning("the vault %s is back; comparing everything", self.root)
                self._compare_all("root-return")

    # ---------------------------------------------------------------- saving

    def _schedule_save(self, *, complete: bool = False) -> None:
        self._complete = self._complete or complete
        if self._loop is not None and (self._saver is None or self._saver.done()):
            self._saver = asyncio.create_task(self._save_soon())

    _complete = False

    async def _save_soon(self) -> None:
        while self._consequences.has_unsaved() or self._complete:
            await asyncio.sleep(_SAVE_DELAY_S)
            await asyncio.to_thread(self._save_now)
            if self._unsaved_since is not None:
                await asyncio.sleep(_TICK_S)

    def _save_now(self) -> None:
        complete, self._complete = self._complete, False
        batch = self._consequences.take_unsaved()
        try:
            self._consequences.save(batch)
            if complete:
                self._state.set_meta(_COMPLETE, "1")
        except HistoryUnavailable as error:
            self._consequences.put_back(batch)
            self._complete = complete
            if self._unsaved_since is None:
                _log.error("what changed cannot be kept: %s", error)
            self._unsaved_since = Degraded("history-unavailable", str(error), error.hint)
        else:
            self._unsaved_since = None
