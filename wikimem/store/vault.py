"""MemoryStore: the vault as items, read tolerantly, written strictly."""

import logging
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Literal, Self

from wikimem import places
from wikimem.config_tables import HistorySettings
from wikimem.errors import AppendOnly, Conflict, HistoryUnavailable, InvalidInput, NotFound, StorageError
from wikimem.pages.items import DiaryItem, RecallItem
from wikimem.pages.journal import JournalEntry
from wikimem.pages.layout import Layout, fold_alike
from wikimem.pages.page import Page
from wikimem.pages.relations import RELATIONS_FILE
from wikimem.store.diary import DiaryStore
from wikimem.store.displaced import WHOLE_FILE, file_address
from wikimem.store.files import Files, WriteMode
from wikimem.store.history import History, Version, VersionsPage
from wikimem.store.idempotency import Idempotency
from wikimem.store.itemedits import Guard, ItemEdit, keep_refused
from wikimem.store.journal import Journal
from wikimem.store.kernel import Kernel
from wikimem.store.localzone import local_zone
from wikimem.store.merged import merged_journal
from wikimem.store.recovery import Recovered
from wikimem.store.state import State
from wikimem.store.steps import step
from wikimem.store.upkeep import SCHEMAS, STATE_FILE, Upkeep, derived_in_state
from wikimem.store.vaultpages import VaultPages, check_mergeless, check_root, check_size, item_named
from wikimem.store.writelog import NotedWrite, WrittenText
from wikimem.store.writing import Writer
from wikimem.text.names import is_day, parse_address
from wikimem.text.problems import Problem

__all__ = ["SCHEMAS", "STATE_FILE", "MemoryStore", "default_state_dir"]


log = logging.getLogger(__name__)


def default_state_dir(root: Path) -> Path:
    """Return where the state of a vault lies that no configuration names."""
    return places.state_home(os.environ) / places.name_of(root)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class MemoryStore:
    """One vault.

    `layout` None is read from the vault (`wikimem.toml`, `.obsidian/daily-notes.json`). `state_dir` holds the history
    and is made by the first write; with `derived` "state" it holds the journal too (None: as `wikimem.toml` says).
    The daemon gives its own `state` and may look at every write through `wrap_files`. `files` are used instead of the
    disk's, without second looks at what they displace; `kernel`, `clock` and `timezone` are seams for tests.
    Raises `VaultError` when `root` is no folder that can be read.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        layout: Layout | None = None,
        state_dir: Path | None = None,
        journal: bool = True,
        derived: Literal["vault", "state"] | None = None,
        state: State | None = None,
        files: Files | None = None,
        wrap_files: Callable[[Files], Files] | None = None,
        history_settings: HistorySettings | None = None,
        kernel: Kernel | None = None,
        clock: Callable[[], datetime] = _utc_now,
        timezone: Callable[[], tzinfo] = local_zone,
    ) -> None:
        self.root = Path(root)
        check_root(self.root)
        self.layout = _layout_of(self.root) if layout is None else layout
        self.state_dir = default_state_dir(self.root) if state_dir is None else Path(state_dir)
        in_state = derived_in_state(self.root) if derived is None else derived == "state"
        folder = self.state_dir if in_state else self.root
        self._upkeep = Upkeep(
            self.root,
            self.layout,
            state_dir=self.state_dir,
            state=state,
            journal_folder=folder if journal else None,
            clock=clock,
            kernel=kernel,
            caps=HistorySettings() if history_settings is None else history_settings,
        )
        own: Files = self._upkeep.disk if files is None else files
        self.disk = own if wrap_files is None else wrap_files(own)
        self._pages = VaultPages(self.disk, self.layout)
        self.writer = Writer(self.disk, self._upkeep, clock)
        self.diary = DiaryStore(self, self.writer, timezone=timezone)

    # ------------------------------------------------------------- reading

    @property
    def revision(self) -> int:
        """Raised by every write of this process, and by `note_change`."""
        return self.writer.revision

    def changed_since(self, revision: int) -> list[str] | None:
        """Return the paths that changed after a revision, None when everything must be read again."""
        return self.writer.changed_since(revision)

    def note_change(self, path: str) -> None:
        """Raise the revision for a change that was found on disk."""
        self.writer.note_change(path)

    def page_paths(self) -> list[str]:
        """Return the path of every wiki and diary page, in order.

        Raises `OSError` when the wiki or the diary as a whole cannot be read; other places that cannot be walked are
        in `problems()`.
        """
        return self._pages.paths()

    def pages(self) -> Iterator[Page]:
        """Read every page; one that cannot be read is a page with that problem and no items."""
        return self._pages.all()

    def read_page(self, path: str) -> Page | None:
        """Read one page; None when there is no such file. Raises `OSError` when it cannot be read."""
        return self._pages.read(path)

    def categories(self) -> list[str]:
        """Return the wiki's categories in order."""
        return sorted(self._pages.wiki_paths())

    def files(self) -> list[str]:
        """Return `categories()`, by the name that upstream wikimem gives it."""
        return self.categories()

    def items(self, category: str | None = None) -> list[RecallItem]:
        """Return the items of one category or of all, in document order."""
        if category is None:
            paths = self._pages.wiki_paths()
            chosen: list[str | None] = [paths[one] for one in sorted(paths)]
        else:
            chosen = [self._pages.find(category)]
        pages = [self.read_page(path) for path in chosen if path is not None]
        return [item for page in pages if page is not None for item in page.items]

    def get(self, category: str, name: str) -> RecallItem | None:
        """Return one item; the exact name wins over one that is equal under NFC and collapsed white space."""
        path = self._pages.find(category)
        page = self.read_page(path) if path is not None else None
        return item_named(page, name) if page is not None else None

    def path_of(self, address: str) -> str | None:
        """Return the path of the file that an address lies in, or would; None when there is no such category."""
        category = parse_address(address).category
        return self.layout.diary_path(category) if is_day(category) else self._pages.find(category)

    def problems(self) -> list[tuple[str, Problem]]:
        """Return what a person may want to mend, by path."""
        found: list[tuple[str, Problem]] = []
        paths = self._pages.paths(found)
        found += [(page.path, problem) for page in self.pages() for problem in page.problems]
        found += [*fold_alike(self._pages.wiki_categories(paths)), *_daily_note_problems(self.root)]
        if self.journal is not None:
            found += [(self.journal.path.name, problem) for problem in self._journal_problems(self.journal)]
        if self.writer.journal_fault is not None:
            message = f"The journal lacks what was written last: {self.writer.journal_fault}."
            found.append(("journal.jsonl", Problem("journal-behind", 0, message, self.writer.journal_fault.hint)))
        return found

    def _journal_problems(self, journal: Journal) -> list[Problem]:
        try:
            return journal.entries()[1]
        except StorageError as error:
            hint = "writes are refused till it is a plain file that you may write"
            return [Problem("unreadable", 0, f"{error.message}.", hint)]

    # ------------------------------------------------------------- writing

    def add(
        self,
        category: str,
        name: str,
        content: str,
        *,
        owner: str | None = None,
        source_conv: str | None = None,
        ts: str | None = None,
        expected_hash: str | None = None,
        detail: str | None = None,
        idempotency_key: str | None = None,
    ) -> RecallItem:
        """Add an item, or replace the one of that name, and return it as it now reads.

        With any provenance given, `ts` defaults to now. `detail` is a note for the journal. A call with the
        `idempotency_key` of one in the last ten minutes writes nothing. Raises `InvalidInput`, `AppendOnly` for a
        day, `Conflict` when the item is not (any more) the one with `expected_hash` or was changed while this call
        wrote, `StorageError`, `TryAgain`.
        """
        if is_day(category):
            raise AppendOnly(f"{category} is a day of the diary", hint="use `wikimem diary`, or another category")
        with self.writer.locked():
            before = self.written_under(idempotency_key) if idempotency_key else None
            if before is not None and before.text is not None:
                now_there = self.get(category, name)
                is_same = now_there is not None and now_there.hash == before.text.hash
                return now_there if now_there and is_same else _item_of(before.address, before.text)
            path = self._pages.find(category) or self._pages.new_path(category)
            now = self.writer.now().isoformat()
            stamp = ts or (now if owner or source_conv else None)
            item = RecallItem(self.layout.classify(path).category, name, content, owner, source_conv, stamp)
            guard = Guard((item.category, name), yours=content, expected_hash=expected_hash)
            edit = ItemEdit(self._pages, path, item, now, guard, detail)
            try:
                planned = self.writer.apply(path, edit.put, key=idempotency_key)
            except Conflict as error:
                if error.theirs != content:
                    keep_refused(lambda: self.history, item, now)
                raise
        self._tidy()
        return self._pages.item_in(path, planned.data, name) or item

    def remove(
        self,
        category: str,
        name: str,
        *,
        expected_hash: str | None = None,
        detail: str | None = None,
        idempotency_key: str | None = None,
    ) -> RecallItem:
        """Remove an item and return what it was; a repeated `idempotency_key` is as in `add`.

        Raises `NotFound`, `AppendOnly` for a day, `Conflict` as `add` does, `StorageError`, `TryAgain`.
        """
        if is_day(category):
            raise AppendOnly(f"{category} is a day of the diary", hint="edit the day's file by hand")
        with self.writer.locked():
            done = self.written_under(idempotency_key) if idempotency_key else None
            if done is not None and done.history:
                return _item_kept(self.history.get(done.history[-1]))
            path = self._pages.find(category)
            with step(path or category, "read the file"):
                before = self.get(category, name) if path is not None else None
            if path is None or before is None:
                raise NotFound(f"there is no item {category}:{name}", hint=f"list them: `wikimem ls {category}`")
            guard = Guard((before.category, before.name), yours=None, expected_hash=expected_hash)
            edit = ItemEdit(self._pages, path, before, self.writer.now().isoformat(), guard, detail)
            self.writer.apply(path, edit.take, key=idempotency_key)
        self._tidy()
        return before

    def restore(self, address: str, version_id: int, *, idempotency_key: str | None = None) -> RecallItem | DiaryItem:
        """Put a kept text back: a new write, journalled; a diary entry is appended. The key is as in `add`.

        Raises `NotFound` when the version is none of this address, and as `add` and `diary.append` do.
        """
        wanted = parse_address(address)
        version = self.history.get(version_id)
        served = parse_address(self._as_served(address))
        if self.history.addresses(version_id).isdisjoint((str(wanted), str(served))):
            hint = f"list them: `wikimem history {wanted}`"
            raise NotFound(f"version {version_id} is of {version.address}, not of {wanted}", hint=hint)
        if version.name == WHOLE_FILE:
            hint = f"print it with `wikimem history {wanted} --json` and copy what you miss into the file"
            raise InvalidInput(f"version {version_id} is a whole file, and no item", hint=hint)
        if wanted.category == RELATIONS_FILE:
            hint = "`wikimem relate SOURCE TARGET --weight WEIGHT` writes it again"
            raise InvalidInput(f"version {version_id} is a line of {RELATIONS_FILE}, and no item", hint=hint)
        detail = f"restore of version {version_id}"
        if is_day(wanted.category):
            return self.diary.append(
                version.content,
                ts=version.item_ts,
                date=wanted.category,
                time=wanted.name,
                owner=version.owner,
                source_conv=version.source_conv,
                detail=detail,
                idempotency_key=idempotency_key,
            )
        own = version.address in (str(wanted), str(served))  # else the item was renamed since, and keeps its new name
        return self.add(
            wanted.category,
            version.name if own else served.name,
            version.content,
            owner=version.owner,
            source_conv=version.source_conv,
            ts=version.item_ts,
            detail=detail,
            idempotency_key=idempotency_key,
        )

    # ------------------------------------------------- history and journal

    @property
    def state(self) -> State:
        """The open state; the first use makes it. Raises `HistoryUnavailable`."""
        return self._upkeep.state

    @property
    def history(self) -> History:
        """The prior texts. Raises `HistoryUnavailable`."""
        return self._upkeep.history

    @property
    def idempotency(self) -> Idempotency:
        """The answers given under idempotency keys. Raises `HistoryUnavailable`."""
        return self._upkeep.idempotency

    @property
    def journal(self) -> Journal | None:
        """The log of what was written here."""
        return self._upkeep.journal

    def versions(self, address: str, limit: int = 100, after: str | None = None) -> VersionsPage:
        """Return the kept texts of an address, newest first, also one that an old editor buffer erased just now."""
        self._catch_up(address)
        return self.history.versions(self._as_served(address), limit, after)

    def journal_tail(self, count: int) -> list[JournalEntry]:
        """Return the last things that happened, oldest first: what was written here and what was seen on disk."""
        own = self.journal.tail(count) if self.journal is not None else []
        has_state = (self.state_dir / STATE_FILE).exists()
        return merged_journal(own, self.state if has_state else None, count)

    def purge_history(
        self, *, address: str | None = None, containing: str | None = None, everything: bool = False
    ) -> int:
        """Delete kept texts for good, for a secret that was written down; return how many versions. Live notes stay.

        With an address, kept versions of its whole file go too: they hold the text as well.
        """
        self.writer.finish()
        self._upkeep.write_log.purge(containing=containing, everything=everything)
        for one in {address, *self.history.former_addresses(address)} if address is not None else ():
            self._upkeep.write_log.purge(address=one)
        self.idempotency.forget_all()
        path = self.path_of(address) if address is not None else None
        whole = self.history.purge(address=file_address(path)) if path is not None else 0
        return whole + self.history.purge(address=address, containing=containing, everything=everything)

    # -------------------------------------------------------------- upkeep

    @property
    def write_mode(self) -> WriteMode:
        """`lease` when writes see every editor, `basic` when they look again later instead.

        Known from the first write on, or from `probe`.
        """
        return self.disk.write_mode

    def probe(self) -> WriteMode:
        """Find out the write mode from an existing note, which is only opened for reading."""
        first = next((path for path, _ in self.disk.walk(report=lambda _: None)), None)
        if first is not None and self.revision == 0:
            self._upkeep.disk.probe(first)
        return self.write_mode

    def recover(self) -> Recovered:
        """Decide what a crash cut off, everywhere in the vault: for a program that starts. `Locked`, `StorageError`."""
        with self.writer.locked(recover=False):
            self.writer.finish()
            return self._upkeep.recover_writes(everywhere=True)

    def tidy(self) -> None:
        """Do what is due: call it now and then in a program that lives long. Raises `HistoryUnavailable`."""
        self._upkeep.tidy()

    def written_under(self, key: str) -> NotedWrite | None:
        """Return the write that was done under an idempotency key in the last ten minutes."""
        self.writer.finish()
        return self._upkeep.written_under(key)

    def check_writable(self, path: str, data: bytes | None, yours: str | None) -> None:
        """Raise `Conflict` for bytes that no write may be based on."""
        check_mergeless(path, data, yours)

    def check_size(self, path: str, data: bytes | None) -> None:
        """Raise `StorageError` for a file that would be too large to be read again."""
        check_size(path, data, self.layout)

    def close(self) -> None:
        """Close the state. The store opens it again when it is used again."""
        self.writer.finish()
        self._upkeep.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _tidy(self) -> None:
        try:
            self._upkeep.tidy()
        except HistoryUnavailable as error:
            log.warning("the write is done, but the history could not be tidied: %s", error)

    def _as_served(self, address: str) -> str:
        """Return the address as the live item of that name spells it (NFC, white space), else as it was given."""
        wanted = parse_address(address)
        found = None if is_day(wanted.category) else self.get(wanted.category, wanted.name)
        return str(wanted) if found is None else found.address

    def _catch_up(self, address: str) -> None:
        path = self.path_of(address)
        if path is None:  # the whole note is away: only the write knows where it was
            noted = self._upkeep.write_log.last_at(address)
            path = noted.path if noted else None
        if path is not None:
            try:
                data = self.disk.read(path).data
            except (FileNotFoundError, NotADirectoryError):
                data = None
            except OSError:
                return
            self.writer.finish()
            self._upkeep.catch_up(path, data)


def _item_of(address: str, text: WrittenText) -> RecallItem:
    return RecallItem(address.partition(":")[0], text.name, text.content, text.owner, text.source_conv, text.ts)


def _item_kept(version: Version) -> RecallItem:
    category = version.address.partition(":")[0]
    return RecallItem(category, version.name, version.content, version.owner, version.source_conv, version.item_ts)


def _daily_note_problems(root: Path) -> list[tuple[str, Problem]]:
    from wikimem.config import daily_note_problems  # noqa: PLC0415 - reading a vault needs no configuration

    return daily_note_problems(root)


def _layout_of(root: Path) -> Layout:
    from wikimem.config import vault_layout  # noqa: PLC0415 - the configuration is read only when nobody gave a layout

    return vault_layout(root)
