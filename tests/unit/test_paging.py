"""Pages of a list that may change between two of them."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikimem.api.paging import MAX_ANSWER_BYTES, MAX_PAGE_BYTES, fitting, page_of
from wikimem.errors import InvalidCursor


def pages(entries: list[str], limit: int) -> list[list[str]]:
    found, after = [], None
    while True:
        page, after = page_of(entries, key=str, limit=limit, after=after)
        found.append(page)
        if after is None:
            return found


@given(st.lists(st.text(max_size=5), max_size=30, unique=True), st.integers(1, 10))
def test_the_pages_together_are_the_list(entries: list[str], limit: int) -> None:
    found = pages(entries, limit)
    assert [entry for page in found for entry in page] == entries
    assert all(len(page) <= limit for page in found)


def test_what_is_added_or_removed_before_the_place_skips_nothing_that_stayed() -> None:
    _, after = page_of(["a", "b", "c", "d"], key=str, limit=2, after=None)
    assert page_of(["0", "a", "b", "c", "d"], key=str, limit=9, after=after)[0] == ["c", "d"]
    assert page_of(["b", "c", "d"], key=str, limit=9, after=after)[0] == ["c", "d"]


def test_when_the_last_entry_itself_is_gone_its_place_is_taken() -> None:
    _, after = page_of(["a", "b", "c", "d"], key=str, limit=2, after=None)
    assert page_of(["a", "c", "d"], key=str, limit=9, after=after)[0] == ["d"]
    assert page_of([], key=str, limit=9, after=after) == ([], None)


def test_a_heavy_page_is_cut_but_never_empty() -> None:
    entries = ["x" * MAX_PAGE_BYTES, "y", "z"]
    page, after = page_of(entries, key=lambda entry: entry[0], limit=9, after=None, weight=len)
    assert page == entries[:1]
    assert page_of(entries, key=lambda entry: entry[0], limit=9, after=after, weight=len)[0] == ["y", "z"]


@pytest.mark.parametrize("after", ["x", "====", "é", "bnVsbA", "WzEsMl0", "W10"])
def test_a_token_that_was_never_handed_out_is_refused(after: str) -> None:
    with pytest.raises(InvalidCursor):
        page_of(["a"], key=str, limit=1, after=after)


@pytest.mark.parametrize(
    "inner",
    [
        '[99999999999999999999,"a",""]',
        '[-1,"a",""]',
        '[true,"a",""]',
        "[" * 20_000,
        "[1,2]",
        '[1,"a"]',
        '[1,"a",2]',
        '[1e3,"a",""]',
    ],
)
def test_a_token_that_somebody_made_up_is_refused_and_does_no_harm(inner: str) -> None:
    with pytest.raises(InvalidCursor):
        page_of(["a"], key=str, limit=1, after=base64.urlsafe_b64encode(inner.encode()).decode())


def test_a_token_of_another_list_is_refused_and_says_so() -> None:
    _, after = page_of(["a", "b"], key=str, limit=1, after=None, of=("items", "work"))
    assert page_of(["a", "b"], key=str, limit=1, after=after, of=("items", "work")) == (["b"], None)
    for other in (("items", "play"), ("items", None), ("graph",)):
        with pytest.raises(InvalidCursor, match="another list"):
            page_of(["a", "b"], key=str, limit=1, after=after, of=other)


@given(st.text(max_size=40))
def test_any_token_is_read_or_refused(after: str) -> None:
    try:
        page_of(["a", "b"], key=str, limit=1, after=after)
    except InvalidCursor as error:
        assert "next" in error.message  # noqa: PT017 - most texts are refused, a few are tokens


def test_an_answer_takes_what_fits_and_at_least_one_entry() -> None:
    half = MAX_ANSWER_BYTES // 2
    assert fitting([half, half, 1], lambda size: size) == [half, half]
    assert fitting([MAX_ANSWER_BYTES + 1, 1], lambda size: size) == [MAX_ANSWER_BYTES + 1]
    assert fitting([], lambda size: size) == []
