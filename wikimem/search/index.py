"""The index in memory: what a vault's pages hold, searchable right after every edit."""

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from wikimem.pages.items import RecallItem
from wikimem.pages.page import Page
from wikimem.search.results import Dropped, PageDelta, RetrievalResult, RetrievalSettings, RetrievedItem
from wikimem.search.tokens import estimate_tokens, terms

if TYPE_CHECKING:
    from wikimem.search.graph import LinkGraph


class PageSource(Protocol):
    """Where pages come from; `MemoryStore` is one."""

    @property
    def revision(self) -> int:
        """The counter that every write of this process raises."""

    def pages(self) -> Iterable[Page]:
        """Return every page of the vault."""

    def changed_since(self, revision: int) -> list[str] | None:
        """Return the paths that changed after `revision`; None: unknown, read everything."""

    def read_page(self, path: str) -> Page | None:
        """Return one page as it is now, None when it is gone."""


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


class MemoryIndex:
    """Every item of a vault, ranked by BM25, expanded by links."""

    def __init__(
        self,
        source: PageSource,
        *,
        embedder: Any = None,
        vectors: Any = None,
        settings: RetrievalSettings | None = None,
        today: Callable[[], date] = date.today,
    ) -> None:
        from wikimem.search.graph import LinkGraph  # noqa: PLC0415

        self.settings = settings or RetrievalSettings()
        self.graph: LinkGraph = LinkGraph()
        self._source = source
        self._today = today
        self._pages: dict[str, Page] = {}
        self._counts: dict[str, Counter[str]] = {}
        self._items: dict[str, RecallItem] = {}
        self._revision = -1
        self.rebuild()

    @property
    def pages(self) -> Mapping[str, Page]:
        """Every page by its path."""
        return MappingProxyType(self._pages)

    @property
    def item_count(self) -> int:
        """How many items there are, diary entries included."""
        return len(self._items)

    def rebuild(self) -> None:
        """Read everything again."""
        self._revision = self._source.revision
        self._pages.clear()
        self._counts.clear()
        self._items.clear()
        self.graph.clear()
        for page in self._source.pages():
            self.replace_page(page)

    def replace_page(self, page: Page) -> PageDelta:
        """Take a page as it is now; its items are searchable when this returns."""
        old = {item.address: item for item in self._pages[page.path].items} if page.path in self._pages else {}
        new = {item.address: item for item in page.items}
        self._pages[page.path] = page
        for address in old.keys() - new.keys():
            self._drop(address)
        for address, item in new.items():
            self._items[address] = item
            if page.kind == "wiki":
                self._counts[address] = Counter(terms(f"{item.name} {item.name} {item.content}"))
        self.graph.replace_page(page)
        return PageDelta(
            added=tuple(item for address, item in new.items() if address not in old),
            updated=tuple((old[a], item) for a, item in new.items() if a in old and old[a] != item),
            removed=tuple(item for address, item in old.items() if address not in new),
        )

    def remove_page(self, path: str) -> PageDelta:
        """Forget a page."""
        page = self._pages.pop(path, None)
        if page is None:
            return PageDelta()
        for item in page.items:
            self._drop(item.address)
        self.graph.remove_page(path)
        return PageDelta(removed=page.items)

    def _drop(self, address: str) -> None:
        self._items.pop(address, None)
        self._counts.pop(address, None)

    def get(self, address: str) -> RecallItem | None:
        """Return an item by its address."""
        exact = self._items.get(address)
        if exact is not None:
            return exact
        folded = _fold(address)
        found = [item for key, item in self._items.items() if _fold(key) == folded]
        return found[0] if len(found) == 1 else None

    def items(self, category: str | None = None) -> list[RecallItem]:
        """Return the wiki items, or those of one category (a day: its entries)."""
        return [
            item
            for page in self._pages.values()
            if (page.kind == "wiki" if category is None else page.category == category)
            for item in page.items
        ]

    def categories(self) -> list[tuple[str, int]]:
        """Return every wiki category with the number of its items."""
        return sorted((page.category, len(page.items)) for page in self._pages.values() if page.kind == "wiki")

    def retrieve(
        self,
        query: str,
        limit: int = 10,
        budget_tokens: int | None = None,
        expand_links: bool = True,
        explain: bool = False,
        time_range: Any = None,
        tz: str | None = None,
        *,
        category: str | None = None,
        owner: str | None = None,
        tag: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> RetrievalResult:
        """Answer a query."""
        self._refresh()
        query_terms = list(dict.fromkeys(terms(query)))
        ranked = self._ranked(query_terms, lambda i: category is None or fnmatchcase(i.category, category))
        sequence = self._expanded(ranked[:limit], query_terms, expand_links)
        used = 0
        kept: list[RetrievedItem] = []
        budget = budget_tokens if budget_tokens is not None else self.settings.budget_tokens
        for entry in sequence:
            if kept and budget is not None and used + entry.tokens_est > budget:
                break
            kept.append(entry)
            used += entry.tokens_est
        dropped = [Dropped(e.item.address, "budget", e.score, e.tokens_est) for e in sequence[len(kept) :]]
        return RetrievalResult(tuple(kept), budget, used, dropped=tuple(dropped) if explain else ())

    def _refresh(self) -> None:
        revision = self._source.revision
        if revision == self._revision:
            return
        changed = self._source.changed_since(self._revision)
        if changed is None:
            self.rebuild()
            return
        for path in changed:
            page = self._source.read_page(path)
            if page is None:
                self.remove_page(path)
            else:
                self.replace_page(page)
        self._revision = revision

    def _ranked(self, query_terms: list[str], keep: Callable[[RecallItem], bool]) -> list[tuple[float, str]]:
        total = len(self._counts) or 1
        average = sum(sum(c.values()) for c in self._counts.values()) / total or 1.0
        scores: Counter[str] = Counter()
        for term in query_terms:
            having = {a: c for a, c in self._counts.items() if term in c}
            idf = math.log(1 + (total - len(having) + 0.5) / (len(having) + 0.5))
            for address, counts in having.items():
                norm = 0.9 * (0.6 + 0.4 * sum(counts.values()) / average)
                scores[address] += idf * counts[term] / (counts[term] + norm)
        return sorted(((s, a) for a, s in scores.items() if keep(self._items[a])), key=lambda e: (-e[0], e[1]))

    def _expanded(self, hits: list[tuple[float, str]], query_terms: list[str], expand: bool) -> list[RetrievedItem]:
        seen: set[str] = set()
        sequence: list[RetrievedItem] = []
        for score, address in hits:
            if address not in seen:
                seen.add(address)
                item = self._items[address]
                matched = tuple(t for t in query_terms if t in self._counts[address])
                tokens = estimate_tokens(item.content)
                sequence.append(RetrievedItem(item, "hit", score, score, None, None, matched, tokens))
            for edge in self.graph.links_from(address) if expand else ():
                target = self._items.get(edge.target)
                if edge.state == "resolved" and target is not None and edge.target not in seen:
                    seen.add(edge.target)
                    tokens = estimate_tokens(target.content)
                    sequence.append(RetrievedItem(target, "link", None, None, None, address, (), tokens))
        return sequence
