"""The tree: which folders are read, what a listing brings, and which places are missing rather than empty."""

import logging
from collections import defaultdict
from collections.abc import Callable
from typing import Literal

from wikimem.pages.layout import Layout
from wikimem.text.problems import Problem
from wikimem_daemon.disk import Disk, Entry, Kind
from wikimem_daemon.mirror import Degraded, Mirror
from wikimem_daemon.symlinks import Symlinks
from wikimem_daemon.watcher import Watcher
from wikimem_daemon.worklist import FinishFolder, ListFolder, LookAt, TakeEntries, Work, WorkList

_log = logging.getLogger("wikimem.reconcile")

_CHUNK = 200
_PROBE = "wikimem-probe.md"


class Tree:
    """Lists folders and turns the listings into looks."""

    def __init__(
        self, mirror: Mirror, disk: Disk, work: WorkList, layout: Layout, watcher: Callable[[], Watcher | None]
    ) -> None:
        self._mirror = mirror
        self._disk = disk
        self._work = work
        self._layout = layout
        self._watcher = watcher
        self._links = Symlinks(disk)
        self._folders: dict[str, tuple[int, int]] = {}
        self._subfolders: dict[str, set[str]] = defaultdict(set)
        self._met: set[str] | None = None
        self.root_identity: tuple[int, int] | None = None
        self.held: dict[str, Degraded] = {}
        self.problems: dict[str, Problem] = {}
        self.tops = tuple(dict.fromkeys(_plain(one) for one in (layout.wiki_dir, layout.diary_dir)))

    # ----------------------------------------------------------------- rules

    def is_ours(self, path: str) -> bool:
        """Say whether a file's path can matter."""
        return path in self._mirror.entries or self._layout.classify(path).kind in ("wiki", "diary", "conflict-copy")

    def wants(self, folder: str) -> bool:
        """Say whether a folder is to be listed: it lies in a top folder, or on the way to one."""
        if folder == "" or any(top == folder or top.startswith(f"{folder}/") for top in self.tops):
            return True
        if not any(top == "" or folder.startswith(f"{top}/") for top in self.tops):
            return False
        return self._layout.classify(f"{folder}/{_PROBE}").kind != "ignored"

    def is_place_gone(self, path: str) -> bool:
        """Say whether a file is missing because its place is: then nothing was deleted."""
        if self._identity("") is None:
            return True
        top = self._top_of(path)
        return top is not None and top != "" and self._identity(top) is None

    def is_empty_where_it_was_full(self) -> bool:
        """Say whether another folder lies at the root's path now, without one of the places that had notes."""
        if not self._mirror.entries:
            return False
        wanted = {self._top_of(path) for path in self._mirror.entries} - {None}
        for top in wanted:
            try:
                if top is not None and any(self._disk.list_folder(top).entries):
                    return False
            except OSError:
                continue
        return True

    def _top_of(self, path: str) -> str | None:
        tops = [top for top in self.tops if top == "" or path.startswith(f"{top}/")]
        return max(tops, key=len, default=None)

    def _identity(self, folder: str) -> tuple[int, int] | None:
        try:
            return self._disk.identity(folder)
        except OSError:
            return None

    # ------------------------------------------------------------------ work

    def begin_comparison(self) -> None:
        """Everything is about to be listed."""
        self._met = set()

    def end_comparison(self) -> None:
        """Everything was listed: let go of watches on what is no longer there."""
        watcher = self._watcher()
        if self._met is not None and watcher is not None:
            watcher.keep_only(self._met)
        self._met = None

    def note_folder(self, folder: str) -> None:
        """Ask for a folder to be listed again, if it matters."""
        if self.wants(folder) or folder in self._folders or folder in self.held:
            self._work.add(ListFolder(folder))

    def retry_held(self) -> None:
        """Look again at what could not be read."""
        for folder in self.held:
            self._work.add(ListFolder(folder))
        for path in self._mirror.held:
            self._work.add(LookAt(path))

    def do(self, work: Work) -> None:
        """Do one piece of listing."""
        if isinstance(work, ListFolder):
            self._list(work.folder)
        elif isinstance(work, TakeEntries):
            self._take(work)
        elif isinstance(work, FinishFolder):
            self._finish(work)

    def _list(self, folder: str) -> None:
        if not self.wants(folder) and folder not in self._folders:
            return
        watcher = self._watcher()
        try:
            if watcher is not None:
                watcher.enter(folder)
            listing = self._disk.list_folder(folder)
        except (FileNotFoundError, NotADirectoryError):
            self._missing(folder)
            return
        except PermissionError as error:
            self._hold(folder, "unreadable-folder", f"the folder {folder or '.'} cannot be read: {error.strerror}")
            return
        self.held.pop(folder, None)
        self._folders[folder] = (listing.dev, listing.ino)
        if self._met is not None:
            self._met.add(folder)
        chunks = [listing.entries[at : at + _CHUNK] for at in range(0, len(listing.entries), _CHUNK)]
        works: list[Work] = [TakeEntries(folder, chunk) for chunk in chunks]
        self._work.expand([*works, FinishFolder(folder, frozenset(entry.name for entry in listing.entries))])

    def _take(self, work: TakeEntries) -> None:
        works: list[Work] = []
        for entry in work.entries:
            path = f"{work.folder}/{entry.name}" if work.folder else entry.name
            found = self._work_for(entry, path)
            if found is not None:
                works.append(found)
        self._work.expand(works)

    def _work_for(self, entry: Entry, path: str) -> Work | None:
        kind: Kind | Literal["file", "folder", "no"] = entry.kind
        if entry.kind == Kind.LINK:
            kind = self._link(path)
        if kind in (Kind.FOLDER, "folder"):
            if not self.wants(path):
                return None
            self._subfolders[path.rpartition("/")[0]].add(path)
            return ListFolder(path)
        return LookAt(path, scanned=True) if kind != "no" and self.is_ours(path) else None

    def _link(self, path: str) -> Literal["file", "folder", "no"]:
        if self._layout.classify(path).kind == "ignored":
            return "no"
        inside = self._links.inside(path)
        served = inside is not None and self._serves(inside)
        found = self._links.resolve(path, served_itself=served)
        self.problems.pop(path, None)
        if found.problem is not None:
            self.problems[path] = found.problem
        watcher = self._watcher()
        if found.follow == "file":
            self._mirror.through[path] = found.inside
            if watcher is not None:
                watcher.follow(path, found.inside)
        else:
            self._mirror.through.pop(path, None)
        return found.follow

    def _serves(self, inside: str) -> bool:
        return self._layout.classify(inside).kind in ("wiki", "diary") or (
            self._layout.classify(f"{inside}/{_PROBE}").kind in ("wiki", "diary")
        )

    def _finish(self, work: FinishFolder) -> None:
        known = self._mirror.by_folder.get(work.folder, set())
        prefix = f"{work.folder}/" if work.folder else ""
        gone: list[Work] = [LookAt(path) for path in sorted(known) if path[len(prefix) :] not in work.names]
        subs = sorted(self._subfolders.get(work.folder, set()))
        # A top folder may be known from an earlier process only, and not even be there.
        tops = [top for top in self.tops if top and top.rpartition("/")[0] == work.folder]
        missing = dict.fromkeys(one for one in (*subs, *tops) if one[len(prefix) :] not in work.names)
        gone += [ListFolder(folder) for folder in missing]
        self._work.expand(gone)

    def _missing(self, folder: str) -> None:
        if folder == "" or folder in self.tops:
            if any(True for _ in self._mirror.below(folder)):
                self._hold(folder, "missing-folder", f"the folder {folder or '.'} is missing")
            return
        self.held.pop(folder, None)
        self._folders.pop(folder, None)
        self._subfolders[folder.rpartition("/")[0]].discard(folder)
        subs: list[Work] = [ListFolder(sub) for sub in sorted(self._subfolders.pop(folder, set()))]
        looks: list[Work] = [LookAt(path) for path in sorted(self._mirror.by_folder.get(folder, set()))]
        self._work.expand([*looks, *subs])

    def _hold(self, folder: str, code: str, detail: str) -> None:
        if folder not in self.held:
            _log.warning("%s; what was known there is kept", detail)
        self.held[folder] = Degraded(code, f"{detail}; what was known there is kept", "put it back or make it readable")


def _plain(folder: str) -> str:
    return "/".join(part for part in folder.split("/") if part not in ("", "."))
