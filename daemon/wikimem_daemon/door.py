"""What the head of a request must look like before anything is done for it."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from starlette.types import Scope

from wikimem.api.protocol import KEY_HEADER, PROTOCOL, PROTOCOL_HEADER
from wikimem_daemon import refusals

HOSTS: Final = frozenset({"wikimem", "localhost"})
_HOST = re.compile(r"([a-z]+)(?::[0-9]{0,5})?")
_SCHEME: Final = b"http://"
# A page can have its browser leave out the first two; the third is sent with every request to this machine.
_BROWSERS: Final = (b"origin", b"referer", b"sec-fetch-site")
_ONCE: Final = frozenset(
    name.encode()
    for name in (KEY_HEADER.lower(), PROTOCOL_HEADER.lower(), "content-type", "content-encoding", "last-event-id")
)


def check_door(scope: Scope, header_bytes: int) -> None:
    """Let programs in and browsers not: a page must not reach the vault through some forwarder of the socket.

    Raises `Refusal`. What two readers could take differently is refused rather than chosen from.
    """
    headers = dict(scope["headers"])
    _check_size(scope, header_bytes)
    for name in _BROWSERS:
        if name in headers:
            raise refusals.denied(
                f"A request with the header {name.decode().title()} is not answered.", "Browsers are not served here."
            )
    _check_host(headers.get(b"host", b""))
    if b"content-length" in headers and b"transfer-encoding" in headers:
        raise refusals.two_lengths()
    if len(headers) < len(scope["headers"]):
        _check_once(scope)
    _check_protocol(headers)


def in_origin_form(scope: Scope) -> Scope:
    """Return a request whose target is a whole URI, which every server must take (RFC 9112 3.2.2), as its path.

    Raises `Refusal`: the URI's host has to be ours, as the one in the header.
    """
    if scope["raw_path"][: len(_SCHEME)].lower() != _SCHEME:
        return scope
    host, slash, rest = scope["raw_path"][len(_SCHEME) :].partition(b"/")
    _check_host(host)
    raw_path = (slash + rest) or b"/"
    return {**scope, "raw_path": raw_path, "path": unquote(raw_path.decode("ascii"))}


def _check_host(given: bytes) -> None:
    host = _HOST.fullmatch(given.decode("latin-1").lower())
    if host is None or host[1] not in HOSTS:
        raise refusals.denied("This host is not served.", "Send `Host: wikimem` or `Host: localhost`.")


def _check_size(scope: Scope, most: int) -> None:
    """Hold to the limit also when the header came in one piece: h11 counts only what is not complete yet."""
    size = len(scope["raw_path"]) + len(scope["query_string"])
    if size + sum(len(name) + len(value) + 4 for name, value in scope["headers"]) > most:
        raise refusals.header_too_large()


def _check_once(scope: Scope) -> None:
    seen: set[bytes] = set()
    for name, _ in scope["headers"]:
        if name in seen and name in _ONCE:
            raise refusals.given_twice(name.decode("latin-1").title())
        seen.add(name)


def _check_protocol(headers: Mapping[bytes, bytes]) -> None:
    theirs = headers.get(PROTOCOL_HEADER.lower().encode())
    if theirs is not None:
        if not theirs.isdigit() or len(theirs) > 9:
            raise refusals.bad_header(PROTOCOL_HEADER, "a whole number")
        if int(theirs) not in {PROTOCOL, PROTOCOL - 1}:
            raise refusals.wrong_protocol(int(theirs))
