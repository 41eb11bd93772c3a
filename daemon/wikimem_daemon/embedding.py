"""The daemon's vectors: a thread that follows the index, the vectors of queries, and what `status` says of both.

The thread does everything that waits (the endpoint, the disk); queries use what is there and never wait for it.
"""

import asyncio
import contextlib
import functools
import logging
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from wikimem.api.protocol import ProblemBody, VectorsBody
from wikimem.cache.answers import Vector
from wikimem.cache.failures import EmbeddingError
from wikimem.cache.opening import Embeddings, open_embeddings
from wikimem.config import Settings
from wikimem.errors import InvalidCategory, Locked
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.store.locks import VaultLock, vault_key
from wikimem_daemon import logs
from wikimem_daemon.fetched import FetchedQueries
from wikimem_daemon.freshness import Degraded

_log = logging.getLogger("wikimem.embedding")

SCAN_S: Final = 5.0
"""Between two looks at the index: what raises no event (an item that moved within its page) is seen then."""
_SETTLE_S: Final = 0.1
_LAST_REQUEST_S: Final = 3.0
"""How long a stop waits for the request that runs: its texts are paid for."""
_POLL_S: Final = 0.1
_PATIENCE_S: Final = 15.0
"""An endpoint that fails for longer ends the task that was asked for, not the work: that goes on by itself."""
_TURN_S: Final = 0.5
_BEING_READ: Final = "the vault, or its vectors, are being read"
_PRIMED_AT_ONCE: Final = 500
"""Items whose vectors are looked up between two requests: half a millisecond."""


class EmbeddingWorker:
    """One vault's vectors (`vectors.Vectors`)."""

    def __init__(self, parts: Embeddings, stop: threading.Event, lock: VaultLock) -> None:
        self.embedder = FetchedQueries(parts.client.model, parts.sync.space)
        self.index = parts.sync.space
        self._sync = parts.sync
        self._client = parts.client
        self._pages: Callable[[], Iterable[Page]] | None = None
        self._prime: Callable[[int], bool] = bool
        self._priming: asyncio.Task[None] | None = None
        self._primed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = stop
        self._lock = lock
        self._locked = ""
        self._wake = threading.Event()
        self._orders: deque[Callable[[], object]] = deque()
        self._dirty = True
        self._followed = False
        self._scan_at = 0.0
        self._warned = ""
        self._thread = threading.Thread(target=self._run, name="embedding", daemon=True)

    # ------------------------------------------------------------------- life

    async def start(self, pages: Callable[[], Iterable[Page]], prime: Callable[[int], bool]) -> None:
        """Begin to follow the vault, which has been read."""
        self._pages, self._prime, self._loop = pages, prime, asyncio.get_running_loop()
        self._thread.start()

    async def close(self) -> None:
        """Write what is not written, and end; a request that hangs is left behind."""
        self._stop.set()
        self._wake.set()
        if self._priming is not None:
            self._priming.cancel()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join, _LAST_REQUEST_S)
        if self._thread.is_alive():
            # The thread hangs in a request, so nobody else touches what it has put together until now.
            await asyncio.to_thread(self._sync.commit)

    def changed(self) -> None:
        """Look at the index soon: something has changed."""
        self._dirty = True
        self._wake.set()

    def reached(self, window: Sequence[str] | None) -> None:
        """Want the vectors of the diary's entries in a window that a question reached."""
        if window is not None:
            start, end = window
            self._order(lambda: self._sync.reach(start, end))

    def embedding(self, *, reset: bool) -> "Callable[[], Awaitable[str]]":
        """Return the work of trying again what failed, with `reset` of embedding all anew."""
        return functools.partial(self._embed, reset=reset)

    async def _embed(self, *, reset: bool) -> str:
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()

        def begin() -> None:
            if reset:
                self._sync.reset()
            else:
                self._sync.retry()
            loop.call_soon_threadsafe(begun.set)

        sent = self._sync.progress.sent
        self._order(begin)
        await begun.wait()
        while self._at_work():  # noqa: ASYNC110 - the thread has no event for it
            await asyncio.sleep(_POLL_S)
        now = self._sync.progress
        done = f"{now.sent - sent} texts embedded"
        if now.state == "failing":
            return f"{done}, {now.pending} wait, and are tried again: {now.detail}"
        return f"{now.detail}; {now.hint}" if now.state == "mismatch" else done

    def _at_work(self) -> bool:
        """Whether what was asked for goes on; with an endpoint that keeps failing it ends, and the work goes on."""
        now = self._sync.progress
        if now.state == "failing" and now.failing_at is not None:
            return time.monotonic() - now.failing_at < _PATIENCE_S
        return now.state in ("starting", "pending") or bool(self._behind())

    # ---------------------------------------------------------------- queries

    async def prepare(self, query: str) -> None:
        """Fetch a query's vector, within the query's deadline. Never raises."""
        if query.strip():
            try:
                outcome: Vector | EmbeddingError = await self._vector(query)
            except EmbeddingError as error:
                outcome = error
            self.embedder.remember(query, outcome)

    async def _vector(self, query: str) -> Vector:
        now, space = self._sync.progress, self._sync.space
        if now.state == "mismatch":
            raise EmbeddingError("mismatch", now.detail, hint=now.hint)
        if not self._followed:
            raise EmbeddingError("waiting", self._locked or _BEING_READ)
        if not self._primed.is_set():
            # To look a hundred thousand items up at once would hold up everybody; this question alone waits for it.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._primed.wait(), self._client.queries.timeout_s)
            if not self._primed.is_set():
                raise EmbeddingError("waiting", _BEING_READ)
        if not len(space):
            if now.failed:
                raise EmbeddingError("waiting", f"no text has one: {now.failed[0].reason}", hint=now.hint)
            waiting = now.pending or self._behind()
            if waiting:
                why = f": {now.detail}" if now.detail else ""
                raise EmbeddingError("waiting", f"no text has one yet, {waiting} wait{why}", hint=now.hint)
            return np.zeros(1, np.float32)  # nothing is there to be compared with it
        vector = await self._asked(query)
        if len(vector) != space.dim:
            # With the endpoint's old model back, the same question is to be asked anew.
            self._client.queries.forget(query)
            self._order(lambda: self._sync.mismatched(len(vector)))
            detail = f"it would be {len(vector)} wide, and the texts' are {space.dim}"
            hint = "the endpoint's model has changed: `wikimem embed --reset` embeds all texts anew"
            raise EmbeddingError("mismatch", detail, hint=hint)
        return vector

    async def _asked(self, query: str) -> Vector:
        queries, loop = self._client.queries, asyncio.get_running_loop()
        future, arrived = queries.begin(query), asyncio.Event()

        def tell(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended before the endpoint has answered
                loop.call_soon_threadsafe(arrived.set)

        if not future.done():
            future.add_done_callback(tell)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(arrived.wait(), queries.timeout_s)
        if not future.done():
            raise queries.late()
        return future.result()

    # ----------------------------------------------------------------- status

    def body(self) -> VectorsBody:
        """Return what `status` says about the vectors."""
        now, behind = self._sync.progress, self._behind()
        state = "pending" if behind and now.state in ("ready", "incomplete") else now.state
        return {
            "count": now.count,
            "pending": now.pending + behind,
            "model": now.model,
            "dim": now.dim or None,
            "state": state if self._followed or state == "mismatch" else "locked" if self._locked else "starting",
            "detail": self._locked or now.detail,
            "hint": now.hint,
            "uncommitted": now.uncommitted,
            "failed": len(now.failed),
            "diary_pending": now.diary_pending,
            "sent": now.sent,
            "requests": now.requests,
            "tokens": now.tokens,
            "rate": now.rate,
            "eta_s": now.eta_s,
            "failing_since": _wall_time(now.failing_at),
            "retry_in_s": _left(now.retry_at),
            "reset_cost": now.cost_of_reset,
            "commits": now.commits,
            "written_bytes": now.written_bytes,
        }

    def degraded(self) -> tuple[Degraded, ...]:
        """Return what is wrong with the vectors as a whole."""
        now = self._sync.progress
        if now.state not in ("mismatch", "failing"):
            return ()
        left = _left(now.retry_at)
        again = "" if left is None else f"it is tried again in {left:.0f} s; "
        return (Degraded(now.code, now.detail, again + now.hint),)

    def problems(self, layout: Layout) -> list[ProblemBody]:
        """Return the texts that have no vector because the endpoint does not take them."""
        hint = "edit it, or try again: `wikimem embed`"
        return [
            {
                "path": _path(layout, one.file),
                "kind": "not-embedded",
                "line": 0,
                "message": f"{one.name}: {one.reason}",
                "hint": hint,
            }
            for one in self._sync.progress.failed
        ]

    # ----------------------------------------------------------------- thread

    def _run(self) -> None:
        try:
            self._client.warm()
            if not self._take_turn():
                return
            self._sync.load()
            while not self._stop.is_set():
                self._wake.wait(self._round())
                if self._wake.is_set() and not self._orders:
                    self._stop.wait(_SETTLE_S)  # a save is seldom alone
                self._wake.clear()
            self._sync.commit()
        except Exception:  # noqa: BLE001 - the outermost loop of this thread
            _log.exception("the vectors are not followed any more; answers are by words and what vectors there are")
        finally:
            self._lock.release()

    def _take_turn(self) -> bool:
        """Wait until no other process makes vectors for this vault; say whether there is still something to do."""
        while not self._stop.is_set():
            try:
                self._lock.acquire()
            except Locked as error:
                self._locked = f"{error.message}; this daemon goes on with them when it ends"
                self._stop.wait(_TURN_S)
            else:
                self._locked = ""
                return True
        return False

    def _round(self) -> float:
        """Do what was ordered and what is due; return the seconds until the next round."""
        if self._dirty or time.monotonic() >= self._scan_at:
            self._dirty = False
            self._sync.follow(self._now())
            self._followed = True
            self._scan_at = time.monotonic() + SCAN_S
        while self._orders:
            self._orders.popleft()()
        wait = self._sync.step()
        self._warn()
        self._have_primed()
        return SCAN_S if wait is None else min(wait, SCAN_S)

    def _have_primed(self) -> None:
        """Have the loop look up, a little at a time, what the next query would have to."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._begin_priming)

    def _begin_priming(self) -> None:
        if self._priming is None or self._priming.done():
            self._priming = asyncio.create_task(self._prime_all())

    async def _prime_all(self) -> None:
        while not self._stop.is_set() and self._prime(_PRIMED_AT_ONCE):  # noqa: ASYNC110 - a turn for others, no wait
            await asyncio.sleep(0)
        self._primed.set()

    def _order(self, work: Callable[[], object]) -> None:
        self._orders.append(work)
        self._wake.set()

    def _now(self) -> list[Page]:
        return list(self._pages()) if self._pages is not None else []

    def _behind(self) -> int:
        pages = self._now()
        return self._sync.behind(pages) if self._followed else sum(len(page.items) for page in pages if _is_wiki(page))

    def _warn(self) -> None:
        """Say once what is wrong, and once that it is over."""
        now = self._sync.progress
        wrong = now.code if now.state in ("mismatch", "failing") else ""
        if wrong and wrong != self._warned:
            _log.warning("%s; %s", now.detail, now.hint, extra={"event": f"vectors.{wrong}"})
        elif self._warned and not wrong:
            _log.info("the vectors are followed again", extra={"event": "vectors.recovered"})
        self._warned = wrong


def make_worker(settings: Settings, key: str | None, whole: Callable[[], bool]) -> EmbeddingWorker | None:
    """Return the worker, None when no embeddings are configured. Raises `ConfigError`."""
    stop = threading.Event()
    if key is not None:
        logs.keep_secret(key)
    parts = open_embeddings(settings, key, whole=whole, stopped=stop.is_set)
    if parts is None:
        return None
    return EmbeddingWorker(parts, stop, VaultLock(settings.state_root, vault_key(settings.path), "vectors"))


def _wall_time(moment: float | None) -> str | None:
    """Return a moment of the monotonic clock as people read it."""
    if moment is None:
        return None
    return (datetime.now(UTC) - timedelta(seconds=time.monotonic() - moment)).isoformat(timespec="seconds")


def _left(moment: float | None) -> float | None:
    return None if moment is None else round(max(0.0, moment - time.monotonic()), 1)


def _is_wiki(page: Page) -> bool:
    return page.kind == "wiki"


def _path(layout: Layout, file: str) -> str:
    try:
        return layout.wiki_path(file)
    except InvalidCategory:
        return file
