"""The second signal: what it does to an answer, and what its failures cost."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.searching import Pages, addresses, diary, items_of, wiki
from wikimem.search.index import MemoryIndex
from wikimem.search.results import Degraded, RetrievalSettings
from wikimem.search.vectors import ExactVectors, Matrix, Vector

# Three meanings; a text means what it says of them.
MEANINGS = {"sea": ("sea", "beach", "ocean", "swim"), "food": ("coffee", "bread"), "work": ("job", "robot")}


def meaning(text: str) -> list[float]:
    words = text.lower().replace(".", " ").split()
    return [float(sum(word in known for word in words)) for known in MEANINGS.values()]


class MeaningEmbedder:
    """An embedder that knows a few words, and can be told to fail."""

    model = "meanings"
    dim = 3

    def __init__(self, trouble: Exception | None = None, answer: Vector | None = None) -> None:
        self.trouble = trouble
        self.answer = answer
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        return np.array([meaning(text) for text in texts], np.float32).reshape(len(texts), 3)

    def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        if self.trouble is not None:
            raise self.trouble
        return self.answer if self.answer is not None else self.embed([text])[0]


PAGES = [
    wiki("a", {"swimming": "We swim every beach.", "breakfast": "Strong coffee.", "stray": "An ocean word by chance."}),
    diary("2026-07-21", [("10:00", "A robot at the job.")]),
]


def index(embedder: MeaningEmbedder, *, of: Sequence[str] | None = None, **settings: object) -> MemoryIndex:
    vectors = ExactVectors("meanings", 3)
    made = MemoryIndex(
        Pages(PAGES),
        embedder=embedder,
        vectors=vectors,
        settings=RetrievalSettings(**settings),  # type: ignore[arg-type]
    )
    items = [item for item in items_of(made) if of is None or item.name in of]
    vectors.put([item.hash for item in items], embedder.embed([f"{item.name}\n{item.content}" for item in items]))
    return made


def test_an_item_that_shares_no_word_is_found_by_its_meaning() -> None:
    answer = index(MeaningEmbedder()).retrieve("sea")
    assert set(addresses(answer)) == {"a:swimming", "a:stray"}
    assert answer.embedding_used
    assert answer.items[0].cos_score == pytest.approx(1.0)


def test_every_candidate_of_bm25_has_a_cosine() -> None:
    answer = index(MeaningEmbedder()).retrieve("strong ocean coffee")
    assert all(entry.cos_score is not None for entry in answer.items)
    assert {"a:breakfast", "a:stray"} <= set(addresses(answer))


def test_an_item_without_a_vector_is_still_found_by_its_words() -> None:
    answer = index(MeaningEmbedder(), of=["swimming"]).retrieve("coffee sea")
    entry = next(entry for entry in answer.items if entry.item.name == "breakfast")
    assert entry.cos_score is None
    assert answer.embedding_used


def test_a_vector_that_comes_later_is_used_at_once() -> None:
    embedder = MeaningEmbedder()
    made = index(embedder, of=[])
    assert not made.retrieve("sea").embedding_used
    item = next(item for item in items_of(made) if item.name == "swimming")
    vectors = made._likeness.vectors
    assert isinstance(vectors, ExactVectors)
    vectors.put([item.hash], embedder.embed([item.content]))
    assert addresses(made.retrieve("sea")) == ["a:swimming"]


def test_an_edited_item_loses_its_old_vector() -> None:
    made = index(MeaningEmbedder())
    made.retrieve("sea")
    made.replace_page(wiki("a", {"swimming": "Nothing of the kind.", "breakfast": "Strong coffee."}))
    assert addresses(made.retrieve("sea")) == []


def test_the_diary_has_the_second_signal_inside_its_window() -> None:
    made = index(MeaningEmbedder())
    assert addresses(made.retrieve("robots", time_range=("2026-07-21", "2026-07-21"))) == ["2026-07-21:10:00"]
    assert "2026-07-21:10:00" not in addresses(made.retrieve("robot"))


def test_a_filter_holds_for_the_second_signal_too() -> None:
    assert addresses(index(MeaningEmbedder()).retrieve("sea", category="b")) == []


def test_explain_names_every_number_of_the_fused_score() -> None:
    answer = index(MeaningEmbedder(), fusion="ceiling").retrieve("ocean", explain=True)
    signals = dict(answer.items[0].signals)
    assert signals.keys() == {"bm25", "cos", "fused"}
    assert signals["fused"] == pytest.approx(answer.items[0].score)


@pytest.mark.parametrize("trouble", [TimeoutError("slow"), OSError("refused"), RuntimeError("?"), ValueError("nan")])
def test_a_failing_embedder_costs_the_second_signal_and_says_so(trouble: Exception) -> None:
    answer = index(MeaningEmbedder(trouble)).retrieve("ocean")
    assert (addresses(answer), answer.embedding_used) == (["a:stray"], False)
    assert [one.code for one in answer.degraded] == ["embedder-failed"]
    assert answer.items[0].cos_score is None


@pytest.mark.parametrize("vector", [np.array([1, np.nan, 0], np.float32), np.ones((1, 3), np.float32)])
def test_a_vector_that_is_none_is_refused(vector: Vector) -> None:
    answer = index(MeaningEmbedder(answer=vector)).retrieve("ocean")
    assert [one.code for one in answer.degraded] == ["embedder-failed"]


def test_vectors_of_another_width_are_not_compared() -> None:
    answer = index(MeaningEmbedder(answer=np.ones(4, np.float32))).retrieve("ocean")
    assert [one.code for one in answer.degraded] == ["vectors-mismatch"]
    assert "embed --reset" in answer.degraded[0].hint
    assert not answer.embedding_used


def test_vectors_of_another_model_are_not_compared() -> None:
    embedder = MeaningEmbedder()
    made = index(embedder)
    embedder.model = "others"
    answer = made.retrieve("ocean")
    assert [one.code for one in answer.degraded] == ["vectors-mismatch"]


@pytest.mark.parametrize("query", ["", "  "])
def test_an_empty_query_is_not_sent_to_the_embedder(query: str) -> None:
    embedder = MeaningEmbedder()
    answer = index(embedder).retrieve(query, time_range=("2026-07-21", "2026-07-21"))
    assert (embedder.asked, answer.embedding_used) == ([], False)


def test_a_caller_can_bring_the_vector_or_the_reason_why_there_is_none() -> None:
    embedder = MeaningEmbedder()
    made = index(embedder)
    assert made.retrieve("zzz", query_vector=np.array([1, 0, 0], np.float32)).embedding_used
    late = made.retrieve("ocean", query_vector=Degraded("embedder-late", "it took too long"))
    assert ([one.code for one in late.degraded], late.embedding_used, embedder.asked) == (["embedder-late"], False, [])


def test_without_an_embedder_nothing_is_degraded() -> None:
    answer = MemoryIndex(Pages(PAGES)).retrieve("ocean")
    assert (answer.degraded, answer.embedding_used) == ((), False)


def test_the_temperature_ranks_when_it_has_a_weight() -> None:
    pages = Pages([wiki("a", {"cold": "sea sea", "warm": "sea and more words"})])
    heat = {"a:cold": 0.0, "a:warm": 1.0}
    plain = MemoryIndex(pages, temperature=heat.__getitem__)
    assert addresses(plain.retrieve("sea")) == ["a:cold", "a:warm"]
    ranking = MemoryIndex(pages, temperature=heat.__getitem__, settings=RetrievalSettings(temperature_weight=0.6))
    answer = ranking.retrieve("sea", explain=True)
    assert addresses(answer) == ["a:warm", "a:cold"]
    assert dict(answer.items[0].signals).keys() == {"bm25", "temperature", "warmed"}


def test_a_linked_item_is_weighed_on_the_scale_of_the_hits() -> None:
    linked = Pages([wiki("a", {"hit": "sea sea [[a:far]] [[a:near]]", "far": "bread", "near": "swim"})])
    embedder = MeaningEmbedder()
    vectors = ExactVectors("meanings", 3)
    made = MemoryIndex(linked, embedder=embedder, vectors=vectors, settings=RetrievalSettings(link_policy="best-two"))
    vectors.put([item.hash for item in items_of(made)], embedder.embed([item.content for item in items_of(made)]))
    answer = made.retrieve("sea", limit=1)
    assert addresses(answer) == ["a:hit", "a:near", "a:far"]
    assert [entry.score for entry in answer.items] == pytest.approx([1.0, 0.4, 0.0])


class CountingVectors(ExactVectors):
    """Counts the hashes that are looked up."""

    looked_up = 0

    def rows(self, hashes: Sequence[str]) -> Sequence[int]:
        self.looked_up += len(hashes)
        return super().rows(hashes)


def test_what_has_no_vector_is_looked_up_once_and_gets_the_one_that_comes() -> None:
    embedder, vectors = MeaningEmbedder(), CountingVectors("meanings", 3)
    made = MemoryIndex(Pages(PAGES), embedder=embedder, vectors=vectors)
    first, *rest = [item for item in items_of(made) if item.category == "a"]
    vectors.put([first.hash], embedder.embed([first.content]))
    for _ in range(3):
        made.retrieve("coffee")
    assert vectors.looked_up == 3
    vectors.put([item.hash for item in rest], embedder.embed([item.content for item in rest]))
    answer = made.retrieve("coffee sea")
    assert vectors.looked_up == 3, "a new vector is no reason to look all others up again"
    assert all(entry.cos_score is not None for entry in answer.items)
    vectors.keep([first.hash])
    made.retrieve("coffee")
    vectors.put([rest[0].hash, "another"], embedder.embed([rest[0].content, "job"]))
    vectors.keep([first.hash, rest[0].hash, "another"])
    assert all(entry.cos_score is not None for entry in made.retrieve(rest[0].content, limit=1).items)


def test_a_vector_that_comes_for_a_text_that_is_gone_is_not_given_to_the_text_in_its_place() -> None:
    embedder, vectors = MeaningEmbedder(), CountingVectors("meanings", 3)
    pages = Pages([wiki("a", {"one": "bread", "two": "job"})])
    made = MemoryIndex(pages, embedder=embedder, vectors=vectors)
    old, kept = items_of(made)
    vectors.put([kept.hash], embedder.embed([kept.content]))
    made.retrieve("sea")
    made.replace_page(wiki("a", {"one": "sea", "two": "job"}))
    made.retrieve("sea")
    vectors.put([old.hash], embedder.embed([old.content]))
    found = {entry.item.name: entry.cos_score for entry in made.retrieve("sea job", explain=True).items}
    assert found["one"] is None


def test_what_a_query_would_look_up_is_looked_up_a_little_at_a_time_before() -> None:
    embedder, vectors = MeaningEmbedder(), CountingVectors("meanings", 3)
    made = MemoryIndex(Pages(PAGES), embedder=embedder, vectors=vectors)
    wanted = items_of(made)
    vectors.put([item.hash for item in wanted], embedder.embed([item.content for item in wanted]))
    assert made.prime(3)
    assert vectors.looked_up == 3
    assert not made.prime(3)
    assert vectors.looked_up == len(wanted)
    assert made.retrieve("coffee").embedding_used
    assert vectors.looked_up == len(wanted)
