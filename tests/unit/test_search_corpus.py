"""Rows come and go, merges run beside them, and every answer is right."""

import numpy as np
import pytest

from wikimem.search.corpus import Corpus, MergePolicy
from wikimem.search.merging import build, merge
from wikimem.search.scoring import best, comparable, frozen


def found(corpus: Corpus, word: str) -> list[int]:
    corpus.settle()
    scores = frozen(corpus, corpus.numbers([word]), np.ones(1, np.float32)).scores
    return np.flatnonzero(scores).tolist()


def merged(corpus: Corpus) -> None:
    job = corpus.begin_merge()
    corpus.finish_merge(job, merge(job))


def test_a_slot_that_was_freed_during_a_merge_is_not_used_before_the_next_one() -> None:
    corpus = Corpus()
    corpus.add(["sea", "hill", "lake"])
    merged(corpus)
    job = corpus.begin_merge()
    corpus.remove([0])
    corpus.finish_merge(job, merge(job))
    (new,) = corpus.add(["wood"])
    assert new != 0
    assert found(corpus, "sea") == []
    merged(corpus)
    assert corpus.add(["river"]) == [0]
    assert (found(corpus, "sea"), found(corpus, "river")) == ([], [0])


def test_a_word_that_comes_back_during_a_merge_is_still_known_after_it() -> None:
    corpus = Corpus()
    slots = corpus.add(["sea", "hill"])
    corpus.remove(slots[:1])
    job = corpus.begin_merge()
    (again,) = corpus.add(["sea"])
    corpus.finish_merge(job, merge(job))
    assert found(corpus, "sea") == [again]


def test_rows_that_come_and_go_during_a_merge_are_kept_as_they_are() -> None:
    corpus = Corpus()
    before = corpus.add(["sea", "sea hill", "sea lake"])
    job = corpus.begin_merge()
    (during,) = corpus.add(["sea wood"])
    corpus.remove(before[1:2])
    assert found(corpus, "sea") == [before[0], before[2], during]
    corpus.finish_merge(job, merge(job))
    assert found(corpus, "sea") == [before[0], before[2], during]
    assert corpus.pending == 2
    merged(corpus)
    assert (found(corpus, "sea"), corpus.pending) == ([before[0], before[2], during], 0)


def test_rows_that_come_during_a_build_get_the_numbers_of_its_vocabulary() -> None:
    corpus = Corpus()
    slots = corpus.add(["old words only here", "sea"])
    corpus.remove(slots[:1])
    job = corpus.begin_build(slots[1:], ["sea"])
    (during,) = corpus.add(["hill above the sea"])
    corpus.finish_build(job, build(job))
    assert (found(corpus, "sea"), found(corpus, "hill")) == ([slots[1], during], [during])
    assert "old" not in corpus.vocabulary.ids


def test_a_failed_merge_changes_nothing() -> None:
    corpus = Corpus()
    slots = corpus.add(["sea", "hill"])
    corpus.begin_merge()
    corpus.abandon()
    assert (corpus.pending, found(corpus, "sea")) == (2, slots[:1])
    merged(corpus)
    assert (corpus.pending, found(corpus, "sea")) == (0, slots[:1])


def test_the_vocabulary_shrinks_when_a_merge_finds_terms_that_nothing_holds() -> None:
    corpus = Corpus()
    slots = corpus.add([f"word{number} common" for number in range(100)])
    merged(corpus)
    assert len(corpus.vocabulary) > 100
    corpus.remove(slots[1:])
    merged(corpus)
    assert set(corpus.vocabulary.ids) == {"word0", "common", "\x01word", "\x01comm", "word"}
    assert found(corpus, "common") == slots[:1]


def test_many_small_additions_make_few_segments() -> None:
    corpus = Corpus()
    for number in range(600):
        corpus.add([f"sea {number}"])
        corpus.settle()
    assert len(corpus.segments) <= 6
    assert len(found(corpus, "sea")) == 600


@pytest.mark.parametrize(("rows", "threshold"), [(0, 64), (6_400, 64), (10_000, 100), (100_000, 1_000), (10**7, 1_000)])
def test_a_merge_is_due_after_one_percent_within_bounds(rows: int, threshold: int) -> None:
    assert MergePolicy().threshold(rows) == threshold


def test_a_count_that_needs_more_than_a_byte_survives_a_merge() -> None:
    corpus = Corpus()
    corpus.add(["sea"])
    merged(corpus)
    corpus.add(["sea " * 70_000])
    merged(corpus)
    assert corpus.base.postings.tfs.max() == 70_000


def test_the_best_are_ordered_by_score_and_then_by_their_tie_number() -> None:
    scores = np.array([0, 3, 1, 3, 2, 0, 3], np.float32)
    ties = np.array([0, 9, 0, 1, 0, 0, 5], np.uint32)
    assert best(scores, 4, ties).tolist() == [3, 6, 1, 4]
    assert best(scores, 2, ties).tolist() == [3, 6]
    assert best(scores, 99, ties).tolist() == [3, 6, 1, 4, 2]
    assert best(np.zeros(3, np.float32), 5, ties[:3]).tolist() == []
    assert best(np.empty(0, np.float32), 5, ties[:0]).tolist() == []


def test_a_score_far_below_the_highest_is_still_among_the_best_when_there_is_room() -> None:
    scores = np.array([100, 1e-4, 50], np.float32)
    assert best(scores, 3, np.zeros(3, np.uint32)).tolist() == [0, 2, 1]


def test_scores_that_differ_in_the_last_bits_compare_equal() -> None:
    scores = np.array([1.0, np.nextafter(np.float32(1.0), np.float32(2.0)), 1.001], np.float32)
    one, other, more = comparable(scores).tolist()
    assert one == other < more


def test_a_vocabulary_of_mostly_unused_numbers_calls_for_a_build() -> None:
    corpus = Corpus(MergePolicy(most_unused=10))
    slots = corpus.add(["aa bb cc dd ee ff gg hh ii jj kk ll", "sea"])
    assert not corpus.sparse
    corpus.remove(slots[:1])
    merged(corpus)
    assert corpus.sparse
    job = corpus.begin_build(slots[1:], ["sea"])
    corpus.finish_build(job, build(job))
    assert (corpus.sparse, corpus.vocabulary.size, found(corpus, "sea")) == (False, 1, slots[1:])
