"""`%%` and `$$` pairs, and the text that is indexed."""

import pytest

from wikimem.text.comments import visible_text
from wikimem.text.document import Document


def headings(source: str) -> list[str]:
    return [one.text.decode() for one in Document.parse(source.encode()).headings]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%%\n## no\n%%\n## a", ["a"]),
        ("$$\n## no\n$$\n## a", ["a"]),
        ("%%\n## a", ["a"]),
        ("$$\n## a\n%%\n## b", ["a", "b"]),
        ("`%%`\n## a\n`%%`", ["a"]),
        ("```\n%%\n```\n## a\n%%\n## b", ["a", "b"]),
        ("`` `%%\n## a\n%%", []),
        ("half `\n\n%%\n## no\n%%\n\n` half", []),
        ("\\$$\n## a\n$$", ["a"]),
        ("<div>%%\n\n## a\n\n%%", ["a"]),
        ("## a %%\n## b\n%%", ["a %%", "b"]),
        ("%% $$ %%\n## a\n$$", ["a"]),
    ],
)
def test_only_a_pair_outside_code_hides_headings(source: str, expected: list[str]) -> None:
    assert headings(source) == expected


def test_a_comment_that_is_whole_in_its_section_never_pairs_with_a_mark_elsewhere() -> None:
    source = "lone %%\n\n## a\n\n%% whole %%\n\n## b\n\n%% also %%\n"
    assert headings(source) == ["a", "b"]


def test_a_formula_that_is_whole_in_its_section_never_pairs_with_a_mark_elsewhere() -> None:
    assert headings("costs $$\n\n## a\n\n$$ x $$\n\n## b\n\n$$y$$\n") == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("plain", "plain"),
        ("a %%b%% c", "a  c"),
        ("a %%b c", "a %%b c"),
        ("a <!-- b --> c", "a  c"),
        ("a\n<!-- b\n\nc --> d", "a\n d"),
        ("a <!-- b\n\nc --> d", "a <!-- b\n\nc --> d"),
        ("a\n<!-- open\n\nto the end", "a\n"),
        ("`%%` b `%%`", "`%%` b `%%`"),
        ("`<!-- x -->`", "`<!-- x -->`"),
        ("```\n<!-- x -->\n%%\n```\n%%y%%", "```\n<!-- x -->\n%%\n```\n"),
        ("$$x$$ stays", "$$x$$ stays"),
        ("$$ %% $$ and %%", "$$ %% $$ and %%"),
        ("%% a <!-- b %% c --> d", "%% a  d"),
        ("## marks *stay* [[here]]", "## marks *stay* [[here]]"),
    ],
)
def test_visible_text_leaves_comments_out_and_code_in(content: str, expected: str) -> None:
    assert visible_text(content) == expected
