"""Links that follow a rename or change their style: only the bytes of their targets, and only to the item meant."""

from collections.abc import Mapping

import pytest

from tests.graphs import graph_of, page
from wikimem.pages.layout import Layout
from wikimem.pages.relations import Relation
from wikimem.pages.repair import RepairPlan, apply_fixes
from wikimem.search.repairs import Source, Style, plan_repairs, plan_style

LAYOUT = Layout()


def sources_of(files: Mapping[str, bytes]) -> list[Source]:
    return [Source(page(path, data.decode("utf-8", "surrogateescape")), data) for path, data in files.items()]


def repaired(files: Mapping[str, str], renames: Mapping[str, str]) -> tuple[dict[str, str], RepairPlan]:
    data = {path: text.encode() for path, text in files.items()}
    plan = plan_repairs(sources_of(data), renames, path_of=LAYOUT.wiki_path)
    return {path: apply_fixes(data[path], fixes).decode() for path, fixes in plan.by_path().items()}, plan


def restyled(files: Mapping[str, str], style: Style) -> tuple[dict[str, str], RepairPlan]:
    data = {path: text.encode() for path, text in files.items()}
    plan = plan_style(sources_of(data), style)
    return {path: apply_fixes(data[path], fixes).decode() for path, fixes in plan.by_path().items()}, plan


@pytest.mark.parametrize(
    ("link", "after"),
    [
        ("[[b:old]]", "[[b:new]]"),
        ("[[ b : old ]]", "[[ b:new ]]"),
        ("[[b:old; w=2.5|see: this]]", "[[b:new; w=2.5|see: this]]"),
        ("[[b#old]]", "[[b#new]]"),
        ("[[B#OLD]]", "[[B#new]]"),
        ("[[wiki/b#old|old]]", "[[wiki/b#new|old]]"),
        ("[[b#title#old]]", "[[b#title#new]]"),
        ("[[old]]", "[[new]]"),
        (r"| [[b#old\|x]] |", r"| [[b#new\|x]] |"),
        ("![[b#old]]", "![[b#new]]"),
        ("[t](b.md#old)", "[t](b.md#new)"),
        ('[t](<b.md#old> "title")', '[t](<b.md#new> "title")'),
        ("<knowledge weight='2'>old</knowledge>", "<knowledge weight='2'>new</knowledge>"),
        ("<knowledge>b:old</knowledge>", "<knowledge>b:new</knowledge>"),
        ("<knowledge> b : old </knowledge>", "<knowledge> b:new </knowledge>"),
        ("`[[b:old]]` [[b:old]] `[[b:old]]`", "`[[b:old]]` [[b:new]] `[[b:old]]`"),
        ("[[b:old]] [[b:old]] [[b:x]]", "[[b:new]] [[b:new]] [[b:x]]"),
    ],
)
def test_a_renamed_item_takes_its_links_along_and_nothing_else_changes(link: str, after: str) -> None:
    text = f"# a\n\n## item\n\n  {link} and more\n\nlast [[b:x]]"
    found, plan = repaired({"wiki/a.md": text, "wiki/b.md": "# title\n\n## new\n\ny\n"}, {"b:old": "b:new"})
    assert found == {"wiki/a.md": text.replace(link, after)}
    assert [left.target for left in plan.left] == ["b:x"] * text.count("b:x")


@pytest.mark.parametrize(
    "name", ["a|b", "x; w=2", "a]]b", "see [[x]]", "foo\\", "(par) [br]", "[x](y)", "a ]", "|", "`c`"]
)
@pytest.mark.parametrize(
    "link",
    [
        "[[b:old]]",
        "[[b#old|al]]",
        "[[old]]",
        "[[old|al]]",
        "[[old; w=3]]",
        r"| [[old\|x]] |",
        "[t](b.md#old)",
        "<knowledge>b:old</knowledge>",
    ],
)
def test_a_name_that_would_end_or_split_a_link_is_written_otherwise_or_left_to_a_person(link: str, name: str) -> None:
    text, target = f"## item\n\n{link} [[b#x]]\n", f"## {name}\n\ny\n\n## x\n"
    found, plan = repaired({"wiki/a.md": text, "wiki/b.md": target}, {"b:old": f"b:{name}"})
    edges = list(graph_of({"wiki/a.md": found.get("wiki/a.md", text), "wiki/b.md": target}).edges())
    goals = [edge.target for edge in edges if edge.state == "resolved" and edge.file == "wiki/a.md"]
    assert goals == ([f"b:{name}", "b:x"] if found else ["b:x"])
    assert bool(found) != any(one.path == "wiki/a.md" for one in plan.left)


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("up: '[[b#old]]'", """up: '[[b#it''s "new"]]'"""),
        ('up: "[[b#old|x]]"', """up: "[[b#it's \\"new\\"|x]]\""""),
        ("up: ['[[b:old]]', \"[[b:old; w=2]]\"]", """up: ['[[b:it''s "new"]]', "[[b:it's \\"new\\"; w=2]]"]"""),
        ("up: '[x](b.md#old)'", """up: '[x](b.md#it''s%20"new")'"""),
    ],
)
def test_a_name_with_quotes_leaves_the_properties_that_link_to_it_readable(line: str, after: str) -> None:
    text = f"---\ntags: [a]\n{line}\nother: '[[b#x]]'\n---\n## item\n"
    found, _ = repaired({"wiki/a.md": text, "wiki/b.md": '## it\'s "new"\n\ny\n\n## x\n'}, {"b:old": 'b:it\'s "new"'})
    assert found == {"wiki/a.md": text.replace(line, after)}
    graph = graph_of({**found, "wiki/b.md": '## it\'s "new"\n\n## x\n'})
    assert {edge.state for edge in graph.edges()} == {"resolved"}
    assert len(list(graph.edges())) == line.count("old") + 1


def test_bytes_that_are_no_utf_8_do_not_keep_a_property_from_its_repair() -> None:
    data = b"---\nwho: Jos\xe9\nup: '[[b#old]]'\n---\n"
    sources = sources_of({"wiki/a.md": data, "wiki/b.md": b"## it's\n"})
    plan = plan_repairs(sources, {"b:old": "b:it's"}, path_of=LAYOUT.wiki_path)
    assert apply_fixes(data, plan.fixes) == data.replace(b"old", b"it''s")


def test_links_to_attachments_are_none_of_a_repairs_business() -> None:
    _, plan = repaired({"wiki/a.md": "## item\n\n![[pic.png]] [[gone]]\n"}, {})
    assert [left.target for left in plan.left] == ["gone"]


def test_an_item_moved_to_another_file_is_followed_there() -> None:
    files = {
        "wiki/a.md": "## item\n\n[[b:x]] [[b#x]] [[wiki/b#x]] [[x]] [t](b.md#x)\n",
        "wiki/c.md": "## x\n\ny\n",
        "wiki/b.md": "",
    }
    found, _ = repaired(files, {"b:x": "c:x"})
    # The label leads there already.
    assert found == {"wiki/a.md": "## item\n\n[[c:x]] [[c#x]] [[c#x]] [[x]] [t](c.md#x)\n"}


def test_a_renamed_file_takes_links_to_itself_and_its_items_along() -> None:
    files = {"wiki/a.md": "## item\n\n[[b]] [[b#x]] [[b:y|Y]] [[b#^id]]\n", "wiki/c.md": "## x\n\np ^id\n\n## y\n"}
    found, _ = repaired(files, {"b:x": "c:x", "b:y": "c:y"})
    assert found == {"wiki/a.md": "## item\n\n[[c]] [[c#x]] [[c:y|Y]] [[b#^id]]\n"}


def test_a_name_that_a_native_link_cannot_hold_is_written_as_an_anchor() -> None:
    files = {"wiki/a.md": "## item\n\n[[b:old]] [[b#old]]\n", "wiki/b.md": "## Part two: the sea\n\ny\n"}
    found, _ = repaired(files, {"b:old": "b:Part two: the sea"})
    assert found == {"wiki/a.md": "## item\n\n[[b#Part two the sea]] [[b#Part two the sea]]\n"}


def test_a_target_that_would_mean_another_item_is_not_written() -> None:
    # The new name alone is the name of two items, so the label gets the file's name too.
    files = {"wiki/a.md": "## item\n\n[[old]]\n", "wiki/b.md": "## new\n\ny\n", "wiki/c.md": "## new\n\nz\n"}
    found, _ = repaired(files, {"b:old": "b:new"})
    assert found == {"wiki/a.md": "## item\n\n[[b#new]]\n"}


def test_two_renames_that_fit_one_link_are_left_to_a_person() -> None:
    files = {"wiki/a.md": "## item\n\n[[old]]\n", "wiki/b.md": "## p\n\ny\n", "wiki/c.md": "## q\n\nz\n"}
    found, plan = repaired(files, {"b:old": "b:p", "c:old": "c:q"})
    assert found == {}
    assert [(left.target, left.suggestion) for left in plan.left] == [("old", "b:p or c:q")]


def test_a_rename_whose_old_name_is_there_again_changes_no_link() -> None:
    files = {"wiki/a.md": "## item\n\n[[b:old]] [[b:gone]]\n", "wiki/b.md": "## old\n\nx\n\n## new\n\ny\n"}
    assert repaired(files, {"b:old": "b:new", "b:gone": "b:nowhere"})[0] == {}


def test_links_in_properties_and_preamble_follow_too() -> None:
    lines = [
        "\ufeff---",
        'up: "[[b#old]]"',
        "also: '[[b:old]]'",
        "---",
        "# T [[b:old]]",
        "prose [[old]]",
        "",
        "## item",
        "",
    ]
    text = "\r\n".join(lines)
    found, _ = repaired({"wiki/a.md": text, "wiki/b.md": "## new\n\ny\n"}, {"b:old": "b:new"})
    assert found == {"wiki/a.md": text.replace("old", "new")}


def test_bytes_that_are_not_utf8_and_odd_line_ends_stay_as_they_are() -> None:
    data = "## item\r\rcaf\udce9 \u2028 [[b:old]] \x0c\n\r\n[[b:old]] \udcff\r".encode("utf-8", "surrogateescape")
    sources = sources_of({"wiki/a.md": data, "wiki/b.md": b"## new\n\ny\n"})
    plan = plan_repairs(sources, {"b:old": "b:new"}, path_of=LAYOUT.wiki_path)
    assert apply_fixes(data, plan.by_path()["wiki/a.md"]) == data.replace(b"b:old", b"b:new")


def test_an_entry_of_the_diary_follows_on_its_heading_line_and_below() -> None:
    text = "# day\n\n## 14:30 lunch [[b:old]]\n\n   [[b:old]]\n"
    found, _ = repaired({"diary/2026-07-21.md": text, "wiki/b.md": "## new\n\ny\n"}, {"b:old": "b:new"})
    assert found == {"diary/2026-07-21.md": text.replace("old", "new")}


def test_manual_edges_follow_a_rename_at_both_ends() -> None:
    sources = sources_of({"wiki/b.md": b"## new\n\ny\n\n## other\n"})
    relations = [Relation("b:old", "b:other"), Relation("b:other", "old"), Relation("b:other", "b:new")]
    plan = plan_repairs(sources, {"b:old": "b:new"}, relations, path_of=LAYOUT.wiki_path)
    assert plan.relations == (
        (relations[0], Relation("b:new", "b:other")),
        (relations[1], Relation("b:other", "b:new")),
    )


def test_fixes_refuse_a_file_that_is_not_the_one_they_were_made_from() -> None:
    sources = sources_of({"wiki/a.md": b"## item\n\n[[b:old]]\n", "wiki/b.md": b"## new\n\ny\n"})
    (fixes,) = plan_repairs(sources, {"b:old": "b:new"}, path_of=LAYOUT.wiki_path).by_path().values()
    with pytest.raises(ValueError, match="line 3"):
        apply_fixes(b"## item\n\nmoved [[b:old]]\n", fixes)


FILES = {
    "wiki/a.md": "## item\n\n[[b:x]] [[b#x]] [[b:x; w=2|X]] ![[b:x]] [[b:none]] [[#item]] `[[b:x]]` [[b#none]] [[b]]\n",
    "wiki/b.md": "# b\n\n## x\n\ny\n\n### sub\n",
}


def test_native_links_become_links_that_a_person_can_click() -> None:
    found, _ = restyled(FILES, "obsidian")
    links = "[[b#x]] [[b#x]] [[b#x; w=2|X]] ![[b#x]] [[b:none]] [[#item]] `[[b:x]]` [[b#none]] [[b]]"
    assert found == {"wiki/a.md": f"## item\n\n{links}\n"}


def test_obsidian_links_to_items_become_native_ones() -> None:
    found, _ = restyled(FILES, "native")
    links = "[[b:x]] [[b:x]] [[b:x; w=2|X]] ![[b:x]] [[b:none]] [[a:item]] `[[b:x]]` [[b#none]] [[b]]"
    assert found == {"wiki/a.md": f"## item\n\n{links}\n"}


def test_a_link_to_a_heading_inside_an_item_keeps_its_way() -> None:
    files = {"wiki/a.md": "## item\n\n[[b#sub]] [[b#x#sub]] [[b#b#x]]\n", "wiki/b.md": FILES["wiki/b.md"]}
    assert restyled(files, "native")[0] == {"wiki/a.md": "## item\n\n[[b#sub]] [[b#x#sub]] [[b:x]]\n"}


def test_a_file_name_that_is_there_twice_is_written_with_its_path() -> None:
    files = {
        "wiki/sub/a.md": "## item\n\n[[b:x]] [[sub/b:x]]\n",
        "wiki/b.md": "## x\n\ny\n",
        "wiki/sub/b.md": "## x\n\nz\n",
    }
    found, _ = restyled(files, "obsidian")
    assert found == {"wiki/sub/a.md": "## item\n\n[[wiki/b#x]] [[b#x]]\n"}


def test_what_the_other_style_cannot_say_is_left_with_the_reason() -> None:
    files = {"wiki/a.md": "## item\n\n[[2026-07-21#14:30]]\n", "diary/2026-07-21.md": "## 14:30\n\nx\n"}
    found, plan = restyled(files, "native")
    assert found == {}
    assert [(left.target, left.suggestion) for left in plan.left] == [("2026-07-21#14:30", "2026-07-21:14:30")]


@pytest.mark.parametrize("style", ["obsidian", "native"])
def test_every_edge_is_the_same_after_a_change_of_style(style: Style) -> None:
    found, _ = restyled(FILES, style)
    before, after = graph_of(FILES), graph_of({**FILES, **found})
    assert [(e.source, e.target, e.weight) for e in before.edges("resolved")] == [
        (e.source, e.target, e.weight) for e in after.edges("resolved")
    ]
    assert restyled({**FILES, **found}, style)[0] == {}
