"""What a link resolves to: Obsidian's rules for files and `#`, the native address, then labels. Never a guess.

The rules are those that Obsidian's own index follows: names are compared in lower case under NFC, a path also matches
as the end of a longer one, files in the linking note's folder come first, then the shorter path. Where Obsidian
would take whichever file it met first, the link is ambiguous here and both are named.
"""

import posixpath
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from wikimem.search.catalogue import (
    Catalogue,
    Heading,
    Key,
    Outline,
    anchor_key,
    file_key,
    fold_path,
    item_key,
    label_key,
    outline_key,
)
from wikimem.text.links import LinkSyntax
from wikimem.text.names import fold_heading, fold_name

State = Literal["resolved", "unresolved", "ambiguous"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where a target leads.

    Resolved: `address` is the item, or None when it leads to the file as a whole; `file` is its category key (a day
    for a diary page). Unresolved: `file` is set when the file exists and only the heading or block in it does not.
    Ambiguous: `candidates` are item addresses, or category keys where files compete, sorted.
    """

    state: State
    address: str | None = None
    file: str | None = None
    candidates: tuple[str, ...] = ()


_REMEMBERED = 16_384  # targets whose reading is kept: the same few thousand names recur all over a vault

NOWHERE = Resolution("unresolved")

# What Obsidian shows without reading it as a note: links to these are no edges, since no note is meant.
_ATTACHMENT = re.compile(
    r".\.(?:avif|bmp|gif|jpe?g|png|svg|webp|flac|m4a|mp3|ogg|wav|webm|3gp|mkv|mov|mp4|ogv|pdf|canvas|base|css|csv"
    r"|docx?|gz|html?|js|json|pptx?|py|sh|tar|toml|ts|txt|xlsx?|xml|ya?ml|zip)\Z",
    re.IGNORECASE,
)


def is_attachment(target: str) -> bool:
    """Tell whether a target names a file that is no note, by its extension."""
    return _ATTACHMENT.search(target.partition("#")[0].strip()) is not None


class Resolver:
    """Resolves one target at a time and notes every key that it looked up."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._seen: list[Key] = []

    def resolve(self, target: str, syntax: LinkSyntax, source_path: str | None) -> tuple[Resolution, tuple[Key, ...]]:
        """Resolve what a link of that syntax in that page names; return also the keys that the answer depends on."""
        seen: list[Key] = []
        self._seen = seen
        found = _RULES[syntax](self, target, source_path)
        return found, tuple(seen) if len(seen) < 2 else tuple(dict.fromkeys(seen))

    def native(self, target: str, source_path: str | None) -> Resolution:
        """`[[category:name]]`: that item; else a file whose name holds the colon."""
        return _first(self._item(target), lambda: self._file_or_anchor(target, source_path))

    def typed(self, target: str, source_path: str | None) -> Resolution:
        """`[[X]]`: the file X, else the item of that name; an alias never resolves a typed link, as in Obsidian."""
        return _first(self._file_or_anchor(target, source_path), lambda: self._named(target, source_path))

    def obsidian(self, target: str, source_path: str | None) -> Resolution:
        """`[[file#heading]]`, `[[#^block]]`: as Obsidian does."""
        return self._file_or_anchor(target, source_path)

    def markdown(self, target: str, source_path: str | None) -> Resolution:
        """`[text](destination)`: the file, or an address where the destination spells one."""
        return _first(self._file_or_anchor(target, source_path), lambda: self._item(target))

    def label(self, target: str, source_path: str | None) -> Resolution:
        """`<knowledge>`, `relate`, a caller: exact address, item of the same file, the one item, alias, then file."""
        return _first(
            self._item(target),
            lambda: self._named(target, source_path),
            lambda: self._aliased(target),
            lambda: self._file_or_anchor(target, source_path),
        )

    def _item(self, target: str) -> Resolution:
        read = _read_item(target)
        if read is None:
            return NOWHERE
        category, name, key = read
        self._seen.append(key)
        return _one_item(self._catalogue.items(category, name), target)

    def _named(self, target: str, source_path: str | None) -> Resolution:
        name = fold_name(target)
        here = self._catalogue.outline(source_path) if source_path is not None else None
        if here is not None:
            self._seen.append(item_key(fold_name(here.category), name))
            found = _one_item(here.names.get(name, ()), f"{here.category}:{target}")
            if found.state != "unresolved":
                return found
        self._seen.append(label_key(name))
        return _one_item(self._catalogue.labelled(name), target)

    def _aliased(self, target: str) -> Resolution:
        alias = fold_name(target)
        self._seen.append(label_key(alias))
        outlines = self._catalogue.aliased(alias)
        if len(outlines) != 1:
            return _ambiguous(outline.title_item or outline.category for outline in outlines)
        return Resolution("resolved", outlines[0].title_item, outlines[0].category)

    def _file_or_anchor(self, target: str, source_path: str | None) -> Resolution:
        place = _read_place(target)
        outlines = self._files(place, source_path)
        if len(outlines) == 1:
            return self._anchor(outlines[0], place)
        # Files tied: where only some have the heading, telling which is meant would still be a guess.
        found = [self._anchor(outline, place) for outline in outlines]
        return _ambiguous(one.address or one.file or "" for one in found)

    def _files(self, place: "_Place", source_path: str | None) -> list[Outline]:
        """Return the file that a link's path means; several when Obsidian would take whichever it met first."""
        if not place.path:
            here = self._catalogue.outline(source_path) if source_path is not None else None
            return [here] if here is not None else []
        for path, base, key in place.names:
            self._seen.append(key)
            candidates = self._catalogue.files(base)
            if len(candidates) > 1 or base != path:
                candidates = _matching(candidates, path, source_path)
            if candidates:
                return _spelled(candidates, place.path)
        return []

    def _anchor(self, outline: Outline, place: "_Place") -> Resolution:
        if not place.chain:
            return Resolution("resolved", None, outline.category)
        if place.block is not None:
            self._seen.append(anchor_key(outline.path, f"^{place.block}"))
            address = outline.blocks.get(place.block)
            return Resolution("unresolved" if address is None else "resolved", address, outline.category)
        self._seen.append(item_key(outline.folded_category, place.name))
        items = outline.names.get(place.name)
        if items:
            return _one_item(items, f"{outline.category}:{place.anchor}")
        single = len(place.chain) == 1
        self._seen.append(anchor_key(outline.path, place.chain[0]) if single else outline_key(outline.path))
        heading = _find_heading(outline.headings, place.chain)
        if heading is None:
            return Resolution("unresolved", None, outline.category)
        return Resolution("resolved", heading.item, outline.category)


@dataclass(frozen=True, slots=True)
class _Place:
    """A target as Obsidian reads it: `names` are the folded paths to try, each with its file name and that one's key.

    `anchor` is what follows the first `#`, `name` the same as an item's name, `chain` its segments as headings are
    compared, `block` the block id where it is one.
    """

    path: str
    names: tuple[tuple[str, str, Key], ...]
    anchor: str
    name: str
    chain: tuple[str, ...]
    block: str | None


@lru_cache(maxsize=_REMEMBERED)
def _read_place(target: str) -> _Place:
    path, _, anchor = target.partition("#")
    path, anchor = path.strip(), anchor.strip()
    folded = fold_path(path)
    # A name with a dot is tried as it stands first: `a.md`, `v1.2`.
    tried = (folded, f"{folded}.md") if "." in posixpath.basename(folded) else (f"{folded}.md",)
    names = tuple((name, posixpath.basename(name), file_key(posixpath.basename(name))) for name in tried)
    segments = [segment.strip() for segment in anchor.split("#") if segment.strip()]
    block = segments[0][1:].lower() if len(segments) == 1 and segments[0].startswith("^") else None
    return _Place(path, names, anchor, fold_name(anchor), tuple(map(fold_heading, segments)), block)


@lru_cache(maxsize=_REMEMBERED)
def _read_item(target: str) -> tuple[str, str, Key] | None:
    category, colon, name = target.partition(":")
    if not colon:
        return None
    category, name = fold_name(category), fold_name(name)
    return category, name, item_key(category, name)


Rule = Callable[[Resolver, str, str | None], Resolution]
_RULES: dict[LinkSyntax, Rule] = {
    LinkSyntax.NATIVE: Resolver.native,
    LinkSyntax.PLAIN: Resolver.typed,
    LinkSyntax.HEADING: Resolver.obsidian,
    LinkSyntax.BLOCK: Resolver.obsidian,
    LinkSyntax.MARKDOWN: Resolver.markdown,
    LinkSyntax.HTML: Resolver.label,
}


def _first(found: Resolution, *others: Callable[[], Resolution]) -> Resolution:
    """Return the first resolution that leads somewhere or is ambiguous; else the one that at least found a file."""
    best = found
    for other in others:
        if best.state != "unresolved":
            return best
        following = other()
        best = following if following.state != "unresolved" or best.file is None else best
    return best


def _one_item(addresses: Sequence[str], written: str) -> Resolution:
    """Resolve to the one address; of several the one that is spelled exactly as written, else ambiguous."""
    found = sorted(addresses) if len(addresses) > 1 else addresses
    if len(found) > 1:
        exact = [address for address in found if address == written]
        if len(exact) != 1:
            return Resolution("ambiguous", candidates=tuple(found))
        found = exact
    if not found:
        return NOWHERE
    # Interned: of 100,000 edges the categories are a few hundred.
    return Resolution("resolved", found[0], sys.intern(found[0].partition(":")[0]))


def _ambiguous(names: Iterable[str]) -> Resolution:
    candidates = tuple(sorted(set(names)))
    return Resolution("ambiguous", candidates=candidates) if candidates else NOWHERE


def _matching(candidates: list[Outline], path: str, source_path: str | None) -> list[Outline]:
    """Return which of the files of one name a folded path means, seen from the linking note."""
    folder = fold_path(posixpath.dirname(source_path or ""))
    if path.startswith(("./", "../")):
        wanted = posixpath.normpath(posixpath.join(folder, path))
        return [c for c in candidates if c.folded_path == wanted]
    exact = [c for c in candidates if c.folded_path == path.removeprefix("/")]
    if exact or path.startswith("/"):
        return exact
    ending = [c for c in candidates if c.folded_path.endswith(path)]
    inside = [c for c in ending if not folder or c.folded_path.startswith(f"{folder}/")]
    nearest = inside or ending
    shortest = min((len(c.folded_path) for c in nearest), default=0)
    return [c for c in nearest if len(c.folded_path) == shortest]


def _spelled(outlines: list[Outline], path: str) -> list[Outline]:
    """Of files that fold alike, keep the one that is spelled exactly as the link writes it."""
    if len(outlines) < 2:
        return outlines
    wanted = path.removeprefix("/")
    for form in (str, lambda text: unicodedata.normalize("NFC", text)):
        exact = [o for o in outlines if form(o.path).removesuffix(".md").endswith(form(wanted).removesuffix(".md"))]
        if len(exact) == 1:
            return exact
    return outlines


def _find_heading(headings: tuple[Heading, ...], chain: tuple[str, ...]) -> Heading | None:
    """Return the first heading that fits the last segment, each segment strictly deeper under the one before."""
    # `open_until[i]`: the level of the heading that matches segment i, while the scan is still below it.
    matched: list[int] = []
    for heading in headings:
        while matched and heading.level <= matched[-1]:
            matched.pop()
        if heading.anchor and heading.anchor == chain[len(matched)]:
            if len(matched) + 1 == len(chain):
                return heading
            matched.append(heading.level)
    return None
