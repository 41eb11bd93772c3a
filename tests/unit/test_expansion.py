"""What follows a hit, and where the answer is cut."""

import pytest

from wikimem.errors import InvalidInput
from wikimem.search.edges import Edge
from wikimem.search.expansion import POLICIES, Entry, Expanded, Links, cut, expand, policy


def edge(target: str, *, state: str = "resolved", to_file: bool = False) -> Edge:
    return Edge("s", target, state, (), 1.0, "parsed", "f", 1, target, to_file)  # type: ignore[arg-type]


# A small web: place 1 links to 2, 3 and 4, place 5 to 3 and 6.
WEB = {1: ["2", "3", "4"], 5: ["3", "6"], 2: ["6"]}
OWN = {2: 0.1, 3: 0.9, 4: 0.5, 6: 0.2, 1: 2.0, 5: 1.0}


def expanded(hits: list[int], name: str = "all") -> Expanded:
    links = Links(
        edges=lambda place: [edge(target) for target in WEB.get(place, [])], place=int, score=lambda place: OWN[place]
    )
    return expand([Entry(place, OWN[place]) for place in hits], links, policy(name))


def places(result: Expanded) -> list[tuple[int, int | None]]:
    return [(entry.place, entry.via) for entry in result.entries]


def test_all_puts_every_link_right_after_its_hit_in_the_order_of_the_text() -> None:
    assert places(expanded([1, 5])) == [(1, None), (2, 1), (3, 1), (4, 1), (5, None), (6, 5)]


def test_a_hit_that_was_pulled_in_keeps_its_first_place_and_still_brings_its_links() -> None:
    assert places(expanded([1, 2])) == [(1, None), (2, 1), (3, 1), (4, 1), (6, 2)]


def test_best_two_keeps_the_links_that_answer_best_themselves() -> None:
    result = expanded([1, 5], "best-two")
    assert places(result) == [(1, None), (3, 1), (4, 1), (5, None), (6, 5)]
    assert [entry.place for entry in result.left_out] == [2]


def test_merge_ranks_a_link_at_its_own_score_and_half_of_its_hits() -> None:
    result = expanded([1, 5], "merge")
    assert places(result) == [(1, None), (3, 1), (4, 1), (2, 1), (5, None), (6, 5)]
    assert [round(entry.score, 2) for entry in result.entries] == [2.0, 1.9, 1.5, 1.1, 1.0, 0.7]


@pytest.mark.parametrize("name", POLICIES)
def test_no_policy_shows_an_item_twice_or_loses_a_hit(name: str) -> None:
    result = expanded([1, 5, 2, 3], name)
    shown = [entry.place for entry in result.entries]
    assert len(shown) == len(set(shown))
    assert {1, 5, 2, 3} <= set(shown)
    assert {entry.place for entry in (*result.entries, *result.left_out)} == {1, 2, 3, 4, 5, 6}


def test_links_that_lead_nowhere_are_named_once_in_order() -> None:
    edges = [
        edge("b:x", state="unresolved"),
        edge("amb", state="ambiguous"),
        edge("file", to_file=True),
        edge("b:x", state="unresolved"),
    ]
    links = Links(edges=lambda _: edges, place=lambda _: None, score=lambda _: 0.0)
    result = expand([Entry(1, 1.0)], links, policy("all"))
    assert result.unresolved == ("b:x", "amb")
    assert places(result) == [(1, None)]


def test_an_item_that_links_to_itself_is_there_once() -> None:
    links = Links(edges=lambda _: [edge("1")], place=int, score=lambda _: 0.0)
    assert places(expand([Entry(1, 1.0)], links, policy("all"))) == [(1, None)]


def test_a_policy_is_found_by_its_name_or_the_names_are_told() -> None:
    with pytest.raises(InvalidInput) as caught:
        policy("none")
    assert "best-two" in caught.value.hint


@pytest.mark.parametrize(
    ("sizes", "budget", "expected"),
    [
        ([], 10, (0, 0)),
        ([5, 5, 5], None, (3, 15)),
        ([5, 5, 5], 10, (2, 10)),
        ([5, 5, 5], 14, (2, 10)),
        ([50, 1], 10, (1, 50)),
        ([0, 0, 5], 0, (2, 0)),
        ([5, 9, 1], 10, (1, 5)),
    ],
)
def test_the_cut_is_a_prefix_and_keeps_the_first(
    sizes: list[int], budget: int | None, expected: tuple[int, int]
) -> None:
    assert cut(sizes, budget) == expected
