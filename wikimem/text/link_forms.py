"""How each link syntax is written: one reader each, and where in a link its target stands."""

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from html import escape, unescape
from urllib.parse import unquote


class LinkSyntax(StrEnum):
    """How a link is written."""

    NATIVE = "native"  # [[category:name]]
    HEADING = "heading"  # [[category#name]], [[#name]], [[file#A#B]]
    BLOCK = "block"  # [[file#^id]]
    PLAIN = "plain"  # [[X]]: a file, else a label
    HTML = "html"  # <knowledge weight="2.5">Label</knowledge>
    MARKDOWN = "markdown"  # [text](category.md#name)


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
class BadWeight:
    """A link whose weight is no finite positive number: plain text, and worth telling."""

    written: str
    start: int
    end: int


Found = Link | BadWeight | None

_WIKI = re.compile(r"!?\[\[((?:[^\n\r\[\]]++|\[(?!\[)|\](?!\]))+)\]\]")
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
_WEIGHT_ATTRIBUTE = re.compile(r"\sweight\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_WEIGHT_SUFFIX = re.compile(r"[ \t]*;[ \t]*w[ \t]*=([^;\n\r]*)\Z")
_NUMBER = re.compile(r"\+?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_NOT_IN_DESTINATION = re.compile(r"[%\s<>()\\]")


def read_wiki(text: str, start: int) -> Found:
    """Read `[[…]]` or `![[…]]`; of nested ones only the innermost is a link, and none crosses a line end."""
    match = _WIKI.match(text, start)
    if match is None or match[1].startswith("["):
        return None
    head, bar, alias = match[1].partition("|")
    # In a table the bar is escaped: the backslash belongs to the bar, not to the target.
    head = head[:-1] if bar and head.endswith("\\") else head
    head, weight = split_weight(head.rstrip())
    read = read_target(head)
    if read is None:
        return None
    if weight is None:
        return BadWeight(match[0], start, match.end())
    return Link(read[0], weight, start, match.end(), read[1], alias.strip() or None, text[start] == "!")


def read_markdown(text: str, start: int) -> Found:
    """Read `[text](destination "title")`; a destination with a scheme leads out of the vault and is no link."""
    match = _MARKDOWN.match(text, start)
    if match is None:
        return None
    written = match[2][1:-1] if match[2].startswith("<") else match[2]
    written = _ESCAPED.sub(r"\1", written)
    if _SCHEME.match(written) or not written.strip("# \t"):
        return None
    target = decode_percent(written).strip()
    return Link(target, 1.0, start, match.end(), LinkSyntax.MARKDOWN, match[1].strip() or None, text[start] == "!")


def read_html(text: str, start: int) -> Found:
    """Read `<knowledge weight="2.5">Label</knowledge>`."""
    match = _HTML.match(text, start)
    if match is None or not match[2].strip():
        return None
    attribute = _WEIGHT_ATTRIBUTE.search(match[1])
    weight = 1.0 if attribute is None else read_weight(attribute[1] or attribute[2] or attribute[3] or "")
    if weight is None:
        return BadWeight(match[0], start, match.end())
    return Link(unescape(match[2].strip()), weight, start, match.end(), LinkSyntax.HTML)


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
    """Split a weight suffix off `Label; w=2.5`; the weight is None where it is no finite positive number."""
    match = _WEIGHT_SUFFIX.search(written)
    return (written, 1.0) if match is None else (written[: match.start()], read_weight(match[1]))


def read_weight(written: str) -> float | None:
    """Return a finite positive number written in ASCII decimal notation, else None."""
    value = float(written) if _NUMBER.fullmatch(written.strip()) else 0.0
    return value if value > 0 and math.isfinite(value) else None


def decode_percent(destination: str) -> str:
    """Decode a Markdown destination as Obsidian does; what is no UTF-8 stays, and `%23` stays apart from the `#`."""
    try:
        return unquote(destination.replace("%23", "%2523"), errors="strict")
    except UnicodeDecodeError:
        return destination


def encode_destination(target: str) -> str:
    """Write a Markdown destination as Obsidian does: blanks and what would end it are percent-encoded, no more."""
    return _NOT_IN_DESTINATION.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), target)


def write_target(syntax: LinkSyntax, target: str) -> str:
    """Return a target as it is written inside a link of that syntax."""
    if syntax is LinkSyntax.MARKDOWN:
        return encode_destination(target)
    return escape(target, quote=False) if syntax is LinkSyntax.HTML else target


def target_span(text: str, link: Link) -> tuple[int, int]:
    """Return where the target itself is written in `text`, without brackets, weight, alias and outer blanks."""
    if link.syntax is LinkSyntax.MARKDOWN:
        match = _MARKDOWN.match(text, link.start)
        if match is None:
            return link.start, link.start
        # The marks around `<a note.md>` are the person's; what is written between them is percent-encoded all the same.
        bracketed = match[2].startswith("<")
        return match.start(2) + bracketed, match.end(2) - bracketed
    whole = text[link.start : link.end]
    if link.syntax is LinkSyntax.HTML:
        first, last = whole.index(">") + 1, whole.rindex("</")
    else:
        first = 3 if link.embed else 2
        bar = whole.find("|")
        last = len(whole) - 2 if bar < 0 else bar - (whole[bar - 1] == "\\")
        last = first + len(split_weight(whole[first:last].rstrip())[0])
    inner = whole[first:last]
    lead = len(inner) - len(inner.lstrip())
    return link.start + first + lead, link.start + first + len(inner.rstrip())
