"""What can go wrong with an endpoint, sorted by what to do about it."""

from typing import ClassVar, Literal

from wikimem.errors import WikimemError

Kind = Literal[
    "rate-limited", "unavailable", "timeout", "unreachable", "denied", "too-many", "rejected", "bad-answer", "mismatch"
]
"""`rate-limited`: wait. `unavailable`, `timeout`: it is there; this text, or the moment, is too much for it.
`unreachable`: nothing is there. `denied`: the key, the model or the address is wrong. `too-many`: ask for fewer at
once. `rejected`: it does not take this text. `bad-answer`: it answered, but not what was asked for. `mismatch`: its
vectors cannot be compared with those there are."""


class EmbeddingError(WikimemError):
    """A call to the endpoint that brought no vectors. `wait_s` is how long it asked to be left alone (0: no word)."""

    code: ClassVar[str] = "embeddings"
    http_status = 502

    def __init__(self, kind: Kind, message: str, *, hint: str = "", wait_s: float = 0.0) -> None:
        super().__init__(message, hint=hint)
        self.kind: Kind = kind
        self.wait_s = wait_s
