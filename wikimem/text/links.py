"""Links: every syntax that a note can hold, parsed to one shape."""

from dataclasses import dataclass
from enum import StrEnum


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
