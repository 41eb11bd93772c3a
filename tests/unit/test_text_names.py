"""Names, categories, addresses, and how they match."""

import pytest

from wikimem.errors import InvalidAddress, InvalidCategory, InvalidName
from wikimem.text.names import (
    Address,
    category_of,
    fold_heading,
    fold_name,
    is_day,
    parse_address,
    path_stem_of,
    sanitize_item_name,
    validate_category,
)


@pytest.mark.parametrize(
    "name", ["", "  ", "a:b", "a|b", "a#b", "a[[b", "a]]b", "a\x00b", "a\ud800", "x; w=2.5", "x;w=1"]
)
def test_a_name_that_would_break_a_heading_or_a_link_is_refused(name: str) -> None:
    with pytest.raises(InvalidName):
        sanitize_item_name(name)


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("a  b", "a b"),
        (" a\n b\t", "a b"),
        ("手冲咖啡", "手冲咖啡"),
        ("a\u00a0b\u3000c", "a b c"),
        ("a [b]", "a [b]"),
        ("x; y", "x; y"),
    ],
)
def test_white_space_in_a_name_collapses(name: str, clean: str) -> None:
    assert sanitize_item_name(name) == clean


@pytest.mark.parametrize("category", ["", "A", "-a", "a b", "a/b", "über", "a.b", "a\n", "2026-07-21", "x" * 201])
def test_a_new_category_is_a_slug_and_no_day(category: str) -> None:
    with pytest.raises(InvalidCategory):
        validate_category(category)


@pytest.mark.parametrize("category", ["a", "_a", "0", "daily_life", "a-b", "2026-13-01"])
def test_slugs_are_taken(category: str) -> None:
    assert validate_category(category) == category


@pytest.mark.parametrize(
    ("stem", "category"),
    [
        ("preferences", "preferences"),
        ("My Notes/Über uns", "My Notes/Über uns"),
        ("a:b", "a%3Ab"),
        ("a\nb", "a%0Ab"),
        ("a\u2028b", "a%E2%80%A8b"),
        ("caf\udce9", "caf%E9"),
        ("100%", "100%"),
        ("100%25", "100%2525"),
        ("%zz", "%zz"),
        ("2026-07-21", "%32026-07-21"),
        ("x/2026-07-21", "x/2026-07-21"),
    ],
)
def test_a_file_has_one_category_key(stem: str, category: str) -> None:
    assert category_of(stem) == category
    assert path_stem_of(category) == stem


@pytest.mark.parametrize("category", ["%41", "a:b", "2026-07-21", "%3a", "a\nb", "\ud800"])
def test_a_key_that_no_file_has_leads_nowhere(category: str) -> None:
    with pytest.raises(InvalidCategory):
        path_stem_of(category)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("a:b", Address("a", "b")),
        ("a:b:c", Address("a", "b:c")),
        ("a: b  c ", Address("a", "b c")),
        ("a:b#2", Address("a", "b#2")),
        ("2026-07-21:14:30", Address("2026-07-21", "14:30")),
        ("2026-07-21:14:30#2", Address("2026-07-21", "14:30", 2)),
        ("2026-13-21:x", Address("2026-13-21", "x")),
    ],
)
def test_an_address_is_split_at_the_first_colon(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "a", ":b", "a:", "a: ", "2026-07-21:x", "2026-07-21:24:00", "2026-07-21:14:30#0"])
def test_what_is_no_address_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(InvalidAddress) as caught:
        parse_address(text)
    assert caught.value.hint


def test_names_match_under_nfc_and_white_space_but_not_case() -> None:
    assert fold_name("Cafe\u0301  x") == fold_name("Caf\u00e9\u00a0x")
    assert fold_name("A") != fold_name("a")


@pytest.mark.parametrize(
    ("heading", "link"),
    [
        ("Minecraft: The Game", "minecraft the game"),
        ("a.b", "a/b"),
        ("14:05", "14 05"),
        ("See [[Other]]", "see other"),
        ("Cafe\u0301", "CAF\u00c9"),
    ],
)
def test_headings_that_obsidian_takes_for_one_anchor_fold_alike(heading: str, link: str) -> None:
    assert fold_heading(heading) == fold_heading(link)


def test_headings_keep_what_obsidian_keeps() -> None:
    assert fold_heading("a-b_c'd：e") == "a-b_c'd：e"
    assert fold_heading("?!") == ""


def test_a_day_is_one_of_the_calendar() -> None:
    assert is_day("2024-02-29")
    assert not is_day("2026-02-29")
    assert not is_day("2026-7-1")
