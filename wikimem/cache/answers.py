"""Reading an endpoint's answer: which vector belongs to which text, and which is none.

Nothing is taken on trust: an answer in another order, with another count, with NaN or zeros, is what endpoints give.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from wikimem.cache.failures import EmbeddingError
from wikimem.cache.space import LONGEST, SHORTEST

Vector = npt.NDArray[np.float32]

_SHOWN: Final = 200
_NO_NUMBERS: Final = "the endpoint's vector for it is not a row of numbers"
# "batch size 64 > maximum allowed batch size 32", "too many inputs", "input is too long", "exceeds the limit of 10".
_SIZE: Final = re.compile(
    r"batch|too[ _-]*(many|large|long|big)|max(imum)?\b|at most|limit|exceed|size|larger than|context length",
    re.IGNORECASE,
)
_TRANSIENT: Final = frozenset({408, 409, 425, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Answer:
    """One entry a text: its vector, or why that is none. `tokens` is what the endpoint says it cost."""

    vectors: Sequence[Vector | str]
    tokens: int = 0


def read_answer(body: bytes, count: int) -> Answer:
    """Return the vectors of `count` texts in the order in which they were asked for. Raises `EmbeddingError`."""
    try:
        document = json.loads(body)
        data = document["data"]
        entries = [(entry.get("index", at), entry["embedding"]) for at, entry in enumerate(data)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise EmbeddingError("bad-answer", f"the endpoint's answer is no list of embeddings: {_shown(body)}") from None
    if len(entries) != count:
        raise EmbeddingError("miscounted", f"the endpoint gave {len(entries)} vectors for {count} texts")
    placed: dict[int, Any] = {index: embedding for index, embedding in entries if type(index) is int}
    if sorted(placed) != list(range(count)):
        raise EmbeddingError("miscounted", "the endpoint's answer does not say which vector is whose (`index`)")
    return Answer([_vector(placed[at]) for at in range(count)], _tokens(document))


def _vector(numbers: object) -> Vector | str:
    if not isinstance(numbers, list) or not numbers:
        return "the endpoint gave no vector for it"
    try:
        given = np.array(numbers)
    except ValueError:
        return _NO_NUMBERS
    # Asked for numbers, numpy would make some of "1" and of true.
    if given.dtype.kind not in "iuf":
        return _NO_NUMBERS
    with np.errstate(over="ignore"):
        vector = given.astype(np.float32)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        return "the endpoint's vector for it holds NaN or infinity"
    if not SHORTEST < float(np.linalg.norm(vector.astype(np.float64))) < LONGEST:
        return "the endpoint's vector for it is zero, or so long that it has no direction"
    return vector


def _tokens(document: Any) -> int:
    usage = document.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else 0
    return tokens if type(tokens) is int and tokens > 0 else 0


def failure(status: int, body: bytes, retry_after: str | None, *, now: float) -> EmbeddingError:
    """Return what an answer with an error status means. `now` is in seconds since 1970."""
    said = f"the endpoint answered {status}: {_shown(body)}"
    if status == 429:
        return EmbeddingError("rate-limited", said, wait_s=wait_of(retry_after, now))
    if status in _TRANSIENT or status >= 500:
        return EmbeddingError("unavailable", said, wait_s=wait_of(retry_after, now))
    if status in (400, 413, 422):
        named = status == 413 or _SIZE.search(body.decode("utf-8", "replace"))
        return EmbeddingError("too-many" if named else "rejected", said)
    hint = "check `base_url`, `model` and the key of `[vaults.NAME.embeddings]`"
    if 300 <= status < 400:
        # A redirect could lead notes and key to another host.
        said += "; redirects are not followed"
    return EmbeddingError("denied", said, hint=hint)


def wait_of(retry_after: str | None, now: float) -> float:
    """Return the seconds that a `Retry-After` header asks for: a number, or an HTTP date (RFC 9110)."""
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - rare, and 10 ms to import

    if not retry_after:
        return 0.0
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(retry_after).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return 0.0
    return max(0.0, seconds) if math.isfinite(seconds) else 0.0


def _shown(body: bytes) -> str:
    text = " ".join(body[: 4 * _SHOWN].decode("utf-8", "replace").split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
