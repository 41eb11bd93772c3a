"""One vault, opened: store, index, reconciler and the service over them, put together once.

Everything is made here and nothing decides here; `daemon.py` says when it is opened and closed.
"""

import asyncio
import functools
import logging
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wikimem.api.calls import Call
from wikimem.api.operations import Operations
from wikimem.api.warmth import Warmth
from wikimem.config import Settings
from wikimem.errors import HistoryUnavailable, WikimemError
from wikimem.pages.relations import RELATIONS_FILE, read_relations
from wikimem.search.index import MemoryIndex
from wikimem.search.results import RetrievalSettings
from wikimem.store import changes, manifest, temperatures
from wikimem.store.state import State
from wikimem.store.vault import SCHEMAS, STATE_FILE, MemoryStore
from wikimem_daemon.gate import Gate
from wikimem_daemon.mirror import Degraded
from wikimem_daemon.ownwrites import AnnouncingFiles, OwnWrites
from wikimem_daemon.reconcile import FedPages, Reconciler
from wikimem_daemon.service import VaultService
from wikimem_daemon.subscriptions import Streams

_log = logging.getLogger("wikimem.daemon")

_KEEP_S = 60.0
_SCHEMAS = (*SCHEMAS, manifest.SCHEMA, changes.SCHEMA, temperatures.SCHEMA)


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
        return OpenedState(state, Degraded("history-unavailable", error.message, error.hint), folder)


@dataclass(slots=True)
class OpenedVault:
    """The parts of an opened vault."""

    settings: Settings
    opened: OpenedState
    store: MemoryStore
    index: MemoryIndex
    reconciler: Reconciler
    operations: Operations
    warmth: Warmth
    streams: Streams
    writer: ThreadPoolExecutor
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def service(
        self,
        operate: Callable[[Call, Mapping[str, Any]], Awaitable[Mapping[str, object]]],
        status: Callable[..., Awaitable[Mapping[str, object]]],
    ) -> VaultService:
        """Return what performs calls over this vault."""
        return VaultService(
            operations=self.operations,
            reconciler=self.reconciler,
            writer=self.writer,
            lock=self.lock,
            operate_with=operate,
            open_stream=self.streams.open,
            status=status,
        )

    async def recover(self) -> None:
        """Decide what a crash cut off, and find out how writes can be done here."""
        async with self.lock:
            await self._in_writer(self.store.recover, "what a crash left cannot be settled")
            await self._in_writer(self.store.probe, "the way of writing cannot be found out")

    async def keep_for_ever(self) -> None:
        """Save temperatures and do the store's upkeep now and then: a transaction a read would cost too much."""
        while True:
            await asyncio.sleep(_KEEP_S)
            await self._keep_warmth()
            async with self.lock:
                await self._in_writer(self.store.tidy, "the history cannot be tidied")

    async def _in_writer(self, work: Callable[[], object], trouble: str) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self.writer, work)
        except (WikimemError, OSError) as error:
            _log.warning("%s: %s", trouble, error)

    async def _keep_warmth(self) -> None:
        changed = self.warmth.take()
        if changed:
            await self._in_writer(functools.partial(self.warmth.keep, changed), "temperatures cannot be kept")

    async def close(self) -> None:
        """Let the write that runs finish, keep what is not kept, close the files."""
        async with self.lock:
            await self.reconciler.close()
            await self._keep_warmth()
        self.writer.shutdown(wait=True)
        self.store.close()
        self.opened.close()


def open_vault(settings: Settings, gate: Gate) -> OpenedVault:
    """Open a vault; the reconciler is not started yet. Raises VaultError when its folder cannot be read."""
    opened = open_state(settings.state_dir / STATE_FILE)
    own = OwnWrites()
    store = MemoryStore(
        settings.path,
        layout=settings.layout,
        state_dir=settings.state_dir,
        # Without a usable state the store tries its own place at every write, and refuses while that fails.
        state=opened.state if opened.degraded is None else None,
        wrap_files=lambda files: AnnouncingFiles(files, own),
        history_settings=settings.history,
    )
    index = MemoryIndex(FedPages(), settings=retrieval_settings(settings))
    reconciler = Reconciler(
        settings.path,
        settings.layout,
        index,
        opened.state,
        mode=settings.watch.mode,
        scan_interval_s=settings.watch.scan_interval_s,
        max_file_bytes=settings.limits.max_file_bytes,
        own=own,
        sidebands={RELATIONS_FILE: lambda data: index.graph.set_relations(read_relations(data or b"")[0])},
    )
    warmth = Warmth(opened.state)
    reconciler.subscribe(warmth.follow)
    operations = Operations(store, index, functools.partial(datetime.now, UTC), warmth)
    writer = ThreadPoolExecutor(1, thread_name_prefix="writer")
    streams = Streams(reconciler.feed, gate)
    return OpenedVault(settings, opened, store, index, reconciler, operations, warmth, streams, writer)


def retrieval_settings(settings: Settings) -> RetrievalSettings:
    """Return the part of the configuration that ranking and cutting go by."""
    chosen = settings.retrieval
    return RetrievalSettings(
        fusion=chosen.fusion,
        fusion_weight=chosen.fusion_weight,
        temperature_weight=chosen.temperature_weight,
        link_policy=chosen.link_policy,
        budget_tokens=chosen.budget_tokens,
    )
