"""The vector of a query, within a deadline of its own.

An endpoint that is slow or away costs a query its second signal, never its answer. The request of a query that did not
wait for it goes on, and its vector serves whoever asks the same again: nothing is paid twice. After two failures in a
row nobody waits for a while.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from wikimem.cache.answers import Vector
from wikimem.cache.failures import EmbeddingError

REMEMBERED: Final = 256
AT_ONCE: Final = 8
REST_S: Final = 5.0
LONGEST_REST_S: Final = 60.0
_FAILURES: Final = 2


class QueryVectors:
    """Asks for the vectors of queries, in threads. `ask` raises `EmbeddingError`."""

    def __init__(
        self, ask: Callable[[str], Vector], timeout_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.timeout_s = timeout_s
        self._ask = ask
        self._clock = clock
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self._asked: dict[str, Future[Vector]] = {}
        self._failures = 0
        self._rests_until = 0.0
        self._last: EmbeddingError | None = None

    def get(self, text: str) -> Vector:
        """Return the vector. Raises `EmbeddingError` when there is none within the deadline."""
        future = self.begin(text)
        try:
            return future.result(self.timeout_s)
        except TimeoutError:
            raise self.late() from None

    def begin(self, text: str) -> "Future[Vector]":
        """Return a future of the vector; it is done at once when the vector is known or the endpoint has a rest."""
        with self._lock:
            future: Future[Vector] = Future()
            if text in self._known:
                self._known.move_to_end(text)
                future.set_result(self._known[text])
                return future
            if text in self._asked:
                return self._asked[text]
            refused = self._refusal()
            if refused is not None:
                future.set_exception(refused)
                return future
            self._asked[text] = future
        # A daemon thread: an endpoint that hangs must not keep a process from ending.
        threading.Thread(target=self._work, args=(text, future), name="query-vector", daemon=True).start()
        return future

    def forget(self, text: str) -> None:
        """Ask anew for a query's vector the next time: the one there is cannot be used."""
        with self._lock:
            self._known.pop(text, None)

    def late(self) -> EmbeddingError:
        """Count a query that did not get its vector in time, and return what to tell it."""
        error = EmbeddingError("timeout", f"the endpoint gave no vector within {self.timeout_s:g} s")
        with self._lock:
            self._fail(error)
        return error

    def _refusal(self) -> EmbeddingError | None:
        left = self._rests_until - self._clock()
        if left > 0 and self._last is not None:
            return EmbeddingError(self._last.kind, f"{self._last.message} (asked again in {left:.0f} s)")
        if len(self._asked) >= AT_ONCE:
            return EmbeddingError("unavailable", f"the endpoint owes the vectors of {len(self._asked)} other queries")
        return None

    def _work(self, text: str, future: "Future[Vector]") -> None:
        error: EmbeddingError | None = None
        vector: Vector | None = None
        try:
            vector = self._ask(text)
        except EmbeddingError as found:
            error = found
        except Exception as found:  # noqa: BLE001 - the outermost frame of this thread; whoever waits must hear of it
            error = EmbeddingError("unavailable", f"the query has no vector: {found}")
        with self._lock:
            self._asked.pop(text, None)
            if vector is not None:
                self._known[text] = vector
                if len(self._known) > REMEMBERED:
                    self._known.popitem(last=False)
                self._failures, self._rests_until, self._last = 0, 0.0, None
            elif error is not None:
                self._fail(error)
        if vector is not None:
            future.set_result(vector)
        else:
            future.set_exception(error)

    def _fail(self, error: EmbeddingError) -> None:
        self._failures += 1
        self._last = error
        if error.kind == "rate-limited" or self._failures >= _FAILURES:
            doubled = REST_S * 2 ** min(10, max(0, self._failures - _FAILURES))
            self._rests_until = self._clock() + max(min(doubled, LONGEST_REST_S), min(error.wait_s, 300.0))
