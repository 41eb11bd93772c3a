"""Links: every syntax that a note can hold, in one table; found with spans, written, pointed elsewhere.

How each syntax is read is in `text/link_forms.py`. What a link resolves to is decided in `search/resolve.py`, by
Obsidian's rules and the native ones.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from wikimem.text.code_spans import CodeMap, code_map
from wikimem.text.link_forms import (
    BadWeight,
    Found,
    Link,
    LinkSyntax,
    read_html,
    read_markdown,
    read_wiki,
    target_span,
    write_target,
)
from wikimem.text.problems import Problem

__all__ = [
    "Link",
    "LinkStyle",
    "LinkSyntax",
    "WikiLink",
    "find_links",
    "find_links_with_problems",
    "parse_wiki_links",
    "render_link",
    "retarget",
    "rewrite_targets",
    "to_style",
]

LinkStyle = Literal["keep", "obsidian", "native"]


@dataclass(frozen=True, slots=True)
class WikiLink:
    """The seed's native link: `[[category:name]]`."""

    category: str
    name: str


@dataclass(frozen=True, slots=True)
class _Row:
    """One syntax: what it opens with, how it is read from there, and whether its own text may hold further links."""

    opens: str
    read: Callable[[str, int], Found]
    nests: bool = False


# A new syntax is one more row; where two open alike only the first is tried, so `[[` stands before `[`.
_TABLE = (
    _Row(r"!?\[\[", read_wiki),
    _Row(r"!?\[", read_markdown, nests=True),
    _Row(r"(?i:<knowledge\b)", read_html),
)
_ROWS = {f"row{index}": row for index, row in enumerate(_TABLE)}
# Where any of them may begin: looked for first, because a set of characters is found fastest.
_BEGINS = re.compile(r"[\\`<$!\[]")
_NEXT = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])|(?P<code>`+)|(?P<comment><!--)|(?P<maths>\$\$)"
    + "".join(f"|(?P<{name}>{row.opens})" for name, row in _ROWS.items())
)
_HTML_LINK = re.compile(r"<knowledge\b", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|\n|\r")
_LINE_START = re.compile(r"(?:\A|[\n\r])[ ]{0,3}\Z")
# What ends or splits a link when it stands in an anchor; a leading `^` would make it a block id.
_NOT_IN_ANCHOR = re.compile(r"[#|\n\r]|\[\[|\]\]|%%|^\^")


def find_links(text: str) -> list[Link]:
    """Return the links of `text` that count, in document order.

    Code (fences, inline) and `$$…$$` hold no links, nor do HTML comments; `%%…%%` comments do, as in Obsidian.
    """
    return find_links_with_problems(text)[0]


def find_links_with_problems(text: str) -> tuple[list[Link], list[Problem]]:
    """Return the links as `find_links` does, and a problem for each weight that makes a link plain text.

    The problems' lines count from 1 at the start of `text`.
    """
    links: list[Link] = []
    problems: list[Problem] = []
    if "[[" not in text and "](" not in text and ("<" not in text or not _HTML_LINK.search(text)):
        return links, problems
    found, maths = _scan(text)
    line, counted = 1, 0
    for item in found:
        if _inside(maths, item.start):
            continue
        if isinstance(item, Link):
            links.append(item)
        else:
            line, counted = line + len(_LINE_END.findall(text, counted, item.start)), item.start
            message = f"the weight of `{item.written}` is no finite positive number, so it is no link"
            problems.append(Problem("invalid-weight", line, message, "write a weight such as `w=2.5`"))
    return links, problems


def parse_wiki_links(text: str) -> list[WikiLink]:
    """Return the native links `[[category:name]]` of `text` in order, alias and weight suffix dropped.

    Both parts are trimmed; neither holds a bracket, a line end or another colon. Anything else is passed over.
    """
    native = (link.target.partition(":") for link in find_links(text) if link.syntax is LinkSyntax.NATIVE)
    return [WikiLink(category, name) for category, _, name in native]


def render_link(link: Link) -> str:
    """Write a link in its own syntax; reading it again gives the same target, weight, alias and kind."""
    target = write_target(link.syntax, link.target)
    weighted = link.weight != 1.0
    if link.syntax is LinkSyntax.HTML:
        attribute = f' weight="{link.weight!r}"' if weighted else ""
        return f"<knowledge{attribute}>{target}</knowledge>"
    embed = "!" if link.embed else ""
    if link.syntax is LinkSyntax.MARKDOWN:
        return f"{embed}[{link.alias or ''}]({target})"
    suffix = f"; w={link.weight!r}" if weighted else ""
    alias = f"|{link.alias}" if link.alias else ""
    return f"{embed}[[{target}{suffix}{alias}]]"


def retarget(text: str, replacements: Mapping[str, str]) -> str:
    """Return `text` with the targets of its links replaced: alias, weight, and every other character stay."""
    return rewrite_targets(text, lambda link: replacements.get(link.target))


def rewrite_targets(text: str, change: Callable[[Link], str | None]) -> str:
    """Return `text` with each link's target replaced by what `change` says; None leaves the link alone."""
    parts: list[str] = []
    done = 0
    for link in find_links(text):
        target = change(link)
        if target is None or target == link.target:
            continue
        start, end = target_span(text, link)
        parts += (text[done:start], write_target(link.syntax, target))
        done = end
    return "".join((*parts, text[done:]))


def to_style(text: str, style: LinkStyle, *, category: str | None = None) -> str:
    """Return `text` with its item links in the given form; everything else stays, and doing it twice changes nothing.

    `obsidian` writes `[[category:name]]` as `[[category#name]]`, which a person can click, unless the name holds what
    an anchor cannot. `native` is the way back; there `category` is the one that the text stands in, for `[[#name]]`.
    """
    if style == "keep":
        return text
    if style == "obsidian":
        return rewrite_targets(text, _obsidian_target)
    return rewrite_targets(text, lambda link: _native_target(link, category))


def _obsidian_target(link: Link) -> str | None:
    if link.syntax is not LinkSyntax.NATIVE:
        return None
    category, _, name = link.target.partition(":")
    # `[[https://…]]` names no item to anybody: it stays the URL that it is.
    if name.startswith("//") or "%" in category or _NOT_IN_ANCHOR.search(name):
        return None
    return f"{category}#{name}"


def _native_target(link: Link, category: str | None) -> str | None:
    if link.syntax is not LinkSyntax.HEADING:
        return None
    path, _, name = link.target.partition("#")
    path, name = path.strip() or category or "", name.strip()
    if not path or not name or any(mark in name for mark in "#:[]") or any(mark in path for mark in "[]"):
        return None
    return f"{path}:{name}"


def _scan(text: str) -> tuple[list[Link | BadWeight], list[tuple[int, int]]]:
    """Walk from left to right: what begins first wins. Return what was found, and the spans of `$$…$$`."""
    code = code_map(text)
    last_comment_end = text.rfind("-->")
    found: list[Link | BadWeight] = []
    maths: list[int] = []
    position = 0
    while (begin := _BEGINS.search(text, position)) is not None:
        start = begin.start()
        match = _NEXT.match(text, start)
        if match is None:
            position = start + 1
            continue
        row = _ROWS.get(str(match.lastgroup))
        if code.fences and (fence_end := code.fence_end(start)) is not None:
            position = fence_end
        elif row is None:
            position = _skip(text, match, code, last_comment_end)
            if match["maths"]:
                maths.append(start)
        else:
            item = row.read(text, start)
            # The text of a Markdown link may hold links; after what is none, the next character may open one.
            position = start + 1 if item is None else match.end() if row.nests else item.end
            if item is not None:
                found.append(item)
    return found, list(zip(maths[::2], maths[1::2], strict=False))


def _skip(text: str, match: re.Match[str], code: CodeMap, last_comment_end: int) -> int:
    """Return where to go on after an escape, a backtick run, the start of an HTML comment, or `$$`."""
    if match["code"]:
        return code.inline_end(match.start(), len(match["code"])) or match.end()
    if match["comment"]:
        if match.end() <= last_comment_end:
            return text.index("-->", match.end()) + 3
        # Unclosed at the start of a line it is an HTML block to the end of the text; elsewhere it opens nothing.
        return len(text) if _LINE_START.search(text[max(0, match.start() - 4) : match.start()]) else match.end()
    return match.end()


def _inside(spans: list[tuple[int, int]], position: int) -> bool:
    index = bisect_right(spans, position, key=lambda span: span[0]) - 1
    return index >= 0 and position < spans[index][1]
