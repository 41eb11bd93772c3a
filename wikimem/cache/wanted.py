"""Which vectors a vault wants: the content hashes of its items, page by page, in document order."""

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from wikimem.cache.files import key_line
from wikimem.pages.items import RecallItem
from wikimem.pages.page import Page


@dataclass(frozen=True, slots=True)
class PageKeys:
    """A page as it was last seen, with the hash and the encoded key line of each of its items."""

    page: Page
    hashes: tuple[str, ...]
    lines: tuple[bytes, ...]


def keys_of(page: Page) -> PageKeys:
    """Return a page's keys. Encoding every line anew at each commit would take fifteen times as long as joining."""
    hashes = tuple(sys.intern(item.hash) for item in page.items)
    lines = tuple(
        key_line(item.category, item.name, one) for item, one in zip(page.items, hashes, strict=True)
    )  # fmt: skip
    return PageKeys(page, hashes, lines)


class Wanted:
    """The hashes that some pages want. A page that is the same object as before costs one comparison."""

    def __init__(self) -> None:
        self._pages: dict[str, PageKeys] = {}
        self._order: list[str] | None = None
        self._taken = False
        self.counts: Counter[str] = Counter()

    def differs(self, pages: Collection[Page]) -> bool:
        """Say whether `pages` are other ones than those that were last taken."""
        return not self._taken or len(pages) != len(self._pages) or any(True for _ in self.unseen(pages))

    def follow(self, pages: Iterable[Page]) -> tuple[dict[str, RecallItem], set[str]]:
        """Take all pages as they are now; return the items of new hashes, and the hashes that nothing wants now."""
        self._taken = True
        now = {page.path: page for page in pages}
        fresh: dict[str, RecallItem] = {}
        gone: set[str] = set()
        for path in [path for path in self._pages if path not in now]:
            self._drop(self._pages.pop(path), gone)
            self._order = None
        for path, page in now.items():
            before = self._pages.get(path)
            if before is not None and before.page is page:
                continue
            keys = keys_of(page)
            for one, item in zip(keys.hashes, page.items, strict=True):
                if not self.counts[one]:
                    fresh[one] = item
                self.counts[one] += 1
            if before is not None:
                self._drop(before, gone)
            else:
                self._order = None
            self._pages[path] = keys
        gone = {one for one in gone if one not in self.counts}
        return {one: item for one, item in fresh.items() if one in self.counts}, gone

    def unseen(self, pages: Iterable[Page]) -> Iterator[Page]:
        """Yield the pages that are not as they were last taken."""
        known = self._pages
        for page in pages:
            seen = known.get(page.path)
            if seen is None or seen.page is not page:
                yield page

    def items(self) -> dict[str, RecallItem]:
        """Return an item for each hash."""
        return {
            one: item
            for keys in self._pages.values()
            for one, item in zip(keys.hashes, keys.page.items, strict=True)
        }  # fmt: skip

    def keys(self) -> Iterator[tuple[str, bytes]]:
        """Yield hash and key line of every item in document order: by path, then as in the page."""
        if self._order is None:
            self._order = sorted(self._pages)
        for path in self._order:
            keys = self._pages[path]
            yield from zip(keys.hashes, keys.lines, strict=True)

    def _drop(self, keys: PageKeys, gone: set[str]) -> None:
        for one in keys.hashes:
            self.counts[one] -= 1
            if not self.counts[one]:
                del self.counts[one]
                gone.add(one)


class Days:
    """The diary's days. Only those that hold vectors, or that a question reached, are ever looked into."""

    def __init__(self) -> None:
        self._pages: Mapping[str, list[Page]] = {}
        self._keys: dict[str, PageKeys] = {}
        self.touched: set[str] = set()

    def follow(self, pages: Iterable[Page]) -> bool:
        """Take all days as they are now; say whether one that is looked into has changed."""
        found: dict[str, list[Page]] = {}
        for page in pages:
            found.setdefault(page.category, []).append(page)
        before, self._pages = self._pages, found
        return any(_other(before.get(day, []), found.get(day, [])) for day in self.touched)

    def reach(self, start: str, end: str) -> list[RecallItem]:
        """Return the entries of an inclusive window of days; they are looked into from now on."""
        days = sorted(day for day in self._pages if start <= day <= end)
        self.touched.update(days)
        return [item for day in days for page in self._pages[day] for item in page.items]

    def keys(self) -> Iterator[tuple[str, bytes]]:
        """Yield hash and key line of every entry of the days that are looked into, oldest first."""
        for day in sorted(self.touched):
            for page in self._pages.get(day, []):
                keys = self._keys.get(page.path)
                if keys is None or keys.page is not page:
                    keys = self._keys[page.path] = keys_of(page)
                yield from zip(keys.hashes, keys.lines, strict=True)


def _other(before: list[Page], after: list[Page]) -> bool:
    return len(before) != len(after) or any(a is not b for a, b in zip(before, after, strict=True))
