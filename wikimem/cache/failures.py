"""What can go wrong with an endpoint, sorted by what to do about it."""

from typing import Literal

Kind = Literal[
    "rate-limited",
    "unavailable",
    "timeout",
    "unreachable",
    "denied",
    "too-many",
    "rejected",
    "miscounted",
    "bad-answer",
    "mismatch",
    "waiting",
]
"""`rate-limited`: wait. `unavailable`, `timeout`: it is there; this text, or the moment, is too much for it.
`unreachable`: nothing is there. `denied`: the key, the model or the address is wrong. `too-many`: ask for fewer at
once. `rejected`: it does not take this text. `miscounted`: it gave another number of vectors than there are texts, or
does not say whose they are. `bad-answer`: it answered, but no vectors. `mismatch`: its vectors cannot be compared with
those there are."""


class EmbeddingError(Exception):
    """A call to the endpoint that brought no vectors. It ends in `degraded` and `status`, never at a caller's door.

    `hint` says what to do next, `wait_s` how long the endpoint asked to be left alone (0: no word).
    """

    def __init__(self, kind: Kind, message: str, *, hint: str = "", wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.kind: Kind = kind
        self.message = message
        self.hint = hint
        self.wait_s = wait_s
        # What an answer that goes without vectors carries (`search.likeness`).
        self.degraded_code = "vectors-mismatch" if kind == "mismatch" else f"embeddings-{kind}"
