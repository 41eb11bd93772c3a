"""Rules that join two signals, as functions of arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikimem.errors import InvalidInput
from wikimem.search.bm25 import FloatArray
from wikimem.search.fusion import RULES, by_ceiling, by_max, by_min_max, rule, warmed
from wikimem.search.results import RetrievalSettings

NAN = float("nan")
SCORES = st.lists(
    st.tuples(st.floats(0, 30, width=32), st.one_of(st.just(NAN), st.floats(-1, 1, width=32))), min_size=0, max_size=8
)


def array(*values: float) -> FloatArray:
    return np.array(values, np.float32)


@pytest.mark.parametrize("name", RULES)
@given(SCORES, st.floats(0, 1, width=32))
def test_every_rule_stays_between_nothing_and_one(name: str, scores: list[tuple[float, float]], weight: float) -> None:
    bm25, cos = array(*(b for b, _ in scores)), array(*(c for _, c in scores))
    fused = RULES[name](bm25, cos, float(bm25.max(initial=0.0)) * 1.5, weight)
    assert fused.shape == bm25.shape
    assert np.isfinite(fused).all()
    assert ((fused >= 0) & (fused <= 1 + 1e-6)).all()


@pytest.mark.parametrize("name", RULES)
def test_with_all_the_weight_a_signal_ranks_alone(name: str) -> None:
    bm25, cos = array(1, 3, 2), array(0.9, 0.1, 0.5)
    assert np.argsort(-RULES[name](bm25, cos, 4.0, 1.0)).tolist() == [1, 2, 0]
    assert np.argsort(-RULES[name](bm25, cos, 4.0, 0.0)).tolist() == [0, 2, 1]


@pytest.mark.parametrize("name", RULES)
def test_an_item_without_a_vector_is_no_likelier_than_any_other(name: str) -> None:
    fused = RULES[name](array(1, 1), array(NAN, 0.5), 2.0, 0.5)
    assert fused[0] < fused[1]


def test_a_stray_word_does_not_become_a_full_score_under_its_ceiling() -> None:
    # One item shares one weak word with the query, the other none and is the paraphrase.
    bm25, cos, ceiling = array(0.4, 0.0), array(0.2, 0.8), 8.0
    assert by_ceiling(bm25, cos, ceiling, 0.5)[1] > by_ceiling(bm25, cos, ceiling, 0.5)[0]
    assert by_min_max(bm25, cos, ceiling, 0.5)[0] == by_min_max(bm25, cos, ceiling, 0.5)[1]


def test_small_differences_of_a_poor_model_stay_small_under_max() -> None:
    bm25, cos = array(10, 6), array(0.90, 0.92)
    assert by_max(bm25, cos, 20.0, 0.5)[0] > by_max(bm25, cos, 20.0, 0.5)[1]
    assert by_min_max(bm25, cos, 20.0, 0.5)[0] == by_min_max(bm25, cos, 20.0, 0.5)[1]


def test_by_default_what_shares_all_words_stays_before_what_a_model_of_noise_likes() -> None:
    # The vectors of such a model point everywhere: what is right may have no likeness at all.
    bm25, cos = array(10, 0.1), array(-0.4, 0.4)
    chosen = RetrievalSettings()
    fused = RULES[chosen.fusion](bm25, cos, 20.0, chosen.fusion_weight)
    assert fused[0] > fused[1]


def test_a_negative_cosine_counts_as_no_likeness_under_max() -> None:
    assert by_max(array(0, 0), array(-0.5, 0.0), 0.0, 0.5).tolist() == [0, 0]


def test_a_rule_is_found_by_its_name_or_the_names_are_told() -> None:
    assert rule("max") is by_max
    with pytest.raises(InvalidInput) as caught:
        rule("rrf")
    assert "min-max" in caught.value.hint


def test_the_temperature_ranks_only_with_a_weight() -> None:
    scores, heat = array(2, 1), array(0, 1)
    assert warmed(scores, heat, 0) is scores
    assert warmed(scores, heat, 0.2).tolist() == pytest.approx([0.8, 0.6])
    assert np.argsort(-warmed(scores, heat, 0.9)).tolist() == [1, 0]
