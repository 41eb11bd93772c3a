"""One write, from the vault's lock to the journal line: the order of its steps is what makes it safe.

    lock -> recover -> read -> plan -> note (prior texts, intent; one transaction) -> file -> journal -> revision

A crash between any two leaves a noted write that `store/recovery.py` decides at the next one.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from wikimem.errors import HistoryUnavailable, StorageError, TryAgain, WikimemError
from wikimem.pages.journal import JournalEntry, render_line
from wikimem.store.files import FileRead, Files, Stale, bytes_hash
from wikimem.store.history import History, PriorText
from wikimem.store.journal import Journal
from wikimem.store.locks import WRITE_TIMEOUT_S, VaultLock
from wikimem.store.steps import failed, shown_path
from wikimem.store.writelog import NotedWrite, WriteLog, WrittenText
from wikimem.text.problems import Problem

REVISIONS_KEPT = 20_000
MAX_REDOS = 100

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Planned:
    """What a write wants.

    `data` is the file's new bytes (None: no file), `prior` the texts that go, `entry` the journal's line, `address`
    and `text` what is written (text None: a removal, or a file without items), `prior_hash` the item's hash before,
    `problems` what the edit had to mend in the file, to be logged once it is done.
    """

    data: bytes | None
    prior: Sequence[PriorText] = ()
    entry: JournalEntry | None = None
    address: str = ""
    text: WrittenText | None = None
    prior_hash: str | None = None
    problems: Sequence[Problem] = ()


Plan = Callable[[bytes | None], Planned]


def _report(path: str, problems: Sequence[Problem]) -> None:
    for problem in problems:
        where = f"{shown_path(path)}:{problem.line}"
        log.warning("%s: %s; %s", where, problem.message, problem.hint, extra={"event": f"note.{problem.kind}"})


class Surroundings(Protocol):
    """What a writer asks of the store around it."""

    def vault_lock(self) -> VaultLock:
        """Return a fresh write lock."""

    def settle(self, path: str) -> None:
        """Wait for an editor that is saving this file."""

    def before_write(self, path: str, current: bytes | None, finished: Collection[int]) -> None:
        """Look at a file that is about to be written; `finished` are writes that are done and not noted so yet."""

    def recover_writes(self, *, everywhere: bool = False) -> object:
        """Decide the writes that were cut off; `everywhere`: also those that nobody noted."""

    @property
    def history(self) -> History:
        """The prior texts."""

    @property
    def write_log(self) -> WriteLog:
        """The noted writes."""

    @property
    def journal(self) -> Journal | None:
        """The log of what was written, None when none is kept."""


class Writer:
    """Does planned writes for one vault, one at a time over all threads and processes."""

    def __init__(self, files: Files, around: Surroundings, clock: Callable[[], datetime]) -> None:
        self._files = files
        self._around = around
        self._clock = clock
        self._threads = threading.RLock()
        self._depth = 0
        self._recovered = False
        self._finished: list[int] = []
        # A read must not wait for a write, which may wait for an editor: what they share has a lock of its own.
        self._notes = threading.Lock()
        self.revision = 0
        self._changed: deque[tuple[int, str]] = deque(maxlen=REVISIONS_KEPT)
        self.journal_fault: StorageError | None = None

    def now(self) -> datetime:
        """Return the time in UTC, whole seconds."""
        return self._clock().astimezone(UTC).replace(microsecond=0)

    @contextmanager
    def locked(self, *, recover: bool = True) -> Iterator[None]:
        """Hold the vault's write lock; an inner call joins the outer one.

        The first time, what a crash cut off is decided; not with `recover` off: the caller does it.
        """
        with self._threads:
            if self._depth:
                yield
                return
            lock = self._around.vault_lock()
            lock.acquire(WRITE_TIMEOUT_S)
            self._depth = 1
            try:
                if recover and (lock.was_abandoned or not self._recovered):
                    self.finish()
                    self._around.recover_writes(everywhere=lock.was_abandoned)
                    self._recovered = True
                yield
                self._recovered |= not recover
            finally:
                self._depth = 0
                lock.release()

    def apply(self, path: str, plan: Plan, *, key: str | None = None) -> Planned:
        """Do one write and return what was planned for it.

        `plan` is called again with the editor's bytes when one saved in between; what it raises ends the write, and
        a plan that changes nothing writes nothing. Raises `StorageError` with the old bytes in place, `TryAgain`.
        """
        kept: dict[PriorText, int] = {}
        with self.locked():
            for _ in range(MAX_REDOS):
                self._around.settle(path)
                read = self._current(path)
                planned = plan(read.data if read else None)
                if planned.data == (read.data if read else None):
                    return planned
                with self._notes:
                    finished = list(self._finished)
                self._around.before_write(path, read.data if read else None, finished)
                if self._once(path, planned, read, key, kept):
                    self.note_change(path)
                    _report(path, planned.problems)
                    return planned
        raise TryAgain(
            f"{shown_path(path)} changes faster than it can be written", hint="close it in the other program, try again"
        )

    def _once(
        self, path: str, planned: Planned, read: FileRead | None, key: str | None, kept: dict[PriorText, int]
    ) -> bool:
        """Try one write on the bytes that were read; False when they are no longer there.

        `kept` are the prior texts that its former tries have kept, with their ids; this one adds its own.
        """
        noted, write_id = self._note(path, planned, read, key, kept)
        try:
            self._put(path, planned, read)
        except Stale:
            # What was kept for it stays: an editor has just replaced that text, and whoever saw it may have found it
            # kept already.
            self._around.write_log.cancel(write_id)
            return False
        except BaseException as error:
            self._after_failure(error)
            raise
        with self._notes:
            self._finished.append(write_id)
        journal = self._around.journal
        if journal is not None and noted.line is not None:
            self._append(journal, noted.line)
        return True

    def _note(
        self, path: str, planned: Planned, read: FileRead | None, key: str | None, kept: dict[PriorText, int]
    ) -> tuple[NotedWrite, int]:
        journal = self._around.journal if planned.entry is not None else None
        size = journal.prepare() if journal is not None else 0
        state_history, write_log = self._around.history, self._around.write_log
        with write_log.transaction():
            prior = [text for text in planned.prior if text not in kept]
            kept |= zip(prior, state_history.record_many(prior), strict=True)
            noted = NotedWrite(
                id=0,
                ts=self.now().isoformat(timespec="seconds"),
                path=path,
                before=read.hash if read else None,
                after=None if planned.data is None else bytes_hash(planned.data),
                address=planned.address,
                text=planned.text,
                prior_hash=planned.prior_hash,
                line=render_line(planned.entry) if planned.entry is not None else None,
                journal_size=size,
                history=tuple(kept[text] for text in planned.prior),
                key=key,
            )
            with self._notes:
                finished = list(self._finished)
            write_id = write_log.begin(noted, finished=finished)
        self._forget_finished(finished)
        return noted, write_id

    def _append(self, journal: Journal, line: bytes) -> None:
        """Journal a write that has happened: it cannot fail any more, so a line that cannot be written is owed."""
        try:
            journal.append_line(line)
        except StorageError as error:
            log.warning("%s; the line is kept and will be appended later", error)
            self.journal_fault = error
            with self._notes:
                self._finished.pop()
            self._recovered = False
        else:
            self.journal_fault = None

    def _after_failure(self, error: BaseException) -> None:
        """Decide a write that failed at a step: nearly always it did not happen, but only the disk knows."""
        self._recovered = False
        if isinstance(error, Exception):
            try:
                self.finish()
                self._around.recover_writes()
            except (WikimemError, OSError) as second:
                log.warning("a write failed, and what it left will be looked at later: %s", second)
            else:
                self._recovered = True

    def finish(self) -> None:
        """Note that the writes of this process are complete, so that nobody need look at them again."""
        with self._notes:
            finished = list(self._finished)
        if finished:
            try:
                self._around.write_log.finish(finished)
            except HistoryUnavailable:
                return
            self._forget_finished(finished)

    def _forget_finished(self, ids: Sequence[int]) -> None:
        with self._notes:
            self._finished = [one for one in self._finished if one not in ids]

    def note_change(self, path: str) -> None:
        """Raise the revision for a changed file."""
        with self._notes:
            self.revision += 1
            self._changed.append((self.revision, path))

    def changed_since(self, revision: int) -> list[str] | None:
        """Return the paths that changed after a revision, None when that is further back than is remembered."""
        with self._notes:
            if revision >= self.revision:
                return []
            changed = list(self._changed)
        if changed[0][0] > revision + 1:
            return None
        return list(dict.fromkeys(path for number, path in changed if number > revision))

    def _current(self, path: str) -> FileRead | None:
        try:
            return self._files.read(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise failed(path, "read the file", error) from error

    def _put(self, path: str, planned: Planned, read: FileRead | None) -> None:
        if planned.data is not None:
            self._files.write(path, planned.data, based_on=read.hash if read else None)
        elif read is not None:
            self._files.remove(path, based_on=read.hash)
