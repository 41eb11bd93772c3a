"""Graphs from the text of files, for the tests of links."""

from collections.abc import Mapping

from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.pages.reading import read_page
from wikimem.search.edges import Edge
from wikimem.search.graph import LinkGraph

OBSIDIAN = Layout(wiki_dir=".", preamble_items=True)


def page(path: str, text: str, layout: Layout | None = None) -> Page:
    return read_page(path, text.encode("utf-8", "surrogateescape"), layout or Layout())


def graph_of(files: Mapping[str, str], layout: Layout | None = None) -> LinkGraph:
    graph = LinkGraph()
    for path, text in files.items():
        graph.replace_page(page(path, text, layout))
    return graph


def only_edge(graph: LinkGraph, file: str) -> Edge:
    """Return the one edge that stands in a file."""
    (edge,) = [edge for edge in graph.edges() if edge.file == file]
    return edge


def leads_to(files: Mapping[str, str], link: str, source: str = "wiki/source.md", layout: Layout | None = None) -> str:
    """Return what one link comes to: an address, `file:category`, `unresolved`, or `a | b` for an ambiguous one."""
    edge = only_edge(graph_of({**files, source: f"# source\n\n## item\n\n{link}\n"}, layout), source)
    if edge.state == "ambiguous":
        return " | ".join(edge.candidates)
    if edge.state == "unresolved":
        return "unresolved"
    return f"file:{edge.target}" if edge.to_file else edge.target
