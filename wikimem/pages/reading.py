"""Any file of a vault, read as the page that it is. Reading never raises on content."""

import re
from bisect import bisect_right
from dataclasses import replace

from wikimem.pages.day import read_day_page
from wikimem.pages.layout import PAGE_KINDS, Layout
from wikimem.pages.page import Page, PageKind
from wikimem.pages.wiki import read_wiki_page
from wikimem.text.blocks import flatten_line_ends, scan
from wikimem.text.problems import Problem

_CONFLICT = re.compile(rb"^<{7}(?:[ \t][^\n]*)?\n", re.MULTILINE)
_DIVIDER = re.compile(rb"^={7}[ \t]*\n", re.MULTILINE)
_CONFLICT_END = re.compile(rb"^>{7}(?:[ \t][^\n]*)?(?:\n|\Z)", re.MULTILINE)


def read_page(path: str, data: bytes, layout: Layout, before: Page | None = None) -> Page:
    """Read a file by what its path says it is; a file that is no memory gives a page without items.

    `before`, as the file was last read, makes it quicker and changes nothing else.
    """
    place = layout.classify(path)
    if place.kind in PAGE_KINDS:
        read = read_day_page if place.kind == "diary" else read_wiki_page
        return _with_markers(read(path, data, layout, before), data)
    if place.kind == "conflict-copy":
        return Page(path, "wiki", place.category, problems=(conflict_copy_problem(),))
    return Page(path, "wiki", place.category)


def _with_markers(page: Page, data: bytes) -> Page:
    line = git_marker_line(data)
    if line is None:
        return page
    problem = Problem(
        "git-markers",
        line,
        "Git left the marks of an unresolved merge here; writes to this file wait until they are gone",
        "resolve the merge in an editor and save",
    )
    return replace(page, problems=tuple(sorted((*page.problems, problem), key=lambda one: one.line)))


def too_large_page(path: str, size: int, layout: Layout) -> Page:
    """Return the page of a file that is larger than `layout.max_file_bytes`: it is not read, only reported."""
    place = layout.classify(path)
    kind: PageKind = "diary" if place.kind == "diary" else "wiki"
    problem = Problem(
        "too-large",
        0,
        f"the file has {size} bytes; files over {layout.max_file_bytes} are not read",
        "split it, or raise `limits.max_file_bytes` in the configuration",
    )
    return Page(path, kind, place.category, problems=(problem,))


def conflict_copy_problem() -> Problem:
    """Return what is said about a copy that a sync tool made of a conflicting version."""
    return Problem(
        "conflict-copy",
        0,
        "a sync tool left this copy of a conflicting version; it is not indexed",
        "merge what is missing into the note by hand, then delete the copy",
    )


def git_marker_line(data: bytes) -> int | None:
    """Return the line of the first conflict mark of an unresolved git merge, or None.

    Its three marks stand in order; a conflict that starts inside a fence is an example.
    """
    if b"<<<<<<<" not in data or b">>>>>>>" not in data:
        return None
    buffer = flatten_line_ends(data)
    fences = [block for block in scan(buffer).opaque if block.kind == "fence"]
    starts = [block.start for block in fences]

    def in_fence(position: int) -> bool:
        index = bisect_right(starts, position) - 1
        return index >= 0 and position < fences[index].end

    opening = next((mark for mark in _CONFLICT.finditer(buffer) if not in_fence(mark.start())), None)
    divider = _DIVIDER.search(buffer, opening.end()) if opening else None
    if opening is None or divider is None or not _CONFLICT_END.search(buffer, divider.end()):
        return None
    return buffer.count(b"\n", 0, opening.start()) + 1
