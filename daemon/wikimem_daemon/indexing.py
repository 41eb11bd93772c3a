"""The search index as the reconciler sees it: pages go in, and nothing else decides what is in it."""

from collections.abc import Mapping
from typing import Protocol

from wikimem.pages.page import Page
from wikimem.search.prepared import Prepared


class Index(Protocol):
    """What the reconciler needs of the index."""

    @property
    def pages(self) -> Mapping[str, Page]:
        """Every page by its path."""

    def replace_page(self, page: Page, prepared: Prepared | None = None) -> object:
        """Take a page as it is now. `prepared`: the terms of what is new in it."""

    def remove_page(self, path: str) -> object:
        """Forget a page."""


class FedPages:
    """The source for a `MemoryIndex` that a reconciler feeds: it never has anything to say by itself."""

    revision = 0

    def pages(self) -> tuple[Page, ...]:
        """Return nothing: pages arrive by `replace_page`."""
        return ()

    def changed_since(self, revision: int) -> list[str]:
        """Return nothing."""
        del revision
        return []

    def read_page(self, path: str) -> Page | None:
        """Return nothing."""
        del path
        return None
