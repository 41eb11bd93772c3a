"""What a store needs around its writes: state, locks, recovery, second looks, caps."""

import contextlib
import logging
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from wikimem.config_read import VAULT_FILE, read_vault_tables
from wikimem.config_tables import HistorySettings
from wikimem.errors import HistoryUnavailable
from wikimem.pages.layout import Layout
from wikimem.store import history as history_table
from wikimem.store import idempotency as idempotency_table
from wikimem.store import writelog as writelog_table
from wikimem.store.displaced import keep_displaced, keep_unseen
from wikimem.store.files import DiskFiles
from wikimem.store.history import History
from wikimem.store.idempotency import KEPT, Idempotency
from wikimem.store.journal import Journal
from wikimem.store.kernel import Kernel
from wikimem.store.living import Living
from wikimem.store.locks import VaultLock, vault_key
from wikimem.store.recovery import Recovered, Recovery
from wikimem.store.state import State
from wikimem.store.vaultpages import VaultPages, check_root
from wikimem.store.writelog import NotedWrite, WriteLog

STATE_FILE = "state.sqlite3"
SCHEMAS = (history_table.SCHEMA, idempotency_table.SCHEMA, writelog_table.SCHEMA)
WRITES_BETWEEN_CAPS = 256
TIME_BETWEEN_CAPS = timedelta(hours=1)
_CAPPED_AT = "history_capped_at"

log = logging.getLogger(__name__)


def derived_in_state(root: Path) -> bool:
    """Say whether the vault's own settings keep derived files out of it (`[vault] derived = "state"`)."""
    return read_vault_tables(root / VAULT_FILE).get("vault.derived") == "state"


class Upkeep:
    """The surroundings of one vault's writes. State is made by the first write, never by a read."""

    def __init__(
        self,
        root: Path,
        layout: Layout,
        *,
        state_dir: Path,
        state: State | None,
        journal_folder: Path | None,
        clock: Callable[[], datetime],
        kernel: Kernel | None,
        caps: HistorySettings,
    ) -> None:
        self._root = root
        self._state_dir = state_dir
        self._state = state
        self._shares_state = state is not None
        self._clock = clock
        self._caps = caps
        self._kernel = Kernel() if kernel is None else kernel
        self.journal = Journal(journal_folder) if journal_folder is not None else None
        self.disk = DiskFiles(root, shelter=self, kernel=self._kernel)
        self.pages = VaultPages(self.disk, layout)
        self._writes_since_caps = 0
        self._capped_at: datetime | None = None

    @property
    def state(self) -> State:
        """The open state; the first use makes it. Raises `HistoryUnavailable`."""
        if self._state is None:
            self._state = State(self._state_dir / STATE_FILE, *SCHEMAS)
        return self._state

    @property
    def history(self) -> History:
        """As in `Surroundings`. Raises `HistoryUnavailable`."""
        return History(self.state)

    @property
    def write_log(self) -> WriteLog:
        """As in `Surroundings`. Raises `HistoryUnavailable`."""
        return WriteLog(self.state)

    @property
    def idempotency(self) -> Idempotency:
        """The keys of the last ten minutes. Raises `HistoryUnavailable`."""
        return Idempotency(self.state)

    def vault_lock(self) -> VaultLock:
        """As in `Surroundings`. Raises `VaultError` when the vault's folder is not there any more."""
        try:
            return VaultLock(self._state_dir.parent, vault_key(self._root), "write")
        except OSError:
            check_root(self._root)
            raise

    def settle(self, path: str) -> None:
        """As in `Surroundings`: what is read then is a whole save."""
        self.disk.settle(path)

    def before_write(self, path: str, current: bytes | None, finished: Collection[int]) -> None:
        """As in `Surroundings`: a text of ours that an editor's old buffer erased goes into the history."""
        self.catch_up(path, current, finished)
        self.disk.tidy()

    def catch_up(self, path: str, current: bytes | None, finished: Collection[int] = ()) -> list[NotedWrite]:
        """Keep those of our recent texts that are no longer in the file; return their writes.

        `finished` are writes that are done without being noted so yet.
        """
        notes, history, layout = self.write_log, self.history, self.pages.layout
        return keep_unseen(notes, history, layout, path, data=current, ts=self._ts(), finished=finished)

    def recover_writes(self, *, everywhere: bool = False) -> Recovered:
        """Decide the writes that were cut off, so that files, history and journal agree. Under the write lock.

        `everywhere` also looks for leftovers of writes that the state does not know; a new state implies it.
        Raises `HistoryUnavailable`, `StorageError`.
        """
        recovery = Recovery(
            self._kernel,
            real=self.disk.real,
            keep=self.keep,
            holds_text=self._holds_text,
            writes_to=self.write_log.of_path,
            is_journalled=self._is_journalled,
        )
        waiting_names = self.write_log.waiting()
        self._settle_unfinished(recovery, waiting_names)
        result = recovery.result
        self._journal_missing(sorted(result.happened, key=lambda write: write.id))
        if everywhere or self.state.is_new:
            recovery.sweep(self.disk.real(""))
            self.state.is_new = False
        self._note_recovered(result, waiting_names)
        return result

    def _settle_unfinished(self, recovery: Recovery, waiting_names: Iterable[tuple[str, str]]) -> None:
        """Decide each path's writes together, then what became of the displaced files that wait for a second look."""
        writes: dict[str, list[NotedWrite]] = {}
        for write in self.write_log.unfinished():
            writes.setdefault(write.path, []).append(write)
        for path, some in writes.items():
            try:
                recovery.settle(path, some)
            except OSError as error:
                log.warning("what happened to %r cannot be seen yet: %s", path, error)
        for path, name in waiting_names:
            with contextlib.suppress(OSError):
                recovery.look_at(path, name)

    def _note_recovered(self, result: Recovered, waiting_names: Iterable[tuple[str, str]]) -> None:
        """Let the notes say what was decided, in one transaction."""
        write_log, waiting = self.write_log, set(result.waiting.values())
        with write_log.transaction():
            for path, name in waiting_names:
                if not any(one.endswith(f"/{name}") for one in result.waiting):
                    write_log.note_gone(path, name)
            self.history.forget([one for write in result.undone for one in write.history])
            for write in (*result.undone, *result.unclear):
                write_log.cancel(write.id)
            write_log.finish(one.id for one in result.happened if one.path not in waiting)

    def tidy(self) -> None:
        """Do what is due: second looks at displaced files, and once an hour the history's caps and old writes."""
        self.disk.tidy()
        now = self._clock()
        self._writes_since_caps += 1
        if self._capped_at is None:
            told = self.state.meta(_CAPPED_AT)
            self._capped_at = datetime.fromisoformat(told) if told else datetime.min.replace(tzinfo=UTC)
        if self._writes_since_caps >= WRITES_BETWEEN_CAPS or now - self._capped_at >= TIME_BETWEEN_CAPS:
            self._writes_since_caps, self._capped_at = 0, now
            self._forget_old_writes()
            self.history.enforce_caps(
                now=now, is_live=Living(self.pages), max_bytes=self._caps.max_bytes, max_days=self._caps.max_days
            )
            self.state.set_meta(_CAPPED_AT, now.isoformat(timespec="seconds"))

    def written_under(self, key: str) -> NotedWrite | None:
        """Return the write that was done under an idempotency key in the last ten minutes. Under the write lock."""
        since = (self._clock() - KEPT).isoformat(timespec="seconds")
        found = self.write_log.under_key(key, since=since)
        if found is not None and any(one.id == found.id for one in self.write_log.unfinished()):
            # Cut off in another process, or done while its displaced file waits for a second look: those that did not
            # happen are forgotten by this.
            self.recover_writes()
            found = self.write_log.under_key(key, since=since)
        return found

    def close(self) -> None:
        """Close what is open; the next use opens it again."""
        self.disk.tidy(last=True)
        if self._state is not None and not self._shares_state:
            self._state.close()
            self._state = None

    def _journal_missing(self, writes: list[NotedWrite]) -> None:
        for write in writes:
            if self.journal is not None and write.line is not None and not self._is_journalled(write):
                self.journal.append_line(write.line)

    def _is_journalled(self, write: NotedWrite) -> bool:
        if self.journal is None or write.line is None:
            return False
        return self.journal.holds_line(write.line, write.journal_size)

    def keep(self, path: str, data: bytes) -> bool:
        """As in `Shelter`: into the history, item by item."""
        try:
            current = self._current(path)
            ts = self._ts()
            keep_displaced(self.history, self.pages.layout, path, data=data, now_in_file=current, ts=ts)
        except (HistoryUnavailable, OSError) as error:
            log.warning("a displaced text of %r stays under its dot-name: %s", path, error)
            return False
        return True

    def note_waiting(self, path: str, name: str) -> None:
        """As in `Shelter`."""
        with contextlib.suppress(HistoryUnavailable):
            self.write_log.note_waiting(path, name)

    def note_gone(self, path: str, name: str) -> None:
        """As in `Shelter`."""
        with contextlib.suppress(HistoryUnavailable):
            self.write_log.note_gone(path, name)

    def _forget_old_writes(self) -> None:
        """Forget what was written more than two days ago, after a look whether its texts are still in their files."""
        write_log, ts = self.write_log, self._ts()
        for path in write_log.expiring(ts):
            with contextlib.suppress(OSError):
                self.catch_up(path, self._current(path))
                write_log.expire(ts, path)
        write_log.expire(ts)

    def _current(self, path: str) -> bytes | None:
        try:
            return self.disk.read(path).data
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _holds_text(self, path: str, digest: str) -> bool:
        page = self.pages.read(path)
        return page is not None and any(item.hash == digest for item in page.items)

    def _ts(self) -> str:
        return self._clock().isoformat(timespec="seconds")
