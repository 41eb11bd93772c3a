"""The tree: which folders are read, what a listing brings, and which places are missing rather than empty."""

from collections import defaultdict
from collections.abc import Callable

from wikimem.text.problems import Problem
from wikimem_daemon.disk import DiskView, Entry, Kind, Listing
from wikimem_daemon.freshness import Degraded
from wikimem_daemon.mirror import Mirror
from wikimem_daemon.placing import Placing
from wikimem_daemon.symlinks import Symlinks
from wikimem_daemon.watcher import CannotWatch, Watcher
from wikimem_daemon.worklist import FinishFolder, LastGood, ListFolder, LookAt, TakeEntries, Work, WorkList

_CHUNK = 100


class Tree:
    """Lists folders and turns the listings into looks. `watcher` is asked for each time: it may be replaced."""

    def __init__(
        self, mirror: Mirror, disk: DiskView, work: WorkList, placing: Placing, watcher: Callable[[], Watcher | None]
    ) -> None:
        self._mirror = mirror
        self._disk = disk
        self._work = work
        self._placing = placing
        self._watcher = watcher
        self._links = Symlinks(disk, self._is_read_anyway)
        self._folders: dict[str, tuple[int, int]] = {}
        self._subfolders: dict[str, set[str]] = defaultdict(set)
        self._met: set[str] = set()
        self._comparisons = 0
        self.held: dict[str, Degraded] = {}
        self.check_device: Callable[[str], None] = lambda _folder: None
        self._devices: set[int] = set()

    # ----------------------------------------------------------------- rules

    def is_ours(self, path: str) -> bool:
        """Say whether a file's path can matter."""
        return path in self._mirror.known.entries or self._placing.is_ours(path)

    def _is_read_anyway(self, inside: str, kind: Kind) -> bool:
        return self._placing.wants(inside) if kind == Kind.FOLDER else self._placing.is_ours(inside)

    def is_place_gone(self, path: str) -> bool:
        """As in `Surroundings`."""
        if self.held_above(path) is not None or self._identity("") is None:
            return True
        tops = [top for top in self._placing.tops if top and path.startswith(f"{top}/")]
        return any(self._identity(top) is None for top in tops)

    def held_above(self, path: str) -> str | None:
        """Return the folder above a path that is missing or cannot be read, if there is one."""
        if self.held:
            folder = path
            while folder:
                folder = folder.rpartition("/")[0]
                if folder in self.held:
                    return folder
        return None

    def look_again(self, path: str) -> None:
        """As in `Surroundings`."""
        self._work.add(LookAt(path))

    def linked_file(self, path: str) -> bool:
        """As in `Surroundings`."""
        if self._links.resolve(path) != "file":
            return False
        watcher, target = self._watcher(), self._links.target_of(path)
        if watcher is not None and target is not None:
            watcher.follow(path, target)
        return True

    def is_empty_where_it_was_full(self) -> bool:
        """Say whether notes are known and none of their places holds anything."""
        return self._mirror.knew_below("") and not any(self._has_entries(top) for top in self._placing.tops)

    def _has_entries(self, folder: str) -> bool:
        try:
            return bool(self._disk.list_folder(folder).entries)
        except OSError:
            return False

    def _identity(self, folder: str) -> tuple[int, int] | None:
        try:
            return self._disk.identity(folder)
        except OSError:
            return None

    @property
    def folders(self) -> list[str]:
        """The folders that are read."""
        return list(self._folders)

    @property
    def problems(self) -> dict[str, Problem]:
        """The findings about links, by path."""
        return dict(self._links.problems)

    # ------------------------------------------------------- what is asked of it

    def begin_comparison(self) -> None:
        """Everything is about to be listed."""
        self._comparisons += 1
        self._met = set()

    def leftovers(self) -> list[Work]:
        """Return the looks at what is known and lies in folders that no listing met."""
        return [
            LookAt(path)
            for folder, paths in self._mirror.known.by_folder.items()
            if folder not in self._folders and self.held_above(f"{folder}/") is None
            for path in sorted(paths)
        ]

    def end_comparison(self) -> None:
        """Everything was listed: let go of watches on what is no longer there."""
        self._comparisons -= 1
        watcher = self._watcher()
        # While another comparison runs, only that one will know every folder.
        if self._comparisons == 0 and watcher is not None:
            watcher.keep_only(self._met | self.held.keys())

    def note_folder(self, folder: str) -> None:
        """Ask for a folder to be listed again, if it matters."""
        if self._placing.wants(folder) or folder in self._folders or folder in self.held:
            self._work.add(ListFolder(folder))

    def note_path(self, path: str) -> None:
        """Ask for a look at what an event named: a note, or a link that may be a folder."""
        folder = path.rpartition("/")[0]
        if folder in self.held:
            self._work.add(ListFolder(folder))
        if path in self._folders:
            self._work.add(ListFolder(path))
        if self._links.knows(path):
            self._links.resolve(path)
        if self.is_ours(path):
            self._work.add(LookAt(path))
        elif self._placing.is_below_top(path) and self._placing.wants(path) and self._disk.is_link(path):
            self._work.add(TakeEntries(folder, (Entry(path.rpartition("/")[2], Kind.LINK),)))

    def note_places(self) -> None:
        """Ask for every folder to be listed at whose path another one lies now: a mount raises no event there."""
        for folder in {*self._folders, *self.held, *self._placing.tops} - {""}:
            if folder in self.held or self._identity(folder) != self._folders.get(folder):
                self._work.add(ListFolder(folder))

    def retry_held(self) -> None:
        """Look again at what could not be read."""
        for folder in self.held:
            self._work.add(ListFolder(folder))
        for path in self._mirror.held:
            if self.held_above(path) is None:
                self._work.add(LookAt(path))

    # ------------------------------------------------------------------ work

    def do(self, work: Work) -> None:
        """Do one piece of listing."""
        if isinstance(work, ListFolder):
            self._list(work.folder)
        elif isinstance(work, TakeEntries):
            self._take(work)
        elif isinstance(work, FinishFolder):
            self._finish(work)
        elif isinstance(work, LastGood):
            self._mirror.serve_last_good(work.path, patient=True)

    def _list(self, folder: str) -> None:
        if not self._placing.wants(folder):
            if folder in self._folders:
                self._missing(folder)  # another layout does not read it any more
            return
        watcher = self._watcher()
        try:
            if watcher is not None:
                watcher.enter(folder)
            listing = self._disk.list_folder(folder)
            self._meet_device(folder, listing.dev)
        except CannotWatch:
            raise
        except (FileNotFoundError, NotADirectoryError):
            self._missing(folder)
            return
        except OSError as error:
            self._hold(folder, "unreadable-folder", f"the folder {folder or '.'} cannot be read: {error.strerror}")
            return
        if self._is_suddenly_empty(folder, listing):
            self._hold(folder, "empty-folder", f"the folder {folder or '.'} is empty where there were notes")
        elif not self._is_listed_elsewhere(folder, listing):
            self._accept(folder, listing)

    def _meet_device(self, folder: str, device: int) -> None:
        watcher = self._watcher()
        if device not in self._devices and watcher is not None and watcher.exact:
            self.check_device(folder)
            self._devices.add(device)

    def _accept(self, folder: str, listing: Listing) -> None:
        again: list[Work] = []
        if self.held.pop(folder, None) is not None:
            # What was kept below it may lie in folders that no listing knows any more.
            again = [LookAt(path, scanned=True) for path in self._mirror.known.below(folder)]
        self._folders[folder] = (listing.dev, listing.ino)
        self._met.add(folder)
        if folder:
            self._subfolders[folder.rpartition("/")[0]].add(folder)
        chunks = [listing.entries[at : at + _CHUNK] for at in range(0, len(listing.entries), _CHUNK)]
        works: list[Work] = [TakeEntries(folder, chunk) for chunk in chunks]
        finish = FinishFolder(folder, frozenset(entry.name for entry in listing.entries))
        self._work.expand([*works, finish, *again])

    def _is_suddenly_empty(self, folder: str, listing: Listing) -> bool:
        """Say whether another folder lies at this path and is empty: an unmounted disk looks like that."""
        if listing.entries:
            return False
        before, held = self._folders.get(folder), self.held.get(folder)
        # A new file system may get the very numbers of the old one: one that was found empty stays suspicious.
        if before == (listing.dev, listing.ino) and (held is None or held.code != "empty-folder"):
            return False
        if not (self._mirror.knew_below if folder in self._placing.tops else self._mirror.known.has_below)(folder):
            return False
        known = self._mirror.known.below(folder)
        return before is not None or all(self._mirror.known.entries[path].stamp.dev != listing.dev for path in known)

    def _is_listed_elsewhere(self, folder: str, listing: Listing) -> bool:
        if not self._links.is_below_link(folder):
            return False
        itself = (listing.dev, listing.ino)
        return any(known == itself and path != folder for path, known in self._folders.items())

    def _take(self, work: TakeEntries) -> None:
        found = (self._work_for(entry, work.folder) for entry in work.entries)
        self._work.expand([one for one in found if one is not None])

    def _work_for(self, entry: Entry, folder: str) -> Work | None:
        path = f"{folder}/{entry.name}" if folder else entry.name
        kind = entry.kind
        if kind == Kind.LINK and (
            self.is_ours(path) or (self._placing.is_below_top(path) and self._placing.wants(path))
        ):
            follow = self._links.resolve(path)
            kind = Kind.FOLDER if follow == "folder" else Kind.TEXT
        if kind == Kind.FOLDER:
            if not self._placing.wants(path):
                return None
            return ListFolder(path)
        if not self.is_ours(path) or self._mirror.is_settled(path):
            return None  # most of a comparison ends here
        return LookAt(path, scanned=True)

    def _finish(self, work: FinishFolder) -> None:
        prefix = f"{work.folder}/" if work.folder else ""
        known = self._mirror.known.by_folder.get(work.folder, set())
        gone: list[Work] = [LookAt(path) for path in sorted(known) if path[len(prefix) :] not in work.names]
        subs = sorted(self._subfolders.get(work.folder, set()))
        # A top folder may be known from an earlier process only, and not even be there.
        tops = [top for top in self._placing.tops if top and top.rpartition("/")[0] == work.folder]
        missing = dict.fromkeys(one for one in (*subs, *tops) if one[len(prefix) :] not in work.names)
        self._links.prune(work.folder, work.names)
        self._work.expand([*gone, *(ListFolder(folder) for folder in missing)])

    def _missing(self, folder: str) -> None:
        if folder == "" or folder in self._placing.tops:
            if self._mirror.knew_below(folder):
                self._hold(folder, "missing-folder", f"the folder {folder or '.'} is missing")
            else:
                self.held.pop(folder, None)
            return
        self.held.pop(folder, None)
        self._folders.pop(folder, None)
        self._links.forget(folder)
        self._subfolders[folder.rpartition("/")[0]].discard(folder)
        looks: list[Work] = [LookAt(path) for path in sorted(self._mirror.known.by_folder.get(folder, set()))]
        subs: list[Work] = [ListFolder(sub) for sub in sorted(self._subfolders.pop(folder, set()))]
        self._work.expand([*looks, *subs])

    def _hold(self, folder: str, code: str, detail: str) -> None:
        known = self.held.get(folder)
        hint = "put it back, mount it, or make it readable; the daemon goes on by itself"
        self.held[folder] = Degraded(code, f"{detail}; what was known there is kept", hint)
        if known is None:
            self._mirror.take_back_below(folder)
            self._work.expand([LastGood(path) for path in self._mirror.known.below(folder)])
