"""Write links, and rewrite the targets of links that stand in a text, touching nothing else."""

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Literal

from wikimem.text.links import Link, LinkSyntax, destination_span, find_links, split_weight

LinkStyle = Literal["keep", "obsidian", "native"]

# What ends or splits a link when it stands in an anchor; a leading `^` would make it a block id.
_NOT_IN_ANCHOR = re.compile(r"[#|\n\r]|\[\[|\]\]|%%|^\^")
_MARKDOWN_UNSAFE = re.compile(r"[%\s<>()\\]")


def render_link(link: Link) -> str:
    """Write a link in its own syntax; reading it again gives the same target, weight, alias and kind."""
    if link.syntax is LinkSyntax.HTML:
        weight = f' weight="{link.weight!r}"' if link.weight != 1.0 else ""
        return f"<knowledge{weight}>{escape(link.target, quote=False)}</knowledge>"
    embed = "!" if link.embed else ""
    if link.syntax is LinkSyntax.MARKDOWN:
        return f"{embed}[{link.alias or ''}]({encode_destination(link.target)})"
    weight = f"; w={link.weight!r}" if link.weight != 1.0 else ""
    alias = f"|{link.alias}" if link.alias else ""
    return f"{embed}[[{link.target}{weight}{alias}]]"


def encode_destination(target: str) -> str:
    """Write a Markdown destination as Obsidian does: blanks and what would end it are percent-encoded, no more."""
    return _MARKDOWN_UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), target)


def target_span(text: str, link: Link) -> tuple[int, int]:
    """Return where the target itself is written in `text`, without brackets, weight, alias and outer blanks."""
    whole = text[link.start : link.end]
    if link.syntax is LinkSyntax.HTML:
        first, last = whole.index(">") + 1, whole.rindex("</")
    elif link.syntax is LinkSyntax.MARKDOWN:
        return destination_span(text, link)
    else:
        first = 3 if link.embed else 2
        bar = whole.find("|")
        last = len(whole) - 2 if bar < 0 else bar - (whole[bar - 1] == "\\")
        last = first + len(split_weight(whole[first:last].rstrip())[0])
    inner = whole[first:last]
    lead = len(inner) - len(inner.lstrip())
    return link.start + first + lead, link.start + first + len(inner.rstrip())


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


def write_target(syntax: LinkSyntax, target: str) -> str:
    """Return a target as it is written inside a link of that syntax."""
    if syntax is LinkSyntax.MARKDOWN:
        return encode_destination(target)
    return escape(target, quote=False) if syntax is LinkSyntax.HTML else target


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
    return None if _NOT_IN_ANCHOR.search(name) or "%" in category else f"{category}#{name}"


def _native_target(link: Link, category: str | None) -> str | None:
    if link.syntax is not LinkSyntax.HEADING:
        return None
    path, _, name = link.target.partition("#")
    path, name = path.strip() or category or "", name.strip()
    if not path or not name or any(mark in name for mark in "#:[]") or any(mark in path for mark in "[]"):
        return None
    return f"{path}:{name}"
