"""Performing the calls: reads inline on the loop, writes one at a time in a worker thread, the rest about the daemon.

A read is a millisecond and stays on the loop: handing it to a thread costs more than it does. A write waits for disks
and leases, so it goes to the one writer thread; the index follows on the loop before the caller gets its answer.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from wikimem.api import bodies, calls
from wikimem.api.calls import Call
from wikimem.api.operations import Operations, Written
from wikimem.api.protocol import ReadStamp, RetrieveAnswer
from wikimem.errors import HistoryUnavailable
from wikimem_daemon.reconcile import Freshness, Reconciler
from wikimem_daemon.routes import Stream

_log = logging.getLogger("wikimem.service")

_ON_DISK = (calls.HISTORY, calls.JOURNAL)


@dataclass(slots=True)
class VaultService:
    """Performs calls over one vault.

    `operate_with` answers calls about the daemon, `open_stream` opens streams, `status` puts the status together,
    `prepare` fetches a query's vector, `reached` hears which days of the diary were asked for.
    """

    operations: Operations
    reconciler: Reconciler
    writer: ThreadPoolExecutor
    lock: asyncio.Lock
    operate_with: Callable[[Call, Mapping[str, Any]], Awaitable[Mapping[str, object]]]
    open_stream: Callable[[str | None], Awaitable[Stream]]
    status: Callable[[ReadStamp], Mapping[str, object]]
    prepare: Callable[[str], Awaitable[None]]
    reached: Callable[[Sequence[str] | None], None]

    async def read(self, call: Call, params: Mapping[str, Any]) -> Mapping[str, object]:
        """Answer a read, with the stamp that says how fresh it is."""
        if call is calls.STATUS:
            # Never waits for the reading of a vault to end: what is not done yet is `partial`.
            if params["verify"]:
                await self.reconciler.verify()
            return self.status(self._stamp(await self.reconciler.ensure_fresh(0.0)))
        if call is calls.RETRIEVE:
            # Before the look at the disk: what is saved while an endpoint thinks is in the answer too.
            await self.prepare(params["query"])
        stamp = await self._fresh_stamp(params)
        if call is calls.CHANGES:
            page = self.reconciler.changes_since(params.get("since"), params["limit"])
            changes = [bodies.change_body(change) for change in page.changes]
            return {
                **stamp,
                "cursor": page.cursor,
                "fresh_instance": page.fresh_instance,
                "changes": changes,
                "more": page.more,
            }
        if call in _ON_DISK:
            # Behind the writes in the queue, and so never beside one: both use the state and the journal's file.
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self.writer, self.operations.read, call, params, stamp)
        answer = self.operations.read(call, params, stamp)
        if call is calls.RETRIEVE:
            self.reached(cast("RetrieveAnswer", answer)["time_range"])
        return answer

    async def _fresh_stamp(self, params: Mapping[str, Any]) -> ReadStamp:
        if not params["fresh"]:
            # Not asked for, so not claimed.
            known = self.reconciler.status()
            return self._stamp(Freshness(False, known.partial, known.degraded, self.reconciler.cursor()))
        return self._stamp(await self.reconciler.ensure_fresh(params["fresh_timeout_ms"] / 1000))

    def _stamp(self, found: Freshness) -> ReadStamp:
        degraded = [part.body() for part in found.degraded]
        return {"fresh": found.fresh, "partial": found.partial, "degraded": degraded, "cursor": found.cursor}

    async def write(
        self, call: Call, params: Mapping[str, Any], key: str | None, digest: str
    ) -> tuple[Mapping[str, object], bool]:
        """Do a write once: a key that was answered before gets the same answer again, and nothing is written."""
        async with self.lock:
            loop = asyncio.get_running_loop()
            done, replayed = await loop.run_in_executor(self.writer, self._once, call, dict(params), key, digest)
            for path in done.paths:
                self.reconciler.note_write(path)
            return self._with_cursor(call, self.operations.follow(done)), replayed

    def _with_cursor(self, call: Call, answer: Mapping[str, object]) -> Mapping[str, object]:
        if "cursor" not in call.answer.__annotations__:
            return answer
        return {**answer, "cursor": self.reconciler.cursor()}

    def _once(self, call: Call, params: dict[str, Any], key: str | None, digest: str) -> tuple[Written, bool]:
        """Do the write, or find what it was answered; and which of the two it was. Runs in the writer's thread."""
        if key is None:
            return self.operations.write(call, params, None), False
        table, now = self.operations.store.idempotency, datetime.now(UTC)
        found = table.find(key, digest, now=now)
        if found is not None:
            return Written(json.loads(found.answer)), True
        # The store keeps the key beside the text, in one transaction with its intent: after a crash before the next
        # line it still knows.
        written = self.operations.write(call, params, calls.stored_key(key, digest))
        try:
            table.keep(key, digest, json.dumps(written.answer), now=now)
        except HistoryUnavailable as error:
            # The write is done and cannot be taken back; only a retry of it is not recognised.
            _log.warning("an Idempotency-Key could not be kept: %s", error)
        return written, False

    async def operate(self, call: Call, params: Mapping[str, Any]) -> Mapping[str, object]:
        """Do something about the daemon itself."""
        return await self.operate_with(call, params)

    async def stream(self, since: str | None) -> Stream:
        """Open an event stream."""
        return await self.open_stream(since)
