"""Write docs/protocol.md, and the golden OpenAPI document of the tests, from the protocol's types.

python bench/protocol_page.py          write both
python bench/protocol_page.py --check  exit 1 if they are not what would be written
"""

# ruff: noqa: E501 - the lines of the page, with what is filled in, are as long as they are

import inspect
import json
import sys
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

from wikimem.api import protocol
from wikimem.api.calls import CALLS, HTTP_REFUSALS, Call
from wikimem.api.checks import MAX_DEPTH, MAX_HITS, MAX_QUERY_CHARS, MAX_VALUES
from wikimem.api.openapi import openapi
from wikimem.api.paging import MAX_ANSWER_BYTES
from wikimem.api.params import DEFAULTS
from wikimem.api.protocol import Event, Problem
from wikimem.errors import WikimemError
from wikimem.search.request import LONGEST_FILTER
from wikimem_daemon.limits import Limits

LIMITS = Limits()
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "protocol.md"
GOLDEN = ROOT / "tests" / "unit" / "openapi.json"

HEAD = f"""# The protocol

HTTP/1.1 with JSON on the vault's Unix socket (`wikimem socket` prints its path). This page is made from the types in
`wikimem/api/` by `bench/protocol_page.py`; the same types make `GET /openapi.json`, check every request and give the
Python clients their signatures.

    curl --unix-socket "$(wikimem socket)" http://wikimem/v1/status

## What holds for every call

- **Who is answered.** Processes of the same user only (the socket is 0600 in a folder that is 0700, and the peer's uid
  is checked). `Host` must be `wikimem` or `localhost`, with or without a port; a request of a browser (with
  `Origin`, `Referer` or `Sec-Fetch-Site`) is refused, and one that two readers could take differently (two lengths, a
  header of ours twice).
- **Versions.** Every answer carries `{protocol.VERSION_HEADER}` and `{protocol.PROTOCOL_HEADER}`. A request may carry
  `{protocol.PROTOCOL_HEADER}`: {protocol.PROTOCOL} and {protocol.PROTOCOL - 1} are answered, another gets 426 and a hint which side to update.
- **Parameters** are in the query for GET and DELETE, in a JSON object for POST and PUT. `null` counts as not given; a
  name that a call does not take, and one that is given twice, are refused. JSON is UTF-8; numbers are plain digits.
  Queries are form-encoded: a `+` is a space, a plus sign is `%2B`; a number or flag with nothing behind its `=` counts
  as not given.
- **Reads** take `fresh` (default true: every write that finished on disk before the request arrived is in the answer)
  and `fresh_timeout_ms` (default {protocol.FRESH_TIMEOUT_MS}). The answer says whether it is `fresh`, whether it is `partial` (the vault is still
  being read), what is `degraded`, and at which `cursor` it stands.
- **Writes** take the header `{protocol.KEY_HEADER}` (1 to 200 characters, kept ten minutes): a retry with the same key is applied
  once and gets the first answer again, with `{protocol.REPLAYED_HEADER}: true`. The same key with another request is refused.
- **Lists** take `limit` (default {protocol.PAGE_LIMIT}, at most {protocol.MAX_PAGE_LIMIT:,} entries and about 2 MB are given) and `after`, which is the `next` of the page
  before, asked for with the same filter; `next` is null on the last page.
- **Errors** are `application/problem+json` with `status`, `code`, `detail` and `hint` (what to do next).
- **Limits.** A header of {LIMITS.header_bytes // 1024} KB within {LIMITS.header_s:g} s, a body of {LIMITS.body_bytes // 10**6} MB within {LIMITS.body_s:g} s, JSON {MAX_DEPTH} deep and of {MAX_VALUES:,} values, {LIMITS.connections} connections (then 503
  `busy`, at once), {LIMITS.streams} event streams, {LIMITS.idle_s:g} s between two requests, {LIMITS.write_s:g} s for a client to take its answer. A query has
  at most {MAX_QUERY_CHARS:,} characters (a filter {LONGEST_FILTER:,}) and {MAX_HITS:,} hits; an answer of more than about
  {MAX_ANSWER_BYTES // 10**6} MB is cut and says so (`answer-cut`).
- **Stopping.** The daemon stops accepting, finishes what runs with `Connection: close`, ends event streams with `bye`,
  and is gone within {LIMITS.drain_s:g} seconds. New connections wait in the backlog of systemd's socket for the next one. A client
  that loses its connection before the answer repeats the call; with a key that is safe for writes.

## Events

`GET /v1/events` answers with server-sent events. The stream begins after the cursor in `since` or `Last-Event-ID`,
else now. A block that has only an `id` says where it stands. Every {LIMITS.heartbeat_s:g} s without an event there is a comment.

| event | data | meaning |
|---|---|---|
| `change` | an entry of `changes` | one item changed; `id` is the cursor after it |
| `fresh_instance` | `{{"fresh_instance": true}}` | the cursor is of another life: read everything again |
| `bye` | `{{"reason": "stopping"}}` | the last event: the daemon stops; come back with `Last-Event-ID` |
"""


def page() -> str:
    """Return the page."""
    parts = [HEAD, "## Calls\n", _table(), *(_section(call) for call in CALLS), _shapes(), _errors()]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _table() -> str:
    rows = [f"| [`{call.method} {call.path}`](#{_anchor(call)}) | `{call.verb}` | {call.summary} |" for call in CALLS]
    return "\n".join(["| call | verb of the clients | for |", "|---|---|---|", *rows])


def _anchor(call: Call) -> str:
    return f"{call.method} {call.path}".lower().replace("/", "").replace(" ", "-")


def _section(call: Call) -> str:
    lines = [f"### {call.method} {call.path}\n", _sentence(call.params)]
    hints = get_type_hints(call.params, include_extras=True)
    if hints:
        where = "query" if call.in_query else "body"
        lines += ["", f"| {where} | type | |", "|---|---|---|"]
        for name, hint in hints.items():
            defaults = DEFAULTS.get(call.params, {})
            default = f"default {json.dumps(defaults[name])}" if name in defaults else ""
            note = "required" if get_origin(hint) is Required else default
            lines.append(f"| `{name}` | {_type(hint)} | {note} |")
    answer = (
        "server-sent events, see above"
        if call.streams
        else f"[`{call.answer.__name__}`](#{call.answer.__name__.lower()})"
    )
    lines += ["", f"Answers {call.status}: {answer}."]
    if call.errors:
        codes = ", ".join(f"`{error.code}`" for error in call.errors)
        lines.append(f"May be refused with {codes}.")
    return "\n".join(lines)


def _sentence(kind: type) -> str:
    return " ".join((inspect.getdoc(kind) or "").split())


def _type(hint: Any) -> str:
    if get_origin(hint) in {Required, NotRequired}:
        return _type(get_args(hint)[0])
    if get_origin(hint) in {Union, UnionType}:
        kinds = [_type(each) for each in get_args(hint) if each is not NoneType]
        return " or ".join(kinds + (["null"] if NoneType in get_args(hint) else []))
    if get_origin(hint) is Literal:
        return " or ".join(f"`{each}`" for each in get_args(hint))
    if get_origin(hint) is list:
        return f"list of {_type(get_args(hint)[0])}"
    if is_typeddict(hint):
        return f"[`{hint.__name__}`](#{hint.__name__.lower()})"
    names = {str: "string", int: "integer", float: "number", bool: "boolean"}
    return names.get(hint, "object")


def _shapes() -> str:
    lines = ["## Answers\n"]
    for kind in _answer_types():
        lines += [f"### {kind.__name__}\n", _sentence(kind), "", "| field | type |", "|---|---|"]
        for name, hint in get_type_hints(kind, include_extras=True).items():
            note = ", sometimes" if get_origin(hint) is NotRequired else ""
            lines.append(f"| `{name}` | {_type(hint)}{note} |")
        lines.append("")
    return "\n".join(lines)


def _answer_types() -> list[type]:
    found: dict[str, type] = {}

    def take(hint: Any) -> None:
        if is_typeddict(hint):
            if hint.__name__ not in found:
                found[hint.__name__] = hint
                for each in get_type_hints(hint).values():
                    take(each)
        else:
            for each in get_args(hint):
                take(each)

    for call in CALLS:
        take(call.answer)
    take(Event)
    take(Problem)
    return list(found.values())


def _errors() -> str:
    lines = ["## Errors\n", "| status | code | |", "|---|---|---|"]
    errors = [
        (error.http_status, error.code, _sentence(error)) for error in _subclasses(WikimemError) if _is_answered(error)
    ]
    lines += [f"| {status} | `{code}` | {meaning} |" for status, code, meaning in sorted([*errors, *HTTP_REFUSALS])]
    return "\n".join(lines)


def _is_answered(error: type[WikimemError]) -> bool:
    return error.code not in {"usage", "not_running", "unreachable"}


def _subclasses(kind: type[WikimemError]) -> list[type[WikimemError]]:
    return [each for one in kind.__subclasses__() for each in (one, *_subclasses(one))]


def golden() -> str:
    """Return the golden document."""
    return json.dumps(openapi(), indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write or check."""
    wanted = {PAGE: page(), GOLDEN: golden()}
    if "--check" in sys.argv:
        stale = [path for path, text in wanted.items() if path.read_text(encoding="utf-8") != text]
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run python bench/protocol_page.py")
        return 1 if stale else 0
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
