"""Which links to rewrite: to items that were renamed, or to another style; as a plan, nothing is touched here.

A new target is proposed only when it resolves, from where the link stands, to exactly the item that is meant.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from wikimem.pages.items import RecallItem
from wikimem.pages.page import Page, PageHeading, PageLink
from wikimem.pages.relations import RELATIONS_FILE, Relation
from wikimem.pages.repair import Fix, Left, Located, RepairPlan, hash_of, locate_links, quoted_form
from wikimem.search.catalogue import Catalogue
from wikimem.search.resolve import Resolution, Resolver, is_attachment
from wikimem.text.link_forms import write_target
from wikimem.text.links import Link, LinkSyntax, find_links, render_link
from wikimem.text.names import fold_heading, fold_name

Style = Literal["obsidian", "native"]

# What Obsidian writes as a blank when it links to a heading.
_NOT_WRITTEN = re.compile(r"[:#|^\\\n\r]|%%|\[\[|\]\]")
_NOT_NATIVE = re.compile(r"[:|\[\]\n\r]|;\s*w\s*=")


@dataclass(frozen=True, slots=True)
class Source:
    """A page and the bytes that it was read from."""

    page: Page
    data: bytes


def plan_repairs(
    sources: Iterable[Source],
    renames: Mapping[str, str],
    relations: Iterable[Relation] = (),
    *,
    path_of: Callable[[str], str],
) -> RepairPlan:
    """Plan the links and relations that lead to an item under its old address, to lead to its new one.

    `renames` says what each old address is called now. `path_of` gives the path of a category whose file is gone.
    """
    known = list(sources)
    now = _catalogue(source.page for source in known)
    moved = {old: new for old, new in renames.items() if _has_item(now, new) and not _has_item(now, old)}
    before = _catalogue(_with_ghosts([source.page for source in known], moved, path_of))
    files = _moved_files(moved, now)
    plan = _Planner(now)
    for source in known:
        for place, resolution in _pending(source.page, now, before):
            plan.want(source, place, _moved_to(resolution, moved, files), was=resolution.address)
    found = tuple(_moved_relations(relations, moved, now))
    return RepairPlan(tuple(plan.fixes(known)), found, tuple(plan.left))


@dataclass(frozen=True, slots=True)
class Renamed:
    """What the ends of a broken link are called now, None for one of which no rename is known.

    Only a relation can have lost its source: a link goes with the item that it stands in.
    """

    target: str | None
    source: str | None = None


def known_ends(plan: RepairPlan) -> dict[tuple[str, int, str], Renamed]:
    """Return what is known of each broken link and relation, by its file, line and target as written."""
    known = {(one.path, one.line, one.target): Renamed(one.suggestion) for one in plan.left if one.suggestion}
    known |= {(fix.path, fix.line, fix.target): Renamed(fix.goal) for fix in plan.fixes}
    for old, new in plan.relations:
        source = new.source if new.source != old.source else None
        target = new.target if new.target != old.target else None
        known[RELATIONS_FILE, old.line, old.target] = Renamed(target, source)
    return known


def plan_style(sources: Iterable[Source], style: Style) -> RepairPlan:
    """Plan to write every link to an item as `[[category#name]]` (`obsidian`) or `[[category:name]]` (`native`).

    Only links that resolve are rewritten, and only so that they lead to the same item.
    """
    known = list(sources)
    now = _catalogue(source.page for source in known)
    plan = _Planner(now, style)
    resolver = Resolver(now)
    from_syntax = LinkSyntax.NATIVE if style == "obsidian" else LinkSyntax.HEADING
    for source in known:
        for place in source.page.links:
            if place.link.syntax is from_syntax:
                found = resolver.resolve(place.link.target, place.link.syntax, source.page.path)[0]
                plan.want(source, place, found if _names_the_item(place.link.target, found) else None)
    return RepairPlan(tuple(plan.fixes(known)), (), tuple(plan.left))


class _Planner:
    """Collects what each link should lead to, and turns that into fixes."""

    def __init__(self, catalogue: Catalogue, style: Style | None = None) -> None:
        self._catalogue = catalogue
        self._resolver = Resolver(catalogue)
        self._style = style
        self._wanted: dict[str, dict[PageLink, tuple[str, str]]] = {}
        self.left: list[Left] = []

    def want(self, source: Source, place: PageLink, goal: Resolution | None, *, was: str | None = None) -> None:
        """Have a link that led to the item `was` lead to `goal`; None: nobody knows where to, so it stays."""
        path, target = source.page.path, place.link.target
        if goal is None:
            if self._style is None:
                self.left.append(Left(path, place.line, target, "nothing is known that it could lead to"))
            return
        for written in self._candidates(place.link, goal, by_address=was is not None and _says(target, was)):
            found, _ = self._resolver.resolve(written, _syntax_of(place.link.syntax, written), path)
            leads_there = (found.state, found.address, found.file) == ("resolved", goal.address, goal.file)
            if leads_there and _reads_back(place.link, written):
                self._wanted.setdefault(path, {})[place] = (written, goal.address or goal.file or "")
                return
        what = goal.address or goal.file
        reason = "no link in this syntax leads there alone" if goal.candidates == () else "several items fit"
        self.left.append(Left(path, place.line, target, reason, what or " or ".join(goal.candidates)))

    def fixes(self, sources: Iterable[Source]) -> Iterator[Fix]:
        """Yield the fixes; a link that cannot be found in its file's bytes is left."""
        for source in sources:
            wanted = self._wanted.get(source.page.path)
            if not wanted:
                continue
            based_on = hash_of(source.data)
            done: set[int] = set()
            for place, located in locate_links(source.page, source.data):
                if place not in wanted or (located is not None and located.start in done):
                    continue
                target, goal = wanted[place]
                if located is None:
                    self._leave(source, place, "its place in the file cannot be told for sure", goal)
                elif target != place.link.target:
                    done.add(located.start)
                    written = quoted_form(source.data, located, target, write_target(place.link.syntax, target))
                    if written is None:
                        self._leave(source, place, "its property cannot hold the new name", goal)
                    else:
                        yield _fix(source, located, written, goal, based_on)

    def _leave(self, source: Source, place: PageLink, reason: str, goal: str) -> None:
        self.left.append(Left(source.page.path, place.line, place.link.target, reason, goal))

    def _candidates(self, link: Link, goal: Resolution, *, by_address: bool) -> Iterator[str]:
        """Yield the ways to write the goal, in this link's syntax, the one nearest to what stands there first."""
        category = goal.file or ""
        outline = self._catalogue.outline_of_category(category)
        path = outline.path.removesuffix(".md") if outline is not None else category
        name = goal.address.partition(":")[2] if goal.address is not None else ""
        old_path, hash_mark, old_anchor = link.target.partition("#")
        if link.syntax is LinkSyntax.NATIVE or self._style == "native":
            if goal.address is not None and not _NOT_NATIVE.search(name) and self._style != "obsidian":
                yield goal.address
        elif link.syntax in (LinkSyntax.PLAIN, LinkSyntax.HTML) and goal.address is not None:
            # A name alone would become ambiguous with the next item of that name; an address never does.
            if by_address and link.syntax is LinkSyntax.HTML:
                yield goal.address
            yield name
        if self._style == "native":
            return
        dot_md = ".md" if link.syntax is LinkSyntax.MARKDOWN and old_path.strip().lower().endswith(".md") else ""
        as_before = () if link.syntax is LinkSyntax.NATIVE else (old_path,)
        places = dict.fromkeys((*as_before, *(f"{one}{dot_md}" for one in (_base(path), category, path))))
        for place in places:
            for anchor in _anchors(name, old_anchor if hash_mark else "", has_item=goal.address is not None):
                yield f"{place}#{anchor}" if anchor else place


def _says(target: str, address: str) -> bool:
    """Tell whether a target spells an item's whole address, as `label` resolution reads it."""
    written, meant = (text.partition(":") for text in (target, address))
    return bool(written[1]) and [fold_name(part) for part in written] == [fold_name(part) for part in meant]


def _fix(source: Source, located: Located, written: str, goal: str, based_on: str) -> Fix:
    return Fix(
        path=source.page.path,
        start=located.start,
        end=located.end,
        old=source.data[located.start : located.end],
        new=written.encode("utf-8", "surrogateescape"),
        based_on=based_on,
        source=located.place.source,
        line=located.place.line,
        target=located.place.link.target,
        goal=goal,
    )


def _anchors(name: str, old: str, *, has_item: bool) -> Iterator[str]:
    """Yield how an item's name may be written behind `#`: within the old parents first, as Obsidian writes it."""
    if not has_item:
        yield old
        return
    plain = " ".join(_NOT_WRITTEN.sub(" ", name).split())
    parents, _, _ = old.rpartition("#")
    for written in dict.fromkeys((plain, name)):
        if written and not written.startswith("^"):
            if parents:
                yield f"{parents}#{written}"
            yield written


def _syntax_of(syntax: LinkSyntax, target: str) -> LinkSyntax:
    """Return the syntax that a rewritten target is read as: between brackets the target's form decides."""
    if syntax in (LinkSyntax.HTML, LinkSyntax.MARKDOWN):
        return syntax
    path, hash_mark, anchor = target.partition("#")
    if ":" in path:
        return LinkSyntax.NATIVE
    if not hash_mark:
        return LinkSyntax.PLAIN
    return LinkSyntax.BLOCK if anchor.startswith("^") else LinkSyntax.HEADING


def _reads_back(link: Link, target: str) -> bool:
    """Tell whether a link with another target is read as just that: what a heading may hold can end or split a link."""
    wanted = replace(link, target=target, syntax=_syntax_of(link.syntax, target))
    return any(replace(one, start=link.start, end=link.end) == wanted for one in find_links(render_link(wanted)))


def _pending(page: Page, now: Catalogue, before: Catalogue) -> Iterator[tuple[PageLink, Resolution]]:
    """Yield the links that lead nowhere now, and what they would lead to if nothing had been renamed."""
    today, then = Resolver(now), Resolver(before)
    for place in page.links:
        link = place.link
        if is_attachment(link.target):
            continue
        if today.resolve(link.target, link.syntax, page.path)[0].state == "unresolved":
            yield place, then.resolve(link.target, link.syntax, page.path)[0]


def _moved_to(before: Resolution, moved: Mapping[str, str], files: Mapping[str, str]) -> Resolution | None:
    if before.state == "ambiguous":
        return Resolution("ambiguous", candidates=tuple(moved.get(one, one) for one in before.candidates))
    new = moved.get(before.address or "")
    if new is not None:
        return Resolution("resolved", new, new.partition(":")[0])
    file = files.get(before.file or "")
    if before.state == "resolved" and before.address is None and file is not None:
        return Resolution("resolved", None, file)
    return None


def _names_the_item(target: str, found: Resolution) -> bool:
    """Tell whether a link means the item itself; one to a heading deeper in it would lose its way."""
    if found.address is None:
        return False
    _, hash_mark, anchor = target.partition("#")
    name = found.address.partition(":")[2]
    return not hash_mark or fold_heading(anchor.rpartition("#")[2]) == fold_heading(name)


def _moved_files(moved: Mapping[str, str], now: Catalogue) -> dict[str, str]:
    """Return the categories whose file is gone and whose items are all in one other file now."""
    homes: dict[str, set[str]] = {}
    for old, new in moved.items():
        homes.setdefault(old.partition(":")[0], set()).add(new.partition(":")[0])
    return {
        old: next(iter(new)) for old, new in homes.items() if len(new) == 1 and now.outline_of_category(old) is None
    }


def _with_ghosts(pages: list[Page], moved: Mapping[str, str], path_of: Callable[[str], str]) -> Iterator[Page]:
    """Yield the pages as if the renamed items were still there under their old names too."""
    ghosts: dict[str, list[str]] = {}
    for old in moved:
        category, _, name = old.partition(":")
        ghosts.setdefault(category, []).append(name)
    for page in pages:
        names = ghosts.pop(page.category, [])
        yield _haunted(page, names) if names else page
    for category, names in ghosts.items():
        yield _haunted(Page(path_of(category), "wiki", category), names)


def _haunted(page: Page, names: list[str]) -> Page:
    items = tuple(RecallItem(page.category, name, "", line=-1) for name in names)
    headings = tuple(PageHeading(item.name, 2, -1, item.address) for item in items)
    return replace(page, items=(*page.items, *items), headings=(*page.headings, *headings))


def _moved_relations(
    relations: Iterable[Relation], moved: Mapping[str, str], now: Catalogue
) -> Iterator[tuple[Relation, Relation]]:
    labels: dict[str, list[str]] = {}
    for old in moved:
        labels.setdefault(old.partition(":")[2], []).append(old)
    resolver = Resolver(now)
    for relation in relations:
        ends = []
        for end in (relation.source, relation.target):
            olds = [end] if end in moved else labels.get(end, [])
            pending = resolver.resolve(end, LinkSyntax.HTML, None)[0].state == "unresolved"
            ends.append(moved[olds[0]] if pending and len(olds) == 1 else end)
        if tuple(ends) != (relation.source, relation.target):
            yield relation, replace(relation, source=ends[0], target=ends[1])


def _catalogue(pages: Iterable[Page]) -> Catalogue:
    catalogue = Catalogue()
    for page in pages:
        catalogue.replace(page)
    return catalogue


def _has_item(catalogue: Catalogue, address: str) -> bool:
    category, _, name = address.partition(":")
    outline = catalogue.outline_of_category(category)
    return outline is not None and address in outline.names.get(fold_name(name), ())


def _base(path: str) -> str:
    return path.rpartition("/")[2]
