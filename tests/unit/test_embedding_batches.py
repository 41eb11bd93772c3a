"""What is asked of an endpoint at once, and who is to blame when it refuses."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from wikimem.cache.answers import Answer, failure, read_answer, wait_of
from wikimem.cache.batches import Batches, Outcome, Text
from wikimem.cache.failures import EmbeddingError, Kind
from wikimem.cache.queries import QueryVectors

Judge = Callable[[Sequence[str]], "EmbeddingError | None"]
ONE = np.ones(2, np.float32)


class Fake:
    """An endpoint that refuses what its judge says, and counts what it was paid for."""

    def __init__(self, judge: Judge = lambda _: None) -> None:
        self.judge = judge
        self.paid: Counter[str] = Counter()
        self.sizes: list[int] = []

    def __call__(self, texts: Sequence[str]) -> Answer:
        self.sizes.append(len(texts))
        trouble = self.judge(texts)
        if trouble is not None:
            raise trouble
        self.paid.update(texts)
        return Answer([ONE] * len(texts), len(texts))


def texts(count: int) -> list[Text]:
    return [Text(f"h{number}", f"t{number}") for number in range(count)]


def refusing(kind: Kind, *bad: str) -> Judge:
    return lambda asked: EmbeddingError(kind, f"{kind}!") if set(bad) & set(asked) else None


def capped(cap: int) -> Judge:
    return lambda asked: EmbeddingError("too-many", "batch too large") if len(asked) > cap else None


def run_until_settled(batches: Batches, wanted: Sequence[Text], rounds: int = 12) -> Outcome:
    """Run as the worker does: plainly at first, from the third time on with isolation."""
    total, left = Outcome(), list(wanted)
    for number in range(rounds):
        found = batches.run(left, isolate=number >= 2)
        total.vectors |= found.vectors
        total.failed |= found.failed
        total.trouble = found.trouble
        left = [text for text in left if text.hash not in total.vectors and text.hash not in total.failed]
        if not left:
            break
    return total


def test_the_cap_is_found_by_halving_and_remembered() -> None:
    fake = Fake(capped(10))
    batches = Batches(fake)
    outcome = batches.run(texts(100))
    assert len(outcome.vectors) == 100
    assert max(fake.paid.values()) == 1
    assert (batches.cap, fake.sizes[:4]) == (8, [32, 16, 8, 8])
    fake.sizes.clear()
    batches.run(texts(20))
    assert fake.sizes == [8, 8, 4]


@pytest.mark.parametrize("kind", ["rejected", "too-many"])
def test_a_text_that_is_refused_is_found_and_costs_the_others_nothing(kind: Kind) -> None:
    fake = Fake(refusing(kind, "t5"))
    batches = Batches(fake)
    outcome = batches.run(texts(32))
    assert outcome.failed == {"h5": f"{kind}!"}
    assert len(outcome.vectors) == 31
    assert max(fake.paid.values()) == 1
    assert batches.cap == 32, "one text that is too long does not make the batches small for ever"


@pytest.mark.parametrize("kind", ["unavailable", "timeout", "bad-answer"])
def test_a_text_that_the_endpoint_fails_on_is_given_up_after_some_strikes(kind: Kind) -> None:
    fake = Fake(refusing(kind, "t5", "t31"))
    outcome = run_until_settled(Batches(fake), texts(32))
    assert outcome.failed == {"h5": f"{kind}!", "h31": f"{kind}!"}
    assert len(outcome.vectors) == 30
    assert max(fake.paid.values()) == 1


def test_an_endpoint_that_takes_one_text_a_request_is_paid_a_few_texts_twice_and_no_more() -> None:
    fake = Fake()

    def ask(asked: Sequence[str]) -> Answer:
        answer = fake(asked)
        if len(asked) > 1:
            raise EmbeddingError("miscounted", "the endpoint gave 1 vectors for several texts")
        return answer

    batches = Batches(ask)
    outcome = batches.run(texts(500))
    assert (len(outcome.vectors), batches.cap) == (500, 1)
    assert fake.paid.total() <= 500 + 32 + 16 + 8 + 4 + 2
    fake.paid.clear()
    batches.run(texts(500))
    assert max(fake.paid.values()) == 1, "the size is remembered"


def test_an_endpoint_that_refuses_everything_gives_no_text_up() -> None:
    fake = Fake(lambda _: EmbeddingError("rejected", "400: no such model"))
    batches = Batches(fake)
    outcome = run_until_settled(batches, texts(32))
    assert (outcome.failed, outcome.vectors) == ({}, {})
    assert outcome.trouble is not None
    assert len(fake.sizes) <= 12 * 9, "halved down to three texts, each time"
    fake.judge = refusing("rejected", "t5", "t6", "t7")
    assert len(batches.run(texts(32)).failed) == 3
    assert len(batches.run(texts(8)[5:]).failed) == 3, "it takes others, so it is these"


@pytest.mark.parametrize("kind", ["unavailable", "timeout", "rate-limited", "denied", "unreachable", "bad-answer"])
def test_an_endpoint_that_is_away_gives_no_text_up(kind: Kind) -> None:
    fake = Fake(lambda _: EmbeddingError(kind, "away"))
    outcome = run_until_settled(Batches(fake), texts(32))
    assert (outcome.failed, outcome.vectors) == ({}, {})
    assert outcome.trouble is not None
    assert len(fake.sizes) <= 12 * 24


def test_without_isolation_a_failure_is_asked_again_whole() -> None:
    fake = Fake(refusing("unavailable", "t5"))
    outcome = Batches(fake).run(texts(32))
    assert fake.sizes == [32]
    assert outcome.trouble is not None


def test_a_row_that_is_no_vector_costs_its_own_text_only() -> None:
    def ask(asked: Sequence[str]) -> Answer:
        return Answer(["it is NaN" if text == "t1" else ONE for text in asked])

    outcome = Batches(ask).run(texts(3))
    assert (sorted(outcome.vectors), outcome.failed) == (["h0", "h2"], {"h1": "it is NaN"})


def test_a_request_holds_so_many_texts_and_so_many_characters() -> None:
    batches = Batches(Fake())
    assert len(batches.take(texts(100))) == 32
    long = [Text(f"h{number}", "x" * 90_000) for number in range(5)]
    assert len(batches.take(long)) == 2
    assert len(batches.take([Text("h", "x" * 900_000)])) == 1


# ------------------------------------------------------------------ answers


def body(*rows: object) -> bytes:
    import json  # noqa: PLC0415

    return json.dumps({"data": [{"index": at, "embedding": row} for at, row in enumerate(rows)]}).encode()


def test_rows_are_put_in_the_order_of_their_index() -> None:
    data = b'{"data": [{"index": 1, "embedding": [2]}, {"index": 0, "embedding": [1]}], "usage": {"total_tokens": 9}}'
    answer = read_answer(data, 2)
    assert [vector.tolist() for vector in answer.vectors if not isinstance(vector, str)] == [[1.0], [2.0]]
    assert answer.tokens == 9


@pytest.mark.parametrize(
    "row",
    [
        *([float("nan"), 1], [float("inf")], [1e39], [0.0, 0.0], [], None, ["a"], [[1.0]], "AAAA", [1e38, 1e38]),
        *(["1", "2"], [1.0, "2"], [True, True], [None, 1.0], [10**400, 1], {"a": 1}),
    ],
)
def test_rows_that_are_no_vectors_are_refused_one_by_one(row: object) -> None:
    good, bad = read_answer(body([1.0, 2.0], row), 2).vectors
    assert not isinstance(good, str)
    assert isinstance(bad, str)


@pytest.mark.parametrize(
    "data",
    [
        body([1.0]),
        body([1.0], [1.0], [1.0]),
        b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}',
        b'{"data": [{"index": 1, "embedding": [1]}, {"index": 2, "embedding": [1]}]}',
        b'{"data": [{"index": null, "embedding": [1]}, {"index": 1, "embedding": [1]}]}',
        b'{"error": "no"}',
        b"[]",
        b"<html>",
        b"",
        b'{"data": [1, 2]}',
        b"[" * 100_000,
    ],
)
def test_an_answer_that_leaves_it_open_whose_vector_is_whose_is_refused(data: bytes) -> None:
    with pytest.raises(EmbeddingError) as found:
        read_answer(data, 2)
    assert found.value.kind == ("miscounted" if b"embedding" in data and b"data" in data else "bad-answer")
    assert len(found.value.message) < 400


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (429, "slow down", "rate-limited"),
        (500, "oops", "unavailable"),
        (503, "loading", "unavailable"),
        (529, "busy", "unavailable"),
        (413, "", "too-many"),
        (422, "batch size 64 > maximum allowed batch size 32", "too-many"),
        (400, "input: at most 10 items", "too-many"),
        (400, "the text holds a character that is not taken", "rejected"),
        (401, "bad key", "denied"),
        (404, "model not found", "denied"),
        (302, "", "denied"),
    ],
)
def test_what_a_status_means(status: int, text: str, kind: Kind) -> None:
    assert failure(status, text.encode(), None, now=0).kind == kind


def test_how_long_to_wait() -> None:
    date = "Thu, 01 Jan 1970 00:01:40 GMT"
    waits = [wait_of(text, 40.0) for text in (None, "", "2", "1.5", "-3", "soon", "nan", date)]
    assert waits == [0, 0, 2, 1.5, 0, 0, 0, 60]


# ------------------------------------------------------------------ queries


def test_a_query_is_asked_once_and_remembered() -> None:
    asked: list[str] = []

    def ask(text: str) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
        asked.append(text)
        return ONE

    queries = QueryVectors(ask, 5.0)
    assert queries.get("sea") is queries.get("sea")
    assert asked == ["sea"]


def test_after_two_failures_nobody_waits_for_a_while() -> None:
    now, asked = [0.0], []

    def ask(text: str) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
        asked.append(text)
        raise EmbeddingError("unreachable", "away")

    queries = QueryVectors(ask, 5.0, lambda: now[0])
    for text in ("a", "b", "c"):
        with pytest.raises(EmbeddingError, match="away"):
            queries.get(text)
    assert asked == ["a", "b"]
    now[0] = 5.1
    with pytest.raises(EmbeddingError):
        queries.get("d")
    assert asked == ["a", "b", "d"]


def test_an_endpoint_that_says_how_long_to_leave_it_alone_is_left_alone() -> None:
    now, asked = [0.0], []

    def ask(text: str) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
        asked.append(text)
        raise EmbeddingError("rate-limited", "slow down", wait_s=30)

    queries = QueryVectors(ask, 5.0, lambda: now[0])
    for moment in (0.0, 29.0, 30.1):
        now[0] = moment
        with pytest.raises(EmbeddingError, match="slow down"):
            queries.get(str(moment))
    assert asked == ["0.0", "30.1"]
