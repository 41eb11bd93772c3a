"""A shelf: the items of one kind (wiki or diary), as rows to score, columns to filter by, and pages to look up."""

from collections.abc import Sequence
from datetime import date
from typing import overload

from wikimem.pages.items import RecallItem
from wikimem.pages.page import Page
from wikimem.search.corpus import BuildJob, Corpus, MergePolicy
from wikimem.search.prepared import Prepared
from wikimem.search.results import PageDelta
from wikimem.search.rows import Rows
from wikimem.text.document import visible_text
from wikimem.text.names import fold_name, is_day


class Shelf:
    """Pages by path, their items by slot. Not safe for threads by itself."""

    def __init__(self, policy: MergePolicy | None = None) -> None:
        self.corpus = Corpus(policy)
        self.rows = Rows()
        # The slots of a page's items by what stands after the colon in their address.
        self._slots: dict[str, dict[str, int]] = {}
        self._paths: dict[str, list[str]] = {}
        self._alike: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return self.corpus.documents

    def replace(self, before: Page | None, page: Page, prepared: Prepared | None = None) -> PageDelta:
        """Take a page as it is now. Rows of items whose words stayed the same are kept."""
        if before is None:
            self._place(page)
        slots = self._slots.setdefault(page.path, {})
        new = {_key(item): item for item in page.items}
        day = _day(page)
        gone = [key for key in slots if key not in new]
        removed = [self.rows.item(slots[key]) for key in gone]
        updated: list[tuple[RecallItem, RecallItem]] = []
        fresh: list[RecallItem] = []
        outdated: list[int] = []
        for key, item in new.items():
            slot = slots.get(key)
            if slot is None:
                fresh.append(item)
                continue
            old = self.rows.item(slot)
            if old == item and old.tags == item.tags:
                self.rows.moved(slot, item)
                continue
            if old != item:
                updated.append((old, item))
            if old.content != item.content:
                outdated.append(slot)
                fresh.append(item)
            else:
                self.rows.put(slot, item, day=day)
        added = tuple(item for item in fresh if _key(item) not in slots)
        self._drop([*(slots.pop(key) for key in gone), *outdated])
        for slot, item in zip(self.corpus.add([text_of(item) for item in fresh], prepared), fresh, strict=True):
            slots[_key(item)] = slot
            self.rows.put(slot, item, day=day)
        return PageDelta(added, tuple(updated), tuple(removed))

    def remove(self, page: Page) -> PageDelta:
        """Forget a page."""
        slots = self._slots.pop(page.path, {})
        removed = tuple(self.rows.item(slot) for slot in slots.values())
        self._drop(list(slots.values()))
        for places, key in ((self._paths, page.category), (self._alike, fold_name(page.category))):
            places[key].remove(page.path)
            if not places[key]:
                del places[key]
        return PageDelta(removed=removed)

    def reserve(self, pages: Sequence[Page]) -> None:
        """Take many pages into an empty shelf; a build makes them searchable."""
        entries = [(page, item) for page in pages for item in page.items]
        slots = self.corpus.reserve(len(entries))
        for page in pages:
            self._place(page)
            self._slots[page.path] = {}
        for slot, (page, item) in zip(slots, entries, strict=True):
            self._slots[page.path][_key(item)] = slot
            day = _day(page)
            self.rows.put(slot, item, day=day)

    def begin_build(self) -> BuildJob:
        """Return a build of all rows that live."""
        slots = [slot for slots in self._slots.values() for slot in slots.values()]
        return self.corpus.begin_build(slots, Texts([self.rows.item(slot) for slot in slots]))

    def find(self, category: str, rest: str) -> int | None:
        """Return the slot of an address: exact, else the one that matches under NFC and collapsed white space."""
        for path in self._paths.get(category, ()):
            slot = self._slots[path].get(rest)
            if slot is not None:
                return slot
        name = fold_name(rest)
        alike = [self._slots[path] for path in self._alike.get(fold_name(category), ())]
        found = [slot for slots in alike for key, slot in slots.items() if fold_name(key) == name]
        return found[0] if len(found) == 1 else None

    def paths(self, category: str) -> list[str]:
        """Return the paths of the pages that have a category key."""
        return self._paths.get(category, [])

    def _place(self, page: Page) -> None:
        self._paths.setdefault(page.category, []).append(page.path)
        self._alike.setdefault(fold_name(page.category), []).append(page.path)

    def _drop(self, slots: list[int]) -> None:
        self.corpus.remove(slots)
        for slot in slots:
            self.rows.clear(slot)


class Texts(Sequence[str]):
    """What is searched of some items, made when it is asked for: all at once it would double the memory."""

    def __init__(self, items: Sequence[RecallItem]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        """Return one text, or some."""
        return text_of(self._items[at]) if isinstance(at, int) else [text_of(item) for item in self._items[at]]


def fresh_texts(page: Page, before: Page | None) -> list[str]:
    """Return the texts that `Shelf.replace` will add, so that they can be prepared."""
    old = {_key(item): item.content for item in before.items} if before is not None else {}
    return [
        text_of(item) for key, item in {_key(item): item for item in page.items}.items() if old.get(key) != item.content
    ]


def text_of(item: RecallItem) -> str:
    """Return what of an item is searched: its name twice and the visible text; of a diary entry only the text."""
    content = visible_text(item.content)
    return content if is_day(item.category) else f"{item.name}\n{item.name}\n{content}"


def _day(page: Page) -> date | None:
    return date.fromisoformat(page.category) if page.kind == "diary" and is_day(page.category) else None


def _key(item: RecallItem) -> str:
    """Return what stands after the colon in an item's address; mostly the name itself, which costs no memory."""
    return item.name if item.ordinal == 1 else item.address[len(item.category) + 1 :]
