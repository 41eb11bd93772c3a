"""The mirror: keeps the index in step with the disk, one look at a time.

It sees, asks the decision table (`plan.py`) and acts. What an edit means beyond search is left to `consequences.py`,
which gets the effects in batches.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from wikimem.pages.changes import Cause
from wikimem.pages.items import RecallItem
from wikimem.pages.layout import PAGE_KINDS
from wikimem.pages.page import Page
from wikimem.pages.reading import conflict_copy_problem, git_marker_line, read_page, too_large_page
from wikimem.store.manifest import FileEntry, Manifest
from wikimem.text.problems import Problem
from wikimem_daemon.clock import Clock
from wikimem_daemon.consequences import Effect, inode_of
from wikimem_daemon.departures import Departed, Departures
from wikimem_daemon.disk import DiskView, Kind, Look
from wikimem_daemon.freshness import Degraded
from wikimem_daemon.identity import Held, Inode
from wikimem_daemon.indexing import Index
from wikimem_daemon.known import KnownFiles
from wikimem_daemon.longnotes import LongNotes
from wikimem_daemon.ownwrites import REMOVED, UNKNOWN, OwnWrites
from wikimem_daemon.placing import Placing
from wikimem_daemon.plan import (
    EMPTY_S,
    NEW_EMPTY_S,
    OPEN_CAP_S,
    OPEN_QUIET_S,
    SETTLE_S,
    Sight,
    Step,
    decide,
    is_withheld,
)
from wikimem_daemon.watcher import Watcher

__all__ = ["Mirror", "Surroundings", "Waiting"]

_SOON_S = 0.05
_MOST_MOVED = 1_000


class Surroundings(Protocol):
    """What the mirror asks about the place that a file lies in."""

    def is_place_gone(self, path: str) -> bool:
        """Say whether a missing file is missing because its folder is: then nothing was deleted."""

    def look_again(self, path: str) -> None:
        """Ask for another look at a file."""

    def linked_file(self, path: str) -> bool:
        """Say whether the symlink at `path` is a file to be read through it."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A file that is not read yet. `since` and `due` are monotonic; a fresh query waits until `quiet`."""

    since: float
    quiet: float
    due: float
    reason: str


class Mirror:
    """The known files, and what is withheld of them. `watcher` is asked for each time: it may be replaced."""

    def __init__(
        self,
        *,
        placing: Placing,
        disk: DiskView,
        index: Index,
        manifest: Manifest,
        own: OwnWrites,
        clock: Clock,
        watcher: Callable[[], Watcher | None],
        settle: Callable[[], None],
        departed: Departures,
        take_back: Callable[[str], Departed | None],
        unsaved_body: Callable[[str], bytes | None],
    ) -> None:
        self._placing = placing
        self._disk = disk
        self._index = index
        self._manifest = manifest
        self.own = own
        self.long_notes = LongNotes()
        self._clock = clock
        self._watcher = watcher
        self._settle = settle
        self._departed = departed
        self._take_back = take_back
        self._unsaved_body = unsaved_body
        self.around: Surroundings | None = None
        self.known = KnownFiles()
        self.held: dict[str, Degraded] = {}
        self.waiting: dict[str, Waiting] = {}
        self.problems: dict[str, Problem] = {}
        self._effects: dict[str, Effect] = {}
        self._withheld_inodes: dict[str, Inode] = {}
        self._moved: dict[Inode, str] = {}
        self.baseline = False
        self.offline = True
        self._acts: Mapping[Step, Callable[[str, Sight, Look, Waiting | None], None]] = {
            Step.NOTHING: self._nothing,
            Step.RESTAMP: self._restamp,
            Step.SERVE: self._serve,
            Step.WAIT: self._wait,
            Step.HOLD: self._hold,
            Step.REPORT: self._report,
            Step.DROP: self._drop,
        }

    def look_at(self, path: str, *, scanned: bool = False, patient: bool = False) -> Step:
        """Look at one path and do what the table says. `scanned`: a settled stamp that is the same is enough.

        `patient`: raises `BeingRead` for a long note that has to be read first, and is then to be called again.
        """
        if patient:
            self.long_notes.check(path)
        entry = self.known.entries.get(path)
        if scanned and self.is_settled(path):
            return Step.NOTHING
        if path in self._effects:
            self._settle()
            entry = self.known.entries.get(path)
        before = self.waiting.pop(path, None)
        self.held.pop(path, None)
        self.problems.pop(path, None)
        was = entry or self._departed.entry(path)
        sight, look = self._see(path, was, before)
        last = was if is_withheld(sight) else entry
        if patient:
            data = self._to_read(path, sight, look, last)
            if data is not None:
                self.long_notes.begin(path, data, self._placing.layout, self._index.pages.get(path))
        known = entry is not None or (is_withheld(sight) and (self.take_back(path) or self._take_over(path, look)))
        step = decide(sight, known=known)
        self._acts[step](path, sight, look, before)
        self._note_withheld(path, step, look)
        return step

    def _to_read(self, path: str, sight: Sight, look: Look, last: FileEntry | None) -> bytes | None:
        """Return what the look is about to read: the note, or its last good text where that is withheld."""
        served = path in self._index.pages
        if is_withheld(sight):
            return self._last_good(last) if last is not None and not served else None
        step = decide(sight, known=last is not None)
        return look.data if step == Step.SERVE or (step == Step.RESTAMP and not served) else None

    def _last_good(self, entry: FileEntry) -> bytes | None:
        """Return the bytes of an entry, None where they are not at hand: what the manifest has may be older."""
        body = self._unsaved_body(entry.path)
        body = self._manifest.body(entry.path) if body is None else body
        return body if body is not None and hashlib.sha256(body).digest() == entry.hash else None

    def take_back(self, path: str) -> bool:
        """Answer again from what a file held when it went, if that was but a moment ago; say whether it was."""
        file = self._take_back(path)
        if file is None:
            return False
        self.known.put(file.left)
        self.serve_last_good(path, file.page)
        return True

    def _take_over(self, path: str, look: Look) -> bool:
        """Answer from the last good text of a note that was withheld and then moved to `path`; say whether it was.

        The text that is withheld moved with it, so it is the same file: what was good of it is served under its name.
        """
        inode = (look.stamp.dev, look.stamp.ino) if look.stamp is not None else None
        old = self._moved.pop(inode, None) if inode is not None else None
        if old is None or self.offline:
            return False
        self._settle()
        was = self._departed.entry(old)
        body = self._last_good(was) if was is not None else None
        if body is None:
            return False
        self._serve(path, Sight.NEW_TEXT, replace(look, data=body, racy=True), None)
        return True

    def _note_withheld(self, path: str, step: Step, look: Look) -> None:
        """Remember which file is withheld; when it goes from its path, it may be found at another."""
        inode = self._withheld_inodes.pop(path, None)
        if step == Step.HOLD and look.stamp is not None:
            self._withheld_inodes[path] = (look.stamp.dev, look.stamp.ino)
        elif step == Step.DROP and inode is not None:
            self._moved[inode] = path
            while len(self._moved) > _MOST_MOVED:
                del self._moved[next(iter(self._moved))]
            for other in self.held.keys() - self.known.entries.keys():
                if self.around is not None:
                    self.around.look_again(other)

    def take_back_below(self, folder: str) -> None:
        """Take back what went just before the folder did: `rm -r` takes the notes first."""
        self._settle()
        for path in self._departed.below(folder):
            self.take_back(path)

    # ---------------------------------------------------------------- seeing

    def is_settled(self, path: str) -> bool:
        """Say whether a file's stamp alone proves that it is as it was."""
        entry = self.known.entries.get(path)
        if entry is None or not entry.settled or path in self.held or path in self.waiting:
            return False
        return path in self._index.pages and self._disk.stamp(path) == entry.stamp

    def _see(self, path: str, entry: FileEntry | None, before: Waiting | None) -> tuple[Sight, Look]:
        nothing = Look(Kind.MISSING)
        kind = self._placing.kind(path)
        if kind == "conflict-copy" and self._disk.stamp(path) is not None:
            self.problems[path] = conflict_copy_problem()
        if kind not in PAGE_KINDS:
            return Sight.NOT_OURS, nothing
        if self._is_open(path, before):
            return Sight.WRITING, nothing
        trusted = entry.stamp if entry is not None and entry.settled and path in self._index.pages else None
        look = self._disk.look(path, trusted)
        linked = look.kind == Kind.LINK and self.around is not None and self.around.linked_file(path)
        if linked:
            look = self._disk.look(path, trusted, through_link=True)
        if look.names > 1 and self._watch_names(path, look):
            look = self._disk.look(path, trusted, through_link=linked)
        return self._judge(path, entry, before, look), look

    def _watch_names(self, path: str, look: Look) -> bool:
        """Watch a file that has several names; its other names here are to be looked at again."""
        watcher = self._watcher()
        if watcher is None or not watcher.watch_file(path):
            return False
        if look.stamp is not None and self.around is not None:
            inode = (look.stamp.dev, look.stamp.ino)
            for other, entry in self.known.entries.items():
                if other != path and inode_of(entry) == inode:
                    self.around.look_again(other)
        return True

    def _is_open(self, path: str, before: Waiting | None) -> bool:
        """Say whether somebody is about to write more: then what is there now is half of it."""
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
                gone = self.around is not None and self.around.is_place_gone(path)
                return Sight.PLACE_GONE if gone else Sight.MISSING
            case _:
                return Sight.NOT_OURS

    def _judge_text(self, entry: FileEntry | None, before: Waiting | None, look: Look) -> Sight:
        if not look.data and (entry is None or entry.stamp.size > 0):
            patience = NEW_EMPTY_S if entry is None else EMPTY_S
            if before is None or self._clock.monotonic() - before.since < patience:
                return Sight.EMPTIED
        if entry is not None and hashlib.sha256(look.data).digest() == entry.hash:
            return Sight.SAME_BYTES
        return Sight.MARKERS if git_marker_line(look.data) is not None else Sight.NEW_TEXT

    # ---------------------------------------------------------------- acting

    def _nothing(self, path: str, sight: Sight, look: Look, _before: Waiting | None) -> None:
        if sight == Sight.TOO_LARGE and look.stamp is not None:
            self.problems[path] = too_large_page(path, look.stamp.size, self._placing.layout).problems[0]

    def _restamp(self, path: str, _sight: Sight, look: Look, _before: Waiting | None) -> None:
        if look.stamp is not None:
            self.known.restamp(replace(self.known.entries[path], stamp=look.stamp, settled=not look.racy))
        if path not in self._index.pages:
            self._take_in(path, look.data)

    def _take_in(self, path: str, data: bytes) -> Page:
        page, prepared = self.long_notes.take(path, data, self._placing.layout, self._index.pages.get(path))
        self._index.replace_page(page, prepared)
        return page

    def _serve(self, path: str, _sight: Sight, look: Look, _before: Waiting | None) -> None:
        if look.stamp is None:
            return
        entry = self.known.entries.get(path)
        before = self.items_of(path)
        page = self._take_in(path, look.data)
        digest = hashlib.sha256(look.data)
        known = FileEntry(path, look.stamp, not look.racy, digest.digest(), entry.ids if entry else ())
        self.known.put(known)
        cause = self._cause(path, digest.hexdigest(), entry)
        self._effects[path] = Effect(path, before, page.items, known, look.data, cause, not self.baseline)

    def _wait(self, path: str, sight: Sight, _look: Look, before: Waiting | None) -> None:
        now = self._clock.monotonic()
        watcher = self._watcher()
        last_write = watcher.writing.get(path, now) if watcher is not None else now
        since = before.since if before is not None else now
        if sight == Sight.EMPTIED:
            patience = EMPTY_S if path in self.known.entries else NEW_EMPTY_S
            quiet = before.quiet if before is not None else last_write + SETTLE_S
            self.waiting[path] = Waiting(since, quiet, since + patience, "is empty")
        else:
            due = min(last_write + OPEN_QUIET_S, since + OPEN_CAP_S)
            self.waiting[path] = Waiting(since, last_write + SETTLE_S, max(due, now + _SOON_S), "is being written")
        self.serve_last_good(path)

    def _hold(self, path: str, sight: Sight, look: Look, _before: Waiting | None) -> None:
        self._report(path, sight, look, None)
        self.serve_last_good(path)

    def _report(self, path: str, sight: Sight, look: Look, _before: Waiting | None) -> None:
        self.held[path], problem = _withheld(path, sight, look)
        if problem is not None:
            self.problems[path] = problem

    def _drop(self, path: str, sight: Sight, look: Look, before: Waiting | None) -> None:
        held = self.items_of(path)
        was = Departed(self.known.entries[path], self._index.pages.get(path))
        self._index.remove_page(path)
        self.known.forget(path)
        cause = self._cause(path, REMOVED, was.entry)
        self._effects[path] = Effect(path, held, (), None, b"", cause, not self.baseline, was)
        self._nothing(path, sight, look, before)

    def _cause(self, path: str, digest: str, entry: FileEntry | None) -> Cause:
        known = entry.hash.hex() if entry is not None else ""
        if self.own.claim(path, digest, known or UNKNOWN):
            return "api"
        return "offline" if self.offline else "disk"

    def items_of(self, path: str) -> tuple[Held, ...]:
        """Return a known file's items with their ids, as they were last served."""
        entry = self.known.entries.get(path)
        if entry is None:
            return ()
        ids = {(name, ordinal): item_id for name, ordinal, item_id in entry.ids}
        return tuple(
            Held(ids[item.name, item.ordinal], path, item, position, entry.hash, inode_of(entry))
            for position, item in enumerate(self._last_items(path))
            if (item.name, item.ordinal) in ids
        )

    def _last_items(self, path: str) -> tuple[RecallItem, ...]:
        page = self._index.pages.get(path)
        if page is not None:
            return page.items
        body = self._manifest.body(path)
        return read_page(path, body, self._placing.layout).items if body is not None else ()

    def serve_last_good(self, path: str, page: Page | None = None, *, patient: bool = False) -> None:
        """Answer from the text that was read last, where the file cannot be read. `page`: as it was read.

        `patient`: as in `look_at`.
        """
        if patient:
            self.long_notes.check(path)
        entry = self.known.entries.get(path)
        if entry is None or path in self._index.pages:
            return
        if page is None:
            body = self._manifest.body(path)
        else:
            body = self._last_good(entry) if self.long_notes.has_read(path) else None
        if page is not None and body is None:
            self._index.replace_page(page)
        elif body is not None:
            if patient:
                self.long_notes.begin(path, body, self._placing.layout, None)
            self._take_in(path, body)

    # ------------------------------------------------------- what others ask for

    @property
    def effects_waiting(self) -> int:
        """How many files changed since the last `take_effects`."""
        return len(self._effects)

    def take_effects(self) -> list[Effect]:
        """Return the effects since the last call."""
        effects, self._effects = list(self._effects.values()), {}
        return effects

    def knew_below(self, folder: str) -> bool:
        """Say whether any file below a folder is known, or was a moment ago."""
        return self.known.has_below(folder) or bool(self._departed.below(folder))


def _withheld(path: str, sight: Sight, look: Look) -> tuple[Degraded, Problem | None]:
    if sight == Sight.MARKERS:
        hint = "resolve the conflict in the note; until then its last good text is used"
        problem = Problem(
            "git-markers", git_marker_line(look.data) or 0, "git left conflict markers in this note", hint
        )
        return Degraded("git-markers", f"{path} holds git conflict markers", hint), problem
    if sight == Sight.UNREADABLE:
        hint = "check its permissions and the disk; until then its last good text is used"
        problem = Problem("unreadable", 0, f"the note cannot be read: {look.detail}", hint)
        return Degraded("unreadable", f"{path} cannot be read: {look.detail}", hint), problem
    return Degraded("missing-folder", f"{path} lies in a folder that is missing", "put the folder back"), None
