"""What to ask an endpoint for at once, and what its refusals mean: the batch is too large, one text is bad, or all is.

A run makes one pass over some texts and never sleeps; who calls it waits between runs. Texts that were paid for are
kept whatever happens to the others.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from wikimem.cache.answers import Answer, Vector
from wikimem.cache.failures import EmbeddingError

MOST: Final = 32
"""Texts a request, at first. An answer of 32 × 1,024 numbers is parsed in some milliseconds."""
MOST_CHARACTERS: Final = 200_000
STRIKES: Final = 3
"""So often a text must fail alone, while others do not, before it is given up; a clear refusal counts at once."""
_IN_VAIN: Final = 24
"""Failures in a row, without a success between them, after which it is the endpoint and not a text."""
_TIMEOUTS: Final = 8
_WHOLE: Final = frozenset({"rate-limited", "unreachable", "denied"})
"""What is never one text's fault."""
_CLEAR: Final = frozenset({"too-many", "rejected"})
_SMALLER: Final = frozenset({"too-many", "miscounted"})
"""What fewer texts at once may mend. Who miscounts may have been paid: it is halved at once, not asked again."""


class Text(NamedTuple):
    """A text to embed, by its content hash."""

    hash: str
    text: str


@dataclass(slots=True)
class Outcome:
    """What a run brought: vectors, texts that are given up and why, and what stopped it (the rest is still to do)."""

    vectors: dict[str, Vector] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    tokens: int = 0
    trouble: EmbeddingError | None = None


@dataclass(slots=True)
class _Run:
    """One pass: what is still to be asked for, and what failed alone. `in_vain` counts failures in a row."""

    work: deque[list[Text]]
    isolate: bool
    cap_before: int
    outcome: Outcome = field(default_factory=Outcome)
    suspects: dict[str, EmbeddingError] = field(default_factory=dict)
    refused: dict[str, EmbeddingError] = field(default_factory=dict)
    succeeded: bool = False
    in_vain: int = 0

    def is_ended_by(self, error: EmbeddingError) -> bool:
        """Say whether a failure is no text's fault, or not to be looked into now."""
        most = _TIMEOUTS if error.kind == "timeout" else _IN_VAIN
        if error.kind in _WHOLE or self.in_vain >= most:
            return True
        return error.kind not in _CLEAR | _SMALLER and not self.isolate


class Batches:
    """Remembers how many texts the endpoint takes at once, and which texts have failed alone.

    `trusted`: it has embedded something with this model. Until then a refusal of several texts is taken for one of all:
    some endpoints answer 400 to a wrong model or key.
    """

    def __init__(self, ask: Callable[[Sequence[str]], Answer], most: int = MOST) -> None:
        self.cap = most
        self.trusted = False
        self._ask = ask
        self._strikes: dict[str, int] = {}
        self.requests = 0
        self.sent = 0

    def take(self, texts: Sequence[Text]) -> list[Text]:
        """Return the first of `texts` that go into one request."""
        taken: list[Text] = []
        size = 0
        for text in texts[: self.cap]:
            size += len(text.text)
            if taken and size > MOST_CHARACTERS:
                break
            taken.append(text)
        return taken

    def forgive(self) -> None:
        """Forget which texts have failed."""
        self._strikes.clear()

    def run(self, texts: Sequence[Text], *, isolate: bool = False, stopped: Callable[[], bool] = bool) -> Outcome:
        """Ask for `texts`. With `isolate` a failure of several is halved until the text that causes it stands alone."""
        run = _Run(deque([list(texts)]), isolate, self.cap)
        while run.work and run.outcome.trouble is None and not stopped():
            batch = run.work.popleft()
            if len(batch) > self.cap:
                run.work.extendleft([batch[self.cap :], batch[: self.cap]])
                continue
            self.requests += 1
            try:
                answer = self._ask([text.text for text in batch])
            except EmbeddingError as error:
                self._failed(run, batch, error)
            else:
                run.succeeded, run.in_vain, self.trusted = True, 0, True
                self.sent += len(batch)
                run.outcome.tokens += answer.tokens
                self._sort(batch, answer, run.outcome)
        run.outcome.failed |= {name: error.message for name, error in run.refused.items()}
        self._judge(run.suspects, run.outcome, alive=run.succeeded)
        return run.outcome

    def _failed(self, run: _Run, batch: list[Text], error: EmbeddingError) -> None:
        """Decide whether a failure ends the run, calls for smaller batches, or is this one text's."""
        run.in_vain += 1
        if run.is_ended_by(error):
            run.outcome.trouble = error
            return
        if len(batch) > 1:
            half = (len(batch) + 1) // 2
            if error.kind in _SMALLER:
                self.cap = min(self.cap, half)
            run.work.extendleft([batch[half:], batch[:half]])
            return
        (run.refused if error.kind in _CLEAR else run.suspects)[batch[0].hash] = error
        # It was this text that was too much, not the batch.
        self.cap = run.cap_before
        if error.kind == "rejected" and not self.trusted and len(run.refused) >= STRIKES:
            run.outcome.trouble = error
            run.refused.clear()

    def _sort(self, batch: Sequence[Text], answer: Answer, outcome: Outcome) -> None:
        for text, vector in zip(batch, answer.vectors, strict=True):
            if isinstance(vector, str):
                # Asking again would be paying twice for the same numbers.
                outcome.failed[text.hash] = vector
            else:
                outcome.vectors[text.hash] = vector
                self._strikes.pop(text.hash, None)

    def _judge(self, suspects: dict[str, EmbeddingError], outcome: Outcome, *, alive: bool) -> None:
        for name, error in suspects.items():
            # A text that failed beside others that did not goes on to be counted when it is the last one left. One
            # that is answered with no vector, or two, may be paid for each time.
            if alive or name in self._strikes or error.kind == "miscounted":
                self._strikes[name] = self._strikes.get(name, 0) + 1
            if self._strikes.get(name, 0) >= STRIKES:
                outcome.failed[name] = error.message
                del self._strikes[name]
            else:
                outcome.trouble = outcome.trouble or error
