"""The link graph in memory: every edge of the vault, kept right edge by edge as pages change."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from wikimem.errors import InvalidInput, NotFound
from wikimem.pages.page import Page
from wikimem.pages.relations import Relation, is_weight
from wikimem.search.arcs import Adjacency
from wikimem.search.catalogue import Catalogue, Key, Outline
from wikimem.search.edge_table import EdgeTable, Record
from wikimem.search.edges import MAX_DEPTH, Direction, Edge, LinkCounts, RelatedResult
from wikimem.search.related import find_related
from wikimem.search.resolve import NOWHERE, Resolution, Resolver, is_attachment
from wikimem.search.temperature import FIRST
from wikimem.text.links import LinkSyntax
from wikimem.text.names import fold_name

HEAVIEST = 1e300  # a path of five such edges still has a finite weight


class LinkGraph:
    """Every link and manual relation of a vault as an edge, with what it resolves to right now.

    Pending edges resolve by themselves when their target appears and fall back when it goes; the graph depends only on
    the pages and relations that are there, never on the order in which they came.
    """

    def __init__(self) -> None:
        self._catalogue = Catalogue()
        self._resolver = Resolver(self._catalogue)
        self._table = EdgeTable()
        self._pages: dict[str, list[Record]] = {}
        self._parsed: dict[str, list[Record]] = {}
        self._manual: list[Record] = []
        self._given: tuple[Relation, ...] = ()
        self._adjacency = Adjacency()

    def replace_page(self, page: Page, before: Page | None = None) -> None:
        """Take a page as it is now; edges anywhere that its names, headings or files decide are resolved again.

        `before`, the page that was given last under this path, spares work.
        """
        old = self._catalogue.outline(page.path)
        changed = self._catalogue.replace(page, before)
        new = self._catalogue.outline(page.path)
        if old is not None and new is not None and old.title_item != new.title_item:
            self._retitled(old, new)
        self._set_links(page)
        self._resolve_again(self._table.depending_on(changed))

    def remove_page(self, path: str) -> None:
        """Forget a page: its edges go, edges into it are pending again."""
        outline = self._catalogue.outline(path)
        if outline is None:
            return
        changed = self._catalogue.remove(path)
        self._retitled(outline)
        for record in self._pages.pop(path, ()):
            self._parsed.pop(record.source, None)
            self._table.remove(record)
        self._resolve_again(self._table.depending_on(changed))

    def clear(self) -> None:
        """Forget every page; manual relations stay, all pending."""
        given, self._given = self._given, ()
        self._catalogue.clear()
        self._table = EdgeTable()
        self._pages.clear()
        self._parsed.clear()
        self._adjacency = Adjacency()
        self._manual = []
        self.set_relations(given)

    def set_relations(self, relations: Iterable[Relation]) -> None:
        """Take all manual edges, in place of those that were there; the same tuple again costs nothing."""
        if relations is self._given:
            return
        self._given = tuple(relations)
        old: dict[Relation, list[Record]] = {}
        for record in self._manual:
            old.setdefault(_relation_of(record), []).append(record)
        self._manual = []
        for relation in self._given:
            bare = replace(relation, ts=None)
            same = old.get(bare)
            record = same.pop() if same else _manual_record(bare)
            self._manual.append(record)
        for records in old.values():
            for record in records:
                self._table.remove(record)
        self._resolve_again([record for record in self._manual if not record.is_edge])

    def links_from(self, address: str) -> tuple[Edge, ...]:
        """Return the parsed edges of an item in the order of its text; expansion follows these."""
        return tuple(record.edge() for record in self._parsed.get(address, ()) if record.is_edge)

    def links_to(self, address: str) -> tuple[Edge, ...]:
        """Return the edges of both origins that resolve to an item, or to a file by its category key."""
        return tuple(self._table.leading_to(address))

    def edges(self, state: str | None = None) -> Iterator[Edge]:
        """Yield every edge, or those of one state: file by file in path order, then the manual ones."""
        parsed = (record for path in sorted(self._pages) for record in self._pages[path])
        for record in chain(parsed, self._manual):
            if record.is_edge and state in (None, record.resolution.state):
                yield record.edge()

    def resolve(self, target: str, *, source: str | None = None) -> Resolution:
        """Return what a target means to a caller: exact address, item of the source's file, label, alias, file."""
        outline = self._catalogue.outline_of_category(source.partition(":")[0]) if source else None
        # A resolver of its own: the daemon's writer thread asks while the loop may be resolving.
        return Resolver(self._catalogue).resolve(target, LinkSyntax.HTML, None if outline is None else outline.path)[0]

    def relation(self, source: str, target: str, weight: float = 1.0) -> Relation:
        """Return the manual edge that a caller asks for, by addresses where the names resolve to items already.

        Raises `NotFound` when the source is no item, `InvalidInput` for a weight that is no finite positive number,
        an ambiguous name, or an item related to itself.
        """
        if not is_weight(weight):
            raise InvalidInput(f"The weight is {weight}.", hint="Use a finite number above 0.")
        if not target.strip():
            raise InvalidInput("The target is empty.", hint="Give an address or a name.")
        start, found = self._anchor(source), self.resolve(target, source=source)
        if found.state == "ambiguous":
            raise InvalidInput(f"{target!r} names several items.", hint="Take one of: " + ", ".join(found.candidates))
        if found.address == start:
            raise InvalidInput(f"{target!r} is no other item than {start}.", hint="Name another item as the target.")
        return Relation(start, found.address or " ".join(target.split()), float(weight))

    def find_relation(self, source: str, target: str) -> Relation:
        """Return the manual edge that leads from `source` to `target`, named as in the file or by what they resolve to.

        Raises `NotFound`.
        """
        wanted = (fold_name(source), fold_name(target))
        start = self.resolve(source).address or wanted[0]
        end = self.resolve(target, source=source).address or wanted[1]
        for record in self._manual:
            if (fold_name(record.source), fold_name(record.target)) == wanted or (record.start, record.goal) == (
                start,
                end,
            ):
                return _relation_of(record)
        hint = "A link in a note's text is removed in the note; `wikimem links` says where."
        raise NotFound(f"No manual relation leads from {start} to {end}.", hint=hint)

    def counts(self) -> LinkCounts:
        """Return how many edges there are in each state."""
        counts = self._table.counts
        return LinkCounts(counts["resolved"], counts["unresolved"], counts["ambiguous"])

    def related(
        self,
        anchor: str,
        *,
        direction: Direction = "out",
        depth: int = 1,
        weight_min: float | None = None,
        limit: int | None = None,
        temperature: Callable[[str], float] | None = None,
    ) -> RelatedResult:
        """Return the items that paths of up to `depth` edges lead to, each by its heaviest path, heaviest first.

        Raises `InvalidInput` for a depth outside 1 to 5, another direction or a negative limit, `NotFound` for an
        anchor that is no item.
        """
        if direction not in ("out", "in", "both"):
            raise InvalidInput(f"The direction is {direction!r}.", hint="Use out, in or both.")
        if isinstance(depth, bool) or not 1 <= depth <= MAX_DEPTH:
            raise InvalidInput(f"The depth is {depth}.", hint=f"Use 1 to {MAX_DEPTH}.")
        if limit is not None and limit < 0:
            raise InvalidInput(f"The limit is {limit}.", hint="Use 0 or more, or leave it out.")
        start = self._anchor(anchor)
        self.settle()
        items, truncated = find_related(
            self._adjacency,
            start,
            direction=direction,
            depth=depth,
            weight_min=weight_min,
            limit=limit,
            temperature=temperature or (lambda _: FIRST),
        )
        return RelatedResult(start, items, truncated)

    def settle(self, limit: int | None = None) -> bool:
        """Bring the walkable graph up to date with up to `limit` items whose edges changed; true when none is left.

        `related` does this by itself: a caller that has just read a whole vault may do it in slices before.
        """
        changed = self._table.changed_sources
        if not changed:
            return True
        manual: dict[str, list[Record]] = {}
        for record in self._manual:
            manual.setdefault(record.start, []).append(record)
        for source in list(islice(changed, limit)):
            changed.discard(source)
            node = self._item_of(source)
            if node is not None:
                self._adjacency.set_arcs(node, self._arcs_from(node, manual))
        return not changed

    def _anchor(self, anchor: str) -> str:
        found = self.resolve(anchor)
        address = found.address
        if address is None and found.file is not None and found.state == "resolved":
            outline = self._catalogue.outline_of_category(found.file)
            address = outline.title_item if outline is not None else None
        if address is not None:
            return address
        if found.state == "ambiguous":
            raise InvalidInput(f"{anchor!r} names several items.", hint="Take one of: " + ", ".join(found.candidates))
        raise NotFound(f"There is no item {anchor!r}.", hint="Give an address as `wikimem ls` prints it.")

    def _set_links(self, page: Page) -> None:
        """Put a page's links in place of its old ones; a link that was there before keeps its record."""
        if self._has_links(page):
            return
        kept: dict[tuple[str, str, LinkSyntax, float], list[Record]] = {}
        for record in reversed(self._pages.get(page.path, ())):
            kept.setdefault((record.source, record.target, record.syntax, record.weight), []).append(record)
            self._parsed.pop(record.source, None)
        records: list[Record] = []
        fresh: list[Record] = []
        for order, place in enumerate(page.links):
            source, link = place.source or page.category, place.link
            same = kept.get((source, link.target, link.syntax, link.weight))
            record = same.pop() if same else Record(source, link.target, link.syntax, link.weight, page.path)
            if not record.keys:
                fresh.append(record)
            record.line, record.order = place.line, order
            records.append(record)
            self._parsed.setdefault(source, []).append(record)
        for gone in kept.values():
            for record in gone:
                self._table.remove(record)
        self._pages[page.path] = records
        self._resolve_again(fresh)

    def _has_links(self, page: Page) -> bool:
        """Tell whether a page's links are those that it had; where they stand is noted."""
        records = self._pages.get(page.path)
        if records is None or len(records) != len(page.links):
            return False
        for record, place in zip(records, page.links, strict=True):
            link = place.link
            if (record.source, record.target, record.syntax, record.weight) != (
                place.source or page.category,
                link.target,
                link.syntax,
                link.weight,
            ):
                return False
        for record, place in zip(records, page.links, strict=True):
            record.line = place.line
        return True

    def _resolve_again(self, records: Iterable[Record]) -> None:
        # Of the links of one note most name the same few targets.
        known: dict[tuple[str, LinkSyntax, str], tuple[Resolution, tuple[Key, ...]]] = {}
        for record in records:
            if record.path is None:
                self._resolve_manual(record)
                continue
            asked = record.target, record.syntax, record.path
            if asked not in known:
                known[asked] = self._resolver.resolve(*asked)
            found, keys = known[asked]
            no_note = found.state == "unresolved" and is_attachment(record.target)
            self._table.settle(record, found, keys, is_edge=not no_note)

    def _resolve_manual(self, record: Record) -> None:
        """Resolve a manual edge, whose source is a name too: while that is no item, the edge is pending."""
        source, keys = self._resolver.resolve(record.source, LinkSyntax.HTML, None)
        self._table.move(record, source.address or record.source)
        found = NOWHERE
        if source.address is not None:
            outline = self._catalogue.outline_of_category(source.address.partition(":")[0])
            path = outline.path if outline is not None else None
            found, more = self._resolver.resolve(record.target, record.syntax, path)
            keys = tuple(dict.fromkeys((*keys, *more)))
        self._table.settle(record, found, keys)

    def _retitled(self, *outlines: Outline) -> None:
        """Note that a file's title item came, went or changed: links to the file walk to that item."""
        for outline in outlines:
            self._table.changed_sources.update(self._table.starts_of(outline.category), (outline.category,))
            if outline.title_item is not None:
                self._table.changed_sources.add(outline.title_item)

    def _item_of(self, name: str) -> str | None:
        """Return the item that a node of the graph is: itself, or the item that stands for a whole note."""
        if ":" in name:
            return name
        outline = self._catalogue.outline_of_category(name)
        return None if outline is None else outline.title_item

    def _arcs_from(self, node: str, manual: dict[str, list[Record]]) -> dict[str, float]:
        category = node.partition(":")[0]
        own = self._parsed.get(node, [])
        if node in manual or (category in self._parsed and self._item_of(category) == node):
            own = [*own, *manual.get(node, ()), *self._parsed.get(category, ())]
        arcs: dict[str, float] = {}
        for record in own:
            goal = record.goal if record.is_edge else None
            target = self._item_of(goal) if goal is not None else None
            if target is not None and record.weight > arcs.get(target, 0.0) and target != node:
                arcs[target] = min(record.weight, HEAVIEST)
        return arcs


def _manual_record(relation: Relation) -> Record:
    record = Record(relation.source, relation.target, LinkSyntax.HTML, relation.weight, None)
    record.line = record.order = relation.line
    return record


def _relation_of(record: Record) -> Relation:
    return Relation(record.source, record.target, record.weight, None, record.line)
