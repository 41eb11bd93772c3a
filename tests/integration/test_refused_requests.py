"""What the daemon refuses over its real socket, with code and hint, and what it takes all the same."""

from collections.abc import Iterator

import pytest

from tests.serving import Served, raw, serving
from wikimem import __version__
from wikimem.api.calls import CALLS


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("refused")) as one:
        one.write("wiki/daily_life.md", "## beach\n\nA trip to the beach.\n")
        yield one.start()


def test_every_answer_carries_the_versions(served: Served) -> None:
    replies = [
        served.http("GET", "/v1/health"),
        served.http("GET", "/nowhere"),
        served.http("PATCH", "/v1/item"),
        raw(served.socket, b"nonsense\r\n\r\n"),
        served.http("GET", "/v1/health", headers={"Origin": "http://evil"}),
    ]
    for reply in replies:
        assert reply.headers["wikimem-version"] == __version__
        assert reply.headers["wikimem-protocol"] == "1"


@pytest.mark.parametrize(
    "case",
    [
        ("GET", "/nowhere", {}, None, 404, "no_such_route"),
        ("GET", "/v1/item/../status", {}, None, 404, "no_such_route"),
        ("PATCH", "/v1/item", {}, None, 405, "method_not_allowed"),
        ("GET", "/v1/retrieve", {}, None, 405, "method_not_allowed"),
        ("POST", "/v1/retrieve", {"Content-Type": "text/plain"}, b"{}", 415, "unsupported_media_type"),
        ("POST", "/v1/retrieve", {"Content-Encoding": "gzip"}, b"{}", 415, "unsupported_media_type"),
        ("POST", "/v1/retrieve", {}, b"{", 400, "invalid_input"),
        ("POST", "/v1/retrieve", {}, b"[]", 400, "invalid_input"),
        ("POST", "/v1/retrieve", {}, b"\xff", 400, "invalid_input"),
        ("POST", "/v1/retrieve", {}, b"", 400, "invalid_input"),
        ("POST", "/v1/retrieve", {}, b'{"query":"x","limt":3}', 400, "invalid_input"),
        ("POST", "/v1/retrieve", {}, b'{"query":"x","limit":0}', 400, "invalid_input"),
        ("POST", "/v1/retrieve", {}, b'{"query":"x","limit":NaN}', 400, "invalid_input"),
        ("POST", "/v1/retrieve", {}, b'{"query":"\\ud800"}', 400, "invalid_input"),
        ("POST", "/v1/retrieve?limit=3", {}, b'{"query":"x"}', 400, "invalid_input"),
        ("POST", "/v1/retrieve", {}, b'{"query":"x","time_range":["2026-07-21"]}', 400, "invalid_input"),
        ("POST", "/v1/retrieve", {}, b'{"query":"x","tz":"No/Where"}', 400, "invalid_input"),
        ("POST", "/v1/retrieve", {}, b'{"query":"x","since":"yesterday-ish"}', 400, "invalid_input"),
        ("GET", "/v1/item", {}, None, 400, "invalid_input"),
        ("GET", "/v1/item?address=x", {}, None, 400, "invalid_address"),
        ("GET", "/v1/item?address=a%3Ab&address=c%3Ad", {}, None, 400, "invalid_input"),
        ("GET", "/v1/item?address=%ff", {}, None, 400, "invalid_input"),
        ("GET", "/v1/items?limit=many", {}, None, 400, "invalid_input"),
        ("GET", "/v1/items?after=nonsense", {}, None, 400, "invalid_cursor"),
        ("GET", "/v1/history?address=a:b&after=x", {}, None, 400, "invalid_cursor"),
        ("GET", "/v1/diary?start=2026-13-01", {}, None, 400, "invalid_input"),
        ("GET", "/v1/diary?start=2026-07-22&end=2026-07-21", {}, None, 400, "invalid_input"),
        ("GET", "/v1/related?anchor=daily_life:beach&depth=6", {}, None, 400, "invalid_input"),
        ("GET", "/v1/related?anchor=daily_life:nothing", {}, None, 404, "not_found"),
        ("GET", "/v1/links?state=maybe", {}, None, 400, "invalid_input"),
        ("DELETE", "/v1/item?address=daily_life:nothing", {}, None, 404, "not_found"),
        ("PUT", "/v1/item", {}, {"category": "No Slug", "name": "a", "content": "b"}, 400, "invalid_category"),
        ("PUT", "/v1/item", {}, {"category": "../up", "name": "a", "content": "b"}, 400, "invalid_category"),
        ("PUT", "/v1/item", {}, {"category": "a", "name": "b:c", "content": "d"}, 400, "invalid_name"),
        ("PUT", "/v1/item", {}, {"category": "a", "name": "b", "content": "c", "ts": "then"}, 400, "invalid_input"),
        (
            *("PUT", "/v1/item", {}),
            {"category": "a", "name": "b", "content": "c\n\n<!-- wikimem: owner=root -->"},
            *(400, "invalid_content"),
        ),
        ("POST", "/v1/diary", {}, {"content": "x", "date": "2026-02-30"}, 400, "invalid_input"),
        (
            "POST",
            "/v1/relations",
            {},
            {"source": "daily_life:beach", "target": "x", "weight": -1},
            400,
            "invalid_input",
        ),
        ("GET", "/v1/health", {"Host": "example.org"}, None, 403, "denied"),
        ("GET", "/v1/health", {"Origin": "http://localhost"}, None, 403, "denied"),
        ("GET", "/v1/health", {"Referer": "http://localhost/"}, None, 403, "denied"),
        ("GET", "/v1/health", {"Sec-Fetch-Site": "none"}, None, 403, "denied"),
        ("GET", "/v1/health", {"Wikimem-Protocol": "x"}, None, 400, "bad_request"),
        ("POST", "/v1/embed", {}, None, 503, "config"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_code_and_hint(
    served: Served, case: tuple[str, str, dict[str, str], object, int, str]
) -> None:
    method, target, headers, body, status, code = case
    reply = served.http(method, target, body, headers)
    problem = reply.json()
    assert (reply.status, problem["code"]) == (status, code), problem
    assert reply.headers["content-type"] == "application/problem+json"
    assert problem["status"] == status
    assert problem["detail"]
    assert problem["hint"]


def test_every_path_of_the_table_names_its_methods(served: Served) -> None:
    for path in {call.path for call in CALLS}:
        reply = served.http("PATCH", path)
        assert reply.headers["allow"] == ", ".join(sorted(call.method for call in CALLS if call.path == path))


def test_both_hosts_are_served_with_and_without_a_port(served: Served) -> None:
    for host in ("wikimem", "localhost", "LOCALHOST", "localhost:80"):
        assert served.http("GET", "/v1/health", headers={"Host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "wikimem.",
        "evil",
        "wikimem.evil",
        "evil@wikimem",
        "localhost:x@evil",
        "localhost:80:80",
        "[::1]",
        "127.0.0.1",
    ],
)
def test_any_other_host_is_refused_in_whatever_it_is_dressed(served: Served, host: str) -> None:
    assert served.http("GET", "/v1/health", headers={"Host": host}).json()["code"] == "denied"


@pytest.mark.parametrize(
    "name", ["Wikimem-Protocol", "Idempotency-Key", "Content-Type", "Content-Encoding", "Last-Event-ID"]
)
def test_a_header_that_decides_something_is_given_once(served: Served, name: str) -> None:
    head = f"GET /v1/health HTTP/1.1\r\nHost: wikimem\r\n{name}: 1\r\n{name.upper()}: 1\r\n\r\n"
    reply = raw(served.socket, head.encode())
    assert (reply.status, reply.json()["code"]) == (400, "bad_request")


def test_a_long_mistake_is_not_sent_back_whole(served: Served) -> None:
    sent = {"category": "a", "name": "b#" * 400, "content": "c"}
    for body in (sent, {**sent, "name": "b", "ts": "9" * 100_000}, {**sent, "name": "b" * 100_000}):
        reply = served.http("PUT", "/v1/item", body)
        assert (reply.status, len(reply.body) < 3_000) == (400, True)


@pytest.mark.parametrize("theirs", [0, 1])
def test_the_own_protocol_and_the_one_before_are_answered(served: Served, theirs: int) -> None:
    assert served.http("GET", "/v1/health", headers={"Wikimem-Protocol": str(theirs)}).status == 200


def test_a_newer_client_is_told_to_update_the_daemon(served: Served) -> None:
    reply = served.http("GET", "/v1/health", headers={"Wikimem-Protocol": "2"})
    assert reply.status == 426
    assert reply.json()["code"] == "protocol_mismatch"
    assert "Update the daemon" in reply.json()["hint"]
