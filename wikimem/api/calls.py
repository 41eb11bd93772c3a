"""The table of calls: verb, route, parameters, answer, what it may be refused with.

One row a call. The daemon's routes, the three clients and the OpenAPI document all read this table, so a call that
is added here exists everywhere.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from wikimem.api import params as q
from wikimem.api import protocol as p
from wikimem.errors import (
    AppendOnly,
    Busy,
    ConfigError,
    Conflict,
    DeniedError,
    InvalidAddress,
    InvalidCategory,
    InvalidContent,
    InvalidCursor,
    InvalidInput,
    InvalidName,
    NotFound,
    ProtocolMismatch,
    StorageError,
    TryAgain,
    WikimemError,
)

Kind = Literal["read", "write", "operate"]
"""`read`: stamped with freshness, safe to repeat. `write`: changes the vault or the sideband, takes an
`Idempotency-Key`. `operate`: about the daemon itself."""


@dataclass(frozen=True, slots=True)
class Call:
    """One row. `params` is in the query for GET and DELETE, in the JSON body for POST and PUT."""

    verb: str
    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    kind: Kind
    params: type
    answer: type
    summary: str
    status: int = 200
    errors: tuple[type[WikimemError], ...] = ()
    streams: bool = False

    @property
    def in_query(self) -> bool:
        """Whether the parameters travel in the query."""
        return self.method in {"GET", "DELETE"}

    @property
    def answer_fields(self) -> frozenset[str]:
        """The names that an answer always holds."""
        return getattr(self.answer, "__required_keys__", frozenset())


def request_digest(call: Call, params: Mapping[str, Any]) -> str:
    """Return what tells one request from another that comes under the same idempotency key."""
    text = json.dumps([call.verb, params], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def stored_key(key: str, digest: str) -> str:
    """Return the key as the store notes it beside a write: with the digest, because it compares nothing else."""
    return f"{key}:{digest[:16]}"


_WRITE_ERRORS: Final = (StorageError, TryAgain)

RETRIEVE: Final = Call(
    "retrieve", "POST", "/v1/retrieve", "read", q.RetrieveParams, p.RetrieveAnswer, "Find items for a query"
)
ITEM: Final = Call(
    "item", "GET", "/v1/item", "read", q.ItemParams, p.ItemAnswer, "Read one item", errors=(InvalidAddress, NotFound)
)
PUT_ITEM: Final = Call(
    "put_item",
    "PUT",
    "/v1/item",
    "write",
    q.PutItemParams,
    p.WrittenAnswer,
    "Add or replace an item",
    errors=(InvalidCategory, InvalidName, InvalidContent, Conflict, AppendOnly, *_WRITE_ERRORS),
)
REMOVE_ITEM: Final = Call(
    "remove_item",
    "DELETE",
    "/v1/item",
    "write",
    q.RemoveItemParams,
    p.WrittenAnswer,
    "Remove an item",
    errors=(InvalidAddress, NotFound, Conflict, AppendOnly, *_WRITE_ERRORS),
)
ITEMS: Final = Call("items", "GET", "/v1/items", "read", q.ItemsParams, p.ItemsAnswer, "List items")
CATEGORIES: Final = Call(
    "categories", "GET", "/v1/categories", "read", q.CategoriesParams, p.CategoriesAnswer, "List categories"
)
DIARY_APPEND: Final = Call(
    "diary_append",
    "POST",
    "/v1/diary",
    "write",
    q.DiaryAppendParams,
    p.DiaryWrittenAnswer,
    "Append a diary entry",
    errors=(InvalidContent, *_WRITE_ERRORS),
)
DIARY: Final = Call("diary", "GET", "/v1/diary", "read", q.DiaryParams, p.DiaryAnswer, "Read a window of the diary")
RELATED: Final = Call(
    "related",
    "GET",
    "/v1/related",
    "read",
    q.RelatedParams,
    p.RelatedAnswer,
    "Walk the graph from an item",
    errors=(InvalidAddress, NotFound),
)
RELATE: Final = Call(
    "relate",
    "POST",
    "/v1/relations",
    "write",
    q.RelateParams,
    p.RelationAnswer,
    "Write a manual edge",
    status=201,
    errors=(InvalidAddress, *_WRITE_ERRORS),
)
UNRELATE: Final = Call(
    "unrelate",
    "DELETE",
    "/v1/relations",
    "write",
    q.UnrelateParams,
    p.RelationAnswer,
    "Remove a manual edge",
    errors=(NotFound, *_WRITE_ERRORS),
)
LINKS: Final = Call("links", "GET", "/v1/links", "read", q.LinksParams, p.LinksAnswer, "List links by state")
GRAPH: Final = Call("graph", "GET", "/v1/graph", "read", q.GraphParams, p.GraphAnswer, "The graph's nodes and edges")
CHANGES: Final = Call(
    "changes",
    "GET",
    "/v1/changes",
    "read",
    q.ChangesParams,
    p.ChangesAnswer,
    "What changed since a cursor",
    errors=(InvalidCursor,),
)
EVENTS: Final = Call(
    "events",
    "GET",
    "/v1/events",
    "operate",
    q.EventsParams,
    p.ChangeBody,
    "Changes as they happen (server-sent events)",
    errors=(InvalidCursor, TryAgain),
    streams=True,
)
HISTORY: Final = Call(
    "history",
    "GET",
    "/v1/history",
    "read",
    q.HistoryParams,
    p.HistoryAnswer,
    "Prior texts of an item",
    errors=(InvalidAddress,),
)
RESTORE: Final = Call(
    "restore",
    "POST",
    "/v1/restore",
    "write",
    q.RestoreParams,
    p.RestoreAnswer,
    "Put a prior text back",
    errors=(InvalidAddress, NotFound, Conflict, *_WRITE_ERRORS),
)
JOURNAL: Final = Call(
    "journal", "GET", "/v1/journal", "read", q.JournalParams, p.JournalAnswer, "The journal's last lines"
)
STATUS: Final = Call("status", "GET", "/v1/status", "read", q.StatusParams, p.StatusAnswer, "How the daemon is")
HEALTH: Final = Call("health", "GET", "/v1/health", "operate", q.NoParams, p.HealthAnswer, "Whether it serves")
REBUILD: Final = Call(
    "rebuild",
    "POST",
    "/v1/rebuild",
    "operate",
    q.NoParams,
    p.AcceptedAnswer,
    "Read everything again, in the background",
    status=202,
)
RELOAD: Final = Call(
    "reload",
    "POST",
    "/v1/reload",
    "operate",
    q.NoParams,
    p.ReloadAnswer,
    "Read the configuration again",
    errors=(ConfigError,),
)
EMBED: Final = Call(
    "embed",
    "POST",
    "/v1/embed",
    "operate",
    q.EmbedParams,
    p.AcceptedAnswer,
    "Embed what has no vector yet, in the background",
    status=202,
    errors=(ConfigError,),
)
PIN: Final = Call(
    "pin",
    "POST",
    "/v1/pin",
    "write",
    q.PinParams,
    p.PinAnswer,
    "Hold an item's temperature",
    errors=(InvalidAddress, NotFound),
)
UNPIN: Final = Call(
    "unpin",
    "POST",
    "/v1/unpin",
    "write",
    q.PinParams,
    p.PinAnswer,
    "Let an item's temperature decay",
    errors=(InvalidAddress, NotFound),
)

CALLS: Final = (
    RETRIEVE,
    ITEM,
    PUT_ITEM,
    REMOVE_ITEM,
    ITEMS,
    CATEGORIES,
    DIARY_APPEND,
    DIARY,
    RELATED,
    RELATE,
    UNRELATE,
    LINKS,
    GRAPH,
    CHANGES,
    EVENTS,
    HISTORY,
    RESTORE,
    JOURNAL,
    STATUS,
    HEALTH,
    REBUILD,
    RELOAD,
    EMBED,
    PIN,
    UNPIN,
)

ANY_ERRORS: Final = (InvalidInput,)
"""What every call may be refused with."""

DOOR_ERRORS: Final = (DeniedError, ProtocolMismatch, Busy)
"""What a request may be refused with before it is looked at which call it is."""

HTTP_REFUSALS: Final = (
    (400, "bad_request", "What came is no HTTP/1.1 that is understood here, or a header in it is wrong."),
    (404, "no_such_route", "There is nothing at this path."),
    (405, "method_not_allowed", "The path takes other methods; `Allow` names them."),
    (408, "timeout", "Header or body did not end in their time."),
    (413, "too_large", "The body is over the limit."),
    (415, "unsupported_media_type", "The body is not declared as JSON."),
    (431, "headers_too_large", "The request's line and headers are over the limit."),
    (500, "internal", "A fault of the daemon; its log says more."),
    (501, "not_implemented", "A transfer encoding that is not known here."),
)
"""Refusals that belong to HTTP and to no call: status, code, meaning. `wikimem_daemon.refusals` makes them."""
