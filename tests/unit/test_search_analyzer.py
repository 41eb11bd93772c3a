"""The fast tokenizer says of every text what the readable one says of its words."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wikimem.search.analyzer import SLICE, Analyzer, Vocabulary, slices
from wikimem.search.scripts import patterns
from wikimem.search.tokens import normalize, symbol_terms
from wikimem.search.words import Kind, expand

ALPHABET = st.sampled_from(
    [
        *"aZé ß._-/+#1\n",
        "İ",
        "海",
        "辺",
        "ア",
        "ー",
        "บ",
        "้",
        "학",
        "교",
        "э",
        "й",
        "🎉",
        "👩",
        "\u200d",
        "💻",
        "\ufe0f",
        "\u0301",
    ]
)
TEXTS = st.lists(ALPHABET, max_size=40).map("".join)


def plainly(text: str) -> Counter[str]:
    """Return the terms of a text by the functions that queries use, one word at a time."""
    pattern = patterns()
    clean = normalize(text)
    terms = [term.text for surface in pattern.surface.findall(clean) for term in expand(surface)]
    for run in pattern.cjk.findall(clean):
        terms += [*run, *(run[at : at + 2] for at in range(len(run) - 1))]
    for run in pattern.unspaced.findall(clean):
        low = run.lower()
        pairs = [low[at : at + 2] for at in range(len(low) - 1)]
        terms += [low] if len(low) < 3 else [*pairs, *(low[at : at + 3] for at in range(len(low) - 2))]
    for symbol in pattern.symbol.findall(clean):
        terms += [term for term, _ in symbol_terms(symbol)]
    return Counter(terms)


def analyzed(analyzer: Analyzer, texts: list[str]) -> list[Counter[str]]:
    tokens = analyzer.tokens(texts)
    names = analyzer.vocabulary.names
    counts: list[Counter[str]] = [Counter() for _ in texts]
    for text, term in zip(tokens.texts.tolist(), tokens.terms.tolist(), strict=True):
        counts[text][str(names[term])] += 1
    return counts


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=5))
def test_many_texts_at_once_have_the_terms_of_each_alone(texts: list[str]) -> None:
    assert analyzed(Analyzer(), texts) == [plainly(text) for text in texts]


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=6))
def test_known_words_and_forgotten_ones_give_the_same_terms(texts: list[str]) -> None:
    analyzer = Analyzer(most_surfaces=2)
    one_by_one = [analyzed(analyzer, [text])[0] for text in texts]
    assert one_by_one == [plainly(text) for text in texts]


def test_the_length_counts_what_is_written_and_not_what_helps_to_find_it() -> None:
    texts = ["état major", "snake_case", "海边", "ฉันชอบ", "🎉", "C++ code", ""]
    assert Analyzer().tokens(texts).lengths.tolist() == [2, 1, 3, 4, 0, 2, 0]


def test_terms_get_the_numbers_in_which_they_come() -> None:
    vocabulary = Vocabulary()
    vocabulary.extend(["a", "b"])
    assert [vocabulary.ids["c"], vocabulary.ids["a"]] == [2, 0]
    vocabulary.note_new()
    assert vocabulary.names == ["a", "b", "c"]


def test_a_dropped_term_is_gone_and_its_number_is_never_used_again() -> None:
    vocabulary = Vocabulary()
    vocabulary.extend(["a", "b", "c"])
    vocabulary.drop([1, 2])
    assert len(vocabulary) == 1
    assert vocabulary.ids["b"] == 3
    vocabulary.note_new()
    assert vocabulary.names == ["a", None, None, "b"]
    vocabulary.note_new()
    assert vocabulary.size == 4


@pytest.mark.parametrize("text", ["word " * 40_000, "海" * 200_000, "x" * 200_000, "a\n" * 70_000, " " * 100_000])
def test_a_long_text_is_cut_into_slices_that_make_it_up(text: str) -> None:
    pieces = list(slices(text))
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= SLICE for piece in pieces)


def test_a_slice_ends_between_words() -> None:
    text = "beach " * 40_000
    assert Analyzer().tokens([text]).lengths.tolist() == [40_000]


def test_the_arrays_are_narrow() -> None:
    tokens = Analyzer().tokens(["a b 海", "c"])
    assert {array.dtype for array in tokens} == {np.dtype(np.int32)}


def test_an_ordinary_word_has_the_terms_that_expand_gives_it() -> None:
    for word in ("Beach", "BEACH", "beach", "beach.", "Море", "море", "Über", "and"):
        assert analyzed(Analyzer(), [word])[0] == Counter(term.text for term in expand(word))
        assert sum(term.kind is Kind.WORD for term in expand(word)) == 1


@pytest.mark.parametrize("broken", ["_spread", "_learn"])
def test_a_call_that_failed_leaves_the_next_ones_as_they_would_have_been(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyzer = Analyzer()
    analyzer.tokens(["sea and hill"])
    whole = getattr(analyzer, broken)
    kept: list[object] = []

    def fail(*arguments: object) -> object:
        kept.extend((memoryview(analyzer._counted), memoryview(analyzer._counted_at)))  # as a traceback keeps views
        whole(*arguments)
        raise MemoryError

    monkeypatch.setattr(analyzer, broken, fail)
    with pytest.raises((MemoryError, BufferError)):
        analyzer.tokens(["lake river moor"])
    monkeypatch.setattr(analyzer, broken, whole)
    texts = ["river and stone", "moor sea glen"]
    again = analyzer.tokens(texts)
    names = analyzer.vocabulary.names
    for number, text in enumerate(texts):
        found = Counter(names[term] for term in again.terms[again.texts == number])
        alone = Analyzer()
        expected = Counter(alone.vocabulary.names[term] for term in alone.tokens([text]).terms)
        assert found == expected
