"""Frontmatter: found, read tolerantly, never rewritten.

It counts only when `---` is the very first line (a BOM may stand before it). YAML is read with every scalar as
text: a date in a note is then never an error, and nothing in the block can build an object.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import yaml

from wikimem.text.decoding import BOM, decode
from wikimem.text.problems import Problem

_OPEN = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*(?:\r\n|\n|\r|\Z)")
_CLOSE = re.compile(rb"(?:(?<=\n)|(?<=\r))---[ \t]*(?:\r\n|\n|\r|\Z)")
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True)
class Span:
    """Byte offsets, `start` included, `end` not."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What the block says. `span` covers both `---` lines; `properties` are texts, lists and mappings of texts."""

    span: Span | None = None
    properties: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


NO_FRONTMATTER = Frontmatter()


def find_frontmatter(data: bytes) -> tuple[Span | None, bytes, bool]:
    """Return the block's span, the YAML between its lines, and whether a block was opened but never closed."""
    opening = _OPEN.match(data)
    if opening is None:
        return None, b"", False
    closing = _CLOSE.search(data, opening.end())
    if closing is None:
        return None, b"", True
    start = len(BOM) if data.startswith(BOM) else 0
    return Span(start, closing.end()), data[opening.end() : closing.start()], False


def yaml_start(data: bytes) -> int:
    """Return where the YAML of a block begins, behind the first `---` line."""
    opening = _OPEN.match(data)
    return opening.end() if opening else 0


def read_frontmatter(data: bytes) -> Frontmatter:
    """Read the frontmatter of a whole file; invalid YAML gives no properties and one problem, never an error."""
    span, block, unclosed = find_frontmatter(data)
    if unclosed:
        return Frontmatter(problems=(_UNCLOSED,))
    if span is None:
        return NO_FRONTMATTER
    properties, problem = _load(block)
    if problem is not None:
        return Frontmatter(span, problems=(problem,))
    by_name = {key.casefold(): value for key, value in properties.items()}
    return Frontmatter(
        span,
        MappingProxyType(properties),
        _tags(by_name.get("tags")),
        tuple(_texts(by_name.get("aliases"))),
    )


_UNCLOSED = Problem(
    "unclosed-frontmatter",
    1,
    "the first line opens properties with `---`, and no second `---` closes them",
    "close the block with a line `---`, or put something else on the first line",
)


def _load(block: bytes) -> tuple[dict[str, object], Problem | None]:
    try:
        loaded = yaml.load(decode(block), Loader=_LOADER)  # noqa: S506 - every scalar stays text
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark is not None else 1
        reason = getattr(error, "problem", None) or type(error).__name__
        return {}, _invalid(line, f"the properties are not valid YAML: {reason}")
    if loaded is None or (isinstance(loaded, str) and loaded in _NULLS):
        return {}, None
    if not isinstance(loaded, dict):
        return {}, _invalid(1, "the properties are no list of `name: value` lines")
    return {str(key): value for key, value in loaded.items()}, None


def _invalid(line: int, message: str) -> Problem:
    return Problem("invalid-yaml", line, message, "mend the block; until then the note counts as having no properties")


def _texts(value: object) -> list[str]:
    """Return the texts of a property that may be a list or one string; nested lists and mappings are left out."""
    values = value if isinstance(value, list) else [value]
    texts = [text.strip() for text in values if isinstance(text, str)]
    return [text for text in texts if text not in _NULLS]


def _tags(value: object) -> tuple[str, ...]:
    """Return tags without `#`, lower case, first spelling first; one that holds white space is no tag."""
    texts = (text.removeprefix("#").strip("/").lower() for text in _texts(value))
    return tuple(dict.fromkeys(text for text in texts if text and not any(c.isspace() for c in text)))
