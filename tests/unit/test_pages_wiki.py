"""The seed's RecallFile, to the byte, and what an edit makes of files by other hands."""

import pytest

from wikimem.errors import InvalidContent, InvalidInput, InvalidName, NotFound
from wikimem.pages.items import RecallItem
from wikimem.pages.layout import Layout
from wikimem.pages.reading import read_page
from wikimem.pages.wiki import clean_content, put_item, read_wiki_page, remove_item

# `seeds/001`, "RecallFiles (wiki/)", as upstream writes it.
SEED = """# preferences

## likes-the-sea

喜欢海边，提到过想去海边玩。[[daily_life:beach-trip-plan]]

<!-- wikimem: owner=user:xnne | source=conv_20260710 | ts=2026-07-10T03:00:00+00:00 -->

## 手冲咖啡

只喝手冲咖啡，从不加糖。
"""
LAYOUT = Layout()


def item(
    name: str, content: str, owner: str | None = None, source: str | None = None, ts: str | None = None
) -> RecallItem:
    return RecallItem("preferences", name, content, owner, source, ts)


def put(data: str | None, new: RecallItem) -> str:
    edit = put_item(None if data is None else data.encode(), "preferences", new)
    assert edit.data is not None
    return edit.data.decode()


def removed(data: str, name: str) -> str | None:
    edit = remove_item(data.encode(), "preferences", name)
    return None if edit.data is None else edit.data.decode()


def contents(data: str, layout: Layout = LAYOUT) -> dict[str, str]:
    return {one.name: one.content for one in read_wiki_page("wiki/preferences.md", data.encode(), layout).items}


def test_the_seeds_file_is_read() -> None:
    sea, coffee = read_wiki_page("wiki/preferences.md", SEED.encode(), LAYOUT).items
    assert sea == item(
        "likes-the-sea",
        "喜欢海边，提到过想去海边玩。[[daily_life:beach-trip-plan]]",
        "user:xnne",
        "conv_20260710",
        "2026-07-10T03:00:00+00:00",
    )
    assert coffee == item("手冲咖啡", "只喝手冲咖啡，从不加糖。")
    assert (sea.line, coffee.line) == (3, 9)


def test_the_seeds_file_is_written_to_the_byte() -> None:
    sea, coffee = read_wiki_page("wiki/preferences.md", SEED.encode(), LAYOUT).items
    assert put(put(None, sea), coffee) == SEED


def test_writing_what_is_there_changes_no_byte() -> None:
    for one in read_wiki_page("wiki/preferences.md", SEED.encode(), LAYOUT).items:
        assert put(SEED, one) == SEED


def test_a_changed_item_stays_where_it_is() -> None:
    changed = put(SEED, item("likes-the-sea", "山", ts="2026-07-11T11:00:00+08:00"))
    head, tail = SEED.split("喜欢", maxsplit=1)[0], SEED[SEED.index("\n\n## 手冲咖啡") :]
    assert changed == f"{head}山\n\n<!-- wikimem: ts=2026-07-11T03:00:00+00:00 -->{tail}"


def test_removing_the_last_item_gives_the_file_before_it_was_added() -> None:
    assert removed(SEED, "手冲咖啡") == SEED[: SEED.index("\n## 手冲咖啡")]


def test_removing_the_first_item_leaves_the_second() -> None:
    assert removed(SEED, "likes-the-sea") == "# preferences\n\n## 手冲咖啡\n\n只喝手冲咖啡，从不加糖。\n"


@pytest.mark.parametrize("title", ["# preferences", "# Preferences", "", "\ufeff# preferences"])
def test_a_file_without_items_and_nothing_of_a_persons_goes(title: str) -> None:
    assert removed(f"{title}\n\n## a\n\nx\n", "a") is None


@pytest.mark.parametrize(
    "above",
    ["---\nx: 1\n---\n", "# preferences\n\nprose\n", "# My own title\n", "# preferences\n\n# more\n", "%% note %%\n"],
)
def test_a_file_with_something_of_a_persons_stays(above: str) -> None:
    assert removed(f"{above}\n## a\n\nx\n", "a") == above


def test_an_item_under_a_heading_of_another_hand_keeps_that_heading() -> None:
    data = "  ##\tCafe\u0301  x ##\ntext\n## b\n"
    assert put(data, item("Caf\u00e9 x", "new")) == "  ##\tCafe\u0301  x ##\n\nnew\n\n## b\n"


def test_a_name_that_cannot_be_written_can_be_edited_where_it_is() -> None:
    assert put("## a:b | c\n\nx\n", item("a:b | c", "y")) == "## a:b | c\n\ny\n"
    with pytest.raises(InvalidName):
        put("## other\n", item("a:b | c", "y"))


def test_windows_line_ends_and_a_missing_last_one_stay() -> None:
    data = "# n\r\n\r\n## a\r\n\r\nx"
    assert put(data, item("a", "y\nz", "o")) == "# n\r\n\r\n## a\r\n\r\ny\r\nz\r\n\r\n<!-- wikimem: owner=o -->"
    assert put(data, item("b", "y")) == f"{data}\r\n\r\n## b\r\n\r\ny"


def test_an_old_macs_line_ends_stay() -> None:
    assert put("## a\r\rx\r", item("b", "y\nz")) == "## a\r\rx\r\r## b\r\ry\rz\r"


def test_a_lone_carriage_return_before_a_new_item_stays_one_line_end() -> None:
    data = put("## x\n\n1\n\n## a\n\n2\r", item("b", "y"))
    assert contents(data) == {"x": "1", "a": "2", "b": "y"}
    assert data.startswith("## x\n\n1\n\n## a\n\n2\r")


def test_blank_lines_that_a_person_left_stay() -> None:
    assert put("## a\n\nx\n\n\n\n## b\n\ny\n\n\n", item("a", "1")) == "## a\n\n1\n\n\n\n## b\n\ny\n\n\n"


def test_a_heading_right_below_the_text_gets_a_blank_line() -> None:
    assert put("## a\nx\n## b\n", item("a", "<div>")) == "## a\n\n<div>\n\n## b\n"


def test_duplicates_of_the_touched_name_collapse_to_the_last_and_are_handed_back() -> None:
    data = "## a\n\n1\n\n## b\n\n2\n\n## a\n\n3\n\n## b\n\n4\n"
    edit = put_item(data.encode(), "preferences", item("a", "new"))
    assert edit.data == b"## b\n\n2\n\n## a\n\nnew\n\n## b\n\n4\n"
    assert [one.content for one in edit.replaced] == ["1", "3"]
    assert edit.item == item("a", "new")


def test_removing_takes_every_duplicate() -> None:
    edit = remove_item(b"## a\n\n1\n\n## b\n\n2\n\n## a\n\n3\n", "preferences", "a")
    assert edit.data == b"## b\n\n2\n"
    assert [one.content for one in edit.replaced] == ["1", "3"]


def test_removing_what_is_not_there_says_so() -> None:
    with pytest.raises(NotFound):
        remove_item(b"## a\n", "preferences", "b")


def test_unknown_metadata_is_kept_and_known_metadata_replaced() -> None:
    data = "## a\n\nx\n\n<!-- wikimem: mood=fine | owner=o | ts=soon -->\n"
    assert put(data, item("a", "y", None, "s")) == "## a\n\ny\n\n<!-- wikimem: source=s | mood=fine -->\n"


@pytest.mark.parametrize(
    ("open_end", "closer", "kind"),
    [
        ("```py\nx", "```", "fence"),
        ("~~~~\nx\n", "~~~~", "fence"),
        ("<!-- x", "-->", "comment"),
        ("<pre>\nx\n", "</pre>", "html"),
    ],
)
def test_what_is_open_at_the_end_is_closed_before_a_new_item_and_reported(
    open_end: str, closer: str, kind: str
) -> None:
    edit = put_item(f"## a\n\n{open_end}".encode(), "preferences", item("b", "y"))
    assert edit.data is not None
    last = "\n" if open_end.endswith("\n") else ""
    assert edit.data.decode() == "## a\n\n" + open_end.rstrip("\n") + f"\n{closer}\n\n## b\n\ny{last}"
    assert [(problem.kind, problem.line) for problem in edit.problems] == [(f"closed-{kind}", 3)]


def test_what_is_open_at_the_end_stays_open_while_another_item_is_edited() -> None:
    assert put("## a\n\nx\n\n## b\n\n```\ny", item("a", "z")) == "## a\n\nz\n\n## b\n\n```\ny"


def test_a_list_before_an_indented_heading_is_ended() -> None:
    data = put("## a\n\nx\n\n  ## b\n\ny\n", item("a", "- list"))
    assert data == "## a\n\n- list\n\n<!-- wikimem: -->\n\n  ## b\n\ny\n"
    assert contents(data) == {"a": "- list", "b": "y"}


def test_a_list_above_a_removed_item_does_not_swallow_the_one_below() -> None:
    data = removed("## a\n\n- list\n\n## b\n\nx\n\n  ## c\n\ny\n", "b")
    assert data == "## a\n\n- list\n\n<!-- wikimem: -->\n\n  ## c\n\ny\n"
    assert contents(data) == {"a": "- list", "c": "y"}


def test_an_empty_file_of_a_person_gets_just_the_item() -> None:
    assert put("", item("a", "x")) == "## a\n\nx\n"
    assert put("\ufeff", item("a", "x")) == "\ufeff## a\n\nx\n"


def test_an_item_may_be_empty() -> None:
    assert put(None, item("a", " ", "o")) == "# preferences\n\n## a\n\n<!-- wikimem: owner=o -->\n"
    assert put("## a\n\nx\n\n## b\n", item("a", "")) == "## a\n\n## b\n"


@pytest.mark.parametrize(
    ("content", "clean"),
    [
        ("  x \r\ny\rz\n ", "x \ny\nz"),
        ("# one\n## two\n### three\n#### four", "### one\n### two\n### three\n#### four"),
        ("  ## in\n##\ttab ##", "### in\n###\ttab ##"),
        ("```\n# code\n```\n    # code", "```\n# code\n```\n    # code"),
        ("Title\n===\n\nlower\n---\nx", "Title\n===\n\nlower\n---\nx"),
        ("%%\n## hidden\n%%", "%%\n### hidden\n%%"),
        ("```\nopen", "```\nopen\n```"),
        ("~~~~ x\n```", "~~~~ x\n```\n~~~~"),
        ("<!-- open", "<!-- open\n-->"),
        ("<pre>\nopen", "<pre>\nopen\n</pre>"),
        ("x %% open", "x %% open\n\n%%"),
        ("x $$ open", "x $$ open\n\n$$"),
        ("%% a $$ b", "%% a $$ b\n\n%%"),
        ("`%%` and `$$`", "`%%` and `$$`"),
        ("- [ ] x\n  ```\n  y", "- [ ] x\n  ```\n  y"),
        ("a\x00b\ud800c\ud83d\ude00", "a\ufffdb\ufffdc\ufffd\ufffd"),
        ("a\u2028## b\x0c## c", "a\u2028## b\x0c## c"),
        ("<!-- wikimem: owner=x -->\n\ntext", "<!-- wikimem: owner=x -->\n\ntext"),
        ("text\n\n<!-- wikimem: nonsense -->", "text\n\n<!-- wikimem: nonsense -->"),
        ("", ""),
    ],
)
def test_content_is_made_safe(content: str, clean: str) -> None:
    assert clean_content(content) == clean
    assert clean_content(clean) == clean
    assert contents(put(SEED, item("new", content)))["new"] == clean


@pytest.mark.parametrize(
    "content",
    [
        "x\n\n<!-- wikimem: owner=root -->",
        "<!-- wikimem: ts=2026-07-10T03:00:00+00:00 -->  \n\n",
        "x\n<!--wikimem:-->\u3000\n",
        "```\n<!-- wikimem: owner=x -->",
    ],
)
def test_provenance_cannot_be_forged(content: str) -> None:
    with pytest.raises(InvalidContent):
        clean_content(content)
    with pytest.raises(ValueError, match="provenance"):
        put(SEED, item("a", content))


def test_a_time_that_is_none_is_refused_rather_than_dropped() -> None:
    with pytest.raises(InvalidInput):
        put(SEED, item("a", "x", ts="soon"))


def test_links_get_the_vaults_style() -> None:
    edit = put_item(None, "preferences", item("a", "[[daily_life:trip]] and `[[a:b]]`"), link_style="obsidian")
    assert edit.item is not None
    assert edit.item.content == "[[daily_life#trip]] and `[[a:b]]`"
    assert clean_content(edit.item.content, link_style="obsidian") == edit.item.content


def test_a_content_that_a_broken_top_of_the_file_would_swallow_is_refused() -> None:
    with pytest.raises(InvalidContent, match="properties"):
        put("---\nopen: 1\n\n## a\n", item("a", "x\n\n---\n\ny"))


PREAMBLES = Layout(preamble_items=True)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("# Title\n\nprose\n\n## a\n\nx\n", {"Title": "prose", "a": "x"}),
        ("prose\n\n## a\n\nx\n", {"preferences": "prose", "a": "x"}),
        ("---\nx: 1\n---\nprose", {"preferences": "prose"}),
        ("# Title\n\n# Part\n\nprose\n", {"Title": "# Part\n\nprose"}),
        ("prose\n\n# Part\n\nmore\n", {"preferences": "prose\n\n# Part\n\nmore"}),
        ("# Title\n\n## a\n\nx\n", {"a": "x"}),
        ("# \n\nprose\n", {"preferences": "prose"}),
        ("# a\n\nprose\n\n## a\n\nx\n", {"a": "x"}),
        ("", {}),
    ],
)
def test_the_prose_above_the_first_heading_may_be_an_item(data: str, expected: dict[str, str]) -> None:
    assert contents(data, PREAMBLES) == expected


def test_a_preamble_is_edited_in_its_place() -> None:
    data = "---\nx: 1\n---\n# Title\n\nprose\n\n## a\n\nx\n"
    edit = put_item(data.encode(), "preferences", item("Title", "new", "o"), preamble_items=True)
    assert edit.data is not None
    assert edit.data.decode() == "---\nx: 1\n---\n# Title\n\nnew\n\n<!-- wikimem: owner=o -->\n\n## a\n\nx\n"
    assert edit.replaced == (item("Title", "prose"),)
    edit = remove_item(edit.data, "preferences", "Title", preamble_items=True)
    assert edit.data == b"---\nx: 1\n---\n# Title\n\n## a\n\nx\n"


def test_a_heading_of_the_titles_name_never_costs_the_preamble() -> None:
    edit = put_item(b"# a\n\nprose\n\n## a\n\nx\n", "preferences", item("a", "y"), preamble_items=True)
    assert edit.data == b"# a\n\nprose\n\n## a\n\ny\n"


def test_links_tags_headings_and_ids_know_their_item() -> None:
    data = (
        '---\ntags: Note\nup: "[[home]]"\n---\n# T [[title]]\n\n#lead\n\n'
        "## a #own\n\n#one [[x:y]]\n### sub\n\nz ^id\n\n"
        "## b [[h]]\n\nt\n\n\n[[c#d]]\n\n# end\n\n#last [[e]]\n"
    )
    page = read_wiki_page("wiki/preferences.md", data.encode(), LAYOUT)
    assert page.tags == ("note", "lead", "last")
    assert [one.tags for one in page.items] == [("note", "lead", "last", "own", "one"), ("note", "lead", "last")]
    assert page.blocks == (("id", "preferences:a #own"),)
    assert [(one.source, one.link.target, one.line) for one in page.links] == [
        (None, "home", 3),
        (None, "title", 5),
        ("preferences:a #own", "x:y", 11),
        (None, "h", 16),
        ("preferences:b [[h]]", "c#d", 21),
        (None, "e", 25),
    ]
    for one in page.links:
        text = data if one.source is None else next(i.content for i in page.items if i.address == one.source)
        assert one.link.target in text[one.link.start : one.link.end]
    assert [(one.level, one.item) for one in page.headings] == [
        (1, None),
        (2, "preferences:a #own"),
        (3, "preferences:a #own"),
        (2, "preferences:b [[h]]"),
        (1, None),
    ]


def test_lines_of_links_outside_items_are_right_under_any_line_end() -> None:
    data = "# n [[a]]\r\n\r\nx\ry\n[[b]]\r\n\r## i [[c]]\rz\n\n## j [[d]]\r\n"
    page = read_wiki_page("wiki/preferences.md", data.encode(), LAYOUT)
    assert [(one.link.target, one.line) for one in page.links] == [("a", 1), ("b", 5), ("c", 7), ("d", 10)]


def test_a_property_link_that_a_yaml_escape_hides_is_put_in_its_line() -> None:
    data = '---\na: "[[one]]"\nb: "[[tw\\u006f]]"\nc:\n  - "[[three]]"\nd: [[no]]\n---\n'
    page = read_wiki_page("wiki/preferences.md", data.encode(), LAYOUT)
    assert [(one.link.target, one.line) for one in page.links] == [("one", 2), ("two", 3), ("three", 5)]


def test_property_links_count_quoted_only_and_stand_where_they_are_written() -> None:
    data = (
        b'\xef\xbb\xbf--- \r\nt: see [[plain]]\r\nup: [[list]]\r\nodd: "\xff\xff [[a]] \x00"\r\nb: |\r\n  [[text]]\r\n'
        b"c: ['[[d]]', \"[[e]]\"]\r\n---\r\n[[f]]\r\n"
    )
    page = read_wiki_page("wiki/preferences.md", data, LAYOUT)
    assert [(one.link.target, one.line) for one in page.links] == [("a", 4), ("d", 7), ("e", 7), ("f", 9)]
    text = data.decode("utf-8", "surrogateescape")
    assert [text[one.link.start : one.link.end] for one in page.links] == ["[[a]]", "[[d]]", "[[e]]", "[[f]]"]


def test_an_edited_file_read_with_what_it_was_keeps_its_links_and_its_problems_in_their_lines() -> None:
    data = b"## a\n\n[[b]] [[c; w=2]]\n\n## wrong\n\n[[b; w=-1]]\n"
    for before in (data, data.replace(b"; w=-1", b"")):
        edited = b"## new\n\nwords\n\n" + data
        page = read_page("wiki/n.md", edited, Layout(), read_page("wiki/n.md", before, Layout()))
        assert repr(page) == repr(read_page("wiki/n.md", edited, Layout()))
        assert [(place.link.target, place.line) for place in page.links] == [("b", 7), ("c", 7)]
        assert [(problem.kind, problem.line) for problem in page.problems] == [("invalid-weight", 11)]
