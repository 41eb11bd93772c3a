"""The verbs: each builds one request as a value. How it is sent is the client's business.

`Client`, `AsyncClient` and `LocalClient` have these functions as their methods (see `api/verbs.py`), so a verb, its
arguments and its documentation exist once. What is None is not sent; the defaults are the daemon's.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from wikimem.api import calls
from wikimem.api import protocol as p
from wikimem.api.calls import Call
from wikimem.api.params import DirectionName
from wikimem.api.protocol import LinkStateName

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Prepared(Generic[Answer]):
    """One call with its parameters. `key`: sent with a write, so that a retry of it is applied once."""

    call: Call
    params: Mapping[str, object]
    key: str | None


def _prepare(call: Call, **params: object) -> "Prepared[Answer]":
    given = {name: value for name, value in params.items() if value is not None}
    return Prepared(call, given, os.urandom(16).hex() if call.kind == "write" else None)


def retrieve(
    query: str,
    limit: int | None = None,
    budget_tokens: int | None = None,
    *,
    expand_links: bool | None = None,
    explain: bool | None = None,
    time_range: tuple[str, str] | list[str] | None = None,
    tz: str | None = None,
    category: str | None = None,
    owner: str | None = None,
    tag: str | None = None,
    since: str | None = None,
    until: str | None = None,
    fresh: bool | None = None,
    fresh_timeout_ms: int | None = None,
) -> Prepared[p.RetrieveAnswer]:
    """Find items for a query: ranked hits, each followed by what it links to, cut to the budget."""
    return _prepare(
        calls.RETRIEVE,
        query=query,
        limit=limit,
        budget_tokens=budget_tokens,
        expand_links=expand_links,
        explain=explain,
        time_range=None if time_range is None else list(time_range),
        tz=tz,
        category=category,
        owner=owner,
        tag=tag,
        since=since,
        until=until,
        fresh=fresh,
        fresh_timeout_ms=fresh_timeout_ms,
    )


def item(address: str, *, fresh: bool | None = None, fresh_timeout_ms: int | None = None) -> Prepared[p.ItemAnswer]:
    """Read one item or diary entry by its address. Raises NotFound, InvalidAddress."""
    return _prepare(calls.ITEM, address=address, fresh=fresh, fresh_timeout_ms=fresh_timeout_ms)


def put_item(
    category: str,
    name: str,
    content: str,
    *,
    owner: str | None = None,
    source_conv: str | None = None,
    ts: str | None = None,
    expected_hash: str | None = None,
) -> Prepared[p.WrittenAnswer]:
    """Add an item or replace the one of this name.

    With `expected_hash` (the `hash` that was read) raises Conflict, which carries both texts, if it changed since.
    """
    return _prepare(
        calls.PUT_ITEM,
        category=category,
        name=name,
        content=content,
        owner=owner,
        source_conv=source_conv,
        ts=ts,
        expected_hash=expected_hash,
    )


def remove_item(address: str, *, expected_hash: str | None = None) -> Prepared[p.WrittenAnswer]:
    """Remove an item and return what it was; its text stays in the history. Raises NotFound, AppendOnly, Conflict."""
    return _prepare(calls.REMOVE_ITEM, address=address, expected_hash=expected_hash)


def items(
    category: str | None = None,
    *,
    temperature_min: float | None = None,
    limit: int | None = None,
    after: str | None = None,
    fresh: bool | None = None,
    fresh_timeout_ms: int | None = None,
) -> Prepared[p.ItemsAnswer]:
    """List items; pass the answer's `next` as `after` for the next page."""
    return _prepare(
        calls.ITEMS,
        category=category,
        temperature_min=temperature_min,
        limit=limit,
        after=after,
        fresh=fresh,
        fresh_timeout_ms=fresh_timeout_ms,
    )


def categories(
    *,
    limit: int | None = None,
    after: str | None = None,
    fresh: bool | None = None,
    fresh_timeout_ms: int | None = None,
) -> Prepared[p.CategoriesAnswer]:
    """List categories with their number of items."""
    return _prepare(calls.CATEGORIES, limit=limit, after=after, fresh=fresh, fresh_timeout_ms=fresh_timeout_ms)


def diary_append(
    content: str,
    *,
    ts: str | None = None,
    date: str | None = None,
    time: str | None = None,
    owner: str | None = None,
    source_conv: str | None = None,
) -> Prepared[p.DiaryWrittenAnswer]:
    """Append a diary entry, now, or at the instant `ts`, or at the local `date` and `time`."""
    return _prepare(
        calls.DIARY_APPEND, content=content, ts=ts, date=date, time=time, owner=owner, source_conv=source_conv
    )


def diary(
    start: str | None = None,
    end: str | None = None,
    *,
    limit: int | None = None,
    after: str | None = None,
    fresh: bool | None = None,
    fresh_timeout_ms: int | None = None,
) -> Prepared[p.DiaryAnswer]:
    """Read the entries of an inclusive window of days (today's without arguments)."""
    return _prepare(
        calls.DIARY, start=start, end=end, limit=limit, after=after, fresh=fresh, fresh_timeout_ms=fresh_timeout_ms
    )


def related(
    anchor: str,
    *,
    direction: DirectionName | None = None,
    depth: int | None = None,
    weight_min: float | None = None,
    limit: int | None = None,
    fresh: bool | None = None,
    fresh_timeout_ms: int | None = None,
) -> Prepared[p.RelatedAnswer]:
    """Walk the graph from an item; targets are ranked by their heaviest path. Raises NotFound."""
    return _prepare(
        calls.RELATED,
        anchor=anchor,
        direction=direction,
        depth=depth,
        weight_min=weight_min,
        limit=limit,
        fresh=fresh,
        fresh_timeout_ms=fresh_timeout_ms,
    )


def relate(source: str, target: str, weight: float | None = None) -> Prepared[p.RelationAnswer]:
    """Write a manual edge; it resolves as a link does and stays pending until its target appears."""
    return _prepare(calls.RELATE, source=source, target=target, weight=weight)


def unrelate(source: str, target: str) -> Prepared[p.RelationAnswer]:
    """Remove a manual edge. Raises NotFound."""
    return _prepare(calls.UNRELATE, source=source, target=target)


def links(
    state: LinkStateName | None = None,
    *,
    limit: int | None = None,
    after: str | None = None,
    fresh: bool | None = None,
    fresh_timeout_ms: int | None = None,
) -> Prepared[p.LinksAnswer]:
    """List links, all or those that are resolved, unresolved or ambiguous."""
    return _prepare(calls.LINKS, state=state, limit=limit, after=after, fresh=fresh, fresh_timeout_ms=fresh_timeout_ms)


def graph(
    *,
    limit: int | None = None,
    after: str | None = None,
    fresh: bool | None = None,
    fresh_timeout_ms: int | None = None,
) -> Prepared[p.GraphAnswer]:
    """Give the graph: a page of nodes and the resolved edges that leave them."""
    return _prepare(calls.GRAPH, limit=limit, after=after, fresh=fresh, fresh_timeout_ms=fresh_timeout_ms)


def changes(
    since: str | None = None,
    *,
    limit: int | None = None,
    fresh: bool | None = None,
    fresh_timeout_ms: int | None = None,
) -> Prepared[p.ChangesAnswer]:
    """Say what changed after a cursor; without one give the current cursor. Raises InvalidCursor."""
    return _prepare(calls.CHANGES, since=since, limit=limit, fresh=fresh, fresh_timeout_ms=fresh_timeout_ms)


def events(since: str | None = None) -> Prepared[p.Event]:
    """Follow changes as they happen, after a cursor or from now on; over restarts of the daemon too."""
    return _prepare(calls.EVENTS, since=since)


def history(
    address: str,
    *,
    limit: int | None = None,
    after: str | None = None,
    fresh: bool | None = None,
    fresh_timeout_ms: int | None = None,
) -> Prepared[p.HistoryAnswer]:
    """List the prior texts of an address, newest first."""
    return _prepare(
        calls.HISTORY, address=address, limit=limit, after=after, fresh=fresh, fresh_timeout_ms=fresh_timeout_ms
    )


def restore(address: str, id: int) -> Prepared[p.RestoreAnswer]:  # noqa: A002 - the field's name everywhere
    """Put a version back: a new write, so that nothing is lost by it. Raises NotFound."""
    return _prepare(calls.RESTORE, address=address, id=id)


def journal(tail: int | None = None, *, merged: bool | None = None) -> Prepared[p.JournalAnswer]:
    """Read the last lines of the journal, oldest first; `merged`: with what was seen on disk, in one order."""
    return _prepare(calls.JOURNAL, tail=tail, merged=merged)


def status(*, verify: bool | None = None, fresh: bool | None = None) -> Prepared[p.StatusAnswer]:
    """Ask the daemon how it is; `verify` compares disk and index now."""
    return _prepare(calls.STATUS, verify=verify, fresh=fresh)


def health() -> Prepared[p.HealthAnswer]:
    """Ask only whether the daemon serves."""
    return _prepare(calls.HEALTH)


def rebuild() -> Prepared[p.AcceptedAnswer]:
    """Have everything read again in the background."""
    return _prepare(calls.REBUILD)


def reload() -> Prepared[p.ReloadAnswer]:
    """Have the configuration read again. Raises ConfigError; the old one then stays."""
    return _prepare(calls.RELOAD)


def embed(*, reset: bool | None = None) -> Prepared[p.AcceptedAnswer]:
    """Have what has no vector yet embedded in the background, with `reset` everything. Raises ConfigError."""
    return _prepare(calls.EMBED, reset=reset)


def pin(address: str) -> Prepared[p.PinAnswer]:
    """Hold an item's temperature. Raises NotFound."""
    return _prepare(calls.PIN, address=address)


def unpin(address: str) -> Prepared[p.PinAnswer]:
    """Let an item's temperature decay again. Raises NotFound."""
    return _prepare(calls.UNPIN, address=address)
