"""What comes back over the socket: every answer as a typed dictionary (what a call takes is in `api/params.py`).

The names are those of DESIGN section 7; fields may be added, never renamed. These two modules are the one place that
says what a call takes and gives: the request checks (`api/checks.py`), the OpenAPI document (`api/openapi.py`), the
page docs/protocol.md and all three clients are made from them.
"""

from collections.abc import Mapping
from typing import Final, Literal, NotRequired, Required, TypedDict

PROTOCOL: Final = 1
"""The version of these shapes. A daemon also accepts the one before (bridges live for days)."""

VERSION_HEADER: Final = "Wikimem-Version"
PROTOCOL_HEADER: Final = "Wikimem-Protocol"
KEY_HEADER: Final = "Idempotency-Key"
REPLAYED_HEADER: Final = "Idempotency-Replayed"

FRESH_TIMEOUT_MS: Final = 250
PAGE_LIMIT: Final = 100
MAX_PAGE_LIMIT: Final = 1_000
GRAPH_LIMIT: Final = 10_000

LinkStateName = Literal["resolved", "unresolved", "ambiguous"]
ActionName = Literal["add", "update", "remove", "rename"]
CauseName = Literal["api", "disk", "offline"]


class DegradedPart(TypedDict):
    """One thing that does not work as it should, and what to do."""

    code: str
    detail: str
    hint: str


class ReadStamp(TypedDict):
    """What every read says about itself.

    `fresh`: every write that had finished on disk before the request arrived is in the answer. `partial`: the vault
    is still being read. `cursor` is for `changes`.
    """

    fresh: bool
    partial: bool
    degraded: list[DegradedPart]
    cursor: str


class TermBody(TypedDict):
    """What one query term gave one item, under `explain`."""

    term: str
    kind: str
    weight: float
    df: int
    score: float


class RetrievedItemBody(TypedDict):
    """One retrieved item. `source` is `hit` or `link`; `via` is the address that pulled a linked item in.

    Under `explain`, `signals` has every number that went into its place, `terms` what each query term gave.
    """

    address: str
    category: str
    name: str
    content: str
    owner: str | None
    source_conv: str | None
    ts: str | None
    source: Literal["hit", "link"]
    score: float | None
    bm25_score: float | None
    cos_score: float | None
    via: str | None
    matched_terms: list[str]
    tokens_est: int
    signals: NotRequired[Mapping[str, float]]
    terms: NotRequired[list[TermBody]]


class DroppedBody(TypedDict):
    """A candidate that did not make it into the answer, under `explain`."""

    address: str
    reason: str
    score: float | None
    tokens_est: int


class RetrieveAnswer(ReadStamp):
    """What a query found, in ranked order, each hit followed by what it links to."""

    items: list[RetrievedItemBody]
    budget_tokens: int | None
    budget_used: int
    embedding_used: bool
    dropped: list[DroppedBody]
    unresolved_links: list[str]
    time_range: list[str] | None
    time_range_source: str | None
    time_range_widened: bool
    took_ms: float


class ItemBody(TypedDict):
    r"""An item. `hash` is the sha256 of `name\ncontent`; `line` its heading's line in the file, from 1."""

    address: str
    category: str
    name: str
    content: str
    owner: str | None
    source_conv: str | None
    ts: str | None
    tags: list[str]
    line: int
    hash: str
    temperature: float | None
    pinned: bool


class ItemAnswer(ItemBody, ReadStamp):
    """One item as read."""


class WrittenAnswer(ItemBody):
    """What a write left behind (or, of a removal, what was removed), and the cursor after it."""

    cursor: str


class ItemsAnswer(ReadStamp):
    """A page of items."""

    items: list[ItemBody]
    next: str | None


class CategoryBody(TypedDict):
    """A category and how many items it holds."""

    name: str
    items: int


class CategoriesAnswer(ReadStamp):
    """A page of categories."""

    categories: list[CategoryBody]
    next: str | None


class DiaryBody(TypedDict):
    """One diary entry; `date` and `time` are local wall clock."""

    address: str
    date: str
    time: str
    content: str
    owner: str | None
    source_conv: str | None
    ts: str | None
    hash: str


class DiaryAnswer(ReadStamp):
    """A page of diary entries, oldest first."""

    items: list[DiaryBody]
    next: str | None


class DiaryWrittenAnswer(DiaryBody):
    """The entry as written, and the cursor after it."""

    cursor: str


class RelatedItemBody(TypedDict):
    """An item that the walk reached, by its heaviest path."""

    address: str
    weight: float
    hops: int
    path: list[str]
    temperature: float | None
    content: str


class RelatedAnswer(ReadStamp):
    """Related items, heaviest path first; `truncated`: a work limit cut the search."""

    anchor: str
    items: list[RelatedItemBody]
    truncated: bool


class LinkBody(TypedDict):
    """One edge. `target` is the address when it is resolved, else what was written."""

    source: str
    target: str
    state: LinkStateName
    candidates: list[str]
    weight: float
    origin: Literal["parsed", "manual"]
    file: str
    line: int


class LinksAnswer(ReadStamp):
    """A page of edges."""

    links: list[LinkBody]
    next: str | None


class RelationAnswer(TypedDict):
    """A manual edge as it now is, or as it was when it was removed."""

    source: str
    target: str
    weight: float
    state: LinkStateName


class NodeBody(TypedDict):
    """A node of the graph."""

    address: str
    category: str
    name: str
    temperature: float | None
    pinned: bool


class EdgeBody(TypedDict):
    """A resolved edge of the graph."""

    source: str
    target: str
    weight: float
    origin: Literal["parsed", "manual"]


class GraphAnswer(ReadStamp):
    """A page of nodes and the resolved edges that leave them; an edge to a whole file has its category as target."""

    nodes: list[NodeBody]
    edges: list[EdgeBody]
    next: str | None


class ChangeBody(TypedDict):
    """One change. `id` is the item's stable id; `hash` is of the text after it, null when it was removed."""

    id: str
    action: ActionName
    address: str
    old_address: str | None
    hash: str | None
    ts: str
    cause: CauseName


class ChangesAnswer(ReadStamp):
    """Changes up to `cursor`; `fresh_instance`: `since` is of another life, read everything again."""

    fresh_instance: bool
    changes: list[ChangeBody]
    more: bool


class VersionBody(TypedDict):
    """A prior text."""

    id: int
    ts: str
    cause: str
    action: str
    hash: str
    content: str


class HistoryAnswer(ReadStamp):
    """A page of prior texts, newest first."""

    address: str
    versions: list[VersionBody]
    next: str | None


class RestoreAnswer(TypedDict):
    """Where the restored text now is."""

    address: str
    hash: str
    content: str
    cursor: str


class JournalAnswer(ReadStamp):
    """Journal entries as they are on disk."""

    entries: list[Mapping[str, object]]


class WatchBody(TypedDict, total=False):
    """How the vault is watched, and when disk and index were last compared, by what."""

    mode: Required[str]
    compared_at: Required[str | None]
    compared_by: Required[str | None]
    fallback: str
    hint: str
    watches: int
    pending: int
    comparisons: int
    comparisons_without_change: int
    removals_waiting: int


class VectorsBody(TypedDict):
    """The vectors: `state` is `off`, `ready`, `pending`, or why it is neither.

    `starting`: the vault is being read. `locked`: another process makes the vectors. `incomplete`: all but texts
    that the endpoint does not take (`failed`). `failing`: the endpoint or the disk is, for now (`detail`).
    `mismatch`: they are of another model; `reset_cost` is how many texts `wikimem embed --reset` sends. `count` and
    `pending` are of the wiki, `diary_pending` of windows that were asked for. `sent`, `requests`, `tokens`,
    `commits` and `written_bytes` count since the start; `uncommitted` vectors are in memory only. `rate` is in
    texts a second. `failing_since` and `retry_in_s` are there while it fails: since when (ISO-8601 UTC), and in how
    many seconds it is tried again.
    """

    count: int
    pending: int
    model: str | None
    dim: int | None
    state: str
    detail: NotRequired[str]
    hint: NotRequired[str]
    uncommitted: NotRequired[int]
    failed: NotRequired[int]
    diary_pending: NotRequired[int]
    sent: NotRequired[int]
    requests: NotRequired[int]
    tokens: NotRequired[int]
    rate: NotRequired[float]
    eta_s: NotRequired[float | None]
    failing_since: NotRequired[str | None]
    retry_in_s: NotRequired[float | None]
    reset_cost: NotRequired[int]
    commits: NotRequired[int]
    written_bytes: NotRequired[int]


class LinkCountsBody(TypedDict):
    """Links that want a person's eye."""

    unresolved: int
    ambiguous: int


class RetrievesBody(TypedDict):
    """Outcomes since start."""

    count: int
    embedding_used: int


class ProblemBody(TypedDict):
    """A finding in a file that a person may want to mend."""

    path: str
    kind: str
    line: int
    message: str
    hint: str


class TaskBody(TypedDict):
    """A background task: `idle`, `running`, `done` or `failed`, with the times of the last run."""

    state: Literal["idle", "running", "done", "failed"]
    started_at: str | None
    finished_at: str | None
    detail: str


class ConnectionsBody(TypedDict):
    """Open connections and event streams, and how many were turned away."""

    open: int
    streams: int
    refused: int


class ProcessBody(TypedDict):
    """What the daemon's process knows whatever the state of its vault. `report`: what a report may say."""

    vault: str
    path: str
    rebuild: TaskBody
    embed: TaskBody
    connections: ConnectionsBody
    restart_needed: bool
    report: Mapping[str, object]
    pid: int
    version: str
    protocol: int
    uptime_s: float
    rss_bytes: int


class StatusAnswer(ReadStamp, ProcessBody):
    """The daemon about itself: always answered with 200. `problems` are the first 100 of `problems_total`."""

    state: Literal["ok", "degraded", "starting"]
    items: int
    files: int
    watch: WatchBody
    vectors: VectorsBody
    links: LinkCountsBody
    retrieves: RetrievesBody
    problems: list[ProblemBody]
    problems_total: int
    write_mode: str


class HealthAnswer(TypedDict):
    """The cheap question: whether the process serves."""

    state: Literal["ok", "degraded", "starting"]
    version: str
    protocol: int


class AcceptedAnswer(TypedDict):
    """Work that goes on in the background; `status` shows how far it is."""

    accepted: bool
    task: str
    detail: str


class ReloadAnswer(TypedDict):
    """Which settings changed, and which of them need a restart."""

    changed: list[str]
    restart_needed: list[str]


class PinAnswer(TypedDict):
    """The item's temperature and whether it is held."""

    address: str
    pinned: bool
    temperature: float


class Event(TypedDict):
    """One server-sent event; `id` is the cursor after it. Clients see `change` and `fresh_instance` (read all anew)."""

    event: Literal["change", "fresh_instance", "bye"]
    id: str
    data: Mapping[str, object]


class Problem(TypedDict, total=False):
    """An error, `application/problem+json`. A conflict carries both texts and the hash to base the next try on."""

    type: Required[str]
    title: Required[str]
    status: Required[int]
    code: Required[str]
    detail: Required[str]
    hint: Required[str]
    theirs: str | None
    yours: str | None
    current_hash: str | None
