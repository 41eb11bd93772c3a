"""Indexes from the text of files, for the tests of search."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any

from wikimem.pages.items import RecallItem
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.pages.reading import read_page
from wikimem.search.index import MemoryIndex
from wikimem.search.results import RetrievalResult

TODAY = date(2026, 7, 22)  # a Wednesday


def page(path: str, text: str) -> Page:
    return read_page(path, text.encode("utf-8", "surrogateescape"), Layout())


def wiki(category: str, items: Mapping[str, str]) -> Page:
    """Return a page with one item a name."""
    return page(f"wiki/{category}.md", "".join(f"## {name}\n\n{text}\n\n" for name, text in items.items()))


def diary(day: str, entries: Iterable[tuple[str, str]]) -> Page:
    return page(f"diary/{day}.md", "".join(f"## {time}\n\n{text}\n\n" for time, text in entries))


class Pages:
    """Pages in memory as the source of an index; `put` and `drop` are the writes of this process."""

    def __init__(self, pages: Iterable[Page] = ()) -> None:
        self._pages = {one.path: one for one in pages}
        self._changes: list[str] = []
        self.forgetful = False

    @property
    def revision(self) -> int:
        return len(self._changes)

    def pages(self) -> list[Page]:
        return list(self._pages.values())

    def changed_since(self, revision: int) -> list[str] | None:
        return None if self.forgetful else self._changes[revision:]

    def read_page(self, path: str) -> Page | None:
        return self._pages.get(path)

    def put(self, one: Page) -> None:
        self._pages[one.path] = one
        self._changes.append(one.path)

    def drop(self, path: str) -> None:
        del self._pages[path]
        self._changes.append(path)


def index_of(*pages: Page, today: Callable[[], date] = lambda: TODAY, **options: Any) -> MemoryIndex:
    return MemoryIndex(Pages(pages), today=today, **options)


def addresses(result: RetrievalResult) -> list[str]:
    return [entry.item.address for entry in result.items]


def found(text: str, query: str, **options: Any) -> bool:
    """Whether a query finds an item that holds this text, among others that share nothing with it."""
    others = {"one": "zzqx yyvk", "two": "wwpl qqmn"}
    index = index_of(wiki("c", {"it": text, **others}))
    return "c:it" in addresses(index.retrieve(query, **options))


def items_of(index: MemoryIndex) -> list[RecallItem]:
    return [item for one in index.pages.values() for item in one.items]
