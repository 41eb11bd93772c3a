"""The graph: edges as pages come and go, and what an item is related to."""

import pytest

from tests.graphs import graph_of, page
from wikimem.errors import InvalidInput, NotFound
from wikimem.pages.relations import Relation
from wikimem.search.edges import Direction, Related
from wikimem.search.graph import LinkGraph


def net(*arcs: tuple[str, str, float]) -> LinkGraph:
    """Return a graph of items `g:a`, `g:b`, … joined by weighted links."""
    names = dict.fromkeys(name for source, target, _ in arcs for name in (source, target))
    text = "".join(
        f"## {name}\n\n" + " ".join(f"[[g:{t}; w={w}]]" for s, t, w in arcs if s == name) + "\n\n" for name in names
    )
    return graph_of({"wiki/g.md": text})


def shown(items: tuple[Related, ...]) -> list[tuple[str, float, str]]:
    return [(item.address[2:], item.weight, "".join(one[2:] for one in item.path)) for item in items]


def test_a_direct_edge_of_two_and_a_half_beats_a_chain_of_one_and_one() -> None:
    graph = net(("a", "z", 2.5), ("a", "b", 1), ("b", "z", 1))
    assert shown(graph.related("g:a", depth=2).items) == [("z", 2.5, "az"), ("b", 1.0, "ab")]


def test_a_chain_of_one_and_a_half_and_two_beats_both() -> None:
    graph = net(("a", "z", 2.5), ("a", "b", 1), ("b", "z", 1), ("a", "c", 1.5), ("c", "z", 2))
    assert shown(graph.related("g:a", depth=2).items)[0] == ("z", 3.5, "acz")
    assert shown(graph.related("g:a", depth=1).items)[0] == ("z", 2.5, "az")


def test_paths_never_visit_an_item_twice_also_where_a_cycle_weighs_more() -> None:
    graph = net(("a", "b", 1), ("b", "c", 9), ("c", "b", 9), ("c", "a", 9), ("b", "a", 9), ("b", "b", 9))
    assert shown(graph.related("g:a", depth=5).items) == [("c", 10.0, "abc"), ("b", 1.0, "ab")]


def test_a_path_may_take_the_lighter_way_when_the_heavier_one_runs_through_its_end() -> None:
    # The heaviest path to b of two hops runs through z, so z itself is reached over the lighter a-x-b.
    graph = net(("a", "z", 5), ("z", "b", 5), ("a", "x", 1), ("x", "b", 1), ("b", "z", 9))
    assert shown(graph.related("g:a", depth=3).items) == [("z", 11.0, "axbz"), ("b", 10.0, "azb"), ("x", 1.0, "ax")]


def test_of_several_edges_for_a_pair_the_heaviest_counts() -> None:
    graph = net(("a", "b", 1), ("a", "b", 3), ("a", "b", 2))
    assert shown(graph.related("g:a").items) == [("b", 3.0, "ab")]


@pytest.mark.parametrize(
    ("direction", "found"),
    [("out", [("b", 1.0, "ab")]), ("in", [("c", 2.0, "ac")]), ("both", [("c", 2.0, "ac"), ("b", 1.0, "ab")])],
)
def test_the_direction_is_that_of_the_edges(direction: Direction, found: list[tuple[str, float, str]]) -> None:
    graph = net(("a", "b", 1), ("c", "a", 2))
    assert shown(graph.related("g:a", direction=direction).items) == found


def test_both_ways_between_a_pair_count_once_by_the_heavier() -> None:
    graph = net(("a", "b", 1), ("b", "a", 4))
    assert shown(graph.related("g:a", direction="both").items) == [("b", 4.0, "ab")]
    assert shown(graph.related("g:a", direction="out").items) == [("b", 1.0, "ab")]


def test_weight_min_drops_edges_before_the_walk() -> None:
    graph = net(("a", "b", 1), ("b", "c", 9), ("a", "c", 2))
    assert shown(graph.related("g:a", depth=2, weight_min=1.5).items) == [("c", 2.0, "ac")]
    assert shown(graph.related("g:a", depth=2, weight_min=1.0).items) == [("c", 10.0, "abc"), ("b", 1.0, "ab")]


def test_ties_go_by_temperature_and_then_by_address() -> None:
    graph = net(("a", "d", 1), ("a", "c", 1), ("a", "b", 1), ("a", "e", 2))
    warm = {"g:c": 0.9}
    found = graph.related("g:a", temperature=lambda address: warm.get(address, 0.5))
    assert [(item.address, item.temperature) for item in found.items] == [
        ("g:e", 0.5),
        ("g:c", 0.9),
        ("g:b", 0.5),
        ("g:d", 0.5),
    ]
    cut = graph.related("g:a", limit=2, temperature=lambda address: warm.get(address, 0.5))
    assert [item.address for item in cut.items] == ["g:e", "g:c"]
    assert graph.related("g:a", limit=0).items == ()


def test_sums_that_differ_in_their_last_bits_are_a_tie() -> None:
    graph = net(("a", "b", 0.1), ("b", "c", 0.2), ("a", "d", 0.3))
    found = graph.related("g:a", depth=2, temperature=lambda address: 1.0 if address == "g:d" else 0.0)
    assert shown(found.items)[:2] == [("d", 0.3, "ad"), ("c", 0.3, "abc")]


def test_huge_weights_keep_their_sum_finite() -> None:
    graph = net(("a", "b", 1.7e308), ("b", "c", 1.7e308))
    assert max(item.weight for item in graph.related("g:a", depth=2).items) < float("inf")


@pytest.mark.parametrize("depth", [0, 6, -1])
def test_a_depth_outside_one_to_five_is_an_error(depth: int) -> None:
    with pytest.raises(InvalidInput):
        net(("a", "b", 1)).related("g:a", depth=depth)


def test_an_anchor_may_be_a_label_and_must_be_there() -> None:
    graph = net(("a", "b", 1))
    assert graph.related("a").anchor == "g:a"
    assert graph.related("b").items == ()
    with pytest.raises(NotFound):
        graph.related("g:nothing")
    graph.replace_page(page("wiki/h.md", "## a\n\nx\n"))
    with pytest.raises(InvalidInput, match="several"):
        graph.related("a")


def test_a_deleted_target_leaves_pending_edges_that_resolve_when_it_is_back_in_any_order() -> None:
    graph = graph_of({"wiki/a.md": "## x\n\n[[b#Plan]] [[b:Plan]] [[plan]] [[Plan]]\n"})
    states = [(edge.target, edge.state) for edge in graph.edges()]
    assert states == [
        ("b#Plan", "unresolved"),
        ("b:Plan", "unresolved"),
        ("plan", "unresolved"),
        ("Plan", "unresolved"),
    ]
    assert [edge.hint for edge in graph.edges()] == ["b#Plan", "b:Plan", "plan", "Plan"]
    graph.replace_page(page("wiki/b.md", "## Plan\n\ny\n"))
    assert [edge.state for edge in graph.edges()] == ["resolved", "resolved", "unresolved", "resolved"]
    graph.replace_page(page("wiki/b.md", "## plan\n\ny\n"))
    assert [edge.target for edge in graph.edges()] == ["b:plan", "b:Plan", "b:plan", "Plan"]
    graph.remove_page("wiki/b.md")
    assert [(edge.target, edge.state) for edge in graph.edges()] == states


def test_backlinks_name_every_edge_that_leads_to_an_item_or_a_file() -> None:
    graph = graph_of({"wiki/a.md": "## x\n\n[[b:y]]\n\n## z\n\n[[b#y]] [[b]]\n", "wiki/b.md": "## y\n\n[[#y]]\n"})
    assert [(edge.source, edge.line) for edge in graph.links_to("b:y")] == [("a:x", 3), ("a:z", 7), ("b:y", 3)]
    assert [edge.source for edge in graph.links_to("b")] == ["a:z"]
    assert graph.links_to("b:nothing") == ()


def test_links_from_an_item_come_in_text_order_and_leave_manual_edges_out() -> None:
    graph = graph_of({"wiki/a.md": "## x\n\n[[a:q]] [[a:p]] [[a:q]]\n\n## p\n\n## q\n"})
    graph.set_relations([Relation("a:x", "a:p", 2.0)])
    assert [edge.target for edge in graph.links_from("a:x")] == ["a:q", "a:p", "a:q"]
    assert [edge.origin for edge in graph.links_to("a:p")] == ["manual", "parsed"]


def test_a_thousand_links_in_one_item_are_a_thousand_edges() -> None:
    text = "## hub\n\n" + " ".join(f"[[t:n{i}]]" for i in range(1000)) + "\n"
    graph = graph_of({"wiki/h.md": text, "wiki/t.md": "".join(f"## n{i}\n\nx\n\n" for i in range(0, 1000, 2))})
    assert graph.counts().resolved == graph.counts().unresolved == 500
    assert len(graph.related("h:hub").items) == 500
    assert len(graph.related("t:n0", direction="both", depth=2).items) == 500


def test_manual_edges_resolve_like_labels_and_coexist_with_parsed_ones() -> None:
    graph = graph_of({"wiki/a.md": "## x\n\n[[b:y]]\n"})
    graph.set_relations([Relation("a:x", "y", 3.0, None, 1), Relation("b:y", "x", 1.0, None, 2)])
    assert graph.counts().unresolved == 3
    graph.replace_page(page("wiki/b.md", "## y\n\nz\n"))
    assert [(e.source, e.target, e.weight, e.origin, e.file) for e in graph.edges()] == [
        ("a:x", "b:y", 1.0, "parsed", "wiki/a.md"),
        ("a:x", "b:y", 3.0, "manual", "relations.jsonl"),
        ("b:y", "a:x", 1.0, "manual", "relations.jsonl"),
    ]
    assert shown(graph.related("a:x").items) == [("y", 3.0, "xy")]
    graph.set_relations([])
    assert shown(graph.related("a:x").items) == [("y", 1.0, "xy")]


def test_manual_edges_survive_a_rebuild() -> None:
    graph = graph_of({"wiki/a.md": "## x\n\n## y\n"})
    given = (Relation("a:x", "a:y"),)
    graph.set_relations(given)
    graph.clear()
    assert [edge.state for edge in graph.edges()] == ["unresolved"]
    graph.replace_page(page("wiki/a.md", "## x\n\n## y\n"))
    graph.set_relations(given)
    assert [edge.state for edge in graph.edges()] == ["resolved"]


def test_a_relation_is_written_by_address_where_its_names_resolve() -> None:
    graph = graph_of({"wiki/a.md": "## x\n\n## y\n"})
    assert graph.relation("x", "y", 2) == Relation("a:x", "a:y", 2.0)
    assert graph.relation("a:x", "later") == Relation("a:x", "later", 1.0)
    assert graph.relation("a:x", " later\n on ") == Relation("a:x", "later on", 1.0)
    for source, target, weight in (("a:x", "a:x", 1.0), ("a:x", "y", -1.0), ("a:x", "y", float("nan"))):
        with pytest.raises(InvalidInput):
            graph.relation(source, target, weight)
    with pytest.raises(NotFound):
        graph.relation("a:none", "y")
    with pytest.raises(InvalidInput, match="empty"):
        graph.relation("a:x", " ")


def test_a_relation_is_found_by_its_text_or_by_what_it_resolves_to() -> None:
    graph = graph_of({"wiki/a.md": "## x\n\n## y\n"})
    graph.set_relations([Relation("a:x", "y", 2.0, None, 1), Relation("a:x", "gone", 1.0, None, 2)])
    assert graph.find_relation("a:x", "a:y").target == "y"
    assert graph.find_relation("x", "y").line == 1
    assert graph.find_relation("a:x", "gone").line == 2
    graph.set_relations([Relation("a:x", "so  far", 1.0, None, 3)])
    assert graph.find_relation("a:x", "so\nfar").target == "so  far"
    with pytest.raises(NotFound):
        graph.find_relation("a:y", "a:x")


def test_a_page_that_only_moves_its_links_to_other_lines_says_the_new_lines() -> None:
    graph = graph_of({"wiki/a.md": "## x\n\n[[a:y]]\n\n## y\n"})
    graph.replace_page(page("wiki/a.md", "# title\n\n## x\n\n[[a:y]]\n\n## y\n"))
    assert [edge.line for edge in graph.edges()] == [5]
