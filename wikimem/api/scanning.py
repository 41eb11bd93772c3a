"""Following the disk without a watcher: compare every file's stamp, read again what changed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from wikimem.api.protocol import DegradedPart
from wikimem.pages.page import Page
from wikimem.pages.reading import read_page
from wikimem.store.files import Stamp, stamp_is_racy
from wikimem.store.vault import MemoryStore


class PageSink(Protocol):
    """What takes pages: the search index."""

    def replace_page(self, page: Page) -> object:
        """Take a page as it is now."""

    def remove_page(self, path: str) -> object:
        """Forget a page."""


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
    read again the next time.
    """

    store: MemoryStore
    index: PageSink
    _known: dict[str, Stamp | None] = field(default_factory=dict)

    def scan(self) -> list[DegradedPart]:
        """Bring the index up to date; return what could not be read (its last good answers stay)."""
        unread: list[DegradedPart] = []
        seen: set[str] = set()
        for path, stamp in list(self.store.disk.walk()):
            if self.store.layout.classify(path).kind not in ("wiki", "diary"):
                continue
            seen.add(path)
            if self._known.get(path) == stamp:
                continue
            try:
                self._read(path)
            except FileNotFoundError:
                seen.discard(path)
            except OSError as error:
                detail = f"{path} cannot be read: {error.strerror}"
                unread.append({"code": "unreadable", "detail": detail, "hint": "Check its permissions."})
        for path in self._known.keys() - seen:
            del self._known[path]
            self.index.remove_page(path)
        return unread

    def _read(self, path: str) -> None:
        read = self.store.disk.read(path)
        self.index.replace_page(read_page(path, read.data, self.store.layout))
        self._known[path] = None if stamp_is_racy(read.stamp, read.read_at_ns) else read.stamp
