"""Vectors from an OpenAI-compatible endpoint: `POST {base_url}/embeddings` with `{model, input: [...]}`.

Ollama, llama.cpp, TEI, vLLM and hosted services speak it. This module makes single requests and says what came of
them; `batches` decides what to ask next.
"""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import httpx
import numpy as np

from wikimem.cache.answers import Answer, Vector, failure, read_answer
from wikimem.cache.failures import EmbeddingError
from wikimem.cache.files import Matrix
from wikimem.cache.queries import QueryVectors
from wikimem.config_endpoint import is_loopback, shown_address

TIMEOUT_S: Final = 60.0
"""For texts: a model on a small machine needs seconds for a batch."""
CONNECT_S: Final = 10.0
QUERY_LATE_S: Final = 20.0
"""A query waits for its own deadline only; the request goes on so long, so that the next one finds its vector."""
_LEAST_ANSWER: Final = 65_536
_ANSWER_PER_TEXT: Final = 262_144
"""8,192 numbers of 25 characters, with room: what is larger is no answer to this question."""


class HttpEmbedder:
    """An `Embedder` (`search.vectors`). The key goes into the request's header and nowhere else. Safe for threads."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str | None = None,
        query_timeout_s: float = 0.8,
        timeout_s: float = TIMEOUT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = model
        self.dim = 0
        self.url = f"{base_url.rstrip('/')}/embeddings"
        # As messages show it.
        self._place = shown_address(self.url)
        if key is not None:
            # httpx would send the password that an address holds instead of the key.
            self.url = self._place
        self.timeout_s = timeout_s
        self.queries = QueryVectors(self._ask_query, query_timeout_s, clock)
        self._clock = clock
        self._key = key
        self._client: httpx.Client | None = None
        self._making = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one row for each text. Raises `EmbeddingError`, also when only one of them has no vector."""
        rows = []
        for vector in self.ask(texts).vectors:
            if isinstance(vector, str):
                raise EmbeddingError("bad-answer", f"a text has no vector: {vector}")
            rows.append(vector)
        try:
            return np.array(rows, np.float32).reshape(len(rows), -1)
        except ValueError:
            raise EmbeddingError("bad-answer", "the endpoint's vectors are not of one width") from None

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query within the query's own deadline. Raises `EmbeddingError`."""
        return self.queries.get(text)

    def ask(self, texts: Sequence[str], timeout_s: float | None = None) -> Answer:
        """Make one request. Raises `EmbeddingError`; what it says holds no key."""
        timeout_s = self.timeout_s if timeout_s is None else timeout_s
        body = json.dumps({"model": self.model, "input": list(texts)}, ensure_ascii=False).encode("utf-8", "replace")
        try:
            status, retry_after, answer = self._post(body, len(texts), timeout_s)
        except (httpx.TimeoutException, TimeoutError):
            raise EmbeddingError("timeout", f"{self._place} did not answer within {timeout_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError) as error:
            hint = "start the endpoint, or correct `base_url`"
            said = f"{self._place} cannot be asked: {_why(error)}"
            raise EmbeddingError("unreachable", said, hint=hint) from None
        if status != 200:
            # Some endpoints repeat the key that they refuse.
            answer = answer.replace(self._key.encode(), b"[key]") if self._key else answer
            raise failure(status, answer, retry_after, now=time.time())
        found = read_answer(answer, len(texts))
        widths = {len(vector) for vector in found.vectors if not isinstance(vector, str)}
        if len(widths) == 1:
            self.dim = widths.pop()
        return found

    def warm(self) -> None:
        """Make ready what the first request needs, so that no query waits for it."""
        with contextlib.suppress(httpx.HTTPError, httpx.InvalidURL, OSError, ValueError):
            self._connected()

    def close(self) -> None:
        """Close the connections."""
        with self._making:
            if self._client is not None:
                self._client.close()
                self._client = None

    # ---------------------------------------------------------------- private

    def _ask_query(self, text: str) -> Vector:
        vector = self.ask([text], QUERY_LATE_S).vectors[0]
        if isinstance(vector, str):
            raise EmbeddingError("bad-answer", vector.replace(" for it", ""))
        return vector

    def _post(self, body: bytes, count: int, timeout_s: float) -> tuple[int, str | None, bytes]:
        deadline = self._clock() + timeout_s
        most = _LEAST_ANSWER + count * _ANSWER_PER_TEXT
        limits = httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S))
        with self._connected().stream("POST", self.url, content=body, headers=self._headers(), timeout=limits) as got:
            parts: list[bytes] = []
            size = 0
            for part in got.iter_bytes(65_536):
                size += len(part)
                if size > most:
                    raise EmbeddingError("bad-answer", f"the endpoint's answer is larger than {most:,} bytes")
                # A time-out of httpx is for each read: an endpoint that trickles would hold us for ever.
                if self._clock() > deadline:
                    raise TimeoutError
                parts.append(part)
            return got.status_code, got.headers.get("retry-after"), b"".join(parts)

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json"}
        return headers if self._key is None else headers | {"authorization": f"Bearer {self._key}"}

    def _connected(self) -> httpx.Client:
        with self._making:
            if self._client is None:
                # A proxy variable would send notes for this machine's own endpoint to the proxy.
                # Certificates are 100 ms of reading that plain HTTP has no use for (redirects are not followed).
                secure = self.url.startswith("https:")
                self._client = httpx.Client(trust_env=not is_loopback(self.url), follow_redirects=False, verify=secure)
            return self._client


def _why(error: Exception) -> str:
    # What is wrong with a header or an address is said with the header (the key) or the address in it.
    if isinstance(error, (httpx.LocalProtocolError, httpx.InvalidURL, ValueError)):
        return type(error).__name__
    return f"{type(error).__name__}: {error}"
