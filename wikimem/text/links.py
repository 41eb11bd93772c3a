"""Links: every syntax that a note can hold, parsed to one shape.

`find_links` says what counts and where it stands; `text/link_edits.py` writes links and rewrites their targets. What a
link resolves to is decided in `search/resolve.py`, by Obsidian's rules and the native ones.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from html import unescape
from urllib.parse import unquote

from wikimem.text.code_spans import CodeMap, code_map
from wikimem.text.problems import Problem


class LinkSyntax(StrEnum):
    """How a link is written."""

    NATIVE = "native"  # [[category:name]]
    HEADING = "heading"  # [[category#name]], [[#name]], [[file#A#B]]
    BLOCK = "block"  # [[file#^id]]
    PLAIN = "plain"  # [[X]]: a file, else a label
    HTML = "html"  # <knowledge weight="2.5">Label</knowledge>
    MARKDOWN = "markdown"  # [text](category.md#name)


@dataclass(frozen=True, slots=True)
class WikiLink:
    """The seed's native link: `[[category:name]]`."""

    category: str
    name: str


@dataclass(frozen=True, slots=True)
class Link:
    """One link as written.

    `target` is what it names, without alias, weight suffix, brackets and percent encoding (`daily_life:beach`,
    `folder/note#A#B`, `note#^id`, `Label`). `weight` is a finite positive number. `start` and `end` are character
    offsets of the whole link in the text that was searched. `alias` is the shown text, `embed` true for `![[…]]`.
    """

    target: str
    weight: float
    start: int
    end: int
    syntax: LinkSyntax
    alias: str | None = None
    embed: bool = False


@dataclass(frozen=True, slots=True)
class _BadWeight:
    """A link whose weight is no finite positive number: plain text, and worth telling."""

    written: str
    start: int
    end: int


_Found = Link | _BadWeight | None


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
    if not _MAY_HOLD_LINKS.search(text):
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


def read_target(written: str) -> tuple[str, LinkSyntax] | None:
    """Return the target that stands between double brackets (alias and weight gone) and its syntax, None if it is none.

    `#` before the first colon makes it Obsidian's form; else a colon makes it native, and two colons no link at all.
    """
    target = written.strip()
    path, hash_mark, anchor = target.partition("#")
    if not target:
        return None
    if ":" not in path:
        if not hash_mark:
            return target, LinkSyntax.PLAIN
        segments = [segment for segment in anchor.split("#") if segment.strip()]
        is_block = len(segments) == 1 and segments[0].lstrip().startswith("^")
        return target, LinkSyntax.BLOCK if is_block else LinkSyntax.HEADING
    category, name = (part.strip() for part in target.split(":", 1))
    if not category or not name or ":" in name or "[" in target or "]" in target:
        return None
    return f"{category}:{name}", LinkSyntax.NATIVE


def split_weight(written: str) -> tuple[str, float | None]:
    """Split a weight suffix off (`Label; w=2.5`): the rest and the weight, None if that is no finite positive number."""
    match = _WEIGHT_SUFFIX.search(written)
    return (written, 1.0) if match is None else (written[: match.start()], read_weight(match[1]))


def read_weight(written: str) -> float | None:
    """Return a finite positive number written in ASCII decimal notation, else None."""
    value = float(written) if _NUMBER.fullmatch(written.strip()) else 0.0
    return value if value > 0 and math.isfinite(value) else None


def ends_in_weight(name: str) -> bool:
    """Tell whether an item name ends like a weight suffix: no link could name it, so writers refuse it."""
    return _WEIGHT_SUFFIX.search(name) is not None


_MAY_HOLD_LINKS = re.compile(r"\[\[|\]\(|<knowledge\b", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|\n|\r")
_WEIGHT_SUFFIX = re.compile(r"[ \t]*;[ \t]*w[ \t]*=([^;\n\r]*)\Z")
_NUMBER = re.compile(r"\+?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)

_WIKI = re.compile(r"!?\[\[((?:(?!\[\[|\]\])[^\n\r])+)\]\]")
# Link text may hold one level of brackets (`[![alt](a.png)](note.md)`); the destination is `<…>` or balanced.
_MARKDOWN = re.compile(
    r"!?\[((?:[^\[\]\\\n\r]|\\.|\[(?!\[)[^\[\]\n\r]*\])*+)\]"
    r"\([ \t]*(<[^<>\n\r]*>|(?!\[\[)(?:[^\s()<>\\]|\\.|\((?:[^\s()\\]|\\.)*+\))++)"
    r"(?:[ \t]+(?:\"[^\"\n\r]*\"|'[^'\n\r]*'|\([^()\n\r]*\)))?[ \t]*\)"
)
_HTML = re.compile(
    r"<knowledge((?:\s+[a-z][\w-]*\s*=\s*(?:\"[^\"\n\r]*\"|'[^'\n\r]*'|[^\s\"'>]+))*)[ \t]*>"
    r"((?:(?!\[\[)[^<\n\r])+)</knowledge[ \t]*>",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(r"\sweight\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def _read_wiki(text: str, start: int) -> _Found:
    match = _WIKI.match(text, start)
    if match is None:
        return None
    head, bar, alias = match[1].partition("|")
    # In a table the bar is escaped: the backslash belongs to the bar, not to the target.
    head = head[:-1] if bar and head.endswith("\\") else head
    head, weight = split_weight(head.rstrip())
    read = read_target(head)
    if read is None:
        return None
    if weight is None:
        return _BadWeight(match[0], start, match.end())
    return Link(read[0], weight, start, match.end(), read[1], alias.strip() or None, text[start] == "!")


def _read_markdown(text: str, start: int) -> _Found:
    match = _MARKDOWN.match(text, start)
    if match is None:
        return None
    written = _ESCAPED.sub(r"\1", match[2].removeprefix("<").removesuffix(">") if match[2][0] == "<" else match[2])
    if _SCHEME.match(written) or not written.strip("# \t"):
        return None
    target = decode_percent(written).strip()
    return Link(target, 1.0, start, match.end(), LinkSyntax.MARKDOWN, match[1].strip() or None, text[start] == "!")


def _read_html(text: str, start: int) -> _Found:
    match = _HTML.match(text, start)
    if match is None or not match[2].strip():
        return None
    attribute = _ATTRIBUTE.search(match[1])
    weight = 1.0 if attribute is None else read_weight(attribute[1] or attribute[2] or attribute[3] or "")
    if weight is None:
        return _BadWeight(match[0], start, match.end())
    return Link(unescape(match[2].strip()), weight, start, match.end(), LinkSyntax.HTML)


def destination_span(text: str, link: Link) -> tuple[int, int]:
    """Return where the destination of a Markdown link of `text` is written, angle brackets included."""
    match = _MARKDOWN.match(text, link.start)
    return (link.start, link.start) if match is None else match.span(2)


def decode_percent(destination: str) -> str:
    """Decode a Markdown destination as Obsidian does; what is no UTF-8 stays, and `%23` stays apart from the `#`."""
    try:
        return unquote(destination.replace("%23", "%2523"), errors="strict")
    except UnicodeDecodeError:
        return destination


@dataclass(frozen=True, slots=True)
class _Row:
    """One syntax: what it opens with, how it is read from there, and whether its own text may hold further links."""

    opens: str
    read: Callable[[str, int], _Found]
    nests: bool = False


# A new syntax is one more row; of two that open alike the first is tried alone, so `[[` stands before `[`.
_TABLE = (
    _Row(r"!?\[\[", _read_wiki),
    _Row(r"!?\[", _read_markdown, nests=True),
    _Row(r"<knowledge\b", _read_html),
)
_ROWS = {f"row{index}": row for index, row in enumerate(_TABLE)}
_NEXT = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])|(?P<code>`+)|(?P<comment><!--)|(?P<maths>\$\$)"
    + "".join(f"|(?P<{name}>{row.opens})" for name, row in _ROWS.items()),
    re.IGNORECASE,
)
_LINE_START = re.compile(r"(?:\A|[\n\r])[ ]{0,3}\Z")


def _scan(text: str) -> tuple[list[Link | _BadWeight], list[tuple[int, int]]]:
    """Walk from left to right: what begins first wins. Return what was found, and the spans of `$$…$$`."""
    code = code_map(text)
    found: list[Link | _BadWeight] = []
    maths: list[int] = []
    position = 0
    while (match := _NEXT.search(text, position)) is not None:
        start = match.start()
        row = _ROWS.get(str(match.lastgroup))
        if (fence_end := code.fence_end(start)) is not None:
            position = fence_end
        elif row is None:
            position = _skip(text, match, code)
            if match["maths"]:
                maths.append(start)
        else:
            item = row.read(text, start)
            position = start + 1 if item is None else match.end() if row.nests else item.end
            if item is not None:
                found.append(item)
    return found, list(zip(maths[::2], maths[1::2], strict=False))


def _skip(text: str, match: re.Match[str], code: CodeMap) -> int:
    """Return where to go on after an escape, a backtick run, the start of an HTML comment, or `$$`."""
    if match["code"]:
        return code.inline_end(match.start(), len(match["code"])) or match.end()
    if match["comment"]:
        end = text.find("-->", match.end())
        if end >= 0:
            return end + 3
        # Unclosed at the start of a line it is an HTML block to the end of the text; elsewhere it opens nothing.
        return len(text) if _LINE_START.search(text[max(0, match.start() - 4) : match.start()]) else match.end()
    return match.end()


def _inside(spans: list[tuple[int, int]], position: int) -> bool:
    index = bisect_right(spans, position, key=lambda span: span[0]) - 1
    return index >= 0 and position < spans[index][1]
