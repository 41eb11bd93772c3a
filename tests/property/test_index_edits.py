"""The index after any sequence of edits and merges, against one built from scratch and against bm25s."""

import math
from collections import Counter
from contextlib import suppress

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.searching import Pages, diary, index_of, items_of, wiki
from wikimem.pages.page import Page
from wikimem.search.analyzer import Analyzer
from wikimem.search.bm25 import K1, B
from wikimem.search.build import InlineBuilder
from wikimem.search.corpus import BuildJob, Built, Corpus, Merged, MergeJob, MergePolicy
from wikimem.search.index import MemoryIndex
from wikimem.search.merging import build, merge
from wikimem.search.scoring import View, exact, frozen
from wikimem.search.tokens import query_terms

WORDS = [
    "sea",
    "Seas",
    "café",
    "snake_case",
    "C++",
    "海边",
    "海",
    "散步海边",
    "ทะเล",
    "🎉",
    "run",
    "running",
    "14:30",
    "the",
]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
CATEGORIES = ["a", "b", "c"]
DAYS = ["2026-07-20", "2026-07-21", "2026-07-22"]
NAMES = ["sea", "plan", "run"]
WIKI_PAGES = st.builds(wiki, st.sampled_from(CATEGORIES), st.dictionaries(st.sampled_from(NAMES), TEXTS, max_size=3))
DIARY_PAGES = st.builds(
    diary, st.sampled_from(DAYS), st.lists(st.tuples(st.sampled_from(["08:00", "14:30"]), TEXTS), max_size=3)
)
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.one_of(WIKI_PAGES, DIARY_PAGES)),
        st.tuples(st.just("drop"), st.sampled_from([f"wiki/{name}.md" for name in CATEGORIES])),
        st.tuples(st.sampled_from(["merge meanwhile", "build meanwhile"]), st.one_of(WIKI_PAGES, DIARY_PAGES)),
        st.tuples(st.sampled_from(["ask", "merge", "build", "fail"]), st.none()),
    ),
    max_size=20,
)
QUERIES = ["sea", "the sea at 14:30", "海边散步", "café C++ 🎉", " ".join(WORDS)]
# Everyday; merge and renumber at every chance; never merge.
POLICIES = [MergePolicy(), MergePolicy(least=1, most_unused=0), MergePolicy(least=10**6, most=10**6)]
WINDOW = ("2026-07-20", "2026-07-21")


class Interrupted:
    """A builder during whose work an edit arrives, or that fails."""

    def __init__(self, meanwhile: Page | None = None, index: MemoryIndex | None = None, *, fails: bool = False) -> None:
        self.meanwhile = meanwhile
        self.index = index
        self.fails = fails

    def _interrupt(self) -> None:
        if self.fails:
            raise MemoryError
        if self.index is not None and self.meanwhile is not None:
            self.index.retrieve("sea")
            self.index.replace_page(self.meanwhile)
            self.index.retrieve("sea")

    def merge(self, job: MergeJob) -> Merged:
        self._interrupt()
        return merge(job)

    def build(self, job: BuildJob) -> Built:
        self._interrupt()
        return build(job)


def perform(index: MemoryIndex, edits: list[tuple[str, object]]) -> None:
    for action, what in edits:
        match action, what:
            case "put", Page():
                index.replace_page(what)
            case "drop", str():
                index.remove_page(what)
            case "ask", _:
                index.retrieve("sea 海边", time_range=WINDOW)
            case "merge", _:
                index.merge(settled=True)
            case "merge meanwhile", Page():
                index.merge(Interrupted(what, index), settled=True)
            case "build", _:
                index.rebuild_arrays(InlineBuilder())
            case "build meanwhile", Page():
                index.rebuild_arrays(Interrupted(what, index))
            case "fail", _:
                with suppress(MemoryError):
                    index.merge(Interrupted(fails=True), settled=True)
                with suppress(MemoryError):
                    index.rebuild_arrays(Interrupted(fails=True))


def scores(index: MemoryIndex, query: str, **options: object) -> dict[str, tuple[float, tuple[str, ...]]]:
    answer = index.retrieve(query, 1_000, expand_links=False, **options)  # type: ignore[arg-type]
    return {entry.item.address: (entry.bm25_score or 0.0, entry.matched_terms) for entry in answer.items}


def same(one: dict[str, tuple[float, tuple[str, ...]]], other: dict[str, tuple[float, tuple[str, ...]]]) -> None:
    assert one.keys() == other.keys()
    for address, (score, terms) in one.items():
        assert math.isclose(score, other[address][0], abs_tol=1e-5)
        assert terms == other[address][1]


@settings(deadline=None, max_examples=80)
@given(EDITS, st.sampled_from(POLICIES))
def test_an_index_that_scores_from_counts_always_equals_a_fresh_one(
    edits: list[tuple[str, object]], policy: MergePolicy
) -> None:
    index = index_of(merging=policy)
    perform(index, edits)
    fresh = index_of(*index.pages.values())
    for query in QUERIES:
        same(scores(index, query), scores(fresh, query))
        same(scores(index, query, time_range=WINDOW), scores(fresh, query, time_range=WINDOW))
    assert index.item_count == len(items_of(index)) == fresh.item_count


@settings(deadline=None, max_examples=80)
@given(EDITS)
def test_a_large_index_equals_a_fresh_one_after_a_merge_and_finds_the_same_before(
    edits: list[tuple[str, object]],
) -> None:
    index = index_of(merging=MergePolicy(least=10**6, most=10**6, exact_below=0), inline_merges=False)
    perform(index, edits)
    fresh = index_of(*index.pages.values())
    for query in QUERIES:
        unmerged, expected = scores(index, query), scores(fresh, query)
        assert {address: terms for address, (_, terms) in unmerged.items()} == {a: t for a, (_, t) in expected.items()}
    index.merge(settled=True)
    assert index.unmerged == 0
    for query in QUERIES:
        same(scores(index, query), scores(fresh, query))


@settings(deadline=None, max_examples=50)
@given(EDITS)
def test_after_a_merge_only_terms_that_a_text_holds_are_known(edits: list[tuple[str, object]]) -> None:
    index = index_of(inline_merges=False)
    perform(index, edits)
    index.merge(settled=True)
    known = {term for shelf in index._shelves for term in shelf.corpus.vocabulary.ids}
    assert known == {term for shelf in index_of(*index.pages.values())._shelves for term in shelf.corpus.vocabulary.ids}


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.lists(st.sampled_from(["aa", "ab", "ba", "bb", "cc"]), min_size=1, max_size=12), min_size=1, max_size=12
    )
)
def test_the_arrays_are_those_of_bm25s(documents: list[list[str]]) -> None:
    # Two-letter words have neither folds nor prefixes nor parts, so bm25s counts the same lengths.
    corpus = Corpus()
    slots = corpus.reserve(len(documents))
    texts = [" ".join(words) for words in documents]
    job = corpus.begin_build(slots, texts)
    corpus.finish_build(job, build(job))
    oracle = bm25s.BM25(k1=K1, b=B, method="lucene")
    oracle.index(documents, show_progress=False)
    for word in {word for words in documents for word in words}:
        numbers = corpus.numbers([word])
        ours = frozen(corpus, numbers, np.ones(1, np.float32)).scores
        np.testing.assert_allclose(ours, oracle.get_scores([word]), atol=1e-6)


def by_hand(texts: list[str], query: str) -> list[float]:
    """Return BM25 by the formula in the books, from counted terms."""
    analyzer = Analyzer()
    tokens = analyzer.tokens(texts)
    counts = [Counter(tokens.terms[tokens.texts == at].tolist()) for at in range(len(texts))]
    average = float(tokens.lengths.mean()) or 1.0
    totals = [0.0] * len(texts)
    for term in query_terms(query):
        number = analyzer.vocabulary.ids.get(term.text, -1)
        df = sum(number in count for count in counts)
        idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        for at, count in enumerate(counts):
            norm = K1 * (1 - B + B * int(tokens.lengths[at]) / average)
            totals[at] += term.weight * idf * count[number] / (count[number] + norm)
    return totals


@settings(deadline=None, max_examples=60)
@given(st.lists(TEXTS, min_size=1, max_size=8), TEXTS)
def test_scores_are_those_of_the_formula(texts: list[str], query: str) -> None:
    terms = query_terms(query)
    if not terms:
        return
    corpus = Corpus()
    corpus.add(texts)
    corpus.settle()
    numbers = corpus.numbers([term.text for term in terms])
    weights = np.array([term.weight for term in terms], np.float32)
    (scoring,) = exact([View(corpus, numbers)], weights)
    np.testing.assert_allclose(scoring.scores, by_hand(texts, query), rtol=1e-5, atol=1e-5)
    given_by_term = scoring.contributions(np.arange(len(texts), dtype=np.int32))
    np.testing.assert_allclose(given_by_term.sum(axis=0), scoring.scores, rtol=1e-5, atol=1e-5)
    assert scoring.scores.max() <= scoring.ceiling + 1e-5


@settings(deadline=None, max_examples=40)
@given(EDITS)
def test_an_index_that_reads_its_source_follows_every_write(edits: list[tuple[str, object]]) -> None:
    source = Pages()
    index = MemoryIndex(source)
    for action, what in edits:
        if action == "put" and isinstance(what, Page):
            source.put(what)
        elif action == "drop" and what in {one.path for one in source.pages()}:
            source.drop(str(what))
        elif action == "ask":
            index.retrieve("sea")
        source.forgetful = action == "merge"
    index.retrieve("")
    assert dict(index.pages) == {one.path: one for one in source.pages()}
    fresh = MemoryIndex(source)
    for query in QUERIES:
        same(scores(index, query), scores(fresh, query))


@pytest.mark.parametrize("rows", [0, 1, 300])
def test_a_base_of_any_size_answers(rows: int) -> None:
    corpus = Corpus()
    slots = corpus.reserve(rows)
    job = corpus.begin_build(slots, ["sea 海"] * rows)
    corpus.finish_build(job, build(job))
    scoring = frozen(corpus, corpus.numbers(["sea", "nothing"]), np.ones(2, np.float32))
    assert int((scoring.scores > 0).sum()) == rows
