"""Errors on the wire: `application/problem+json` made from an error, and the error made from it again."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Final, cast

from wikimem.api.protocol import Problem
from wikimem.errors import Conflict, Unreachable, WikimemError

CONTENT_TYPE: Final = "application/problem+json"
MAX_DETAIL_CHARS: Final = 1_000
"""An error quotes what it refuses; a caller that sent a megabyte does not need it back."""


def problem_of(error: WikimemError) -> Problem:
    """Return the body for an error; a conflict carries both texts."""
    body = problem(error.http_status, error.code, error.message, error.hint)
    if isinstance(error, Conflict):
        body["theirs"], body["yours"], body["current_hash"] = error.theirs, error.yours, error.current_hash
    return body


def problem(status: int, code: str, detail: str, hint: str = "") -> Problem:
    """Return a problem body. `type` stays about:blank (RFC 9457): `code` is what programs look at."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "code": code,
        "detail": _cut(detail),
        "hint": _cut(hint),
    }


def _cut(text: str) -> str:
    return text if len(text) <= MAX_DETAIL_CHARS else text[: MAX_DETAIL_CHARS - 1] + "…"


def _subclasses(kind: type[WikimemError]) -> Iterator[type[WikimemError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


_BY_CODE: Final = {kind.code: kind for kind in _subclasses(WikimemError)}


def error_of(status: int, body: Mapping[str, object]) -> WikimemError:
    """Return the error that an answer stands for: the class by its `code`, a plain WikimemError for an unknown one."""
    code, detail, hint = (str(body.get(name) or "") for name in ("code", "detail", "hint"))
    if not code:
        return Unreachable(
            f"The socket answered with status {status} and no reason.", hint="Something else may listen there."
        )
    kind = _BY_CODE.get(code, WikimemError)
    if kind is Conflict:
        theirs, yours, current = (cast("str | None", body.get(name)) for name in ("theirs", "yours", "current_hash"))
        return Conflict(detail, theirs=theirs, yours=yours, current_hash=current, hint=hint)
    return kind(detail, hint=hint)
