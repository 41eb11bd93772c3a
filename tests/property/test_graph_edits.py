"""The graph after any sequence of edits, against one built from scratch."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graphs import page
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.pages.relations import Relation
from wikimem.search.graph import LinkGraph

PATHS = [
    "wiki/a.md",
    "wiki/A.md",
    "wiki/b.md",
    "wiki/x/a.md",
    "wiki/y/a.md",
    "wiki/Cafe\u0301.md",
    "wiki/Caf\u00e9.md",
    "diary/2026-07-21.md",
]
LINES = [
    *("## n", "## N", "## m", "## a", "### sub", "# top", "## Caf\u00e9", "## 14:30", "text ^blk", "- x ^BLK2"),
    *("[[a:n]]", "[[a#n]]", "[[A#N]]", "[[x/a#m]]", "[[b:m; w=2]]", "[[n]]", "[[m]]", "[[a]]", "[[A]]", "[[y/a]]"),
    *("[[#n]]", "[[#top#n]]", "[[a#n#sub]]", "[[a#sub]]", "[[a#^blk]]", "[[b#^blk2]]", "[[./a]]", "[[../b#m]]"),
    *("[[Caf\u00e9:n]]", "[[Cafe\u0301#Caf\u00e9]]", "[[2026-07-21#14:30]]", "<knowledge>al</knowledge>", "![[a.png]]"),
    *("[t](a.md#n)", "<knowledge weight='3'>m</knowledge>", "[[a#n#top]]", "[[top]]"),
]
FRONT = ["", "---\naliases: [al]\n---\n", '---\nup: "[[a]]"\n---\n']
TEXTS = st.tuples(st.sampled_from(FRONT), st.lists(st.sampled_from(LINES), max_size=8)).map(
    lambda parts: parts[0] + "\n\n".join(parts[1]) + "\n"
)
NAMES = st.sampled_from(["a:n", "b:m", "m", "n", "al", "a", "x/a:m", "gone", "2026-07-21:14:30"])
RELATIONS = st.lists(st.tuples(NAMES, NAMES, st.sampled_from([1.0, 2.0])), max_size=3).map(
    lambda lines: [Relation(*line, None, number) for number, line in enumerate(lines, start=1)]
)
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(PATHS), TEXTS),
        st.tuples(st.just("drop"), st.sampled_from(PATHS), st.just("")),
        st.tuples(st.just("relate"), RELATIONS, st.just("")),
        st.tuples(st.just("look"), st.just(""), st.just("")),
    ),
    max_size=14,
)
LAYOUTS = st.sampled_from([Layout(), Layout(preamble_items=True)])


def everything(graph: LinkGraph) -> object:
    """Return all that a graph says: edges, both ways, and what each item is related to (of equal paths, any)."""
    edges = list(graph.edges())
    targets = {edge.target for edge in edges if edge.state == "resolved"}
    items = sorted({edge.source for edge in edges if ":" in edge.source} | {t for t in targets if ":" in t})
    walks = {
        item: [(one.address, one.weight, one.hops) for one in graph.related(item, direction="both", depth=3).items]
        for item in items
        if graph.resolve(item).address == item
    }
    counts = graph.counts()
    return edges, {target: graph.links_to(target) for target in sorted(targets)}, walks, counts


def check_counts(graph: LinkGraph) -> None:
    counts = graph.counts()
    states = [edge.state for edge in graph.edges()]
    assert [counts.resolved, counts.unresolved, counts.ambiguous] == [
        states.count(state) for state in ("resolved", "unresolved", "ambiguous")
    ]


@settings(max_examples=300, deadline=None)
@given(EDITS, LAYOUTS)
def test_edits_in_any_order_give_the_graph_that_a_fresh_build_gives(
    edits: list[tuple[str, str | list[Relation], str]], layout: Layout
) -> None:
    graph = LinkGraph()
    files: dict[str, str] = {}
    pages: dict[str, Page] = {}
    relations: list[Relation] = []
    for kind, what, text in edits:
        if kind == "put" and isinstance(what, str):
            files[what] = text
            now = page(what, text, layout)
            graph.replace_page(now, pages.get(what))
            pages[what] = now
        elif kind == "drop" and isinstance(what, str):
            files.pop(what, None)
            pages.pop(what, None)
            graph.remove_page(what)
        elif isinstance(what, list):
            relations = what
            graph.set_relations(what)
        else:
            everything(graph)  # a walk in between brings the arrays up to date: they must stay right afterwards
    fresh = LinkGraph()
    fresh.set_relations(relations)
    for path in sorted(files, reverse=True):
        fresh.replace_page(page(path, files[path], layout))
    assert everything(graph) == everything(fresh)
    check_counts(graph)
