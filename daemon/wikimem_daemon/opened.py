"""One vault, opened: store, index, reconciler and the service over them, put together once.

Everything is made here and nothing decides here; `daemon.py` says when it is opened and closed.
"""

import asyncio
import functools
import logging
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from wikimem.api.link_repairs import follow_renames_now
from wikimem.api.operations import Operations
from wikimem.api.settings import retrieval_settings
from wikimem.api.warmth import Warmth
from wikimem.config import Settings
from wikimem.errors import HistoryUnavailable
from wikimem.pages.changes import Change
from wikimem.pages.relations import RELATIONS_FILE, read_relations
from wikimem.search.index import MemoryIndex
from wikimem.store import changes, manifest, temperatures
from wikimem.store.opening import open_store
from wikimem.store.relations import RelationsFile
from wikimem.store.repairs import Repaired
from wikimem.store.state import State
from wikimem.store.vault import SCHEMAS, STATE_FILE, MemoryStore
from wikimem.text.problems import Problem
from wikimem_daemon.auto_repair import AutoRepair
from wikimem_daemon.feed import cursor_before
from wikimem_daemon.freshness import Degraded
from wikimem_daemon.gate import Gate
from wikimem_daemon.housekeeping import Housekeeping
from wikimem_daemon.ownwrites import AnnouncingFiles, OwnWrites
from wikimem_daemon.reconcile import FedPages, Reconciler
from wikimem_daemon.subscriptions import Streams
from wikimem_daemon.vectors import Vectors, make_vectors

_log = logging.getLogger("wikimem.daemon")

_SCHEMAS = (*SCHEMAS, manifest.SCHEMA, changes.SCHEMA, temperatures.SCHEMA)
_RENAMES_WAIT = "renames_wait_since"


@dataclass(slots=True)
class OpenedState:
    """The state, and what is wrong with it: without a usable one a throw-away serves, and writes are refused."""

    state: State
    degraded: Degraded | None = None
    folder: "tempfile.TemporaryDirectory[str] | None" = None

    def close(self) -> None:
        """Close it; a throw-away is removed."""
        self.state.close()
        if self.folder is not None:
            self.folder.cleanup()


def open_state(path: Path) -> OpenedState:
    """Open the vault's state, or a throw-away when its place cannot be written (a full disk, a wrong owner)."""
    try:
        return OpenedState(State(path, *_SCHEMAS))
    except HistoryUnavailable as error:
        _log.error("%s", error)
        folder = tempfile.TemporaryDirectory(prefix="wikimem-")
        state = State(Path(folder.name) / STATE_FILE, *_SCHEMAS)
        hint = f"{error.hint}; then start the daemon anew, which goes on without it till then"
        return OpenedState(state, Degraded("history-unavailable", error.message, hint), folder)


@dataclass(slots=True)
class ManualEdges:
    """Feeds `relations.jsonl` to the graph and remembers what is wrong in it."""

    index: MemoryIndex
    problems: tuple[Problem, ...] = ()

    def read(self, data: bytes | None) -> None:
        """Take the file's bytes (None: there is no file)."""
        relations, problems = read_relations(data or b"")
        self.problems = tuple(problems)
        self.index.graph.set_relations(relations)


@dataclass(slots=True)
class OpenedVault:
    """The parts of an opened vault."""

    settings: Settings
    opened: OpenedState
    own: OwnWrites
    index: MemoryIndex
    reconciler: Reconciler
    operations: Operations
    edges: ManualEdges
    streams: Streams
    writer: ThreadPoolExecutor
    lock: asyncio.Lock
    housekeeping: Housekeeping
    vectors: Vectors
    auto_repair: AutoRepair = field(init=False)

    def __post_init__(self) -> None:
        self.auto_repair = AutoRepair(self._follow_renames, time.monotonic, keep=self._keep_renames_since)

    @property
    def store(self) -> MemoryStore:
        """The store: another one after the layout has changed."""
        return self.operations.store

    async def start(self) -> None:
        """Settle what a crash left, begin to follow the vault, begin the housekeeping."""
        await self.housekeeping.recover()
        await self._resume_repairs()
        self.reconciler.subscribe(self._repair_later)
        await self.reconciler.start()
        self.reconciler.subscribe(lambda _change, _cursor: self.vectors.changed())
        self.housekeeping.begin(self.auto_repair.run())

    async def use(self, settings: Settings) -> None:
        """Go by other settings as far as that can be done while it runs."""
        before, self.settings = self.settings, settings
        self.index.settings = retrieval_settings(settings.retrieval)
        if (before.layout, before.history) != (settings.layout, settings.history):
            async with self.lock:
                self.operations.use(make_store(settings, self.opened, self.own))
        if before.layout != settings.layout:
            await self.reconciler.relayout(settings.layout)

    async def close(self) -> None:
        """Let the write that runs finish, keep what is not kept, close the files."""
        async with self.lock:
            await self.housekeeping.end()
            await self.reconciler.close()
            await self.vectors.close()
        self.writer.shutdown(wait=True)
        self.store.close()
        self.opened.close()

    def _repair_later(self, change: Change, cursor: str) -> None:
        if self.settings.links.auto_repair:
            self.auto_repair.follow(change, cursor_before(cursor))

    async def _resume_repairs(self) -> None:
        """Take over the renames that an earlier daemon noticed in its last minute, and did not follow any more."""
        since = self.opened.state.meta(_RENAMES_WAIT)
        if not since:
            return
        if not self.settings.links.auto_repair:
            await self._keep_renames_since(None)
            return
        cursor, found = since, list[Change]()
        while True:
            page = self.reconciler.feed.since(cursor)
            found += page.changes
            cursor = page.cursor
            if not page.more:
                break
        self.auto_repair.resume(since, found)

    async def _keep_renames_since(self, since: str | None) -> None:
        state = self.opened.state
        await asyncio.get_running_loop().run_in_executor(self.writer, state.set_meta, _RENAMES_WAIT, since or "")

    async def _follow_renames(self, renames: Mapping[str, str]) -> Repaired:
        async with self.lock:
            loop = asyncio.get_running_loop()
            done = await loop.run_in_executor(self.writer, follow_renames_now, self.store, renames)
            for path in done.paths:
                self.reconciler.note_write(path)
            if done.relations:
                store = self.store
                relations = RelationsFile(store)
                self.index.graph.set_relations(await loop.run_in_executor(self.writer, relations.read))
            return done


def make_store(settings: Settings, opened: OpenedState, own: OwnWrites) -> MemoryStore:
    """Make the store of a vault, whose writes are announced to the reconciler. Raises VaultError without a folder."""
    return open_store(
        settings,
        # Without a usable state the store tries its own place at every write, and refuses while that fails.
        state=opened.state if opened.degraded is None else None,
        wrap_files=lambda files: AnnouncingFiles(files, own),
    )


def open_vault(settings: Settings, gate: Gate, key: str | None) -> OpenedVault:
    """Open a vault; nothing is started yet. Raises VaultError when its folder cannot be read."""
    own = OwnWrites()
    opened = open_state(settings.state_dir / STATE_FILE)
    try:
        store = make_store(settings, opened, own)
    except BaseException:
        opened.close()
        raise
    warmth = Warmth(opened.state)
    vectors = make_vectors(settings, key, whole=lambda: not reconciler.status().degraded)
    index = MemoryIndex(
        FedPages(),
        embedder=vectors.embedder,
        vectors=vectors.index,
        settings=retrieval_settings(settings.retrieval),
        temperature=lambda address: warmth.of(address)[0],
        inline_merges=False,
    )
    edges = ManualEdges(index)
    reconciler = Reconciler(
        settings.path,
        settings.layout,
        index,
        opened.state,
        mode=settings.watch.mode,
        scan_interval_s=settings.watch.scan_interval_s,
        max_file_bytes=settings.limits.max_file_bytes,
        own=own,
        sidebands={RELATIONS_FILE: edges.read},
    )
    reconciler.subscribe(warmth.follow)
    operations = Operations(store, index, functools.partial(datetime.now, UTC), warmth)
    writer, lock = ThreadPoolExecutor(1, thread_name_prefix="writer"), asyncio.Lock()
    housekeeping = Housekeeping(lambda: operations.store, index, warmth, writer, lock)
    streams = Streams(reconciler.feed, gate)
    return OpenedVault(
        settings=settings,
        opened=opened,
        own=own,
        index=index,
        reconciler=reconciler,
        operations=operations,
        edges=edges,
        streams=streams,
        writer=writer,
        lock=lock,
        housekeeping=housekeeping,
        vectors=vectors,
    )
