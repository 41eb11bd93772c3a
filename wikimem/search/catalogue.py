"""What a link can lead to: every file, item, heading and block of the vault, found by the name that a link uses.

The catalogue also says, when a page changes, which *keys* changed: a key names one thing that a resolution looked up,
so that only the edges that looked it up are resolved again.
"""

import posixpath
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from wikimem.pages.page import Page, PageHeading
from wikimem.search.multimap import Multimap
from wikimem.text.names import fold_heading, fold_name

Key = str


def file_key(name: str) -> Key:
    """Return the key of all files of one folded file name."""
    return f"f{name}"


def item_key(category: str, name: str) -> Key:
    """Return the key of the items of one folded category and folded name."""
    return f"i{category}:{name}"


def label_key(name: str) -> Key:
    """Return the key of all items of one folded name, and of the aliases that read so."""
    return f"l{name}"


def anchor_key(path: str, anchor: str) -> Key:
    """Return the key of a page's headings, or block (`^id`), of one folded text."""
    return f"a{path}#{anchor}"


def outline_key(path: str) -> Key:
    """Return the key of a page's whole outline, which nested headings depend on."""
    return f"o{path}"


def fold_path(path: str) -> str:
    """Return the form in which Obsidian compares paths: NFC, no-break spaces as spaces, lower case (ß stays ß)."""
    return unicodedata.normalize("NFC", path).replace("\u00a0", " ").lower()


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of an outline: its level, its text as anchors are compared, and the item that it lies in, if any."""

    level: int
    anchor: str
    item: str | None


@dataclass(frozen=True, slots=True)
class Outline:
    """What one page offers to links.

    `file_name` is folded, its extension included. `names` has the addresses of the served items by folded name (a
    diary entry's also with `#2`), `blocks` an item's address by block id, `title_item` the item that stands for the
    whole note: its prose above the first heading.
    """

    path: str
    folded_path: str
    file_name: str
    category: str
    folded_category: str
    is_day: bool
    names: dict[str, tuple[str, ...]]
    headings: tuple[Heading, ...]
    blocks: dict[str, str]
    aliases: tuple[str, ...]
    title_item: str | None

    def provides(self) -> Iterator[tuple[Key, object]]:
        """Yield every key that this page has a say in, with what it says."""
        yield file_key(self.file_name), self.path
        for name, addresses in self.names.items():
            yield item_key(self.folded_category, name), addresses
            if not self.is_day:
                yield label_key(name), addresses
        for alias in self.aliases:
            yield label_key(alias), self.title_item
        by_anchor: dict[str, list[Heading]] = {}
        for heading in self.headings:
            by_anchor.setdefault(heading.anchor, []).append(heading)
        for anchor, headings in by_anchor.items():
            yield anchor_key(self.path, anchor), tuple(headings)
        for block, address in self.blocks.items():
            yield anchor_key(self.path, f"^{block}"), address
        yield outline_key(self.path), self.headings


def outline_of(page: Page) -> Outline:
    """Return what a page offers to links."""
    # One string for all that reads alike: every item of the vault has an address, a name and a heading here.
    known = {heading.item: heading.item for heading in page.headings}
    names: dict[str, tuple[str, ...]] = {}
    for item in page.items:
        name = _one_of(fold_name(item.name), item.name)
        if item.ordinal > 1:
            name = f"{name}#{item.ordinal}"
        names[name] = (*names.get(name, ()), known.get(item.address) or item.address)
    titles = _title_items(page)
    folded_path = fold_path(page.path)
    return Outline(
        path=page.path,
        folded_path=folded_path,
        file_name=posixpath.basename(folded_path),
        category=page.category,
        folded_category=fold_name(page.category),
        is_day=page.kind == "diary",
        names=names,
        headings=tuple(_heading(heading, names) for heading in page.headings),
        blocks={block.lower(): address for block, address in reversed(page.blocks)},
        aliases=tuple(dict.fromkeys(fold_name(alias) for alias in page.aliases)),
        title_item=titles[0] if titles else None,
    )


def _title_items(page: Page) -> list[str]:
    """Return the items that stand for the whole note: those that no heading of their own begins."""
    if page.kind != "wiki":
        return []
    heading_lines = {heading.line for heading in page.headings if heading.level == 2}
    return [item.address for item in page.items if item.line not in heading_lines]


def _offer_the_same(one: Page, other: Page) -> bool:
    """Tell whether two states of a page surely have the same outline."""
    return (
        (one.path, one.kind, one.category, one.aliases, one.blocks)
        == (other.path, other.kind, other.category, other.aliases, other.blocks)
        and [(item.name, item.ordinal) for item in one.items] == [(item.name, item.ordinal) for item in other.items]
        and [(each.text, each.level, each.item) for each in one.headings]
        == [(each.text, each.level, each.item) for each in other.headings]
        and _title_items(one) == _title_items(other)
    )


def _heading(heading: PageHeading, names: dict[str, tuple[str, ...]]) -> Heading:
    item = heading.item
    if item is None and heading.level == 2:
        # Of duplicate names only the last item is served: the earlier headings mean it too.
        item = next(iter(names.get(fold_name(heading.text), ())), None)
    return Heading(heading.level, _one_of(fold_heading(heading.text), heading.text), item)


def _one_of(text: str, same: str) -> str:
    return same if text == same else text


class Catalogue:
    """All outlines, by everything that links call them by."""

    def __init__(self) -> None:
        self._outlines: dict[str, Outline] = {}
        self._paths_by_category: dict[str, str] = {}
        self._categories: Multimap[str] = Multimap()
        self._files: Multimap[str] = Multimap()
        self._labels: Multimap[str] = Multimap()
        self._aliases: Multimap[str] = Multimap()

    def replace(self, page: Page, before: Page | None = None) -> set[Key]:
        """Take a page as it is now; return the keys whose answer may differ from before.

        `before` is the page that was taken last, if the caller has it: mostly only words have changed in it.
        """
        if before is not None and _offer_the_same(before, page):
            return set()
        outline = outline_of(page)
        old = self._outlines.get(page.path)
        if old == outline:
            return set()
        if old is not None:
            self._drop(old)
        self._add(outline)
        return _differences(old, outline)

    def remove(self, path: str) -> set[Key]:
        """Forget a page; return the keys whose answer may differ from before."""
        old = self._outlines.get(path)
        if old is None:
            return set()
        self._drop(old)
        return _differences(old, None)

    def clear(self) -> None:
        """Forget everything."""
        self._outlines.clear()
        self._paths_by_category.clear()
        for index in (self._categories, self._files, self._labels, self._aliases):
            index.clear()

    def outline(self, path: str) -> Outline | None:
        """Return a page's outline."""
        return self._outlines.get(path)

    def outline_of_category(self, category: str) -> Outline | None:
        """Return the outline of the page with exactly this category key."""
        path = self._paths_by_category.get(category)
        return None if path is None else self._outlines[path]

    def files(self, folded_name: str) -> list[Outline]:
        """Return the pages of a folded file name."""
        return [self._outlines[path] for path in self._files.get(folded_name)]

    def items(self, folded_category: str, folded_name: str) -> list[str]:
        """Return the addresses of the items whose category and name fold so."""
        found: list[str] = []
        for path in self._categories.get(folded_category):
            found += self._outlines[path].names.get(folded_name, ())
        return found

    def labelled(self, folded_name: str) -> list[str]:
        """Return the addresses of the wiki items of a folded name, wherever they are."""
        return list(self._labels.get(folded_name))

    def aliased(self, folded_alias: str) -> list[Outline]:
        """Return the pages that have this alias."""
        return [self._outlines[path] for path in self._aliases.get(folded_alias)]

    def _add(self, outline: Outline) -> None:
        path = outline.path
        self._outlines[path] = outline
        self._paths_by_category[outline.category] = path
        self._categories.add(outline.folded_category, path)
        self._files.add(outline.file_name, path)
        for alias in outline.aliases:
            self._aliases.add(alias, path)
        if not outline.is_day:
            for name, addresses in outline.names.items():
                for address in addresses:
                    self._labels.add(name, address)

    def _drop(self, outline: Outline) -> None:
        path = outline.path
        del self._outlines[path]
        if self._paths_by_category.get(outline.category) == path:
            del self._paths_by_category[outline.category]
        self._categories.discard(outline.folded_category, path)
        self._files.discard(outline.file_name, path)
        for alias in outline.aliases:
            self._aliases.discard(alias, path)
        if not outline.is_day:
            for name, addresses in outline.names.items():
                for address in addresses:
                    self._labels.discard(name, address)


def _differences(old: Outline | None, new: Outline | None) -> set[Key]:
    before = set(old.provides()) if old is not None else set()
    after = set(new.provides()) if new is not None else set()
    return {key for key, _ in before ^ after}
