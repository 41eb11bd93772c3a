"""What a retrieval answers: hits, what they pulled in, and everything that explains both."""

from dataclasses import dataclass
from typing import Literal

from wikimem.pages.items import RecallItem

DropReason = Literal["budget", "limit", "link-policy"]


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """How answers are ranked and cut.

    `fusion` names a rule of `search.fusion`, `fusion_weight` is the share of BM25 in it (0 to 1).
    `temperature_weight` is the share of the temperature in the ranking (0 to 1; 0: it never ranks). `link_policy` is
    `all` (every resolved link right after its hit), `best-two` or `merge`. `budget_tokens` holds when a call names
    none (None: no cut).
    """

    fusion: str = "max"
    fusion_weight: float = 0.6
    temperature_weight: float = 0.0
    link_policy: str = "all"
    budget_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Degraded:
    """A part that could not do its work for this answer: a stable `code`, what happened, what to do next."""

    code: str
    detail: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class TermScore:
    """What one query term gave one item, for `explain`. `kind` is `word`, `folded`, `whole` or `prefix`."""

    term: str
    kind: str
    weight: float
    df: int
    score: float


@dataclass(frozen=True, slots=True)
class RetrievedItem:
    """One entry of the answer.

    `source` is `link` for an item that a hit pulled in (`via` is that hit's address). `score` is what ranked it;
    `bm25_score` and `cos_score` are the signals by themselves (None: not computed for this item). `signals` holds
    every named number that went into `score`, `terms` what each query term gave; both are filled under `explain`.
    """

    item: RecallItem
    source: Literal["hit", "link"]
    score: float | None
    bm25_score: float | None = None
    cos_score: float | None = None
    via: str | None = None
    matched_terms: tuple[str, ...] = ()
    tokens_est: int = 0
    signals: tuple[tuple[str, float], ...] = ()
    terms: tuple[TermScore, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """A candidate that is not in the answer, and why: over the budget, past the limit, or cut by the link policy."""

    address: str
    reason: DropReason
    score: float | None
    tokens_est: int


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The answer. `time_range` is the window that let the diary in, `time_range_source` `explicit` or `query`.

    `budget_used` and `budget_tokens` count words and CJK characters. `dropped` is filled under `explain`.
    """

    items: tuple[RetrievedItem, ...] = ()
    budget_tokens: int | None = None
    budget_used: int = 0
    embedding_used: bool = False
    dropped: tuple[Dropped, ...] = ()
    unresolved_links: tuple[str, ...] = ()
    time_range: tuple[str, str] | None = None
    time_range_source: Literal["explicit", "query"] | None = None
    time_range_widened: bool = False
    degraded: tuple[Degraded, ...] = ()


@dataclass(frozen=True, slots=True)
class PageDelta:
    """What a page's new text did to the items. `updated` pairs the text before with the text after."""

    added: tuple[RecallItem, ...] = ()
    updated: tuple[tuple[RecallItem, RecallItem], ...] = ()
    removed: tuple[RecallItem, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything changed that a reader of items can see."""
        return bool(self.added or self.updated or self.removed)
