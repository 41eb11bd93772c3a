"""The client against a real endpoint on loopback."""

import gzip
import json
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from tests.embedding import Endpoint, Reply, running
from wikimem.cache.failures import EmbeddingError
from wikimem.cache.http_embedder import HttpEmbedder
from wikimem.config_endpoint import is_loopback

MADE: list[HttpEmbedder] = []


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running(Endpoint()) as found:
        yield found
        while MADE:
            MADE.pop().close()


def client(endpoint: Endpoint, **more: object) -> HttpEmbedder:
    MADE.append(HttpEmbedder(endpoint.url, "m1", **more))  # type: ignore[arg-type]
    return MADE[-1]


def test_texts_become_rows_in_order(endpoint: Endpoint) -> None:
    embedder = client(endpoint, key="sk-secret")
    rows = embedder.embed(["sea", "café 海 \U0001f600", "lone \ud800 surrogate"])
    assert rows.dtype == np.float32
    assert np.array_equal(rows[0], endpoint.vector("sea"))
    assert np.array_equal(rows[1], endpoint.vector("café 海 \U0001f600"))
    assert embedder.dim == 3
    request = endpoint.requests[0]
    assert request.headers["authorization"] == "Bearer sk-secret"


def test_the_order_that_the_endpoint_says_is_the_order(endpoint: Endpoint) -> None:
    def shuffled(served: Endpoint, texts: list[str]) -> Reply:
        status, document, headers = served.good(texts)
        return status, {"data": document["data"][::-1]}, headers

    endpoint.trouble = shuffled
    rows = client(endpoint).embed(["a", "b", "c"])
    assert np.array_equal(rows[1], endpoint.vector("b"))
    assert np.array_equal(rows[0], endpoint.vector("a"))


def test_a_connection_is_used_again(endpoint: Endpoint) -> None:
    embedder = client(endpoint)
    for text in ("a", "b", "c"):
        embedder.embed([text])
    assert len({request.peer for request in endpoint.requests}) == 1


def test_loopback_never_goes_through_a_proxy(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert len(client(endpoint).embed(["sea"])) == 1
    hosts: tuple[str, ...] = (
        "http://localhost:1/v1",
        "http://127.8.0.1/v1",
        "http://[::1]:8/v1",
        "https://a.localhost/v1",
    )
    hosts += ("http://LOCALHOST.:1/v1", "http://127.1:1/v1", "http://0.0.0.0:1", "http://[::ffff:127.0.0.1]:1/v1")
    hosts += ("http://0x7f.1:1/v1", "http://[::]:1/v1", "http://user:p@ss@127.0.0.1/v1")
    assert all(is_loopback(url) for url in hosts)
    assert not any(is_loopback(url) for url in ("http://10.0.0.1/v1", "https://api.example.org/v1", "http://"))


def answers_with(data: bytes, **headers: str) -> "tuple[int, bytes, dict[str, str]]":
    return 200, data, headers


def test_an_answer_without_end_is_cut_off(endpoint: Endpoint) -> None:
    large = json.dumps({"data": [{"index": 0, "embedding": [0.1] * 200_000}]}).encode()
    endpoint.trouble = lambda *_: answers_with(gzip.compress(large), **{"content-encoding": "gzip"})
    with pytest.raises(EmbeddingError, match="larger than"):
        client(endpoint).embed(["sea"])


def test_an_answer_that_trickles_ends_at_the_deadline(endpoint: Endpoint) -> None:
    embedder = client(endpoint, timeout_s=0.3)
    moments = iter([0.0, *[number * 0.2 for number in range(1, 100)]])
    embedder._clock = lambda: next(moments)
    endpoint.trouble = lambda *_: answers_with(b" " * 300_000)
    with pytest.raises(EmbeddingError, match=r"within 0\.3 s") as found:
        embedder.embed(["sea"])
    assert found.value.kind == "timeout"


@pytest.mark.parametrize("raw", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", b"SSH-2.0\r\n"])
def test_a_connection_that_breaks_is_an_endpoint_that_is_away(endpoint: Endpoint, raw: bytes) -> None:
    endpoint.trouble = lambda *_: raw
    with pytest.raises(EmbeddingError) as found:
        client(endpoint).embed(["sea"])
    assert found.value.kind == "unreachable"
    endpoint.trouble = None
    assert len(client(endpoint).embed(["sea"])) == 1


def test_nothing_listens() -> None:
    with pytest.raises(EmbeddingError, match="cannot be asked") as found:
        HttpEmbedder("http://user:hunter22@127.0.0.1:9/v1", "m1").embed(["sea"])
    assert found.value.kind == "unreachable"
    assert "hunter22" not in found.value.message


@pytest.mark.parametrize("url", ["http://[::1/v1", "http://127.0.0.1:99999/v1", "http:///v1", "http://a b/v1"])
def test_an_address_that_is_none_is_said_to_be(url: str) -> None:
    with pytest.raises(EmbeddingError):
        HttpEmbedder(url, "m1").embed(["sea"])


def test_the_key_is_in_no_message(endpoint: Endpoint) -> None:
    endpoint.trouble = lambda *_: (401, {"error": "Incorrect API key provided: sk-very-secret"}, {})
    with pytest.raises(EmbeddingError) as found:
        client(endpoint, key="sk-very-secret").embed(["sea"])
    assert found.value.kind == "denied"
    assert "very-secret" not in str(found.value)
    with pytest.raises(EmbeddingError) as found:
        client(endpoint, key="no\nheader").embed(["sea"])
    assert "no" not in str(found.value).split(": ")[-1]


def test_a_key_is_sent_instead_of_the_password_in_an_address(endpoint: Endpoint) -> None:
    address = endpoint.url.replace("//", "//user:hunter22@")
    for key in ("sk-key", None):
        made = HttpEmbedder(address, "m1", key=key)
        MADE.append(made)
        made.embed(["sea"])
    first, second = (
        {name.lower(): value for name, value in one.headers.items()}["authorization"] for one in endpoint.requests
    )
    assert first == "Bearer sk-key"
    assert second.startswith("Basic ")


def test_a_redirect_is_not_followed(endpoint: Endpoint) -> None:
    endpoint.trouble = lambda *_: (307, b"", {"location": "http://127.0.0.1:9/elsewhere"})
    with pytest.raises(EmbeddingError) as found:
        client(endpoint, key="sk-secret").embed(["sea"])
    assert found.value.kind == "denied"


def test_a_query_waits_for_its_own_deadline_and_the_late_vector_serves_the_next(endpoint: Endpoint) -> None:
    endpoint.delay_s = 30.0
    embedder = client(endpoint, query_timeout_s=0.05)
    started = time.monotonic()
    with pytest.raises(EmbeddingError, match=r"within 0\.05 s"):
        embedder.embed_query("sea")
    assert time.monotonic() - started < 10
    future = embedder.queries.begin("sea")
    endpoint.release.set()
    assert np.array_equal(future.result(10), endpoint.vector("sea"))
    assert np.array_equal(embedder.embed_query("sea"), endpoint.vector("sea"))
    assert endpoint.paid["sea"] == 1


def test_queries_that_hang_are_not_piled_up(endpoint: Endpoint) -> None:
    endpoint.delay_s = 30.0
    embedder = client(endpoint, query_timeout_s=0.01)
    futures = [embedder.queries.begin(f"q{number}") for number in range(30)]
    assert sum(not future.done() for future in futures) <= 8
    assert sum(thread.name == "query-vector" for thread in threading.enumerate()) <= 8
    endpoint.release.set()
    for future in futures[:8]:
        future.result(10)
