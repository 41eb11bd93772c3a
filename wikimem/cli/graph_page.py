"""The graph as one self-contained page, as Graphviz dot, or as data. Pure: nodes and edges in, text out."""

import html
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

NodeKind = Literal["item", "diary", "file", "pending"]

_MARK = "<!-- written by `wikimem graph` -->"  # the second line of graph_page.html


@dataclass(frozen=True, slots=True)
class Node:
    """What a link can lead to. `address` names it; a pending one has the target as it was written."""

    address: str
    name: str
    category: str
    kind: NodeKind
    content: str = ""
    owner: str | None = None
    tags: tuple[str, ...] = ()
    temperature: float | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two nodes, by their addresses."""

    source: str
    target: str
    weight: float
    origin: Literal["parsed", "manual"]
    state: Literal["resolved", "unresolved", "ambiguous"]


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that is drawn."""

    title: str
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()


def as_html(picture: Picture) -> str:
    """Return one page with the data in it: no network, no other file. Text from notes is data, never markup."""
    place = {node.address: index for index, node in enumerate(picture.nodes)}
    data = {
        "title": picture.title,
        "nodes": [_node_data(node) for node in picture.nodes],
        "edges": [
            [
                place[one.source],
                place[one.target],
                one.weight,
                int(one.origin == "manual"),
                int(one.state == "ambiguous"),
            ]
            for one in picture.edges
        ],
    }
    # In a script element only `<` can end or change the element, so no `<` of the data may stand there.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    template = files("wikimem.cli").joinpath("graph_page.html").read_text(encoding="utf-8")
    head, _, rest = template.partition("__TITLE__")
    middle, _, tail = rest.partition("__DATA__")
    return f"{head}{html.escape(picture.title)}{middle}{text}{tail}"


def is_graph(text: str) -> bool:
    """Whether a file that begins so is a graph of ours, so that the next one may take its place."""
    return text.startswith(('{\n  "nodes": [', "digraph ")) or _MARK in text.split("\n", 2)[:2]


def as_dot(picture: Picture) -> str:
    """Return a Graphviz digraph; weights are labels, pending targets are dashed."""
    lines = [f"digraph {_quoted(picture.title)} {{", "  node [shape=box, style=rounded];"]
    for node in picture.nodes:
        look = {"pending": ", style=dashed", "file": ", shape=folder"}.get(node.kind, "")
        lines.append(f"  {_quoted(node.address)} [label={_quoted(node.name)}{look}];")
    for edge in picture.edges:
        label = f' [label="{edge.weight:g}"]' if edge.weight != 1.0 else ""
        lines.append(f"  {_quoted(edge.source)} -> {_quoted(edge.target)}{label};")
    return "\n".join((*lines, "}", ""))


def as_data(picture: Picture) -> dict[str, object]:
    """Return nodes and edges as `--format json` prints them."""
    return {
        "nodes": [
            {
                "address": node.address,
                "category": node.category,
                "name": node.name,
                "kind": node.kind,
                "temperature": node.temperature,
                "pinned": node.pinned,
            }
            for node in picture.nodes
        ],
        "edges": [
            {
                "source": edge.source,
                "target": edge.target,
                "weight": edge.weight,
                "origin": edge.origin,
                "state": edge.state,
            }
            for edge in picture.edges
        ],
    }


def _node_data(node: Node) -> dict[str, object]:
    data: dict[str, object] = {
        "address": node.address,
        "name": node.name,
        "category": node.category,
        "kind": node.kind,
    }
    optional: dict[str, object] = {
        "content": node.content,
        "owner": node.owner,
        "tags": list(node.tags),
        "temperature": node.temperature,
        "pinned": node.pinned,
    }
    return data | {key: value for key, value in optional.items() if value}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
