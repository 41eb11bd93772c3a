"""The mirror: keeps the index in step with the disk, one look at a time.

It sees, asks the decision table (`plan.py`) and acts. What an edit means beyond search is left to `consequences.py`,
which gets the effects in batches.
"""

import hashlib
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from wikimem.pages.changes import Cause
from wikimem.pages.items import RecallItem
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.pages.reading import has_git_markers, read_page
from wikimem.store.files import stamp_is_racy
from wikimem.store.manifest import FileEntry, Manifest
from wikimem.text.problems import Problem
from wikimem_daemon.clock import Clock
from wikimem_daemon.consequences import Effect
from wikimem_daemon.disk import Disk, Kind, Look
from wikimem_daemon.identity import Held
from wikimem_daemon.ownwrites import REMOVED, OwnWrites
from wikimem_daemon.plan import EMPTY_S, NEW_EMPTY_S, OPEN_CAP_S, OPEN_QUIET_S, SETTLE_S, Sight, Step, decide
from wikimem_daemon.watcher import Watcher

_log = logging.getLogger("wikimem.reconcile")


class Index(Protocol):
    """What the mirror needs of the search index."""

    @property
    def pages(self) -> Mapping[str, Page]:
        """Every page by its path."""

    def replace_page(self, page: Page) -> object:
        """Take a page as it is now."""

    def remove_page(self, path: str) -> object:
        """Forget a page."""


@dataclass(frozen=True, slots=True)
class Degraded:
    """One thing that keeps answers from being fresh or whole, and what to do about it."""

    code: str
    detail: str
    hint: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A file that is not read yet. `since` and `due` are monotonic; a fresh query waits until `quiet`."""

    since: float
    quiet: float
    due: float
    reason: str


class Mirror:
    """The known files and what is withheld of them. `watcher` is asked for each time: it may be replaced."""

    def __init__(
        self,
        *,
        layout: Layout,
        disk: Disk,
        index: Index,
        manifest: Manifest,
        own: OwnWrites,
        clock: Clock,
        watcher: Callable[[], Watcher | None],
        is_place_gone: Callable[[str], bool],
        settle: Callable[[], None],
    ) -> None:
        self.layout = layout
        self.disk = disk
        self._index = index
        self._manifest = manifest
        self._own = own
        self._clock = clock
        self._watcher = watcher
        self._is_place_gone = is_place_gone
        self._settle = settle
        self.entries: dict[str, FileEntry] = {}
        self.by_folder: dict[str, set[str]] = defaultdict(set)
        self.held: dict[str, Degraded] = {}
        self.waiting: dict[str, Waiting] = {}
        self.problems: dict[str, Problem] = {}
        self.through: dict[str, str] = {}
        self.effects: dict[str, Effect] = {}
        self.restamped: set[str] = set()
        self.baseline = False
        self.offline = True
        self._acts = {
            Step.NOTHING: self._nothing,
            Step.RESTAMP: self._restamp,
            Step.SERVE: self._serve,
            Step.WAIT: self._wait,
            Step.HOLD: self._hold,
            Step.REPORT: self._report,
            Step.DROP: self._drop,
        }

    def load(self, entries: Mapping[str, FileEntry]) -> None:
        """Begin with what an earlier process knew."""
        for path, entry in entries.items():
            self._know(path, entry)

    def look_at(self, path: str, *, scanned: bool = False) -> Step:
        """Look at one path and do what the table says."""
        entry = self.entries.get(path)
        if scanned and entry is not None and self._is_settled(path, entry):
            return Step.NOTHING
        if path in self.effects:
            self._settle()
            entry = self.entries.get(path)
        before = self.waiting.pop(path, None)
        self.held.pop(path, None)
        self.problems.pop(path, None)
        sight, look = self._see(path, entry, before)
        step = decide(sight, known=entry is not None)
        self._acts[step](path, sight, look, before)
        return step

    def _is_settled(self, path: str, entry: FileEntry) -> bool:
        unquestioned = entry.settled and path not in self.held and path not in self.waiting
        return unquestioned and path in self._index.pages and self.disk.stamp(path) == entry.stamp

    def _see(self, path: str, entry: FileEntry | None, before: Waiting | None) -> tuple[Sight, Look]:
        nothing = Look(Kind.MISSING)
        place = self.layout.classify(path)
        if place.kind == "conflict-copy":
            self._see_conflict_copy(path)
            return Sight.NOT_OURS, nothing
        if place.kind not in ("wiki", "diary"):
            return Sight.NOT_OURS, nothing
        if self._is_open(path, before):
            return Sight.WRITING, nothing
        trusted = entry.stamp if entry is not None and entry.settled and path in self._index.pages else None
        look = self.disk.look(path, trusted, through_link=path in self.through)
        return self._judge(path, entry, before, look), look

    def _see_conflict_copy(self, path: str) -> None:
        if self.disk.stamp(path) is not None:
            self.problems[path] = Problem(
                "conflict-copy", 0, "a sync tool left this copy of a note", "merge it into the note and delete it"
            )

    def _is_open(self, path: str, before: Waiting | None) -> bool:
        watcher = self._watcher()
        last_write = watcher.writing.get(path) if watcher is not None else None
        if watcher is None or last_write is None:
            return False
        now = self._clock.monotonic()
        if now - last_write >= OPEN_QUIET_S:
            watcher.forget_writing(path)
            return False
        return before is None or now - before.since < OPEN_CAP_S

    def _judge(self, path: str, entry: FileEntry | None, before: Waiting | None, look: Look) -> Sight:
        match look.kind:
            case Kind.TEXT:
                return self._judge_text(entry, before, look)
            case Kind.SAME:
                return Sight.UNCHANGED
            case Kind.UNSTEADY:
                return Sight.WRITING
            case Kind.TOO_LARGE:
                return Sight.TOO_LARGE
            case Kind.UNREADABLE:
                return Sight.UNREADABLE
            case Kind.LINK:
                return Sight.ELSEWHERE
            case Kind.MISSING:
                return Sight.PLACE_GONE if self._is_place_gone(path) else Sight.MISSING
            case _:
                return Sight.NOT_OURS

    def _judge_text(self, entry: FileEntry | None, before: Waiting | None, look: Look) -> Sight:
        if not look.data and (entry is None or entry.stamp.size > 0):
            patience = NEW_EMPTY_S if entry is None else EMPTY_S
            if before is None or self._clock.monotonic() - before.since < patience:
                return Sight.EMPTIED
        if entry is not None and hashlib.sha256(look.data).digest() == entry.hash:
            return Sight.SAME_BYTES
        return Sight.MARKERS if has_git_markers(look.data) else Sight.NEW_TEXT

    def _nothing(self, path: str, sight: Sight, look: Look, _before: Waiting | None) -> None:
        if sight == Sight.TOO_LARGE:
            self.problems[path] = Problem(
                "file-too-large",
                0,
                f"the note is not searched: {look.detail}",
                "split it, or raise limits.max_file_bytes",
            )

    def _restamp(self, path: str, _sight: Sight, look: Look, _before: Waiting | None) -> None:
        entry = self.entries[path]
        if look.stamp is not None:
            settled = not stamp_is_racy(look.stamp, look.read_at_ns)
            fresher = replace(entry, stamp=look.stamp, settled=settled)
            if fresher != entry:
                self.entries[path] = fresher
                self.restamped.add(path)
        if path not in self._index.pages:
            self._index.replace_page(read_page(path, look.data, self.layout))

    def _serve(self, path: str, _sight: Sight, look: Look, _before: Waiting | None) -> None:
        if look.stamp is None:
            return
        entry = self.entries.get(path)
        before = self.items_of(path)
        page = read_page(path, look.data, self.layout)
        self._index.replace_page(page)
        digest = hashlib.sha256(look.data).digest()
        settled = not stamp_is_racy(look.stamp, look.read_at_ns)
        self._know(path, FileEntry(path, look.stamp, settled, digest, entry.ids if entry else ()))
        cause = self._cause(path, digest.hex())
        told = not self.baseline
        self.effects[path] = Effect(path, before, page.items, self.entries[path], look.data, cause, told)

    def _wait(self, path: str, sight: Sight, _look: Look, before: Waiting | None) -> None:
        now = self._clock.monotonic()
        watcher = self._watcher()
        last_write = watcher.writing.get(path, now) if watcher is not None else now
        since = before.since if before is not None else now
        if sight == Sight.EMPTIED:
            patience = EMPTY_S if path in self.entries else NEW_EMPTY_S
            quiet = max(last_write, since) + SETTLE_S if before is None else max(before.quiet, now)
            self.waiting[path] = Waiting(since, quiet, since + patience, "it is empty")
        else:
            due = min(last_write + OPEN_QUIET_S, since + OPEN_CAP_S)
            self.waiting[path] = Waiting(since, last_write + SETTLE_S, max(due, now + 0.05), "it is being written")
        self._serve_last_good(path)

    def _hold(self, path: str, sight: Sight, look: Look, _before: Waiting | None) -> None:
        self.held[path] = _withheld(path, sight, look.detail)
        self._report_problem(path, sight, look)
        self._serve_last_good(path)

    def _report(self, path: str, sight: Sight, look: Look, _before: Waiting | None) -> None:
        self.held[path] = _withheld(path, sight, look.detail)
        self._report_problem(path, sight, look)

    def _report_problem(self, path: str, sight: Sight, look: Look) -> None:
        if sight == Sight.MARKERS:
            self.problems[path] = Problem(
                "git-markers",
                0,
                "git left conflict markers in this note",
                "resolve the conflict; until then the last good text is used",
            )
        elif sight == Sight.UNREADABLE:
            self.problems[path] = Problem(
                "unreadable", 0, f"the note cannot be read: {look.detail}", "check its permissions"
            )

    def _drop(self, path: str, sight: Sight, look: Look, before: Waiting | None) -> None:
        held = self.items_of(path)
        self._index.remove_page(path)
        self._forget(path)
        cause = self._cause(path, REMOVED)
        self.effects[path] = Effect(path, held, (), None, b"", cause, not self.baseline)
        self._nothing(path, sight, look, before)

    def _cause(self, path: str, digest: str) -> Cause:
        if self._own.claim(path, digest):
            return "api"
        return "offline" if self.offline else "disk"

    def items_of(self, path: str) -> tuple[Held, ...]:
        """Return a known file's items with their ids, as they were last served."""
        entry = self.entries.get(path)
        if entry is None:
            return ()
        ids = {(name, ordinal): item_id for name, ordinal, item_id in entry.ids}
        items = self._last_items(path)
        return tuple(
            Held(ids[item.name, item.ordinal], path, item, position, entry.hash)
            for position, item in enumerate(items)
            if (item.name, item.ordinal) in ids
        )

    def _last_items(self, path: str) -> tuple[RecallItem, ...]:
        page = self._index.pages.get(path)
        if page is not None:
            return page.items
        body = self._manifest.body(path)
        return read_page(path, body, self.layout).items if body is not None else ()

    def _serve_last_good(self, path: str) -> None:
        """Answer from the text that an earlier process read, where this one cannot read the file."""
        if path in self.entries and path not in self._index.pages:
            body = self._manifest.body(path)
            if body is not None:
                self._index.replace_page(read_page(path, body, self.layout))

    def _know(self, path: str, entry: FileEntry) -> None:
        self.entries[path] = entry
        self.by_folder[path.rpartition("/")[0]].add(path)

    def _forget(self, path: str) -> None:
        self.entries.pop(path, None)
        self.restamped.discard(path)
        folder = path.rpartition("/")[0]
        self.by_folder[folder].discard(path)
        if not self.by_folder[folder]:
            del self.by_folder[folder]

    def take_effects(self) -> list[Effect]:
        """Return the effects since the last call."""
        effects, self.effects = list(self.effects.values()), {}
        return effects

    def set_ids(self, ids: Mapping[str, tuple[tuple[str, int, str], ...]]) -> None:
        """Learn which item is which."""
        for path, found in ids.items():
            entry = self.entries.get(path)
            if entry is not None:
                self.entries[path] = replace(entry, ids=found)

    def rename_ids(self, path: str, renamed: Mapping[str, str]) -> None:
        """Give items of a file the ids that they bore elsewhere."""
        entry = self.entries.get(path)
        if entry is not None:
            ids = tuple((name, ordinal, renamed.get(one, one)) for name, ordinal, one in entry.ids)
            self.entries[path] = replace(entry, ids=ids)
            self.restamped.add(path)

    def take_restamped(self) -> set[str]:
        """Return the paths whose stamp or ids changed since the last call, while their bytes stayed."""
        restamped, self.restamped = self.restamped, set()
        return restamped

    def below(self, folder: str) -> Iterable[str]:
        """Return every known path below a folder."""
        prefix = f"{folder}/" if folder else ""
        return [path for path in self.entries if path.startswith(prefix)]


def _withheld(path: str, sight: Sight, detail: str) -> Degraded:
    texts = {
        Sight.MARKERS: ("git-markers", "holds git conflict markers", "resolve the conflict in the note"),
        Sight.UNREADABLE: ("unreadable", f"cannot be read ({detail})", "check its permissions and the disk"),
        Sight.PLACE_GONE: ("missing-folder", "lies in a folder that is missing", "put the folder back"),
    }
    code, what, hint = texts[sight]
    return Degraded(code, f"{path} {what}", hint)
