"""A retrieve from question to answer."""

import math
from datetime import UTC, date, datetime

import pytest

from tests.searching import Pages, addresses, diary, index_of, page, wiki
from wikimem.errors import InvalidInput
from wikimem.search.index import MemoryIndex
from wikimem.search.retrieval import BEYOND_LIMIT, MOST_TERMS, RetrievalSettings

SEA = wiki(
    "preferences",
    {
        "likes-the-sea": "Likes the sea. [[trips:beach]] [[nowhere:gone]] [[trips:beach]]",
        "coffee": "Only hand-brewed coffee.",
    },
)
TRIPS = wiki("trips", {"beach": "A beach by the sea in July. [[trips:train]]", "train": "Tickets two weeks ahead."})
DIARY = [
    diary("2026-07-20", [("09:00", "Swam in the sea.")]),
    diary("2026-07-21", [("14:30", "New job: robots. [[preferences:coffee]]"), ("22:10", "Worried about the job.")]),
]


def index() -> MemoryIndex:
    return index_of(SEA, TRIPS, *DIARY)


# ------------------------------------------------------------------- links


def test_each_hit_is_followed_by_what_it_links_to() -> None:
    answer = index().retrieve("likes sea")
    assert [(e.item.address, e.source, e.via) for e in answer.items] == [
        ("preferences:likes-the-sea", "hit", None),
        ("trips:beach", "link", "preferences:likes-the-sea"),
        ("trips:train", "link", "trips:beach"),
    ]
    assert answer.unresolved_links == ("nowhere:gone",)


def test_a_linked_item_brings_nothing_itself() -> None:
    answer = index().retrieve("likes", limit=1)
    assert addresses(answer) == ["preferences:likes-the-sea", "trips:beach"]


def test_the_limit_counts_hits_before_links() -> None:
    answer = index().retrieve("sea", limit=1)
    assert [entry.source for entry in answer.items] == ["hit", "link"]
    assert addresses(index().retrieve("sea", limit=0)) == []


def test_links_can_be_left_out() -> None:
    answer = index().retrieve("likes sea", expand_links=False)
    assert {entry.source for entry in answer.items} == {"hit"}
    assert answer.unresolved_links == ()


def test_a_link_into_the_diary_is_followed_only_inside_the_window() -> None:
    notes = wiki("notes", {"swim": "See [[2026-07-20#09:00]] about swimming."})
    made = index_of(notes, *DIARY)
    assert addresses(made.retrieve("swimming notes")) == ["notes:swim"]
    inside = made.retrieve("swimming notes", time_range=("2026-07-20", "2026-07-20"))
    assert addresses(inside) == ["notes:swim", "2026-07-20:09:00"]
    outside = made.retrieve("swimming notes", time_range=("2026-07-21", "2026-07-21"))
    assert addresses(outside) == ["notes:swim"]


def test_a_link_to_a_file_is_never_expanded() -> None:
    made = index_of(wiki("a", {"one": "quokka [[b]]"}), wiki("b", {"two": "wombat"}))
    assert addresses(made.retrieve("quokka")) == ["a:one"]


def test_an_ambiguous_link_is_reported_and_not_followed() -> None:
    made = index_of(wiki("a", {"one": "quokka [[same]]"}), wiki("b", {"same": "x"}), wiki("c", {"same": "y"}))
    answer = made.retrieve("quokka")
    assert (addresses(answer), answer.unresolved_links) == (["a:one"], ("same",))


# ------------------------------------------------------------------ budget


def test_the_answer_is_cut_to_a_prefix_within_the_budget() -> None:
    answer = index().retrieve("likes sea", budget_tokens=12, explain=True)
    assert addresses(answer) == ["preferences:likes-the-sea"]
    assert answer.budget_used == 6
    assert [(one.address, one.reason) for one in answer.dropped] == [
        ("trips:beach", "budget"),
        ("trips:train", "budget"),
    ]


def test_the_first_entry_stays_however_small_the_budget() -> None:
    answer = index().retrieve("likes sea", budget_tokens=0)
    assert addresses(answer) == ["preferences:likes-the-sea"]
    assert answer.budget_used > 0


def test_nothing_is_skipped_to_fit_a_later_entry_in() -> None:
    made = index_of(wiki("a", {"x": "sea sea sea", "y": "sea " + "word " * 50, "z": "sea short text"}))
    full = [entry.tokens_est for entry in made.retrieve("sea").items]
    assert full == [3, 3, 51]
    assert [entry.tokens_est for entry in made.retrieve("sea", budget_tokens=5).items] == [3]
    assert [entry.tokens_est for entry in made.retrieve("sea", budget_tokens=56).items] == [3, 3]


def test_the_settings_hold_when_the_call_names_no_budget() -> None:
    made = index_of(SEA, TRIPS, settings=RetrievalSettings(budget_tokens=6))
    assert len(made.retrieve("likes sea").items) == 1
    assert len(made.retrieve("likes sea", budget_tokens=1_000).items) == 3


# ----------------------------------------------------------------- windows


def test_the_diary_stays_out_without_a_window() -> None:
    answer = index().retrieve("job robots sea")
    assert all(not entry.item.category.startswith("2026") for entry in answer.items)
    assert (answer.time_range, answer.time_range_source) == (None, None)


def test_a_time_in_the_question_lets_the_diary_in() -> None:
    answer = index().retrieve("what about the job yesterday")
    assert addresses(answer)[0] in {"2026-07-21:14:30", "2026-07-21:22:10"}
    assert (answer.time_range, answer.time_range_source) == (("2026-07-21", "2026-07-21"), "query")


def test_an_explicit_window_wins_over_the_question() -> None:
    answer = index().retrieve("swam yesterday", time_range=("2026-07-20", "2026-07-20"))
    assert addresses(answer) == ["2026-07-20:09:00"]
    assert answer.time_range_source == "explicit"


def test_a_reversed_pair_is_swapped() -> None:
    answer = index().retrieve("job", time_range=["2026-07-21", "2026-07-19"])
    assert answer.time_range == ("2026-07-19", "2026-07-21")
    assert "2026-07-21:14:30" in addresses(answer)


def test_an_empty_window_is_widened_by_a_day_each_side_and_says_so() -> None:
    answer = index().retrieve("job", time_range=("2026-07-22", "2026-07-23"))
    assert (answer.time_range, answer.time_range_widened) == (("2026-07-21", "2026-07-24"), True)
    assert "2026-07-21:14:30" in addresses(answer)
    assert not index().retrieve("job", time_range=("2026-07-21", "2026-07-22")).time_range_widened


def test_an_empty_query_lists_its_window_newest_first() -> None:
    answer = index().retrieve("", time_range=("2026-07-20", "2026-07-21"), expand_links=False)
    assert addresses(answer) == ["2026-07-21:22:10", "2026-07-21:14:30", "2026-07-20:09:00"]
    assert addresses(index().retrieve("", 1, time_range=("2026-07-20", "2026-07-21"))) == ["2026-07-21:22:10"]


@pytest.mark.parametrize("question", ["昨天", "yesterday", "what did I do yesterday?", "昨天做了什么"])
def test_a_question_for_a_time_alone_lists_it(question: str) -> None:
    answer = index().retrieve(question, expand_links=False)
    assert addresses(answer) == ["2026-07-21:22:10", "2026-07-21:14:30"]


def test_a_time_without_entries_can_be_a_word_of_the_wiki() -> None:
    made = index_of(wiki("music", {"beatles": "Yesterday, all my troubles"}))
    assert addresses(made.retrieve("yesterday")) == ["music:beatles"]


def test_two_entries_of_one_minute_are_two_hits() -> None:
    made = index_of(diary("2026-07-21", [("14:30", "first job"), ("14:30", "second job")]))
    answer = made.retrieve("job", time_range=("2026-07-21", "2026-07-21"))
    assert sorted(addresses(answer)) == ["2026-07-21:14:30", "2026-07-21:14:30#2"]
    listed = made.retrieve("", time_range=("2026-07-21", "2026-07-21"))
    assert addresses(listed) == ["2026-07-21:14:30#2", "2026-07-21:14:30"]


def test_wiki_items_and_entries_share_their_statistics_in_a_window() -> None:
    made = index_of(wiki("a", {"x": "sea"}), diary("2026-07-21", [("10:00", "sea sea hill"), ("11:00", "hill")]))
    answer = made.retrieve("sea", time_range=("2026-07-21", "2026-07-21"), explain=True)
    assert {term.df for entry in answer.items for term in entry.terms if term.kind == "word"} == {2}
    alone = made.retrieve("sea", explain=True)
    assert [term.df for term in alone.items[0].terms if term.kind == "word"] == [1]


def test_the_day_is_the_one_of_the_caller_s_zone() -> None:
    late = datetime(2026, 7, 21, 16, 30, tzinfo=UTC)  # the 22nd in Tokyo, the 21st in London
    made = MemoryIndex(Pages(DIARY), now=lambda: late)
    assert made.retrieve("job yesterday", tz="Asia/Tokyo").time_range == ("2026-07-21", "2026-07-21")
    assert made.retrieve("job yesterday", tz="Europe/London").time_range == ("2026-07-20", "2026-07-20")


@pytest.mark.parametrize("window", [("0001-01-01", "0001-01-01"), ("9999-12-31", "9999-12-31")])
def test_a_window_at_the_end_of_the_calendar_is_widened_as_far_as_it_goes(window: tuple[str, str]) -> None:
    assert index().retrieve("job", time_range=window).time_range_widened


# ----------------------------------------------------------------- filters


FILTERED = index_of(
    page(
        "wiki/projects/alpha.md",
        "---\ntags: [work]\n---\n## plan\n\nsea\n\n<!-- wikimem: owner=user:ann | ts=2026-07-10T12:00:00+00:00 -->\n",
    ),
    page(
        "wiki/projects/beta.md",
        "## plan\n\nsea #work/urgent\n\n<!-- wikimem: owner=user:bob | ts=2026-07-12T00:00:00Z -->\n",
    ),
    page("wiki/home.md", "## plan\n\nsea\n\n## late\n\nsea #workshop\n\n<!-- wikimem: ts=someday -->\n"),
)
EVERYTHING = {"projects/alpha:plan", "projects/beta:plan", "home:plan", "home:late"}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, EVERYTHING),
        ({"category": "projects/*"}, {"projects/alpha:plan", "projects/beta:plan"}),
        ({"category": "home"}, {"home:plan", "home:late"}),
        ({"category": "[hp]*"}, EVERYTHING),
        ({"category": "Home"}, set()),
        ({"category": "["}, set()),
        ({"owner": "user:ann"}, {"projects/alpha:plan"}),
        ({"owner": "nobody"}, set()),
        ({"tag": "work"}, {"projects/alpha:plan", "projects/beta:plan"}),
        ({"tag": "#Work"}, {"projects/alpha:plan", "projects/beta:plan"}),
        ({"tag": "work/urgent"}, {"projects/beta:plan"}),
        ({"since": "2026-07-11"}, {"projects/beta:plan"}),
        ({"until": "2026-07-10", "tz": "UTC"}, {"projects/alpha:plan"}),
        ({"until": "2026-07-10T11:59:59+00:00"}, set()),
        (
            {"since": date(2026, 7, 10), "until": datetime(2026, 7, 12, tzinfo=UTC)},
            {"projects/alpha:plan", "projects/beta:plan"},
        ),
        ({"owner": "user:ann", "tag": "work", "category": "p*", "since": "2026-07-01"}, {"projects/alpha:plan"}),
        ({"owner": "user:ann", "tag": "work/urgent"}, set()),
        ({"tag": "\ud800", "category": "\x00*"}, set()),
    ],
)
def test_filters_act_on_candidates(filters: dict[str, object], expected: set[str]) -> None:
    answer = FILTERED.retrieve("sea", **filters)  # type: ignore[arg-type]
    assert set(addresses(answer)) == expected


def test_a_filter_is_applied_before_the_limit() -> None:
    made = index_of(
        wiki("a", {f"n{i}": "sea sea sea" for i in range(20)}), wiki("b", {"it": "the sea and other words"})
    )
    assert addresses(made.retrieve("sea", limit=1, category="b")) == ["b:it"]


def test_a_day_can_be_filtered_as_a_category() -> None:
    answer = index().retrieve("", time_range=("2026-07-20", "2026-07-21"), category="2026-07-20")
    assert addresses(answer) == ["2026-07-20:09:00"]


def test_an_owner_that_changes_is_seen_without_a_new_text() -> None:
    made = index_of(page("wiki/a.md", "## x\n\nsea\n"))
    made.replace_page(page("wiki/a.md", "## x\n\nsea\n\n<!-- wikimem: owner=ann -->\n"))
    assert addresses(made.retrieve("sea", owner="ann")) == ["a:x"]


# ------------------------------------------------------------- explanation


def test_the_terms_of_an_item_add_up_to_its_score() -> None:
    for entry in index().retrieve("sea coffee hand-brewed 海", explain=True).items:
        assert math.isclose(sum(term.score for term in entry.terms), entry.bm25_score or 0, abs_tol=1e-5)
        assert dict(entry.signals)["bm25"] == pytest.approx(entry.bm25_score)


def test_matched_terms_are_what_was_typed() -> None:
    made = index_of(wiki("a", {"x": "running by the sea 海边散步"}))
    assert made.retrieve("Runs SEA 海边").items[0].matched_terms == ("runs", "sea", "海边")


def test_without_explain_nothing_is_explained() -> None:
    answer = index().retrieve("sea", limit=1)
    assert answer.dropped == ()
    assert not any(entry.terms or entry.signals for entry in answer.items)


def test_explain_names_the_next_candidates_beyond_the_limit() -> None:
    made = index_of(wiki("a", {f"n{i}": "sea" for i in range(30)}))
    answer = made.retrieve("sea", limit=2, explain=True)
    assert [one.reason for one in answer.dropped] == ["limit"] * BEYOND_LIMIT


def test_hidden_comments_are_not_searched() -> None:
    made = index_of(wiki("a", {"x": "sea %%secret%% <!-- also --> words"}))
    assert addresses(made.retrieve("secret also")) == []


def test_the_name_counts_more_than_the_text() -> None:
    made = index_of(wiki("a", {"sea": "a word", "hill": "a sea"}))
    assert addresses(made.retrieve("sea")) == ["a:sea", "a:hill"]


def test_equal_items_keep_their_order_whatever_the_limit_and_the_history() -> None:
    pages = [wiki(f"c{i}", {"x": "sea"}) for i in range(20)]
    one = index_of(*pages)
    other = index_of()
    for single in reversed(pages):
        other.replace_page(single)
    everything = addresses(one.retrieve("sea", 20))
    assert addresses(other.retrieve("sea", 20)) == everything
    assert [addresses(one.retrieve("sea", count)) for count in (1, 3, 7)] == [
        everything[:1],
        everything[:3],
        everything[:7],
    ]


def test_numbers_in_an_answer_are_plain() -> None:
    (entry, *_) = index().retrieve("sea", explain=True).items
    assert {type(value) for value in (entry.score, entry.bm25_score, *(v for _, v in entry.signals))} == {float}
    assert {type(term.score) for term in entry.terms} | {type(term.df) for term in entry.terms} == {float, int}


# ------------------------------------------------------------------ robust


ODD_QUERIES = [
    "",
    " ",
    "\n",
    "!!!",
    "…？",
    "\x00",
    "\x00sea\x00",
    "\ud800",
    "sea\udfff",
    "zzzz",
    "the",
    "the of and",
    "a" * 100_000,
]


@pytest.mark.parametrize("query", ODD_QUERIES)
@pytest.mark.parametrize(
    "pages", [[], [SEA], [SEA, TRIPS, *DIARY], [wiki("a", {"x": ""})]], ids=["empty", "one", "some", "blank"]
)
def test_odd_queries_get_a_right_answer(query: str, pages: list[object]) -> None:
    made = index_of(*pages)  # type: ignore[arg-type]
    for options in ({}, {"explain": True, "time_range": ("2026-07-20", "2026-07-21")}, {"category": "*"}):
        answer = made.retrieve(query, **options)
        assert all(entry.score is None or math.isfinite(entry.score) for entry in answer.items)
        if "zzzz" in query:
            assert answer.items == ()


def test_surrogates_and_nul_around_a_word_do_not_hide_it() -> None:
    for query in ("\x00coffee\x00", "\ud800coffee", "coffee\udfff"):
        assert addresses(index().retrieve(query)) == ["preferences:coffee"]


def test_a_hundred_thousand_characters_find_the_item_they_come_from() -> None:
    words = " ".join(f"word{number}" for number in range(12_000))[:99_980]
    made = index_of(wiki("a", {"x": words[-2_000:], "y": words[:100]}))
    assert len(f"{words} quokka") < 100_001
    assert addresses(made.retrieve(f"{words} quokka", limit=1)) == ["a:x"]


def test_more_terms_than_can_be_asked_keep_the_rarest() -> None:
    made = index_of(wiki("a", {"x": "common quokka", **{f"n{i}": "common" for i in range(30)}}))
    query = " ".join(f"w{number}" for number in range(MOST_TERMS)) + " common quokka"
    assert addresses(made.retrieve(query, limit=1)) == ["a:x"]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"query": None}, "query"),
        ({"query": "x" * 200_001}, "characters"),
        ({"limit": -1}, "limit"),
        ({"limit": True}, "limit"),
        ({"limit": "5"}, "limit"),
        ({"budget_tokens": -1}, "budget_tokens"),
        ({"tz": "Mars/Olympus"}, "time zone"),
        ({"tz": "../etc/passwd"}, "time zone"),
        ({"tz": "\x00"}, "time zone"),
        ({"tz": "America"}, "time zone"),
        ({"time_range": ("2026-07-01",)}, "time_range"),
        ({"time_range": "2026-07-01"}, "time_range"),
        ({"time_range": 20260701}, "time_range"),
        ({"time_range": ("2026-07-01", "soon")}, "time_range"),
        ({"time_range": ("2026-02-30", "2026-03-01")}, "time_range"),
        ({"since": "yesterday"}, "since"),
        ({"until": "2026-13-01"}, "until"),
        ({"until": "9999-12-31"}, "until"),
        ({"category": 5}, "category"),
        ({"category": "*" * 5_000}, "category"),
    ],
)
def test_a_wrong_argument_is_named_with_what_to_do(options: dict[str, object], word: str) -> None:
    with pytest.raises(InvalidInput, match=word) as caught:
        index().retrieve(**{"query": "sea", **options})  # type: ignore[arg-type]
    assert caught.value.hint


@pytest.mark.parametrize("settings", [RetrievalSettings(fusion="best"), RetrievalSettings(link_policy="none")])
def test_a_rule_that_does_not_exist_is_refused_when_it_is_set(settings: RetrievalSettings) -> None:
    with pytest.raises(InvalidInput):
        index_of(settings=settings)


# ----------------------------------------------------------------- look-up


def test_an_item_is_found_by_its_exact_address_or_by_the_one_that_folds_alike() -> None:
    made = index_of(wiki("a", {"Café au lait": "x"}), page("wiki/Cafe\u0301.md", "## n\n\ny\n"))
    assert made.get("a:Café au lait") is not None
    assert made.get("a:Cafe\u0301  au lait") is not None
    assert made.get("Caf\u00e9:n") is not None
    assert made.get("a:café au lait") is None
    assert made.get("a") is None
    assert made.get("b:x") is None


def test_two_items_that_fold_alike_are_told_apart_by_their_spelling() -> None:
    made = index_of(page("wiki/Caf\u00e9.md", "## n\n\none\n"), page("wiki/Cafe\u0301.md", "## n\n\ntwo\n"))
    one, two = made.get("Caf\u00e9:n"), made.get("Cafe\u0301:n")
    assert (one and one.content, two and two.content) == ("one", "two")
    assert made.get("Cafe\u0301 :n") is None


def test_a_second_entry_of_a_minute_has_its_own_address() -> None:
    made = index_of(diary("2026-07-21", [("14:30", "first"), ("14:30", "second")]))
    second = made.get("2026-07-21:14:30#2")
    assert second is not None
    assert second.content == "second"


def test_items_and_categories_are_listed_in_order() -> None:
    made = index()
    assert [item.address for item in made.items()] == [
        "preferences:likes-the-sea",
        "preferences:coffee",
        "trips:beach",
        "trips:train",
    ]
    assert [item.name for item in made.items("2026-07-21")] == ["14:30", "22:10"]
    assert made.categories() == [("preferences", 2), ("trips", 2)]
    assert made.item_count == 7


# ------------------------------------------------------------------- edits


def test_a_page_s_new_text_says_what_it_did_to_the_items() -> None:
    made = index_of(wiki("a", {"x": "sea", "y": "hill", "z": "lake"}))
    delta = made.replace_page(wiki("a", {"x": "sea", "y": "mountain", "w": "wood"}))
    assert [item.name for item in delta.added] == ["w"]
    assert [(old.content, new.content) for old, new in delta.updated] == [("hill", "mountain")]
    assert [item.name for item in delta.removed] == ["z"]
    assert not made.replace_page(wiki("a", {"x": "sea", "y": "mountain", "w": "wood"}))
    assert addresses(made.retrieve("mountain")) == ["a:y"]
    assert addresses(made.retrieve("hill lake")) == []
    assert [item.name for item in made.remove_page("wiki/a.md").removed] == ["x", "y", "w"]
    assert not made.remove_page("wiki/a.md")
    assert addresses(made.retrieve("sea")) == []


def test_an_edit_is_searchable_in_the_next_answer() -> None:
    made = index()
    for number in range(200):
        made.replace_page(wiki("trips", {"beach": f"{number}q by the sea", "train": "x"}))
        assert addresses(made.retrieve(f"{number}q", expand_links=False)) == ["trips:beach"]
        assert addresses(made.retrieve(f"{number - 1}q", expand_links=False)) == []


def test_a_write_of_the_source_is_read_again_before_the_answer() -> None:
    source = Pages([SEA])
    made = MemoryIndex(source)
    source.put(TRIPS)
    assert addresses(made.retrieve("tickets")) == ["trips:train"]
    source.drop(TRIPS.path)
    assert made.get("trips:train") is None
    source.forgetful = True
    source.put(DIARY[0])
    assert made.item_count == 2
    assert [item.address for item in made.items("2026-07-20")] == ["2026-07-20:09:00"]


def test_an_edit_of_the_disk_alone_is_seen_after_a_rebuild() -> None:
    source = Pages([SEA])
    made = MemoryIndex(source)
    source._pages[TRIPS.path] = TRIPS
    assert addresses(made.retrieve("tickets")) == []
    made.rebuild()
    assert addresses(made.retrieve("tickets")) == ["trips:train"]
