"""Links in properties."""

import pytest

from wikimem.text.property_links import property_links


def found(block: str) -> list[str]:
    links = property_links(block)
    for link in links:
        assert block[link.start : link.end] in block
    return [block[link.start : link.end] for link in links]


@pytest.mark.parametrize(
    ("block", "links"),
    [
        ('up: "[[a]]"\n', ["[[a]]"]),
        ("up: '[[a#b|c]]'\n", ["[[a#b|c]]"]),
        ('up:\n  - "[[a]]"\n  - "[[b:c]]"\n', ["[[a]]", "[[b:c]]"]),
        ('up: ["[[a]]", "[[b]]"]\n', ["[[a]]", "[[b]]"]),
        ('t: "see [[a]] and [[a]]"\n', ["[[a]]", "[[a]]"]),
        ('t: "[x](note.md)"\n', ["[x](note.md)"]),
        ("title: 'Café 海' \r\nup: \"[[é海]]\"\r\n", ["[[é海]]"]),
        ("up: [[a]]\n", []),
        ("up: [[a]], [[b]]\n", []),
        ("t: see [[a]]\n", []),
        ("t: |\n  [[a]]\n", []),
        ('"[[a]]": b\n', []),
        ('t: {u: "[[a]]"}\n', []),
        ('t: [["[[a]]"]]\n', []),
        ('t: "[[a]]\n', []),
        ('- "[[a]]"\n', []),
        ("", []),
    ],
)
def test_only_quoted_texts_of_properties_hold_links(block: str, links: list[str]) -> None:
    assert found(block) == links


def test_an_escaped_quote_in_a_link_does_not_hide_it() -> None:
    (link,) = property_links("up: '[[it''s]]'\n")
    assert link.target == "it's"
