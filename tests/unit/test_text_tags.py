"""Inline tags and block ids by Obsidian's rules."""

import pytest

from wikimem.text.tags import block_ids, inline_tags, tag_matches


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#a and #B/c", ("a", "b/c")),
        ("#a #A", ("a",)),
        ("x#a", ()),
        ("(#a)", ()),
        ("#1984 #y1984 #1/2", ("y1984",)),
        ("##a # a", ()),
        ("#a-b_c, #d.e", ("a-b_c", "d")),
        ("#海边 #🏖️ #café", ("海边", "🏖️", "café")),
        ("**#bold** _#it ==#hi==", ("bold", "it", "hi")),
        ("`#no` #yes", ("yes",)),
        ("```\n#no\n```\n#yes", ("yes",)),
        ("$$\n#no\n$$ #yes", ("yes",)),
        ("a `` ` #no `` #yes", ("yes",)),
        ("%% #in-a-comment %%", ("in-a-comment",)),
        ("## heading #tag", ("tag",)),
        ("[[a#b]] <https://x/#y> a\u00a0#nbsp", ("nbsp",)),
        ("#a/", ("a",)),
        ("#/", ()),
    ],
)
def test_tags_are_found(text: str, expected: tuple[str, ...]) -> None:
    assert inline_tags(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a line ^Id-1", ("id-1",)),
        ("^alone\n\n- item ^two", ("alone", "two")),
        ("no^id", ()),
        ("^no id", ()),
        ("## heading ^part-of-it", ()),
        ("`x ^no` \n```\n^no\n```", ()),
        ("a ^x\nb ^X", ("x",)),
        ("![[a.png]]^no", ()),
    ],
)
def test_block_ids_are_found(text: str, expected: tuple[str, ...]) -> None:
    assert block_ids(text) == expected


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [("a", True), ("#A", True), ("a/b", True), ("a/b/c", False), ("a/", True), ("ab", False), ("b", False)],
)
def test_a_nested_tag_has_its_parents(wanted: str, *, matches: bool) -> None:
    assert tag_matches(("a/b", "x"), wanted) is matches
