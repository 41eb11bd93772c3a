"""MemoryStore: the vault as items, read tolerantly, written strictly."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from wikimem import places
from wikimem.errors import AppendOnly, Conflict, InvalidCategory, NotFound, StorageError, VaultError
from wikimem.pages.items import RecallItem
from wikimem.pages.journal import JournalEntry
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.pages.reading import has_git_markers, read_page
from wikimem.pages.wiki import put_item, read_wiki_page, remove_item
from wikimem.store import history as history_table
from wikimem.store import idempotency as idempotency_table
from wikimem.store.diary import DiaryStore
from wikimem.store.files import DiskFiles, Files
from wikimem.store.history import Ending, History, PriorText
from wikimem.store.journal import Journal
from wikimem.store.localzone import local_zone
from wikimem.store.locks import VaultLock, vault_key
from wikimem.store.state import State
from wikimem.store.writing import Planned, Writer
from wikimem.text.names import category_of, fold_name, is_day, sanitize_item_name, validate_category
from wikimem.text.problems import Problem

STATE_FILE = "state.sqlite3"


def default_state_dir(root: Path) -> Path:
    """Return where the state of a vault lies that no configuration names."""
    return places.state_home(os.environ) / places.name_of(root)


class MemoryStore:
    """One vault.

    `layout` None is read from the vault (`wikimem.toml`, `.obsidian/daily-notes.json`). `state_dir` holds history and
    is made by the first write. `files`, `state`, `clock` and `timezone` are for the daemon and for tests.
    Raises `VaultError` when `root` is no folder that can be read.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        layout: Layout | None = None,
        state_dir: Path | None = None,
        journal: bool = True,
        state: State | None = None,
        files: Files | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        timezone: Callable[[], tzinfo] = local_zone,
    ) -> None:
        self.root = Path(root)
        _check_root(self.root)
        self.layout = _layout_of(self.root) if layout is None else layout
        self.state_dir = default_state_dir(self.root) if state_dir is None else state_dir
        self.disk: Files = DiskFiles(self.root) if files is None else files
        self._state = state
        self._journal = Journal(self.root) if journal else None
        self.writer = Writer(
            self.disk,
            lock=lambda: VaultLock(self.state_dir.parent, vault_key(self.root), "write"),
            history=lambda: self.history,
            journal=lambda: self._journal,
            clock=clock,
        )
        self.diary = DiaryStore(self, self.writer, timezone=timezone)

    @property
    def revision(self) -> int:
        """Raised by every write of this process, and by `note_change`."""
        return self.writer.revision

    @property
    def state(self) -> State:
        """The open state; the first use makes it. Raises `HistoryUnavailable`."""
        if self._state is None:
            self._state = State(self.state_dir / STATE_FILE, history_table.SCHEMA, idempotency_table.SCHEMA)
        return self._state

    @property
    def history(self) -> History:
        """The prior texts. Raises `HistoryUnavailable`."""
        return History(self.state)

    @property
    def journal(self) -> Journal | None:
        """The log of what was written here."""
        return self._journal

    def page_paths(self) -> list[str]:
        """Return the path of every wiki and diary page, in order."""
        kinds = ("wiki", "diary")
        return [path for path, _ in self.disk.walk() if self.layout.classify(path).kind in kinds]

    def pages(self) -> Iterator[Page]:
        """Read every page. One that vanishes or cannot be read meanwhile is left out."""
        for path in self.page_paths():
            page = self.read_page(path)
            if page is not None:
                yield page

    def read_page(self, path: str) -> Page | None:
        """Read one page; None when there is no such file. Raises `OSError` when it cannot be read."""
        try:
            return read_page(path, self.disk.read(path).data, self.layout)
        except FileNotFoundError:
            return None

    def changed_since(self, revision: int) -> list[str] | None:
        """Return the paths that changed after a revision, None when everything must be read again."""
        return self.writer.changed_since(revision)

    def note_change(self, path: str) -> None:
        """Raise the revision for a change that was found on disk."""
        self.writer.note_change(path)

    def categories(self) -> list[str]:
        """Return the wiki's categories in order."""
        return sorted(self._wiki_paths())

    def files(self) -> list[str]:
        """Return `categories()`, by the name that upstream wikimem gives it."""
        return self.categories()

    def items(self, category: str | None = None) -> list[RecallItem]:
        """Return the items of one category or of all, in document order."""
        paths = self._wiki_paths()
        chosen = [paths[one] for one in sorted(paths)] if category is None else [self._find(category)]
        pages = [self.read_page(path) for path in chosen if path is not None]
        return [item for page in pages if page is not None for item in page.items]

    def get(self, category: str, name: str) -> RecallItem | None:
        """Return one item; the exact name wins over one that is equal under NFC and collapsed white space."""
        path = self._find(category)
        page = self.read_page(path) if path is not None else None
        return _item(page, name) if page is not None else None

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
    ) -> RecallItem:
        """Add an item, or replace the one of that name, and return it as it now reads.

        With any provenance given, `ts` defaults to now. Raises `InvalidInput`, `AppendOnly` for a day, `Conflict`
        when the item is not (any more) the one with `expected_hash`, `StorageError`.
        """
        if is_day(category):
            raise AppendOnly(f"{category} is a day of the diary", hint="use `wikimem diary`, or another category")
        clean_name = sanitize_item_name(name)
        with self.writer.locked():
            path = self._find(category) or self._new_path(category)
            now = _seconds(self.writer.clock())
            stamp = ts or (now if owner or source_conv else None)
            item = RecallItem(self.layout.classify(path).category, clean_name, content, owner, source_conv, stamp)
            guard = _Guard(item.address, content, expected_hash)

            def plan(data: bytes | None) -> Planned:
                _check_markers(path, data, content)
                found = guard.check(self._item_in(path, data, clean_name))
                edit = put_item(data, item.category, item, link_style=self.layout.link_style)
                action = "update" if found else "add"
                line = JournalEntry(now, action, item.category, clean_name, None, None, owner, source_conv, None)
                return Planned(edit.data, _prior(edit.replaced, now, "update"), line)

            planned = self.writer.apply(path, plan)
        written = self._item_in(path, planned.data, clean_name)
        if written is None:
            raise StorageError(f"{path}: the item that was written does not read back", path=path, step="read back")
        return written

    def remove(self, category: str, name: str, *, expected_hash: str | None = None) -> RecallItem:
        """Remove an item and return what it was. Raises `NotFound`, `AppendOnly`, `Conflict`, `StorageError`."""
        if is_day(category):
            raise AppendOnly(f"{category} is a day of the diary", hint="edit the day's file by hand")
        with self.writer.locked():
            path = self._find(category)
            before = self._item_in(path, self._data(path), name) if path is not None else None
            if path is None or before is None:
                raise NotFound(f"there is no item {category}:{name}", hint=f"list them: `wikimem ls {category}`")
            guard = _Guard(before.address, None, expected_hash)
            now = _seconds(self.writer.clock())

            def plan(data: bytes | None) -> Planned:
                _check_markers(path, data, None)
                guard.check(self._item_in(path, data, before.name))
                edit = remove_item(data or b"", before.category, before.name)
                line = JournalEntry(now, "remove", before.category, before.name, None, None, None, None, None)
                return Planned(edit.data, _prior(edit.replaced, now, "remove"), line)

            self.writer.apply(path, plan)
        return before

    def problems(self) -> list[tuple[str, Problem]]:
        """Return what a person may want to mend, in every page."""
        return [(page.path, problem) for page in self.pages() for problem in page.problems]

    def close(self) -> None:
        """Close the state. The store opens it again when it is used again."""
        if self._state is not None:
            self._state.close()
            self._state = None

    def _wiki_paths(self) -> dict[str, str]:
        places_ = ((self.layout.classify(path), path) for path in self.page_paths())
        return {place.category: path for place, path in places_ if place.kind == "wiki"}

    def _find(self, category: str) -> str | None:
        """Return the path of an existing category: exact, else equal under NFC and white space."""
        path = self.layout.wiki_path(category)
        if self.layout.classify(path).kind == "wiki" and self._data(path) is not None:
            return path
        folded = fold_name(category)
        return next((path for key, path in self._wiki_paths().items() if fold_name(key) == folded), None)

    def _new_path(self, category: str) -> str:
        validate_category(category)
        path = self.layout.wiki_path(category)
        if self.layout.classify(path).kind != "wiki":
            raise InvalidCategory(f"{category} would lie at {path}, which is not read as a wiki file")
        return path

    def _data(self, path: str) -> bytes | None:
        try:
            return self.disk.read(path).data
        except FileNotFoundError:
            return None

    def _item_in(self, path: str, data: bytes | None, name: str) -> RecallItem | None:
        return None if data is None else _item(read_wiki_page(path, data, self.layout), name)


class _Guard:
    """Says whether the item is still the one that the caller means: first by `expected_hash`, then by what was seen."""

    def __init__(self, address: str, yours: str | None, expected_hash: str | None) -> None:
        self._address = address
        self._yours = yours
        self._expected = expected_hash
        self._seen: tuple[str | None] | None = None

    def check(self, found: RecallItem | None) -> RecallItem | None:
        """Return `found`, or raise `Conflict`."""
        current = found.hash if found else None
        expected = self._seen if self._seen is not None else ((self._expected,) if self._expected else (current,))
        if expected != (current,):
            raise Conflict(
                f"{self._address} was changed meanwhile",
                theirs=found.content if found else None,
                yours=self._yours,
                current_hash=current,
                hint="read it again, merge, and write with the new `expected_hash`",
            )
        self._seen = (current,)
        return found


def _item(page: Page, name: str) -> RecallItem | None:
    folded = fold_name(name)
    near = [item for item in page.items if fold_name(item.name) == folded]
    return next((item for item in near if item.name == name), near[-1] if near else None)


def _prior(items: tuple[RecallItem, ...], ts: str, action: Ending) -> list[PriorText]:
    return [
        PriorText(
            one.address, one.name, one.content, one.hash, ts, "api", action, None, one.owner, one.source_conv, one.ts
        )
        for one in items
    ]


def _seconds(now: datetime) -> str:
    return now.astimezone(UTC).isoformat(timespec="seconds")


def _check_root(root: Path) -> None:
    try:
        os.scandir(root).close()
    except OSError as error:
        hint = "make it with `wikimem init`, or name another with --vault"
        raise VaultError(f"the vault {root} cannot be read: {error.strerror}", hint=hint) from error


def _check_markers(path: str, data: bytes | None, yours: str | None) -> None:
    if data is not None and has_git_markers(data):
        hint = "resolve the merge in an editor, then write again"
        raise Conflict(f"{path} holds git conflict markers", theirs=None, yours=yours, hint=hint)


def _layout_of(root: Path) -> Layout:
    from wikimem.config import vault_layout  # noqa: PLC0415 - the configuration is read only when nobody gave a layout

    return vault_layout(root)


__all__ = ["STATE_FILE", "MemoryStore", "category_of", "default_state_dir"]
