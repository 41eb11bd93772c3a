"""A page: what one markdown file of the vault means, as a value."""

from dataclasses import dataclass
from typing import Literal

from wikimem.pages.items import RecallItem
from wikimem.text.links import Link
from wikimem.text.problems import Problem

PageKind = Literal["wiki", "diary"]


@dataclass(frozen=True, slots=True)
class PageHeading:
    """A heading of any level, for Obsidian's `#` links. `item` is the served item's address it lies in, if any.

    `text` is the raw heading text, `level` 1 to 6, `line` 1-based.
    """

    text: str
    level: int
    line: int
    item: str | None


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link in its place. `source` is the address of the item it stands in, None outside any (frontmatter, preamble).

    `line` is the 1-based line in the file. `link` has offsets in the item's content, or in the whole file's text
    when `source` is None.
    """

    source: str | None
    link: Link
    line: int


@dataclass(frozen=True, slots=True)
class Page:
    """One RecallFile as read.

    `path` is vault-relative with `/`, undecodable bytes as surrogates. `category` is the category key, or the day
    `YYYY-MM-DD` of a diary page. `items` are those that are served (of duplicates the last), in document order.
    `blocks` pairs a lower-case block id with the address of the item that holds it. `links` are all that count, in
    document order.
    """

    path: str
    kind: PageKind
    category: str
    items: tuple[RecallItem, ...] = ()
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    headings: tuple[PageHeading, ...] = ()
    blocks: tuple[tuple[str, str], ...] = ()
    links: tuple[PageLink, ...] = ()
    problems: tuple[Problem, ...] = ()
