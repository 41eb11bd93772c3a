"""`wikimem graph`: the whole link graph, as data or as a page to look at."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from wikimem.api.protocol import MAX_PAGE_LIMIT, ItemBody, LinkBody
from wikimem.cli.connection import connect, settings_for
from wikimem.cli.graph_page import Edge, Node, Picture, as_data, as_dot, as_html, is_graph
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import note_staleness, print_json, print_text
from wikimem.cli.paging import each_page
from wikimem.errors import StorageError, UsageError
from wikimem.text.names import is_day

if TYPE_CHECKING:
    from wikimem.cli.connection import MemoryClient

Format = Literal["json", "html", "dot"]
_ENDINGS: dict[str, Format] = {".json": "json", ".html": "html", ".htm": "html", ".dot": "dot", ".gv": "dot"}


@click.command()
@click.option("--format", "form", type=click.Choice(["json", "html", "dot"]), help="Else by FILE's ending, else json.")
@click.option("-o", "--output", metavar="FILE", help="Where to write it; else to standard output.")
@click.option("--no-content", is_flag=True, help="Leave the items' text out of the page.")
@vault_option
@json_option
def graph(form: Format | None, output: str | None, *, no_content: bool, vault: str | None, as_json: bool) -> None:
    """Write the graph of items and links: as JSON, as one self-contained HTML page, or for Graphviz.

    The page needs no network: search, weights, pending targets in their own colour, a click shows the item.
    An earlier graph in FILE is replaced; any other file is left alone.
    """
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} do not go together", hint="leave one of them out")
    chosen: Format = form or (
        "json" if as_json or output is None else _ENDINGS.get(Path(output).suffix.lower(), "json")
    )
    settings = settings_for(vault)
    picture = _gather(connect(settings), settings.name, with_content=chosen == "html" and not no_content)
    if chosen == "json" and output is None:
        print_json(as_data(picture))
        return
    text = {"json": _json_text, "html": as_html, "dot": as_dot}[chosen](picture)
    if output is None:
        click.echo(text, nl=False)
        return
    _write(Path(output), text)
    print_text(f"wrote {output}: {len(picture.nodes)} nodes, {len(picture.edges)} edges")


def _write(file: Path, text: str) -> None:
    """Write the graph; replace only an earlier one. A device, a pipe and an empty file hold nothing to be lost."""
    try:
        if file.is_file() and file.stat().st_size and not is_graph(file.read_bytes()[:2000].decode("utf-8", "replace")):
            raise UsageError(f"{file} is there and is no graph", hint="name a new file: nothing was written")
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        hint = "name a file in a folder that you can write to"
        raise StorageError(f"{file} cannot be written: {error.strerror}", path=str(file), hint=hint) from error


def _json_text(picture: Picture) -> str:
    return json.dumps(as_data(picture), ensure_ascii=False, indent=2) + "\n"


def _gather(client: "MemoryClient", title: str, *, with_content: bool) -> Picture:
    nodes = {node.address: node for node in _nodes(client, with_content=with_content)}
    edges: dict[tuple[str, str, str, str], Edge] = {}
    pages = each_page(lambda after: client.links(limit=MAX_PAGE_LIMIT, after=after))
    for link in (link for page in pages for link in page["links"]):
        nodes.setdefault(link["source"], _file(link["source"]))
        for target in _targets(link, nodes):
            key = (link["source"], target, link["origin"], link["state"])
            known = edges.get(key)
            if known is None or known.weight < link["weight"]:
                edges[key] = Edge(link["source"], target, link["weight"], link["origin"], link["state"])
    return Picture(title, tuple(nodes.values()), tuple(edges.values()))


def _targets(link: LinkBody, nodes: dict[str, Node]) -> Iterator[str]:
    """Yield the nodes that a link leads to, and make those that are no items: files and pending targets."""
    if link["state"] == "unresolved":
        pending = _pending(link["target"])
        if nodes.setdefault(pending.address, pending).kind == "pending":
            yield pending.address
        return
    for target in [link["target"]] if link["state"] == "resolved" else link["candidates"]:
        nodes.setdefault(target, _file(target))
        yield target


def _pending(target: str) -> Node:
    """Return the node of a target that does not exist: `c#n` and `c:n` wait for the same item."""
    address = target.replace("#", ":", 1) if ":" not in target and not target.startswith("#") else target
    category, _, name = address.rpartition(":")
    return Node(address, name or address, category, "pending")


def _file(category: str) -> Node:
    return Node(category, category.rpartition("/")[2] or category, category, "file")


def _nodes(client: "MemoryClient", *, with_content: bool) -> Iterator[Node]:
    pages = list(each_page(lambda after: client.graph(after=after)))
    note_staleness(pages[-1])
    nodes = [node for page in pages for node in page["nodes"]]
    days = {node["category"] for node in nodes if is_day(node["category"])}
    # Items are listed without the diary, whose days are asked for by name.
    listed = (None, *sorted(days)) if with_content else ()
    bodies = {body["address"]: body for category in listed for body in _items(client, category)}
    for node in nodes:
        body = bodies.get(node["address"])
        yield Node(
            address=node["address"],
            name=node["address"] if node["category"] in days else node["name"],
            category=node["category"],
            kind="diary" if node["category"] in days else "item",
            content=body["content"] if body is not None else "",
            owner=body["owner"] if body is not None else None,
            tags=tuple(body["tags"]) if body is not None else (),
            temperature=node["temperature"],
            pinned=node["pinned"],
        )


def _items(client: "MemoryClient", category: str | None) -> Iterator[ItemBody]:
    for page in each_page(lambda after: client.items(category, limit=MAX_PAGE_LIMIT, after=after)):
        yield from page["items"]
