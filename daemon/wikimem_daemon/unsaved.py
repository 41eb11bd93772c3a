"""What happened and is not in the state file yet, and the one transaction that keeps it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from wikimem.store.changes import FeedRow
from wikimem.store.history import History, PriorText
from wikimem.store.manifest import FileEntry, GoneRow, Manifest
from wikimem.store.state import State
from wikimem_daemon.stale import Undone


@dataclass(frozen=True, slots=True)
class Renamed:
    """An item got another address: its versions are to be found there too."""

    old: str
    new: str


@dataclass(slots=True)
class Unsaved:
    """Rows to be written, the last one for a key winning; `history` in order."""

    history: list[PriorText | Renamed] = field(default_factory=list)
    files: dict[str, tuple[FileEntry, bytes | None]] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    gone: dict[str, GoneRow] = field(default_factory=dict)
    back: set[str] = field(default_factory=set)
    undone: list[Undone] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Say whether there is something to keep."""
        return bool(self.history or self.files or self.dropped or self.gone or self.back or self.undone)

    def put(self, entry: FileEntry, body: bytes) -> None:
        """Keep a file and its bytes."""
        self.dropped.discard(entry.path)
        self.files[entry.path] = (entry, body)

    def body(self, path: str) -> bytes | None:
        """Return the bytes of a file that wait here, None when none do."""
        known = self.files.get(path)
        return known[1] if known is not None else None

    def restamp(self, entry: FileEntry) -> None:
        """Keep a file's new stamp or ids; its bytes stayed."""
        known = self.files.get(entry.path)
        self.files[entry.path] = (entry, known[1] if known else None)

    def drop(self, path: str) -> None:
        """Forget a file."""
        self.files.pop(path, None)
        self.dropped.add(path)

    def went(self, row: GoneRow) -> None:
        """Keep an item whose removal waits."""
        self.back.discard(row.item_id)
        self.gone[row.item_id] = row

    def came_back(self, item_id: str) -> None:
        """Forget such an item: it came back, or its removal was told."""
        self.gone.pop(item_id, None)
        self.back.add(item_id)

    def behind(self, older: "Unsaved") -> "Unsaved":
        """Return one batch of an older one that could not be written and this newer one."""
        joined = Unsaved(
            [*older.history, *self.history],
            dict(older.files),
            set(older.dropped),
            dict(older.gone),
            set(older.back),
            [*older.undone, *self.undone],
        )
        for path in self.dropped:
            joined.drop(path)
        for entry, body in self.files.values():
            if body is None:
                joined.restamp(entry)
            else:
                joined.put(entry, body)
        for item_id in self.back:
            joined.came_back(item_id)
        for row in self.gone.values():
            joined.went(row)
        return joined


@dataclass(frozen=True, slots=True)
class Keeper:
    """Writes batches to the state."""

    state: State
    manifest: Manifest
    history: History
    save_rows: Callable[[list[FeedRow]], None]
    look_at_undone: Callable[[list[Undone]], None]

    def keep(self, unsaved: Unsaved, rows: list[FeedRow]) -> None:
        """Write a batch in one transaction. Raises `HistoryUnavailable`; then nothing of it is kept."""
        with self.state.transaction():
            for one in unsaved.history:
                if isinstance(one, Renamed):
                    self.history.rename(one.old, one.new)
                elif not self._is_kept(one):
                    self.history.record_many([one])
            self.look_at_undone(unsaved.undone)
            self.manifest.drop(unsaved.dropped)
            self.manifest.put((entry, body) for entry, body in unsaved.files.values() if body is not None)
            self.manifest.restamp(entry for entry, body in unsaved.files.values() if body is None)
            self.manifest.put_gone(unsaved.gone.values())
            self.manifest.drop_gone(unsaved.back)
            self.save_rows(rows)

    def _is_kept(self, prior: PriorText) -> bool:
        """Say whether this very text was the last to be kept: another process of ours wrote, and kept it first."""
        newest = self.history.versions(prior.address, limit=1).versions
        return bool(newest) and newest[0].hash == prior.hash
