"""Parameters are checked by the typed dictionaries, and whatever is refused is named."""

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikimem.api.checks import MAX_DEPTH, MAX_VALUES, check_body, check_params, check_query, check_shape, read_json
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


def test_a_refusal_names_the_bound_of_its_call() -> None:
    assert check_body(RetrieveParams, body(query="x", limit=1_000))["limit"] == 1_000
    with pytest.raises(InvalidInput, match="'limit' must be between 1 and 1,000"):
        check_body(RetrieveParams, body(query="x", limit=1_001))
    with pytest.raises(InvalidInput, match="'limit' must be between 1 and 10,000"):
        check_body(ItemsParams, body(limit=10_001))


@pytest.mark.parametrize("text", [b"NaN", b"Infinity", b"-Infinity", b"1e999"])
def test_numbers_that_are_none_are_refused(text: bytes) -> None:
    with pytest.raises(InvalidInput, match="'weight' must be a finite number"):
        check_body(RelateParams, b'{"source":"a:b","target":"c:d","weight":' + text + b"}")
    with pytest.raises(InvalidInput, match="'limit' must be a whole number"):
        check_body(RetrieveParams, b'{"query":"a","limit":' + text + b"}")


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
    check_shape(json.dumps({"content": "[[a:b]] " * 1_000}).encode())
    check_shape(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    for text in (b"[" * (MAX_DEPTH + 1), b'{"a":' * (MAX_DEPTH + 1), b"[" * 100_000):
        with pytest.raises(InvalidInput, match="nested deeper"):
            read_json(text)


@pytest.mark.parametrize("value", [b"[]", b"{}", b"1", b'"ab"', b'{"a":1}', b"[1,2]", b'""'])
def test_a_bomb_of_many_small_values_is_refused_before_it_is_parsed(value: bytes) -> None:
    with pytest.raises(InvalidInput, match="more than 1,000 values"):
        read_json(b'{"query":[' + b",".join([value] * 2 * MAX_VALUES) + b"]}")


def test_a_note_of_commas_and_quotes_is_one_value() -> None:
    content = 'a, "b", [c], {d} \\ ' * 10_000
    assert read_json(body(content=content)) == {"content": content}


def test_a_name_that_stands_twice_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'query' is given twice"):
        read_json(b'{"query": "a", "query": "b"}')


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_json_is_utf_8_and_nothing_else(encoding: str) -> None:
    with pytest.raises(InvalidInput):
        read_json('{"query": "a"}'.encode(encoding))
    assert read_json('\ufeff{"query": "a"}'.encode()) == {"query": "a"}


@pytest.mark.parametrize("text", ["1_000", "%201", "+1", "%D9%A3", "1.0", "--1", "9" * 5_000, "nan"])
def test_a_whole_number_in_a_query_is_written_in_plain_digits(text: str) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        check_query(ItemsParams, f"limit={text}".encode())


@pytest.mark.parametrize("text", ["0_1.5", "%201", "nan", "inf", "%D9%A3", "1e999", ".5", "0x1"])
def test_a_number_in_a_query_is_written_in_plain_digits(text: str) -> None:
    with pytest.raises(InvalidInput, match="temperature_min"):
        check_query(ItemsParams, f"temperature_min={text}".encode())


def test_a_body_of_quotes_and_backslashes_takes_no_quadratic_time() -> None:
    # A back-tracking expression would take minutes for these: the bound is far above what one pass takes.
    started = time.process_time()
    for text in (b'"\\' * 500_000, b'"' * 1_000_000, b"\\" * 1_000_000, b'["' * 500_000, b"[" * 40 + b'"\\' * 500_000):
        with contextlib.suppress(InvalidInput):
            check_shape(text)
    assert time.process_time() - started < 20


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for check in (check_body, check_query):
        with contextlib.suppress(InvalidInput):
            assert check(RetrieveParams, data)["query"] is not None
