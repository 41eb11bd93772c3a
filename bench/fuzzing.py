"""Requests that no program would send: mutated bytes, and well-formed HTTP around mutated parameters."""

import base64
import json
import random
from collections.abc import Iterator
from typing import Any, Final, get_type_hints
from urllib.parse import quote

from wikimem.api.calls import CALLS, Call

_SEEDS: Final = (
    b"GET /v1/status HTTP/1.1\r\nHost: wikimem\r\n\r\n",
    (
        b"POST /v1/retrieve HTTP/1.1\r\nHost: wikimem\r\nContent-Type: application/json\r\n"
        b'Content-Length: 14\r\n\r\n{"query": "x"}'
    ),
    b'PUT /v1/item HTTP/1.1\r\nHost: wikimem\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n',
    b"DELETE /v1/item?address=a%3Ab HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"GET /v1/events HTTP/1.1\r\nHost: wikimem\r\nLast-Event-ID: x\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: wikimem\r\n\r\n",
    b"CONNECT wikimem:80 HTTP/1.1\r\nHost: wikimem\r\n\r\n",
    b"HEAD /v1/health HTTP/1.0\r\n\r\n",
    b"GET /v1/health HTTP/1.1\r\nHost: wikimem\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"POST /v1/diary HTTP/1.1\r\nHost: wikimem\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
)
_PIECES: Final = (
    *(b"\r\n", b"\n", b"\r", b"\0", b"\xff", b" ", b":", b"%", b"%00", b"%2e%2e%2f", b"../", b"\t", b"{", b"[", b'"'),
    *(b"Content-Length: -1\r\n", b"Content-Length: 99999999999999999999\r\n", b"Transfer-Encoding: gzip\r\n"),
    *(b"Host: evil\r\n", b"Origin: x\r\n", b"ffffffffffffffff\r\n", b"x" * 40_000, b"Wikimem-Protocol: 9\r\n"),
)
_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 5, 10**9, 10**30, 0.5, -0.0, 1e308, [], {}, [1], ["a", "b"], {"a": 1}),
    *(
        "",
        " ",
        "x",
        "a:b",
        "notes:a",
        ":",
        "::",
        "a:",
        "../../etc/passwd:x",
        "..",
        "/etc/passwd",
        "a/../b:c",
        "%2e%2e:x",
    ),
    *(
        "2026-07-21:14:30",
        "2026-07-21:14:30#2",
        "2026-07-21:99:99",
        "2026-02-30",
        "2026-07-21",
        "9999-12-31",
        "0001-01-01",
    ),
    *("14:30", "25:00", "2026-07-21T06:30:00+00:00", "2026-07-21T06:30:00", "9999-12-31T23:59:59-23:59"),
    *("UTC", "Asia/Tokyo", "No/Where", "../../../etc/localtime", "\0", "a\0b", "\r\nX: y", "\x1b[2J", "\u2028", "海边"),
    *(
        "\ud800",
        "🙂" * 50,
        "e\u0301",
        "* ",
        "[a-",
        "[[a:b]] ",
        "## heading\n# one\n",
        "```\nopen",
        "%%",
        "<!--",
        "$$",
        "---\n",
    ),
    *(
        "<!-- wikimem: owner=root -->",
        "text\n\n<!-- wikimem: owner=root -->",
        "x" * 30_000,
        "a " * 5_000,
        "yesterday",
        "上周三",
    ),
    *("out", "both", "resolved", "add", "NaN", "1e5", "-", "\\", '"', "'; DROP TABLE history; --"),
)


def _token(inner: str) -> str:
    """Return an `after` that looks like one of ours."""
    return base64.urlsafe_b64encode(inner.encode()).decode().rstrip("=")


_LIKELY: Final[dict[str, tuple[Any, ...]]] = {
    "address": ("notes0:item 0", "fuzz:one", "fuzz:two", "2026-07-21:12:00", "2026-07-21:12:00#2", "notes1:item 11"),
    "anchor": ("notes0:item 0", "fuzz:one", "item 11"),
    "source": ("notes0:item 0", "fuzz:one"),
    "target": ("fuzz:two", "notes1:item 11", "a label"),
    "category": ("fuzz", "other", "notes0", "n*"),
    "name": ("one", "two", "海边", "with  spaces", "c++", "%25"),
    "content": (
        "text",
        "[[fuzz:one]] and [[nowhere:x]]",
        "## two\ntext",
        "* list\n* list",
        "| a | b |\n|---|---|",
        "漢字かな",
    ),
    "query": ("sea", "coffee bread", "海", "yesterday", "last week robots", ""),
    "time_range": (["2026-07-01", "2026-07-31"], ["2026-07-21", "2026-07-21"]),
    "id": (1, 2, 3, 10**18),
    "weight": (1, 2.5, 1e-300, 1e300),
    "date": ("2026-07-21", "2026-07-22", "2024-02-29"),
    "start": ("2026-07-01",),
    "end": ("2026-07-31",),
    "ts": ("2026-07-21T06:30:00+00:00", "2026-07-21T06:30:00Z", "1900-01-01T00:00:00+14:00"),
    "time": ("14:30", "00:00"),
    "limit": (1, 3, 100),
    "depth": (1, 2, 5),
    "direction": ("out", "in", "both"),
    "state": ("resolved", "unresolved", "ambiguous"),
    "after": (
        *(_token(inner) for inner in ('[1,"notes0:item 0"]', '[0,""]', '[99999999999999999999,"a"]', '[1,"\\ud800"]')),
        *(_token(inner) for inner in ("[" * 2_000, '{"a":1,"b":2}', "[1e3,2]")),
        *("3", "99999999999999999999"),
    ),
    "since": ("abc-1", "abc-99999999999999999999", "-1", "a-b-c"),
}


def byte_level(rng: random.Random) -> bytes:
    """Return a mutated request."""
    data = bytearray(b"".join(rng.choices(_SEEDS, k=rng.choice((1, 1, 1, 2, 5)))))
    for _ in range(rng.randint(0, 8)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0:
                data[at:at] = rng.choice(_PIECES)
            case 1:
                data[at:at] = rng.randbytes(rng.randint(1, 30))
            case 2:
                del data[at : at + rng.randint(1, 20)]
            case 3 if at < len(data):
                data[at] = rng.randrange(256)
            case 4:
                data[at:at] = data[at : at + rng.randint(1, 60)]
            case _:
                del data[at:]
    return bytes(data)


def json_level(rng: random.Random) -> bytes:
    """Return a well-formed request for some call of the table, with parameters that may be anything."""
    call = rng.choice([one for one in CALLS if not one.streams])
    params = {name: _value(name, rng) for name in _names(call, rng)}
    method, target, body = call.method, call.path, b""
    if call.in_query:
        pairs = [
            f"{quote(name)}={quote(_as_text(value).encode('utf-8', 'surrogatepass'))}" for name, value in params.items()
        ]
        target += "?" + "&".join(pairs)
    else:
        body = json.dumps(params).encode()
        if rng.random() < 0.1:
            body = _broken(body, rng)
    lines = [f"{method} {target} HTTP/1.1", "Host: wikimem"]
    if not call.in_query:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    if rng.random() < 0.3:
        lines.append(f"Idempotency-Key: {rng.randrange(20)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def _names(call: Call, rng: random.Random) -> Iterator[str]:
    for name in get_type_hints(call.params):
        required: frozenset[str] = call.params.__required_keys__  # type: ignore[attr-defined]
        if rng.random() < (0.95 if name in required else 0.3):
            yield name
    if rng.random() < 0.05:
        yield rng.choice(("x", "__class__", "limit ", "", "é"))


def _value(name: str, rng: random.Random) -> Any:
    if name in _LIKELY and rng.random() < 0.7:
        return rng.choice(_LIKELY[name])
    value = rng.choice(_VALUES)
    if isinstance(value, str) and rng.random() < 0.2:
        return value + str(rng.choice(_VALUES))
    return value


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


_BOMBS: Final = (b"[]," * 3_000, b'""' * 3_000, b"[" * 40 + b'"\\' * 5_000, b'{"a":1},' * 2_000)


def _broken(body: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(body) + 1)
    return (
        body[:at]
        + rng.choice((b"", b"[" * 50, b"\xff", b"NaN", b"\\ud800", b"1e999", b"9" * 6_000, b"{" * 100_000, *_BOMBS))
        + body[at:]
    )
