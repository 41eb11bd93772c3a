"""One write, from the vault's lock to the journal line: the order of its steps is what makes it safe."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from threading import RLock

from wikimem.pages.journal import JournalEntry
from wikimem.store.files import FileRead, Files, Stale
from wikimem.store.history import History, PriorText
from wikimem.store.journal import Journal
from wikimem.store.locks import WRITE_TIMEOUT_S, VaultLock

REVISIONS_KEPT = 20_000
MAX_REDOS = 100


@dataclass(frozen=True, slots=True)
class Planned:
    """What a write wants: the file's new bytes (None: no file), the texts that go, the journal's line."""

    data: bytes | None
    prior: Sequence[PriorText]
    entry: JournalEntry | None


Plan = Callable[[bytes | None], Planned]


class Writer:
    """Does planned writes for one vault, one at a time over all threads and processes."""

    def __init__(
        self,
        files: Files,
        *,
        lock: Callable[[], VaultLock],
        history: Callable[[], History],
        journal: Callable[[], Journal | None],
        clock: Callable[[], datetime],
    ) -> None:
        self._files = files
        self._lock = lock
        self._history = history
        self._journal = journal
        self.clock = clock
        self._threads = RLock()
        self._depth = 0
        self.revision = 0
        self._changed: deque[tuple[int, str]] = deque(maxlen=REVISIONS_KEPT)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the vault's write lock; an inner call joins the outer one."""
        with self._threads:
            if self._depth:
                yield
                return
            lock = self._lock()
            lock.acquire(WRITE_TIMEOUT_S)
            self._depth = 1
            try:
                yield
            finally:
                self._depth = 0
                lock.release()

    def apply(self, path: str, plan: Plan) -> Planned:
        """Do one write: plan on the current bytes, keep what goes, write, journal.

        `plan` is called again with the editor's bytes when one saved in between; what it raises ends the write.
        """
        with self.locked():
            for _ in range(MAX_REDOS):
                read = self._current(path)
                planned = plan(read.data if read else None)
                if planned.data == (read.data if read else None):
                    return planned
                kept = self._history().record_many(planned.prior)
                try:
                    self._put(path, planned, read)
                except Stale:
                    self._history().forget(kept)
                    continue
                except BaseException:
                    self._history().forget(kept)
                    raise
                journal = self._journal()
                if journal is not None and planned.entry is not None:
                    journal.append(planned.entry)
                self.note_change(path)
                return planned
            raise Stale(path)

    def note_change(self, path: str) -> None:
        """Raise the revision for a changed file."""
        self.revision += 1
        self._changed.append((self.revision, path))

    def changed_since(self, revision: int) -> list[str] | None:
        """Return the paths that changed after a revision, None when that is further back than is remembered."""
        if revision >= self.revision:
            return []
        changed = list(self._changed)
        if not changed or changed[0][0] > revision + 1:
            return None
        return list(dict.fromkeys(path for number, path in changed if number > revision))

    def _current(self, path: str) -> FileRead | None:
        try:
            return self._files.read(path)
        except FileNotFoundError:
            return None

    def _put(self, path: str, planned: Planned, read: FileRead | None) -> None:
        if planned.data is not None:
            self._files.write(path, planned.data, based_on=read.hash if read else None)
        elif read is not None:
            self._files.remove(path, based_on=read.hash)
