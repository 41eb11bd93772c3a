"""The index in memory: what a vault's pages hold, searchable right after every edit."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, tzinfo
from threading import RLock
from types import MappingProxyType
from typing import Protocol

from wikimem.pages.items import RecallItem
from wikimem.pages.page import Page
from wikimem.search.build import Builder, InlineBuilder
from wikimem.search.corpus import MergePolicy
from wikimem.search.expansion import policy
from wikimem.search.fusion import rule
from wikimem.search.graph import LinkGraph
from wikimem.search.likeness import Likeness
from wikimem.search.mapped import give_back
from wikimem.search.prepared import Prepared
from wikimem.search.ranking import Temperature
from wikimem.search.request import Moment, TimeRange, check
from wikimem.search.results import Degraded, PageDelta, RetrievalResult, RetrievalSettings
from wikimem.search.retrieval import Sources, answer
from wikimem.search.shelf import Shelf
from wikimem.search.vectors import Embedder, Vector, VectorIndex


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


class MemoryIndex:
    """Every item of a vault: ranked by BM25 (and vectors), expanded by links, gated by time.

    It builds itself from `source` and, before every answer, reads again what `source` says has changed. A source that
    never has anything to say leaves the feeding to `replace_page` and `remove_page`. Safe for threads: one lock, held
    for the length of a query or an edit; a merge or build holds it only to begin and to end.

    `now` gives the moment (UTC); `today`, where given, the day, whatever the caller's zone. `inline_merges` False:
    `retrieve` never merges, the owner calls `merge` in a worker thread while `merge_due()`.
    """

    def __init__(
        self,
        source: PageSource,
        *,
        embedder: Embedder | None = None,
        vectors: VectorIndex | None = None,
        settings: RetrievalSettings | None = None,
        today: Callable[[], date] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        temperature: Temperature | None = None,
        merging: MergePolicy | None = None,
        inline_merges: bool = True,
    ) -> None:
        self.graph = LinkGraph()
        self.settings = settings or RetrievalSettings()
        self.temperature = temperature
        self.inline_merges = inline_merges
        self._source = source
        self._today = today
        self._now = now
        self._policy = merging
        self._lock = RLock()
        self._pages: dict[str, Page] = {}
        self._wiki, self._diary = Shelf(merging), Shelf(merging)
        self._likeness = Likeness(embedder, vectors)
        self._revision = -1
        self._page_changes = 0
        self.rebuild()

    # ------------------------------------------------------------------ pages

    @property
    def settings(self) -> RetrievalSettings:
        """How answers are ranked and cut. Setting it raises `InvalidInput` for a rule or policy that does not exist."""
        return self._settings

    @settings.setter
    def settings(self, settings: RetrievalSettings) -> None:
        rule(settings.fusion)
        policy(settings.link_policy)
        self._settings = settings

    @property
    def pages(self) -> Mapping[str, Page]:
        """Every page by its path."""
        return MappingProxyType(self._pages)

    @property
    def page_changes(self) -> int:
        """A number that is another one after every change of a page: what was put together from all of them is old."""
        return self._page_changes

    @property
    def item_count(self) -> int:
        """How many items there are, diary entries included."""
        return len(self._wiki) + len(self._diary)

    def rebuild(self, builder: Builder | None = None) -> None:
        """Read every page again and build the arrays anew; the answers in between are the old ones."""
        revision = self._source.revision
        pages = list(self._source.pages())
        wiki, diary = Shelf(self._policy), Shelf(self._policy)
        for shelf, kind in ((wiki, "wiki"), (diary, "diary")):
            shelf.reserve([page for page in pages if page.kind == kind])
            job = shelf.begin_build()
            shelf.corpus.finish_build(job, (builder or InlineBuilder()).build(job))
        with self._lock:
            self.graph.clear()
            for page in pages:
                self.graph.replace_page(page)
            self._pages = {page.path: page for page in pages}
            self._page_changes += 1
            self._wiki, self._diary = wiki, diary
            self._likeness = Likeness(self._likeness.embedder, self._likeness.vectors)
            self._revision = revision

    def replace_page(self, page: Page, prepared: Prepared | None = None) -> PageDelta:
        """Take a page as it is now; its items are searchable when this returns."""
        with self._lock:
            before = self._pages.get(page.path)
            if before is not None and before.kind != page.kind:
                self.remove_page(page.path)
                before = None
            shelf = self._shelf(page)
            self._pages[page.path] = page
            self._page_changes += 1
            delta = shelf.replace(before, page, prepared)
            self.graph.replace_page(page, before)
            return delta

    def remove_page(self, path: str) -> PageDelta:
        """Forget a page."""
        with self._lock:
            page = self._pages.pop(path, None)
            self._page_changes += 1
            if page is None:
                return PageDelta()
            self.graph.remove_page(path)
            return self._shelf(page).remove(page)

    # ---------------------------------------------------------------- look-up

    def get(self, address: str) -> RecallItem | None:
        """Return an item by its address: exact, else the one that matches under NFC and collapsed white space."""
        category, colon, rest = address.partition(":")
        if not colon:
            return None
        with self._lock:
            self._refresh()
            for shelf in self._shelves:
                slot = shelf.find(category, rest)
                if slot is not None:
                    return shelf.rows.item(slot)
        return None

    def items(self, category: str | None = None) -> list[RecallItem]:
        """Return the wiki's items page by page, or those of one category; of a day its entries."""
        with self._lock:
            self._refresh()
            if category is None:
                paths = sorted(path for path, page in self._pages.items() if page.kind == "wiki")
            else:
                paths = sorted([*self._wiki.paths(category), *self._diary.paths(category)])
            return [item for path in paths for item in self._pages[path].items]

    def categories(self) -> list[tuple[str, int]]:
        """Return every wiki category with the number of its items."""
        with self._lock:
            self._refresh()
            return sorted((page.category, len(page.items)) for page in self._pages.values() if page.kind == "wiki")

    # --------------------------------------------------------------- retrieve

    def retrieve(  # noqa: PLR0917 - the order of the format's origin, which callers pass by place
        self,
        query: str,
        limit: int = 10,
        budget_tokens: int | None = None,
        expand_links: bool = True,
        explain: bool = False,
        time_range: TimeRange | None = None,
        tz: str | None = None,
        *,
        category: str | None = None,
        owner: str | None = None,
        tag: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        query_vector: Vector | Degraded | None = None,
    ) -> RetrievalResult:
        """Answer a query. Raises `InvalidInput` for an argument that cannot be taken, nothing else.

        `limit` counts hits before links are added. `time_range` is an inclusive pair of days (ISO text or dates);
        `tz` names the zone that "yesterday" is meant in. `category` is a glob, `tag` covers nested tags, `since` and
        `until` bound an item's `ts`. `query_vector` spares the embedder: the vector, or why there is none.
        """
        request = check(
            query, limit, budget_tokens, time_range, tz, expand_links=expand_links, explain=explain, category=category,
            owner=owner, tag=tag, since=since, until=until,
        )  # fmt: skip
        vector = query_vector
        if vector is None and self._likeness.there and query.strip():
            # Outside the lock: an embedder may take its whole deadline.
            vector = self._likeness.query_vector(query)
        with self._lock:
            self._refresh()
            if self.inline_merges:
                self.merge()
            sources = Sources(
                self._wiki, self._diary, self.graph, self._likeness, self.settings, self._day, self.temperature
            )
            return answer(sources, request, vector)

    def prime(self, most: int) -> bool:
        """Look up the vectors of at most `most` items that are not known yet; say whether some are left.

        A query does all that is left: a hash for every item of a large vault, once.
        """
        with self._lock:
            return self._likeness.prime(self._shelves, most)

    # ----------------------------------------------------------------- merges

    def merge_due(self) -> bool:
        """Whether enough has changed for a merge to be worth its work."""
        return self._wiki.corpus.merge_due() or self._diary.corpus.merge_due()

    @property
    def unmerged(self) -> int:
        """How many rows were added or removed since the last merge."""
        return self._wiki.corpus.pending + self._diary.corpus.pending

    def merge(self, builder: Builder | None = None, *, settled: bool = False) -> bool:
        """Merge what is due (with `settled` everything that is newer) and say whether there was anything.

        Without a builder it works here and now. With one it is meant for a worker thread: queries and edits go on
        while the builder computes.
        """
        worked = [self._merge(shelf, builder or InlineBuilder(), settled=settled) for shelf in self._shelves]
        if builder is not None and any(worked):
            give_back()
        return any(worked)

    def rebuild_arrays(self, builder: Builder) -> None:
        """Build both corpora anew from the texts in memory, with a vocabulary of only what is used.

        Meant for a worker thread: queries and edits go on while it computes, and what they change is kept.
        """
        for shelf in self._shelves:
            self._build(shelf, builder)
        give_back()

    def _merge(self, shelf: Shelf, builder: Builder, *, settled: bool) -> bool:
        corpus = shelf.corpus
        with self._lock:
            if corpus.busy or not (corpus.pending if settled else corpus.merge_due()):
                return False
            job = None if corpus.sparse else corpus.begin_merge()
        if job is None:
            self._build(shelf, builder)
            return True
        try:
            merged = builder.merge(job)
        except BaseException:
            with self._lock:
                corpus.abandon()
            raise
        with self._lock:
            corpus.finish_merge(job, merged)
        return True

    def _build(self, shelf: Shelf, builder: Builder) -> None:
        with self._lock:
            if shelf.corpus.busy:
                return
            job = shelf.begin_build()
        try:
            built = builder.build(job)
        except BaseException:
            with self._lock:
                shelf.corpus.abandon()
            raise
        with self._lock:
            shelf.corpus.finish_build(job, built)

    # ---------------------------------------------------------------- private

    @property
    def _shelves(self) -> tuple[Shelf, Shelf]:
        return self._wiki, self._diary

    def _shelf(self, page: Page) -> Shelf:
        return self._wiki if page.kind == "wiki" else self._diary

    def _day(self, zone: tzinfo | None) -> date:
        if self._today is not None:
            return self._today()
        # `astimezone(None)` is the host's zone, with the daylight saving of that moment.
        return self._now().astimezone(zone).date()

    def _refresh(self) -> None:
        """Read again what the source has written since the last look."""
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
