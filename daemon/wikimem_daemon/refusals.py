"""Refusals that belong to HTTP and not to a vault: no such route, wrong method, too large, a browser at the door."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from wikimem.api.problem_json import problem
from wikimem.api.protocol import PROTOCOL, Problem

_CLOSE: Final = (b"connection", b"close")
HEADER_TOO_LARGE: Final = problem(431, "headers_too_large", "The headers are too large.", "Put the text into the body.")


@dataclass(frozen=True, slots=True)
class Refusal(Exception):
    """Ends a request with this problem."""

    body: Problem
    headers: tuple[tuple[bytes, bytes], ...] = ()


def no_route(path: str) -> Refusal:
    """Return the answer for an unknown path."""
    return Refusal(problem(404, "no_such_route", f"There is nothing at {path[:200]!r}.", "See GET /openapi.json."))


def wrong_method(method: str, allowed: tuple[str, ...]) -> Refusal:
    """Return the answer for a path that takes other methods."""
    body = problem(405, "method_not_allowed", f"{method[:20]} is not taken here.", "Use " + " or ".join(allowed) + ".")
    return Refusal(body, ((b"allow", ", ".join(allowed).encode()),))


def wrong_type(kind: str) -> Refusal:
    """Return the answer for a body that is not declared as JSON."""
    hint = "Send the header `Content-Type: application/json`."
    return Refusal(problem(415, "unsupported_media_type", f"A body of {kind[:100]!r} is not taken.", hint))


def too_large(limit: int) -> Refusal:
    """Return the answer for a body over the limit."""
    return Refusal(problem(413, "too_large", f"The body is larger than {limit:,} bytes.", "Send less at a time."))


def denied(detail: str, hint: str) -> Refusal:
    """Return the answer for a request that a program of this user would not send."""
    return Refusal(problem(HTTPStatus.FORBIDDEN, "denied", detail, hint))


def wrong_protocol(theirs: int) -> Refusal:
    """Return the answer for a client of another protocol, saying which side to update."""
    if theirs > PROTOCOL:
        hint = "Update the daemon: upgrade wikimem where it runs, and restart it (`systemctl --user restart …`)."
    else:
        hint = "Update the client: upgrade wikimem in its environment."
    detail = f"The client speaks protocol {theirs}, this daemon {PROTOCOL} and {PROTOCOL - 1}."
    return Refusal(problem(426, "protocol_mismatch", detail, hint), ((b"upgrade", b"wikimem"),))


def bad_header(name: str, wanted: str) -> Refusal:
    """Return the answer for a header that cannot be read."""
    return Refusal(problem(400, "bad_request", f"The header {name} is not {wanted}.", f"Send {wanted}."))


def given_twice(name: str) -> Refusal:
    """Return the answer for a header that decides something and stands there twice."""
    return Refusal(problem(400, "bad_request", f"The header {name} is given twice.", "Send it once."))


def header_too_large() -> Refusal:
    """Return the answer for a request whose line and headers are over the limit."""
    return Refusal(HEADER_TOO_LARGE, (_CLOSE,))


def two_lengths() -> Refusal:
    """Return the answer for a body whose end two readers would look for in two places (request smuggling)."""
    hint = "Send Content-Length alone."
    body = problem(400, "bad_request", "The body has both Content-Length and Transfer-Encoding.", hint)
    return Refusal(body, (_CLOSE,))


def too_many_streams(limit: int) -> Refusal:
    """Return the answer for one event stream too many."""
    body = problem(503, "busy", f"There are {limit} event streams, which is as many as there may be.", "Close one.")
    return Refusal(body, ((b"retry-after", b"1"),))


def internal() -> Problem:
    """Return the body for a fault of ours; what happened stands in the log, not in the answer."""
    return problem(500, "internal", "The daemon failed on this request.", "Its log says why: please report it.")
