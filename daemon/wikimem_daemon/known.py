"""The known files: what the daemon knows of each, by path and by folder, in step with the index."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from wikimem.store.manifest import FileEntry
from wikimem_daemon.consequences import Ids


class KnownFiles:
    """The entries of the files that are served. `entries` and `by_folder` are for reading."""

    def __init__(self) -> None:
        self.entries: dict[str, FileEntry] = {}
        self.by_folder: dict[str, set[str]] = defaultdict(set)
        self._restamped: set[str] = set()

    def load(self, entries: Iterable[FileEntry]) -> None:
        """Begin with what an earlier process knew."""
        for entry in entries:
            self.put(entry)

    def put(self, entry: FileEntry) -> None:
        """Know a file, or know it as it is now."""
        self.entries[entry.path] = entry
        self.by_folder[entry.path.rpartition("/")[0]].add(entry.path)

    def forget(self, path: str) -> None:
        """Know nothing of a file any more."""
        self.entries.pop(path, None)
        self._restamped.discard(path)
        folder = path.rpartition("/")[0]
        self.by_folder[folder].discard(path)
        if not self.by_folder[folder]:
            del self.by_folder[folder]

    def restamp(self, entry: FileEntry) -> None:
        """Take a known file's entry whose stamp or ids are other ones, for the same bytes."""
        if entry != self.entries[entry.path]:
            self.entries[entry.path] = entry
            self._restamped.add(entry.path)

    def take_restamped(self) -> list[FileEntry]:
        """Return the files whose stamp or ids changed since the last call, while their bytes stayed."""
        restamped, self._restamped = self._restamped, set()
        return [self.entries[path] for path in restamped if path in self.entries]

    def set_ids(self, ids: Mapping[str, Ids]) -> None:
        """Learn which item is which."""
        for path, found in ids.items():
            entry = self.entries.get(path)
            if entry is not None:
                self.entries[path] = replace(entry, ids=found)

    def rename_ids(self, path: str, reborn: Mapping[str, str]) -> None:
        """Give items of a file the ids that they bore elsewhere."""
        entry = self.entries.get(path)
        if entry is not None:
            ids = tuple((name, ordinal, reborn.get(one, one)) for name, ordinal, one in entry.ids)
            self.restamp(replace(entry, ids=ids))

    def doubt_stamps(self) -> None:
        """Let the next comparison read every file: the clock was set, or somebody asks for it."""
        for path, entry in self.entries.items():
            self.entries[path] = replace(entry, settled=False)

    def doubt_all(self) -> None:
        """Let the next look parse every file again: the layout reads it in another way."""
        for path, entry in self.entries.items():
            self.entries[path] = replace(entry, settled=False, hash=b"")

    def has_below(self, folder: str) -> bool:
        """Say whether any file below a folder is known."""
        prefix = f"{folder}/" if folder else ""
        return any(known == folder or known.startswith(prefix) for known in self.by_folder)

    def below(self, folder: str) -> list[str]:
        """Return every known path below a folder."""
        prefix = f"{folder}/" if folder else ""
        return [path for path in self.entries if path.startswith(prefix)]
