"""What a link resolves to: Obsidian's rules, the native address, labels."""

import pytest

from tests.graphs import OBSIDIAN, graph_of, leads_to
from wikimem.pages.layout import Layout

TRIP = {
    "wiki/daily_life.md": "# daily\n\n## beach-trip-plan\n\ntext\n\n### Packing list\n\n- towel ^towel\n\n## other\n"
}


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("[[daily_life:beach-trip-plan]]", "daily_life:beach-trip-plan"),
        ("[[daily_life:  beach-trip-plan ]]", "daily_life:beach-trip-plan"),
        ("[[Daily_Life:beach-trip-plan]]", "unresolved"),
        ("[[daily_life:Beach-trip-plan]]", "unresolved"),
        ("[[daily_life#beach-trip-plan]]", "daily_life:beach-trip-plan"),
        ("[[Daily_Life#Beach-Trip-Plan]]", "daily_life:beach-trip-plan"),
        ("[[wiki/daily_life#beach-trip-plan]]", "daily_life:beach-trip-plan"),
        ("[[/wiki/daily_life#beach-trip-plan]]", "daily_life:beach-trip-plan"),
        ("[[/daily_life#beach-trip-plan]]", "unresolved"),
        ("[[./daily_life#beach-trip-plan]]", "daily_life:beach-trip-plan"),
        ("[[../wiki/daily_life#beach-trip-plan]]", "daily_life:beach-trip-plan"),
        ("[[../daily_life]]", "unresolved"),
        ("[[daily_life.MD#beach-trip-plan]]", "daily_life:beach-trip-plan"),
        ("[[daily_life#Packing list]]", "daily_life:beach-trip-plan"),
        ("[[daily_life#beach-trip-plan#Packing list]]", "daily_life:beach-trip-plan"),
        ("[[daily_life#daily#beach-trip-plan]]", "daily_life:beach-trip-plan"),
        ("[[daily_life#other#Packing list]]", "unresolved"),
        ("[[daily_life#daily]]", "file:daily_life"),
        ("[[daily_life#nowhere]]", "unresolved"),
        ("[[daily_life#^TOWEL]]", "daily_life:beach-trip-plan"),
        ("[[daily_life#^nothing]]", "unresolved"),
        ("[[daily_life]]", "file:daily_life"),
        ("[[daily_life#]]", "file:daily_life"),
        ("[[DAILY_LIFE]]", "file:daily_life"),
        ("[[fe.md]]", "unresolved"),
        ("[[beach-trip-plan]]", "daily_life:beach-trip-plan"),
        ("[[beach-trip-plan; w=2.5]]", "daily_life:beach-trip-plan"),
        ("[[#item]]", "source:item"),
        ("[[#]]", "file:source"),
        ("[[item]]", "source:item"),
        ("[[source:item]]", "source:item"),
        ("<knowledge>beach-trip-plan</knowledge>", "daily_life:beach-trip-plan"),
        ("<knowledge>daily_life:other</knowledge>", "daily_life:other"),
        ("<knowledge>daily_life</knowledge>", "file:daily_life"),
        ("[t](daily_life.md#beach-trip-plan)", "daily_life:beach-trip-plan"),
        ("[t](daily_life:other)", "daily_life:other"),
        ("![[daily_life#other]]", "daily_life:other"),
    ],
)
def test_each_form_of_a_link_leads_to_its_item(link: str, target: str) -> None:
    assert leads_to(TRIP, link) == target


def test_a_bare_name_with_one_candidate_is_found_anywhere() -> None:
    assert leads_to({"wiki/a/b/Log.md": "## x\n\ny\n"}, "[[log]]") == "file:a/b/Log"


def test_a_path_matches_the_end_of_a_longer_one_even_within_a_folder_name() -> None:
    assert leads_to({"wiki/ab/n.md": "", "wiki/c/n.md": ""}, "[[b/n]]") == "file:ab/n"


def test_the_note_in_the_root_wins_over_every_other_of_its_name() -> None:
    files = {"Note.md": "", "deep/Note.md": "", "deep/er/Note.md": ""}
    assert leads_to(files, "[[Note]]", "deep/source.md", OBSIDIAN) == "file:Note"


def test_a_file_in_the_linking_notes_folder_wins_over_a_shorter_path_elsewhere() -> None:
    files = {"wiki/q/todo.md": "", "wiki/projects/x/todo.md": ""}
    assert leads_to(files, "[[todo]]", "wiki/projects/source.md") == "file:projects/x/todo"
    assert leads_to(files, "[[todo]]", "wiki/source.md") == "file:q/todo"


def test_a_link_that_fits_two_files_equally_well_is_ambiguous_and_names_both() -> None:
    assert leads_to({"wiki/x/todo.md": "", "wiki/y/todo.md": ""}, "[[todo]]") == "x/todo | y/todo"
    both = {"wiki/x/todo.md": "## a\n\nb\n", "wiki/y/todo.md": "## a\n\nb\n"}
    assert leads_to(both, "[[todo#a]]") == "x/todo:a | y/todo:a"


def test_of_two_files_that_differ_in_case_the_exact_spelling_wins() -> None:
    files = {"wiki/Todo.md": "## a\n\nb\n", "wiki/todo.md": "## a\n\nb\n"}
    assert leads_to(files, "[[todo]]") == "file:todo"
    assert leads_to(files, "[[Todo#a]]") == "Todo:a"
    assert leads_to(files, "[[TODO]]") == "Todo | todo"


def test_names_match_under_nfc_and_of_two_spellings_the_exact_one_wins() -> None:
    nfd, nfc = "Cafe\u0301", "Caf\u00e9"
    one = {f"wiki/{nfd}.md": f"## {nfd}\n\nx\n"}
    assert leads_to(one, f"[[{nfc}]]") == f"file:{nfd}"
    assert leads_to(one, f"[[{nfc}:{nfc}]]") == f"{nfd}:{nfd}"
    two = {f"wiki/{nfd}.md": "## a\n\nx\n", f"wiki/{nfc}.md": "## a\n\nx\n"}
    assert leads_to(two, f"[[{nfc}:a]]") == f"{nfc}:a"
    assert leads_to(two, f"[[{nfd}#a]]") == f"{nfd}:a"


def test_a_name_with_a_dot_is_tried_as_it_stands_and_then_with_the_extension() -> None:
    assert leads_to({"wiki/v1.2.md": ""}, "[[v1.2]]") == "file:v1.2"
    assert leads_to({"wiki/a.png.md": ""}, "[[a.png]]") == "file:a.png"


def test_an_attachment_is_no_edge() -> None:
    graph = graph_of({"wiki/a.md": "## x\n\n![[pic.png]] ![[b.pdf#page=3]] [c](d%20e.jpg) ![[f.canvas]] [[g.v2]]\n"})
    assert [edge.target for edge in graph.edges()] == ["g.v2"]
    assert graph.counts().unresolved == 1


@pytest.mark.parametrize("anchor", ["a.b", "a/b", "a:b", "a b", "A  B", "a?b!"])
def test_punctuation_in_headings_is_blank_to_obsidian(anchor: str) -> None:
    assert leads_to({"wiki/n.md": "## A.B\n\nx\n"}, f"[t](<n.md#{anchor}>)") == "n:A.B"


def test_hyphens_apostrophes_and_full_width_marks_are_kept_in_anchors() -> None:
    files = {"wiki/n.md": "## it's a-b：c\n\nx\n"}
    assert leads_to(files, "[[n#IT'S A-B：C]]") == "n:it's a-b：c"
    assert leads_to(files, "[[n#it's a b：c]]") == "unresolved"
    assert leads_to(files, "[[n#it's a-b c]]") == "unresolved"


def test_a_link_that_obsidian_wrote_finds_the_heading_with_a_colon() -> None:
    assert leads_to({"wiki/games.md": "## Minecraft: The Game\n\nx\n"}, "[[games#Minecraft The Game]]") == (
        "games:Minecraft: The Game"
    )


def test_of_duplicate_headings_the_served_item_is_meant_wherever_it_stands() -> None:
    files = {"wiki/n.md": "## a\n\nfirst\n\n## b\n\nx\n\n## a\n\nlast\n"}
    assert leads_to(files, "[[n#a]]") == "n:a"
    assert leads_to(files, "[[n#A]]") == "n:a"


def test_a_duplicate_is_reached_through_its_parent() -> None:
    text = "## One\n\n### Breaking\n\nx\n\n## Two\n\n### Breaking\n\ny\n"
    assert leads_to({"wiki/log.md": text}, "[[log#Two#Breaking]]") == "log:Two"
    assert leads_to({"wiki/log.md": text}, "[[log#Breaking]]") == "log:One"


def test_a_heading_of_punctuation_alone_has_no_anchor() -> None:
    assert leads_to({"wiki/n.md": "### !!!\n\nx\n"}, "[[n#!!!]]") == "unresolved"


def test_an_exact_item_name_wins_over_an_earlier_heading_that_obsidian_thinks_equal() -> None:
    files = {"wiki/n.md": "## a.b\n\nx\n\n## a b\n\ny\n"}
    assert leads_to(files, "[[n#a b]]") == "n:a b"
    assert leads_to(files, "[[n#a.b]]") == "n:a.b"
    assert leads_to(files, "[[n#a/b]]") == "n:a.b"


def test_an_alias_is_a_label_but_never_resolves_a_typed_link() -> None:
    files = {"wiki/n.md": "---\naliases: [AL, Other Name]\n---\n## x\n\ny\n"}
    assert leads_to(files, "[[AL]]") == "unresolved"
    assert leads_to(files, "<knowledge>AL</knowledge>") == "file:n"
    graph = graph_of({"Note.md": "---\naliases: AL\n---\nprose\n"}, OBSIDIAN)
    assert graph.resolve("AL", source=None).address == "Note:Note"


def test_a_label_means_the_item_of_the_same_file_before_others() -> None:
    files = {"wiki/a.md": "## plan\n\nx\n", "wiki/b.md": "## plan\n\ny\n"}
    assert leads_to(files, "[[plan]]") == "a:plan | b:plan"
    graph = graph_of({**files, "wiki/c.md": "## plan\n\nz\n\n## item\n\n[[plan]]\n"})
    assert [edge.target for edge in graph.edges()] == ["c:plan"]


def test_a_file_comes_before_a_label_and_the_edge_to_it_is_no_item() -> None:
    graph = graph_of({"wiki/plan.md": "## x\n\ny\n", "wiki/a.md": "## plan\n\n[[plan]]\n"})
    (edge,) = graph.edges()
    assert (edge.target, edge.to_file, edge.state) == ("plan", True, "resolved")


def test_diary_entries_are_reached_by_anchor_and_by_ordinal() -> None:
    day = {
        "diary/2026-07-21.md": "# 2026-07-21\n\n## 14:30\n\na\n\n## 14:30\n\nb\n\n## 22:10 Late\n\nc\n\n## Tasks\n\nd\n"
    }
    assert leads_to(day, "[[2026-07-21#14:30]]") == "2026-07-21:14:30"
    assert leads_to(day, "[[2026-07-21#14 30]]") == "2026-07-21:14:30"
    assert leads_to(day, "[[2026-07-21#14:30#2]]") == "2026-07-21:14:30#2"
    assert leads_to(day, "[[2026-07-21#22:10]]") == "2026-07-21:22:10"
    assert leads_to(day, "[[2026-07-21#22:10 Late]]") == "2026-07-21:22:10"
    assert leads_to(day, "<knowledge>2026-07-21:14:30#2</knowledge>") == "2026-07-21:14:30#2"
    assert leads_to(day, "[[2026-07-21]]") == "file:2026-07-21"


def test_a_file_whose_name_holds_a_colon_is_linked_as_obsidian_would_on_linux() -> None:
    assert leads_to({"wiki/daily_life:beach.md": "## x\n\ny\n"}, "[[daily_life:beach]]") == "file:daily_life%3Abeach"


def test_links_in_properties_and_preamble_belong_to_the_file() -> None:
    text = '---\nup: "[[daily_life#other]]"\nbad: [[daily_life]]\n---\n# t [[daily_life:other]]\n\n## item\n\nx\n'
    graph = graph_of({**TRIP, "wiki/a.md": text})
    edges = list(graph.edges())
    assert [(edge.source, edge.target, edge.line) for edge in edges] == [
        ("a", "daily_life:other", 2),
        ("a", "daily_life:other", 5),
    ]
    assert graph.links_from("a:item") == ()


def test_a_whole_note_served_as_one_item_stands_for_its_file_in_walks_but_not_in_expansion() -> None:
    graph = graph_of({"A.md": "to [[B]]\n", "B.md": "to [[C]]\n", "C.md": "end\n"}, OBSIDIAN)
    assert [edge.to_file for edge in graph.links_from("A:A")] == [True]
    found = graph.related("A:A", depth=2)
    assert [(item.address, item.path) for item in found.items] == [
        ("C:C", ("A:A", "B:B", "C:C")),
        ("B:B", ("A:A", "B:B")),
    ]


def test_a_target_outside_the_wiki_folder_is_found_when_it_is_a_day() -> None:
    layout = Layout(diary_dir="journal")
    assert (
        leads_to({"journal/2026-07-21.md": "## 09:00\n\nx\n"}, "[[2026-07-21#09:00]]", layout=layout)
        == "2026-07-21:09:00"
    )
