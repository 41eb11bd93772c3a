"""Following the disk without a watcher: compare every file's stamp, read again what changed."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from wikimem.api.protocol import DegradedPart
from wikimem.pages.layout import PAGE_KINDS
from wikimem.pages.page import Page
from wikimem.pages.reading import read_page
from wikimem.search.index import MemoryIndex
from wikimem.store.relations import RelationsFile
from wikimem.store.stamps import Stamp, stamp_is_racy
from wikimem.store.vault import MemoryStore
from wikimem.store.vaultpages import check_root
from wikimem.store.walking import WalkFault


class NoPages:
    """The source of an index that is fed by a scanner: it never has anything to say by itself."""

    revision = 0

    def pages(self) -> Iterable[Page]:
        """Return nothing."""
        return ()

    def changed_since(self, _: int) -> list[str]:
        """Return nothing."""
        return []

    def read_page(self, _: str) -> Page | None:
        """Return nothing."""
        return None


@dataclass(slots=True)
class Scanner:
    """Keeps an index in step with a store, whenever it is asked to.

    A stamp that is racy (the file changed within two seconds before it was read) proves nothing, so such a file is
    read again the next time. What cannot be looked at keeps its last good answers, and is named.
    """

    store: MemoryStore
    index: MemoryIndex
    relations: RelationsFile
    _known: dict[str, Stamp | None] = field(default_factory=dict)

    def scan(self) -> list[DegradedPart]:
        """Bring the index up to date; return what could not be looked at. Raises VaultError without a vault."""
        check_root(self.store.root)
        unread: dict[str, DegradedPart] = {}
        seen: set[str] = set()

        def report(fault: WalkFault) -> None:
            if fault.error is not None:
                unread[fault.path] = _part(fault.path, fault.error)

        for path, stamp in list(self.store.disk.walk(report=report, is_read=self.store.layout.reads)):
            if self.store.layout.classify(path).kind in PAGE_KINDS:
                seen.add(path)
                if self._known.get(path) == stamp:
                    continue
                if stamp.size > self.store.layout.max_file_bytes:
                    # As the daemon does: what is too large to be read is not served, and `problems()` names it.
                    self.index.remove_page(path)
                    self._known[path] = stamp
                else:
                    self._read(path, seen, unread)
        for path in [path for path in self._known if path not in seen and not _lies_in(path, unread)]:
            del self._known[path]
            self.index.remove_page(path)
        self.index.graph.set_relations(self.relations.read())
        return list(unread.values())

    def _read(self, path: str, seen: set[str], unread: dict[str, DegradedPart]) -> None:
        try:
            read = self.store.disk.read(path)
        except FileNotFoundError:
            seen.discard(path)
        except OSError as error:
            unread[path] = _part(path, error)
        else:
            self.index.replace_page(read_page(path, read.data, self.store.layout))
            self._known[path] = None if stamp_is_racy(read.stamp, read.read_at_ns) else read.stamp


def _part(path: str, error: OSError) -> DegradedPart:
    what = path or "The vault"
    return {
        "code": "unreadable",
        "detail": f"{what} cannot be read: {error.strerror}",
        "hint": "Check its permissions.",
    }


def _lies_in(path: str, places: Iterable[str]) -> bool:
    return any(place in ("", path) or path.startswith(f"{place}/") for place in places)
