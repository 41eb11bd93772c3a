"""Links in properties: only in quoted text, as in Obsidian. `up: [[note]]` is a list in a list to YAML, and no link."""

from collections.abc import Iterator
from dataclasses import replace

import yaml

from wikimem.text.links import Link, find_links

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def property_links(block: str) -> list[Link]:
    """Return the links of a frontmatter block (the YAML between the `---` lines), with offsets in `block`.

    A property's own quoted text counts, and the quoted texts of its list. Invalid YAML holds no links.
    """
    if "[" not in block or ('"' not in block and "'" not in block):
        return []
    try:
        root = yaml.compose(block, Loader=_LOADER)
    except (yaml.YAMLError, RecursionError, ValueError):
        return []
    if not isinstance(root, yaml.MappingNode):
        return []
    return [link for _, value in root.value for scalar in _scalars(value) for link in _links_of(scalar, block)]


def _scalars(value: yaml.Node) -> Iterator[yaml.ScalarNode]:
    nodes = value.value if isinstance(value, yaml.SequenceNode) else [value]
    for node in nodes:
        if isinstance(node, yaml.ScalarNode) and node.style in ("'", '"'):
            yield node


def _links_of(scalar: yaml.ScalarNode, block: str) -> Iterator[Link]:
    """Yield a scalar's links where they stand; an escape in the text before one is searched past."""
    inner = block[scalar.start_mark.index + 1 : scalar.end_mark.index - 1]
    begin = scalar.start_mark.index + 1
    after = 0
    for link in find_links(scalar.value):
        written = scalar.value[link.start : link.end]
        found = inner.find(written, after)
        if found < 0:
            # Written with an escape (`'it''s'`): the link counts, its place is the whole text.
            yield replace(link, start=begin, end=begin + len(inner))
        else:
            after = found + len(written)
            yield replace(link, start=begin + found, end=begin + after)
