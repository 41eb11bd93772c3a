"""Keeping the vectors in step with a vault: what is missing is embedded, what was embedded is written down.

Everything goes by content hash, so an item that moved or changed places costs nothing. One thread calls the methods
that change something; `progress` may be read by any.

    load -> follow(pages) -> step, step, step … -> close
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final, Protocol

import numpy as np

from wikimem.cache.answers import Answer, Vector
from wikimem.cache.batches import Batches, Outcome, Text
from wikimem.cache.failures import EmbeddingError
from wikimem.cache.files import VectorFiles, digest_of
from wikimem.cache.progress import Failed, Progress, Rate, State
from wikimem.cache.space import VectorSpace
from wikimem.cache.wanted import Days, Wanted
from wikimem.errors import StorageError
from wikimem.pages.items import RecallItem
from wikimem.pages.page import Page

QUIET_S: Final = 2.0
LATEST_S: Final = 30.0
_BACKOFF_S: Final = 0.5
_LONGEST_BACKOFF_S: Final = 300.0
_LONGEST_WAIT_S: Final = 3_600.0
_ISOLATE_AFTER: Final = 2
_STORAGE_AGAIN_S: Final = 30.0


class Asks(Protocol):
    """What is asked for vectors: `HttpEmbedder` is one."""

    @property
    def model(self) -> str:
        """The model's name."""

    def ask(self, texts: Sequence[str]) -> Answer:
        """Make one request. Raises `EmbeddingError`."""


class Shelf:
    """One cache: its files, what it should hold in which order, and what it held when it was last written."""

    def __init__(self, name: str, files: VectorFiles, keys: Callable[[], Iterable[tuple[str, bytes]]]) -> None:
        self.name = name
        self.files = files
        self.missing: dict[str, RecallItem] = {}
        self.fresh: set[str] = set()
        self.written: bytes | None = None
        self.changed_at: float | None = None
        self.changed_since: float | None = None
        self._keys = keys

    def mark(self, now: float) -> None:
        """Note that it may have to be written."""
        self.changed_at = now
        if self.changed_since is None:
            self.changed_since = now

    def due_at(self) -> float | None:
        """Return when it is to be written: after some quiet, and not much later than the first change."""
        if self.changed_at is None or self.changed_since is None:
            return None
        return min(self.changed_at + QUIET_S, self.changed_since + LATEST_S)

    def rows(self, space: VectorSpace, *, whole: bool) -> tuple[list[str], list[bytes]]:
        """Return hashes and lines in document order; unless the `whole` vault is in view also what is not wanted."""
        pairs = [(one, line) for one, line in self._keys() if one in space]
        if not whole:
            # A folder that cannot be read now has vectors that were paid for.
            known = {one for one, _ in pairs}
            pairs += [(one, line) for one, line in self.files.lines().items() if one not in known and one in space]
        return [one for one, _ in pairs], [line for _, line in pairs]


class VectorSync:
    """The work on one vault's vectors. `whole` says whether all of the vault could be read."""

    def __init__(
        self,
        embedder: Asks,
        wiki: VectorFiles,
        diary: VectorFiles,
        *,
        clock: Callable[[], float] = time.monotonic,
        whole: Callable[[], bool] = lambda: True,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.space = VectorSpace(embedder.model)
        self.progress = Progress(model=embedder.model)
        self.wanted = Wanted()
        self.days = Days()
        self._clock = clock
        self._whole = whole
        self._stopped = stopped
        self._batches = Batches(embedder.ask)
        self._wiki = Shelf("wiki", wiki, self.wanted.keys)
        self._diary = Shelf("diary", diary, self.days.keys)
        self._failed: dict[str, tuple[Shelf, RecallItem, str]] = {}
        self._mismatch: tuple[str, int] | None = None
        self._width_seen = 0
        self._foreign: dict[str, Vector] = {}
        self._trouble: EmbeddingError | None = None
        self._fault: StorageError | None = None
        self._failing_at: float | None = None
        self._attempts = 0
        self._not_before = 0.0
        self._commit_not_before = 0.0
        self._tokens = 0
        self._rate = Rate()

    # -------------------------------------------------------------- following

    def load(self) -> None:
        """Take the caches on disk. One of another model is left where it is, and nothing is embedded."""
        for shelf in (self._wiki, self._diary):
            stored = shelf.files.load()
            if stored is None:
                continue
            if stored.model not in (None, self.space.model):
                if shelf is self._wiki:
                    self._mismatch = (str(stored.model), stored.dim)
                    break
                continue
            try:
                unusable = self.space.adopt(shelf.name, stored.hashes, stored.matrix)
            except ValueError:
                continue
            self._batches.trusted = self._batches.trusted or len(stored.hashes) > unusable
            # A header of old is stamped when something is written, not for its own sake.
            shelf.written = None if unusable else stored.digest
            if shelf is self._diary:
                self.days.touched.update(stored.files)

    def follow(self, pages: Iterable[Page]) -> None:
        """Take all pages as they are now."""
        wiki: list[Page] = []
        diary: list[Page] = []
        for page in pages:
            (wiki if page.kind == "wiki" else diary).append(page)
        now = self._clock()
        if self.days.follow(diary):
            self._diary.mark(now)
        if not self.wanted.differs(wiki):
            return
        fresh, gone = self.wanted.follow(wiki)
        for one, item in fresh.items():
            if one not in self.space and one not in self._failed:
                self._wiki.missing[one] = item
        for one in gone:
            self._wiki.missing.pop(one, None)
            self._wiki.fresh.discard(one)
            self._failed.pop(one, None)
        self._wiki.mark(now)
        self._show()

    def reach(self, start: str, end: str) -> None:
        """Want the vectors of the diary's entries in an inclusive window of days."""
        for item in self.days.reach(start, end):
            one = item.hash
            if one not in self.space and one not in self._failed:
                self._diary.missing[one] = item
        self._show()

    def behind(self, pages: Iterable[Page]) -> int:
        """Return how many texts of the wiki's `pages` have no vector and were not followed yet."""
        unseen = self.wanted.unseen(page for page in pages if page.kind == "wiki")
        return len({
            one
            for page in unseen
            for one in (item.hash for item in page.items)
            if one not in self.space and one not in self._wiki.missing and one not in self._failed
        })  # fmt: skip

    # ---------------------------------------------------------------- working

    def step(self) -> float | None:
        """Do what is due, at most one round of requests; return the seconds until there is more, None for never."""
        if self._mismatch is None:
            for shelf in (self._wiki, self._diary):
                due = shelf.due_at()
                if due is not None and max(due, self._commit_not_before) <= self._clock():
                    self.commit(shelf)
            if self._clock() >= self._not_before and not self._stopped():
                self._embed()
        self._show()
        return self._wait()

    def commit(self, shelf: Shelf | None = None) -> None:
        """Write what is not written yet. A failure is told by `progress`, and tried again."""
        for one in (self._wiki, self._diary) if shelf is None else (shelf,):
            if self._mismatch is None and one.changed_at is not None:
                self._write(one)
        self._show()

    def retry(self) -> None:
        """Try at once again, also the texts that were given up, and an endpoint whose vectors had another width."""
        if self._mismatch is not None and self._mismatch[0] == self.space.model:
            self._mismatch = None
            self._foreign.clear()
        for one, (shelf, item, _) in self._failed.items():
            shelf.missing[one] = item
        self._failed.clear()
        self._batches.forgive()
        self._again()
        self._show()

    def reset(self) -> None:
        """Begin anew with the model that is configured. The files stay until there is something to write."""
        foreign, self._foreign = self._foreign, {}
        self._mismatch = None
        self._batches.trusted = False
        self.space.clear(self.space.model)
        for shelf in (self._wiki, self._diary):
            shelf.missing.clear()
            shelf.fresh.clear()
            shelf.written = None
        self.days.touched.clear()
        self._wiki.missing.update(self.wanted.items())
        # What showed that the model is another one was paid for, too.
        self._keep({one: vector for one, vector in foreign.items() if one in self._wiki.missing})
        self._failed.clear()
        self._batches.forgive()
        self._again()
        self._show()

    def look(self) -> None:
        """Bring `progress` up to date, for who only reads."""
        self._show()

    def mismatched(self, dim: int) -> bool:
        """Note how wide the endpoint's vectors are now; say whether those there are differ."""
        if self.space.dim and dim != self.space.dim and self._mismatch is None:
            self._mismatch, self._width_seen = (self.space.model, self.space.dim), dim
            self._show()
        return self._mismatch is not None

    # ---------------------------------------------------------------- private

    def _embed(self) -> None:
        shelf = self._diary if self._diary.missing else self._wiki
        batch = self._batches.take([
            Text(one, f"{item.name}\n{item.content}")
            for one, item in islice(shelf.missing.items(), self._batches.cap)
        ])  # fmt: skip
        if not batch:
            self._trouble, self._attempts = None, 0
            self._well()
            return
        started = self._clock()
        outcome = self._batches.run(batch, isolate=self._attempts >= _ISOLATE_AFTER, stopped=self._stopped)
        self._tokens += outcome.tokens
        self._keep(self._of_one_width(outcome))
        for one, reason in outcome.failed.items():
            self._failed[one] = (shelf, shelf.missing.pop(one), reason)
        self._rate.add(started, self._clock(), len(outcome.vectors))
        self._judge(outcome)
        if outcome.trouble is not None:
            # The rest is not to wait for ever behind texts that cannot be had now.
            for text in batch:
                if text.hash in shelf.missing:
                    shelf.missing[text.hash] = shelf.missing.pop(text.hash)

    def _of_one_width(self, outcome: Outcome) -> dict[str, Vector]:
        """Return the vectors that are as wide as those there are; all of another width are another model's."""
        widths = [len(vector) for vector in outcome.vectors.values()]
        if not widths:
            return {}
        width = self.space.dim or max(widths, key=widths.count)
        if width not in widths and self.mismatched(widths[0]):
            self._foreign.update(outcome.vectors)
            return {}
        for one, vector in outcome.vectors.items():
            if len(vector) != width:
                outcome.failed[one] = f"the endpoint's vector for it is {len(vector)} wide, the others {width}"
        return {one: vector for one, vector in outcome.vectors.items() if len(vector) == width}

    def _keep(self, vectors: dict[str, Vector]) -> None:
        if not vectors:
            return
        self.space.put(list(vectors), np.array(list(vectors.values()), np.float32))
        now = self._clock()
        for shelf in (self._wiki, self._diary):
            mine = [one for one in vectors if shelf.missing.pop(one, None) is not None]
            shelf.fresh.update(mine)
            if mine:
                shelf.mark(now)

    def _judge(self, outcome: Outcome) -> None:
        trouble = self._trouble = outcome.trouble
        if trouble is None:
            self._attempts = 0
            self._well()
            return
        self._unwell()
        self._attempts = _ISOLATE_AFTER if outcome.vectors else self._attempts + 1
        backoff = min(_BACKOFF_S * 2 ** min(self._attempts, 12), _LONGEST_BACKOFF_S)
        self._not_before = self._clock() + max(backoff, min(trouble.wait_s, _LONGEST_WAIT_S))

    def _unwell(self) -> None:
        if self._failing_at is None:
            self._failing_at = self._clock()

    def _well(self) -> None:
        if self._trouble is None and self._fault is None:
            self._failing_at = None

    def _again(self) -> None:
        self._trouble, self._fault = None, None
        self._attempts, self._not_before, self._commit_not_before = 0, 0.0, 0.0

    def _write(self, shelf: Shelf) -> None:
        shelf.changed_at = shelf.changed_since = None
        hashes, lines = shelf.rows(self.space, whole=self._whole())
        digest = digest_of(lines)
        if digest == shelf.written or (not self.space.dim and shelf.written is None):
            return
        model, dim = self.space.model, self.space.dim
        try:
            matrix, written = shelf.files.write(model, dim, lines, self.space.blocks(hashes))
        except StorageError as error:
            self._fault = error
            self._unwell()
            shelf.mark(self._clock())
            self._commit_not_before = self._clock() + _STORAGE_AGAIN_S
            return
        self.space.settle(shelf.name, hashes, matrix)
        shelf.written, self._fault = digest, None
        self._well()
        shelf.fresh.clear()
        self.progress = replace(
            self.progress, commits=self.progress.commits + 1, written_bytes=self.progress.written_bytes + written
        )

    def _wait(self) -> float | None:
        if self._mismatch is not None:
            return None
        moments = [max(due, self._commit_not_before) for shelf in (self._wiki, self._diary) if (due := shelf.due_at())]
        if self._wiki.missing or self._diary.missing:
            moments.append(self._not_before)
        return max(0.0, min(moments) - self._clock()) if moments else None

    def _show(self) -> None:
        """Put together what `progress` says."""
        counts, now = self.wanted.counts, self._clock()
        failed = [one for one in self._failed if one in counts]
        lacking = sum(counts[one] for one in (*self._wiki.missing, *failed))
        pending, diary_pending = len(self._wiki.missing), len(self._diary.missing)
        rate = self._rate.value(now)
        state, code, detail, hint = self._condition(pending)
        mismatch = self._mismatch is not None
        self.progress = replace(
            self.progress,
            state=state,
            count=0 if mismatch else counts.total() - lacking,
            pending=len(counts) if mismatch else pending,
            dim=self._mismatch[1] if self._mismatch is not None else self.space.dim,
            diary_pending=diary_pending,
            uncommitted=len(self._wiki.fresh) + len(self._diary.fresh),
            failed=tuple(Failed(item.category, item.name, reason) for _, item, reason in self._failed.values()),
            sent=self._batches.sent,
            requests=self._batches.requests,
            tokens=self._tokens,
            rate=round(rate, 2),
            eta_s=round((pending + diary_pending) / rate, 1) if rate and pending + diary_pending else None,
            code=code,
            detail=detail,
            hint=hint,
            cost_of_reset=len(counts),
            failing_at=self._failing_at if state == "failing" else None,
            retry_at=self._retry_at() if state == "failing" else None,
        )

    def _retry_at(self) -> float:
        return self._not_before if self._fault is None else self._commit_not_before

    def _condition(self, pending: int) -> tuple[State, str, str, str]:
        if self._mismatch is not None:
            made, dim = self._mismatch
            detail = f"the vectors are of {made}, {dim} wide; the endpoint's model is {self.space.model}"
            cost = f"`wikimem embed --reset` embeds all {len(self.wanted.counts):,} texts anew"
            back = "going back to the model before costs nothing"
            if made == self.space.model:
                detail = f"the vectors of {made} are {dim} wide, and the endpoint's are {self._width_seen} wide now"
                back += ": after `wikimem embed` the next text or question tells whether it is back"
            return "mismatch", "vectors-mismatch", detail, f"{cost}; {back}"
        if self._fault is not None:
            return "failing", "vectors-unwritten", self._fault.message, self._fault.hint
        if self._trouble is not None:
            hint = self._trouble.hint or "`wikimem embed` asks at once"
            return "failing", f"embeddings-{self._trouble.kind}", self._trouble.message, hint
        if pending:
            return "pending", "", "", ""
        if self._failed:
            detail = f"{len(self._failed)} text(s) that the endpoint does not take have no vector"
            return "incomplete", "embeddings-refused", detail, "edit them, or try again: `wikimem embed`"
        return "ready", "", "", ""
