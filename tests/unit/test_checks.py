"""Parameters are checked by the typed dictionaries, and whatever is refused is named."""

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikimem.api.checks import MAX_DEPTH, check_body, check_params, check_query, read_json, too_deep
from wikimem.api.params import (
    DEFAULTS,
    HistoryParams,
    ItemParams,
    ItemsParams,
    NoParams,
    PutItemParams,
    RelatedParams,
    RelateParams,
    RestoreParams,
    RetrieveParams,
)
from wikimem.errors import InvalidInput


def body(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def test_what_a_call_takes_comes_through_unchanged() -> None:
    sent = {"query": "海边", "limit": 3, "expand_links": False, "time_range": ["2026-07-01", "2026-07-31"]}
    assert check_body(RetrieveParams, body(**sent)).items() >= sent.items()


def test_what_is_not_given_has_its_default() -> None:
    found = check_body(RetrieveParams, body(query="x"))
    assert (found["limit"], found["fresh"], found["fresh_timeout_ms"]) == (10, True, 250)
    assert check_query(ItemsParams, b"")["limit"] == 100
    for params, defaults in DEFAULTS.items():
        required: frozenset[str] = params.__required_keys__  # type: ignore[attr-defined]
        given = dict.fromkeys(required, "x")
        assert check_params(params, {**defaults, **given}) == check_params(params, given)


def test_null_counts_as_not_given() -> None:
    assert "budget_tokens" not in check_body(RetrieveParams, body(query="x", budget_tokens=None))
    assert check_body(RetrieveParams, body(query="x", limit=None))["limit"] == 10
    with pytest.raises(InvalidInput, match="'query' is missing"):
        check_body(RetrieveParams, body(query=None))


def test_a_misspelt_parameter_is_refused_and_the_right_one_suggested() -> None:
    with pytest.raises(InvalidInput, match="'expectd_hash'") as caught:
        check_body(PutItemParams, body(category="a", name="b", content="c", expectd_hash="0"))
    assert caught.value.hint == "Did you mean 'expected_hash'?"


def test_a_call_that_takes_nothing_says_so() -> None:
    assert check_body(NoParams, b"") == {}
    assert check_body(NoParams, b"{}") == {}
    with pytest.raises(InvalidInput) as caught:
        check_body(NoParams, body(x=1))
    assert "nothing" in caught.value.hint


@pytest.mark.parametrize(
    ("params", "sent"),
    [
        (RetrieveParams, {"query": 1}),
        (RetrieveParams, {"query": ["x"]}),
        (RetrieveParams, {"query": "x" * 20_001}),
        (RetrieveParams, {"query": "\ud800"}),
        (RetrieveParams, {"query": "x", "limit": "3"}),
        (RetrieveParams, {"query": "x", "limit": True}),
        (RetrieveParams, {"query": "x", "limit": 1.5}),
        (RetrieveParams, {"query": "x", "limit": 0}),
        (RetrieveParams, {"query": "x", "limit": -1}),
        (RetrieveParams, {"query": "x", "limit": 10**30}),
        (RetrieveParams, {"query": "x", "explain": "yes"}),
        (RetrieveParams, {"query": "x", "time_range": "2026"}),
        (RetrieveParams, {"query": "x", "time_range": [1, 2]}),
        (RetrieveParams, {"query": "x", "fresh_timeout_ms": 60_001}),
        (RelateParams, {"source": "a:b", "target": "c:d", "weight": True}),
        (RelateParams, {"source": "a:b", "target": "c:d", "weight": 10**400}),
        (RelatedParams, {"anchor": "a:b", "direction": "up"}),
        (RelatedParams, {"anchor": "a:b", "depth": 6}),
        (RestoreParams, {"address": "a:b", "id": "1"}),
    ],
)
def test_a_wrong_value_is_refused(params: type, sent: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        check_body(params, body(**sent))


@pytest.mark.parametrize("text", [b"NaN", b"Infinity", b"-Infinity", b"1e999"])
def test_numbers_that_are_none_are_refused(text: bytes) -> None:
    with pytest.raises(InvalidInput):
        check_body(RelateParams, b'{"source":"a:b","target":"c:d","weight":' + text + b"}")


@pytest.mark.parametrize(
    "text", [b"[]", b'"x"', b"1", b"{", b"\xff\xfe", b'{"a":' + b"9" * 10_000 + b"}", b"\x00", b'{"query":"\xff"}']
)
def test_what_is_no_json_object_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidInput):
        read_json(text)


def test_a_query_is_read_by_the_types() -> None:
    found = check_query(ItemsParams, b"category=daily%20life&limit=5&temperature_min=0.5&fresh=false&after=")
    assert found == {
        "category": "daily life",
        "limit": 5,
        "temperature_min": 0.5,
        "fresh": False,
        "after": "",
        "fresh_timeout_ms": 250,
    }


def test_a_plus_in_a_query_is_a_space_as_in_every_form() -> None:
    assert check_query(ItemParams, b"address=work:c+plus")["address"] == "work:c plus"
    assert check_query(ItemParams, b"address=work:c%2B%2B")["address"] == "work:c++"


@pytest.mark.parametrize(
    "query",
    [
        b"address=%ff",
        b"address=a:b&address=c:d",
        b"adress=a:b",
        b"address=a:b&fresh=maybe",
        b"address=a:b&limit=x",
        b"address=a:b&limit=1e3",
        b"&".join(b"x%d=1" % n for n in range(50)),
        b"",
    ],
)
def test_a_query_that_cannot_be_read_is_refused(query: bytes) -> None:
    with pytest.raises(InvalidInput):
        check_query(HistoryParams, query)


def test_nesting_is_counted_outside_strings_only() -> None:
    assert not too_deep(json.dumps({"content": "[[a:b]] " * 1_000}).encode())
    assert not too_deep(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    assert too_deep(b"[" * (MAX_DEPTH + 1))
    assert too_deep(b'{"a":' * (MAX_DEPTH + 1))
    with pytest.raises(InvalidInput, match="nested deeper"):
        read_json(b"[" * 100_000)


def test_a_body_of_quotes_and_backslashes_takes_no_quadratic_time() -> None:
    # A back-tracking expression would take minutes for these: the bound is far above what one pass takes.
    started = time.process_time()
    for text in (b'"\\' * 500_000, b'"' * 1_000_000, b"\\" * 1_000_000, b'["' * 500_000):
        too_deep(text)
    assert time.process_time() - started < 20


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for check in (check_body, check_query):
        with contextlib.suppress(InvalidInput):
            assert check(RetrieveParams, data)["query"] is not None
