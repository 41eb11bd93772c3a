"""Whether an item still exists, asked for many addresses of one vault in a row."""

from functools import cached_property, lru_cache

from wikimem.errors import InvalidAddress
from wikimem.pages.page import Page
from wikimem.store.vaultpages import VaultPages, item_named
from wikimem.text.names import fold_name, is_day, parse_address

_PAGES_KEPT = 64


class Living:
    """One survey. The vault is walked once, each file is parsed once as long as its addresses come together."""

    def __init__(self, pages: VaultPages) -> None:
        self._pages = pages
        self._page = lru_cache(maxsize=_PAGES_KEPT)(pages.read)

    def __call__(self, address: str) -> bool:
        """Say whether an item of that address can be read now; what cannot be looked at is not taken for gone."""
        try:
            wanted = parse_address(address)
            page = self._page_of(wanted.category)
        except (InvalidAddress, OSError):
            return True
        if page is None:
            return False
        if is_day(wanted.category):
            return any(item.address == address for item in page.items)
        return item_named(page, wanted.name) is not None

    def _page_of(self, category: str) -> Page | None:
        if is_day(category):
            return self._page(self._pages.layout.diary_path(category))
        path = self._categories.get(fold_name(category))
        return None if path is None else self._page(path)

    @cached_property
    def _categories(self) -> dict[str, str]:
        return {fold_name(category): path for category, path in self._pages.wiki_paths().items()}
