"""Files that went while the removal of what they held is not told yet: until then they can be taken back whole.

git takes a note away before it writes a conflict into it, editors before they write it anew, and `rm -r` takes the
notes before the folder. What follows shows that nothing was deleted, so the last good text answers again.
"""

from dataclasses import dataclass, field, replace

from wikimem.pages.page import Page
from wikimem.store.manifest import FileEntry


@dataclass(frozen=True, slots=True)
class Departed:
    """What a file was when it went. `page` None: it was not in the index, the manifest has its bytes."""

    entry: FileEntry
    page: Page | None
    waiting: set[str] = field(default_factory=set)

    @property
    def left(self) -> FileEntry:
        """The entry, with the ids of those items that are neither told as removed nor found elsewhere."""
        return replace(self.entry, ids=tuple(one for one in self.entry.ids if one[2] in self.waiting))


class Departures:
    """Who went, by path. A file's row in the manifest is kept as long as it is here, for the next process."""

    def __init__(self) -> None:
        self._files: dict[str, Departed] = {}
        self._path_of: dict[str, str] = {}
        self._fewer: set[str] = set()

    def entry(self, path: str) -> FileEntry | None:
        """Return what a file was when it went, None when it has not gone."""
        found = self._files.get(path)
        return found.entry if found is not None else None

    def went(self, file: Departed, item_id: str) -> None:
        """Note that an item went with its file."""
        self._files.setdefault(file.entry.path, file).waiting.add(item_id)
        self._path_of[item_id] = file.entry.path

    def end(self, item_id: str) -> None:
        """Note that an item's wait ended: it is told as removed, or was found elsewhere."""
        path = self._path_of.pop(item_id, None)
        if path is not None:
            self._files[path].waiting.discard(item_id)
            self._fewer.add(path)

    def take(self, path: str) -> Departed | None:
        """Return a file and forget that it went."""
        file = self._files.pop(path, None)
        self._fewer.discard(path)
        for item_id in file.waiting if file is not None else ():
            del self._path_of[item_id]
        return file

    def below(self, folder: str) -> list[str]:
        """Return the paths of those that lay below a folder."""
        prefix = f"{folder}/" if folder else ""
        return [path for path in self._files if path.startswith(prefix)]

    def take_fewer(self) -> list[FileEntry]:
        """Return what is left of the files whose items became fewer since the last call. Without any, it is over."""
        fewer, self._fewer = self._fewer, set()
        left = [self._files[path].left for path in fewer]
        for entry in left:
            if not entry.ids:
                del self._files[entry.path]
        return left
