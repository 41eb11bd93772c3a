"""Which lines are headings: CommonMark's rules as far as they decide that."""

import pytest

from wikimem.text.blocks import flatten_line_ends, scan


def headings(source: str) -> list[str]:
    return [f"{one.level}:{one.text.decode()}" for one in scan(source.encode()).headings if not one.setext]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("## a\n", ["2:a"]),
        ("## a", ["2:a"]),
        ("##\ta", ["2:a"]),
        ("   ## a", ["2:a"]),
        ("## a ##", ["2:a"]),
        ("## a #b", ["2:a #b"]),
        ("## a\\#", ["2:a\\#"]),
        ("## #", ["2:"]),
        ("##", ["2:"]),
        ("####### seven", []),
        ("    ## code", []),
        ("\t## code", []),
        ("text\n    ## goes on", []),
        ("text\n## a", ["2:a"]),
        ("##x", []),
    ],
)
def test_an_atx_heading_is_marks_then_a_blank(source: str, expected: list[str]) -> None:
    assert headings(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("```\n## no\n```\n## a", ["2:a"]),
        ("```\n## no\n~~~\n## no", []),
        ("````\n## no\n```\n## no\n`````\n## a", ["2:a"]),
        ("```\n## no\n``` x\n## no\n```\t\n## a", ["2:a"]),
        ("```\n    ```\n## no", []),
        ("```a`b\n## a", ["2:a"]),
        ("~~~a`b~\n## no", []),
        ("   ```\n## no\n   ```\n## a", ["2:a"]),
        ("    ```\n## a", ["2:a"]),
    ],
)
def test_a_fence_closes_by_its_own_mark_and_at_least_its_length(source: str, expected: list[str]) -> None:
    assert headings(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("- x\n\n  ## no\n## a", ["2:a"]),
        ("- x\n ## a", ["2:a"]),
        ("1. x\n  ## a", ["2:a"]),
        ("1. x\n   ## no", []),
        ("- x\n\ny\n  ## a", ["2:a"]),
        ("- x\nlazy\n  ## no", []),
        ("-\n\n  ## a", ["2:a"]),
        ("-\n  ## no", []),
        ("- - -\n  ## a", ["2:a"]),
        ("text\n2. no list\n   ## a", ["2:a"]),
        ("- ```\n## a", ["2:a"]),
        ("> ```\n## a", ["2:a"]),
        ("> ## no\n## a", ["2:a"]),
        ("-\tx\n\n   ## a", ["2:a"]),
        ("-      code\n\n  ## no", []),
    ],
)
def test_a_heading_inside_a_list_item_or_quote_is_none_of_the_file(source: str, expected: list[str]) -> None:
    assert headings(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<!-- x -->\n## a", ["2:a"]),
        ("<!--\n## no\n\n## no\n--> x\n## a", ["2:a"]),
        ("<!-->\n## a", ["2:a"]),
        ("text <!--\n## a\n-->", ["2:a"]),
        ("<?\n## no\n?>\n## a", ["2:a"]),
        ("<!X\n## no\n>\n## a", ["2:a"]),
        ("<![CDATA[\n## no\n]]>\n## a", ["2:a"]),
        ("<PRE>\n\n## no\n</Pre>\n## a", ["2:a"]),
        ("<script>x</script>\n## a", ["2:a"]),
        ("<div>\n## no\n\n## a", ["2:a"]),
        ("text\n<div>\n## no\n \n## a", ["2:a"]),
        ("</td>\n## no\n\n## a", ["2:a"]),
        ("<span>\n## no\n\n## a", ["2:a"]),
        ('<span class="x" y>\n## no', []),
        ("text\n<span>\n## a", ["2:a"]),
        ("<span> x\n## a", ["2:a"]),
        ("<divx>\n## no", []),
        ("<divx> y\n## a", ["2:a"]),
        ("    <div>\n## a", ["2:a"]),
        ('<knowledge weight="2">L</knowledge>\n## a', ["2:a"]),
    ],
)
def test_an_html_block_ends_by_its_kind(source: str, expected: list[str]) -> None:
    assert headings(source) == expected


@pytest.mark.parametrize(
    ("source", "kind", "line", "closer"),
    [
        ("x\n```py\ny\n", "fence", 2, b"```"),
        ("~~~~~\n", "fence", 1, b"~~~~~"),
        ("<!-- x\n", "comment", 1, b"-->"),
        ("<pre>\n", "html", 1, b"</pre>"),
        ("<STYLE>\n", "html", 1, b"</style>"),
        ("<?php\n", "html", 1, b"?>"),
        ("<![CDATA[\n", "html", 1, b"]]>"),
    ],
)
def test_what_stays_open_is_known_with_what_closes_it(source: str, kind: str, line: int, closer: bytes) -> None:
    tail = scan(source.encode()).tail
    assert tail is not None
    assert (tail.kind, tail.line, tail.closer) == (kind, line, closer)


@pytest.mark.parametrize("source", ["- ```\nx", "> <!--\n", "<div>\n", "```\n```\n", "<!-- x -->", ""])
def test_what_a_blank_line_or_a_container_ends_is_not_open(source: str) -> None:
    assert scan(source.encode()).tail is None


def test_a_setext_heading_is_known_but_marked() -> None:
    found = scan(b"one\ntwo\n===\n\n- x\n---\n> y\n---\n\nthree\n---\n").headings
    assert [(one.level, one.text, one.line, one.setext) for one in found] == [
        (1, b"one two", 1, True),
        (2, b"three", 10, True),
    ]


def test_lines_and_offsets_are_those_of_the_file() -> None:
    data = b"# n\r\n\r\n```\r\n## no\r\n```\r\r## a\n"
    found = scan(flatten_line_ends(data)).headings
    assert [(one.line, data[one.start : one.end]) for one in found] == [(1, b"# n\r\n"), (7, b"## a\n")]


def test_flattening_line_ends_keeps_the_length() -> None:
    assert flatten_line_ends(b"a\r\nb\rc\n") == b"a \nb\nc\n"
