"""Which links a text holds, and what each says."""

import pytest

from wikimem.text.links import LinkSyntax, WikiLink, find_links, find_links_with_problems, parse_wiki_links, to_style


def targets(text: str) -> list[str]:
    return [link.target for link in find_links(text)]


@pytest.mark.parametrize(
    ("written", "target", "syntax"),
    [
        ("[[daily_life:beach-trip-plan]]", "daily_life:beach-trip-plan", LinkSyntax.NATIVE),
        ("[[ daily_life : beach trip ]]", "daily_life:beach trip", LinkSyntax.NATIVE),
        ("[[生活:海边 计划]]", "生活:海边 计划", LinkSyntax.NATIVE),
        ("[[folder/cat:name]]", "folder/cat:name", LinkSyntax.NATIVE),
        ("[[https://x]]", "https://x", LinkSyntax.NATIVE),
        ("[[daily_life#beach]]", "daily_life#beach", LinkSyntax.HEADING),
        ("[[#beach]]", "#beach", LinkSyntax.HEADING),
        ("[[a/b#One#Two]]", "a/b#One#Two", LinkSyntax.HEADING),
        ("[[2026-07-21#14:30]]", "2026-07-21#14:30", LinkSyntax.HEADING),
        ("[[note#^my-id]]", "note#^my-id", LinkSyntax.BLOCK),
        ("[[#^my-id]]", "#^my-id", LinkSyntax.BLOCK),
        ("[[note]]", "note", LinkSyntax.PLAIN),
        ("[[note.md]]", "note.md", LinkSyntax.PLAIN),
        ("[[../note]]", "../note", LinkSyntax.PLAIN),
        ("[[Sq]uare]]", "Sq]uare", LinkSyntax.PLAIN),
        ("[[a [b] c]]", "a [b] c", LinkSyntax.PLAIN),
        ("[[note# ]]", "note#", LinkSyntax.HEADING),
        ("<knowledge>Label</knowledge>", "Label", LinkSyntax.HTML),
        ("<Knowledge weight='2'>A &amp; B</knowledge>", "A & B", LinkSyntax.HTML),
        ("[text](Note.md#A%20heading)", "Note.md#A heading", LinkSyntax.MARKDOWN),
        ("[text](<My Note.md#A heading>)", "My Note.md#A heading", LinkSyntax.MARKDOWN),
        ('[text](note.md "a title")', "note.md", LinkSyntax.MARKDOWN),
        ("[text](note_(1).md)", "note_(1).md", LinkSyntax.MARKDOWN),
        ("[text](caf%C3%A9.md)", "café.md", LinkSyntax.MARKDOWN),
        ("[text](caf%E9.md)", "caf%E9.md", LinkSyntax.MARKDOWN),
        ("[text](#heading)", "#heading", LinkSyntax.MARKDOWN),
    ],
)
def test_every_syntax_is_read_to_target_and_kind(written: str, target: str, syntax: LinkSyntax) -> None:
    text = f"before {written} after"
    (link,) = find_links(text)
    assert (link.target, link.syntax, link.weight) == (target, syntax, link.weight)
    assert text[link.start : link.end] == written


@pytest.mark.parametrize(
    "text",
    [
        "[[]]",
        "[[ ]]",
        "[[|alias]]",
        "[[a\nb]]",
        "[[a\rb]]",
        "[[broken link …",
        "[[2026-07-21:14:30]]",
        "[[a:b:c]]",
        "[[a:]]",
        "[[:b]]",
        "[[a:b]c]]",
        "[a](https://example.com)",
        "[a](mailto:a@b.example)",
        "[a](//example.com/x.md)",
        "[a]()",
        "[a](#)",
        "- [ ] task",
        "<knowledge></knowledge>",
        "<knowledge>a\nb</knowledge>",
        r"\[[a]]",
        "`[[a]]`",
        "``[[a]] ` [[b]]``",
        "`[[` and `]]`",
        "`one\n[[a]] line`",
        "```\n[[a]]\n```",
        "~~~\n[[a]]\n~~~",
        "```\n[[a]]",
        "````\n[[a]]\n```\n[[b]]\n````",
        "> ```\n> [[a]]\n> ```",
        "- ```\n  [[a]]\n  ```",
        "1. > ```\n   > [[a]]\n   > ```",
        "$$ [[a]] $$",
        "$$\n[[a]]\n$$",
        "<!-- [[a]] -->",
        "<!--\n[[a]]",
    ],
)
def test_what_is_no_link_is_passed_over(text: str) -> None:
    assert find_links(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[[a [[b]] c]]", ["b"]),
        ("[[[a]]]", ["a"]),
        ("![[a.png]] ![[b|100x145]]", ["a.png", "b"]),
        ("%% [[a]] %%", ["a"]),
        ("`x` [[a]] `y`", ["a"]),
        ("` [[a]] ``", ["a"]),
        ("one ` tick\n\nnext [[a]] ` tick", ["a"]),
        ("- one ` tick\n- next [[a]] ` tick", ["a"]),
        ("| one ` | x |\n| [[a]] ` | y |", ["a"]),
        ("# one ` tick\n[[a]] ` tick", ["a"]),
        ("```\ncode\n```\n[[a]]", ["a"]),
        ("> ```\n> code\n\n[[a]]", ["a"]),
        ("- ```\n  code\n\n[[a]]", ["a"]),
        ("``` not a fence ` [[a]]", ["a"]),
        ("$$ x [[a]]", ["a"]),
        ("`$$` [[a]] $$ [[b]] $$ [[c]]", ["a", "c"]),
        ("text <!-- no end [[a]]", ["a"]),
        ("[[n#`code` x]]", ["n#`code` x"]),
        ("[![alt](a.png)](note.md)", ["note.md", "a.png"]),
        ("[see `code`](note.md)", ["note.md"]),
        ("[[foo](bar.md)", ["bar.md"]),
        ("[x]([[a]])", ["a"]),
        ("<knowledge>[[a]]</knowledge>", ["a"]),
        ("[^1]: [[n]]", ["n"]),
    ],
)
def test_links_count_where_obsidian_counts_them(text: str, found: list[str]) -> None:
    assert targets(text) == found


def test_alias_and_embed_are_told_apart_from_the_target() -> None:
    plain, escaped, embed, markdown = find_links(r"[[a#b|a:b]] | [[2026-01-01\|1]] | ![[img.png|100x145]] [text](n.md)")
    assert (plain.target, plain.alias, plain.syntax) == ("a#b", "a:b", LinkSyntax.HEADING)
    assert (escaped.target, escaped.alias) == ("2026-01-01", "1")
    assert (embed.target, embed.alias, embed.embed) == ("img.png", "100x145", True)
    assert (markdown.alias, markdown.embed) == ("text", False)


@pytest.mark.parametrize(
    ("written", "weight"),
    [
        ("[[Label; w=2.5]]", 2.5),
        ("[[a:b; w=2.5]]", 2.5),
        ("[[a#b; w=2.5|shown]]", 2.5),
        ("[[a:b;w=3]]", 3.0),
        ("[[a:b ; w = .5 ]]", 0.5),
        ("[[a:b; w=1e3]]", 1000.0),
        ('<knowledge weight="2.5">L</knowledge>', 2.5),
        ("<knowledge id=x weight=2.5>L</knowledge>", 2.5),
        ("[[a:b]]", 1.0),
        ("<knowledge>L</knowledge>", 1.0),
    ],
)
def test_a_weight_is_read_and_leaves_the_target_alone(written: str, weight: float) -> None:
    (link,) = find_links(written)
    assert link.weight == weight
    assert link.target in {"Label", "a:b", "a#b", "L"}


@pytest.mark.parametrize("weight", ["-1", "0", "nan", "NaN", "inf", "1e999", "two", "", "1_0", "２"])
def test_a_weight_that_is_no_finite_positive_number_makes_plain_text_and_a_problem(weight: str) -> None:
    links, problems = find_links_with_problems(
        f"[[a:b]]\n\n[[a:b; w={weight}]]\r\n<knowledge weight='{weight}'>x</knowledge>"
    )
    assert [link.target for link in links] == ["a:b"]
    assert [(problem.kind, problem.line) for problem in problems] == [("invalid-weight", 3), ("invalid-weight", 4)]


def test_the_seeds_example_parses_to_the_seeds_answer() -> None:
    found = parse_wiki_links("… [[daily_life:beach-trip-plan]] and [[broken link …")
    assert found == [WikiLink(category="daily_life", name="beach-trip-plan")]


def test_only_native_links_are_wiki_links_without_alias_and_weight() -> None:
    text = "[[a:b|c: d]] [[a#b|a:b]] [[x]] [[e:f; w=2|g]] ![[h: i ]] [[a:b:c]] [[a:b]]"
    assert [(link.category, link.name) for link in parse_wiki_links(text)] == [
        ("a", "b"),
        ("e", "f"),
        ("h", "i"),
        ("a", "b"),
    ]


def test_a_thousand_links_in_one_text_come_in_document_order() -> None:
    text = " ".join(f"[[c:n{i}]]" for i in range(1000))
    assert targets(text) == [f"c:n{i}" for i in range(1000)]


@pytest.mark.parametrize(
    "piece", ["[[", "[", "[[a", "[a](", "[a [", "$$", "x <!-- ", "- ", "> ", "<knowledge ", "``` ` ", "` `` "]
)
def test_hostile_repetition_neither_stalls_the_reader_nor_hides_the_next_paragraph(piece: str) -> None:
    assert targets(piece * 40_000 + "\n\n[[a:b]]")[-1:] == ["a:b"]


@pytest.mark.parametrize("opening", ["<!--", "```", "~~~"])
def test_what_is_never_closed_hides_the_rest_once(opening: str) -> None:
    assert targets("[[a]]\n" + f"{opening}\n" * 20_000 + "[[b]]") == ["a"] + ["b"] * (opening != "<!--")


def test_a_url_between_double_brackets_is_no_item_to_be_restyled() -> None:
    text = "[[https://example.org/a]] [[work:job]]"
    assert to_style(text, "obsidian") == "[[https://example.org/a]] [[work#job]]"
