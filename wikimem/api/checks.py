"""Checking what a caller sent against the typed dictionaries of `api/params.py`.

Every refusal is an `InvalidInput` that names the parameter. An unknown name is refused rather than ignored: a
misspelt `expected_hash` that is dropped in silence costs somebody a text.
"""

import difflib
import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Literal, Required, Union, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

from wikimem.api.params import DEFAULTS, RetrieveParams
from wikimem.errors import InvalidInput

MAX_DEPTH: Final = 32
MAX_VALUES: Final = 1_000
"""In one JSON body. No call takes a fiftieth of it, and a million of empty lists holds the event loop for seconds."""
MAX_QUERY_FIELDS: Final = 40
MAX_QUERY_CHARS: Final = 20_000
"""A longer retrieval query is refused: tokenising and scoring it would hold up everybody else."""

MAX_HITS: Final = 1_000

MAX_CHARS: Final[Mapping[str, int]] = {"query": MAX_QUERY_CHARS, "source": 2_000, "target": 2_000}
"""An edge is removed by a request that has both its ends in the header."""

BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "limit": (1, 10_000),
    "tail": (1, 10_000),
    "depth": (1, 5),
    "fresh_timeout_ms": (0, 60_000),
    "budget_tokens": (0, 100_000_000),
    "temperature_min": (0, 1),
}
# One that is never closed goes to the end: looking for the next quote from each quote would take quadratic time.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_NOT_BRACKET: Final = bytes(set(range(256)) - set(b"[]{}"))
_TRUE: Final = frozenset({"true", "1"})
_FALSE: Final = frozenset({"false", "0"})
# `int` and `float` also take `1_000`, blanks around it, and the digits of every script.
_WHOLE = re.compile(r"-?[0-9]{1,20}")
_DECIMAL = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,4})?")

Check = Callable[[str, object], object]


def _refuse(name: str, wanted: str) -> InvalidInput:
    return InvalidInput(f"{name!r} must be {wanted}.", hint="See the command's `--help`, or GET /openapi.json.")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _refuse(name, "a string")
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        # A lone surrogate is no text: it could be written to no file and sent in no answer.
        raise _refuse(name, "text without lone surrogates")
    longest = MAX_CHARS.get(name)
    if longest is not None and len(value) > longest:
        raise _refuse(name, f"at most {longest:,} characters")
    return value


def bounds_of(params: type, name: str) -> tuple[float, float] | None:
    """Return the least and the most that a number may be."""
    return (1, MAX_HITS) if params is RetrieveParams and name == "limit" else BOUNDS.get(name)


def _bounded(params: type, name: str, value: float) -> None:
    low, high = bounds_of(params, name) or (-math.inf, math.inf)
    if not low <= value <= high:
        raise _refuse(name, f"between {low:g} and {high:,.0f}" if high < math.inf else f"{low:g} or more")


def _integer(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _refuse(name, "a whole number")
    if abs(value) >= 1 << 63:
        raise _refuse(name, "a whole number of 64 bits")
    return value


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refuse(name, "a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _refuse(name, "a finite number")
    return number


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _refuse(name, "true or false")
    return value


def _texts(name: str, value: object) -> list[str]:
    if not isinstance(value, list):
        raise _refuse(name, "a list of strings")
    return [_text(name, each) for each in value]


def _choice(allowed: tuple[str, ...]) -> Check:
    def check(name: str, value: object) -> object:
        if not isinstance(value, str) or value not in allowed:
            raise _refuse(name, "one of " + ", ".join(allowed))
        return value

    return check


_CHECKS: Final[Mapping[object, Check]] = {
    str: _text,
    int: _integer,
    float: _number,
    bool: _flag,
    list[str]: _texts,
}


def bare_type(hint: object) -> object:
    """Strip `Required` and `| None` from a type hint."""
    if get_origin(hint) is Required:
        hint = get_args(hint)[0]
    if get_origin(hint) in {Union, UnionType}:
        return next(each for each in get_args(hint) if each is not NoneType)
    return hint


def _check_of(kind: object) -> Check:
    if get_origin(kind) is Literal:
        return _choice(get_args(kind))
    return _CHECKS[kind]


@cache
def _table(params: type) -> tuple[dict[str, tuple[Check, object]], frozenset[str]]:
    hints = get_type_hints(params, include_extras=True)
    checks = {name: (_check_of(bare_type(hint)), bare_type(hint)) for name, hint in hints.items()}
    required: frozenset[str] = params.__required_keys__  # type: ignore[attr-defined]
    return checks, required


def check_params(params: type, given: Mapping[str, object]) -> dict[str, Any]:
    """Return `given` checked against the typed dictionary `params`, with its defaults. Raises InvalidInput."""
    checks, required = _table(params)
    checked: dict[str, Any] = dict(DEFAULTS.get(params, {}))
    for name, value in given.items():
        entry = checks.get(name)
        if entry is None:
            raise _unknown(name, checks)
        if value is not None:
            checked[name] = entry[0](name, value)
            if entry[1] in (int, float):
                _bounded(params, name, checked[name])
    missing = required - checked.keys()
    if missing:
        raise InvalidInput(f"{min(missing)!r} is missing.", hint="This call takes: " + ", ".join(sorted(checks)) + ".")
    return checked


def _unknown(name: str, checks: Mapping[str, object]) -> InvalidInput:
    near = difflib.get_close_matches(name[:100], checks, 1)
    hint = (
        f"Did you mean {near[0]!r}?" if near else "This call takes: " + (", ".join(sorted(checks)) or "nothing") + "."
    )
    return InvalidInput(f"{name[:100]!r} is not a parameter of this call.", hint=hint)


def check_query(params: type, query: bytes) -> dict[str, Any]:
    """Return the checked parameters of a query string. Raises InvalidInput."""
    if not query:
        return check_params(params, {})
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_QUERY_FIELDS
        )
    except (UnicodeError, ValueError) as error:
        raise InvalidInput(
            "The query cannot be read.", hint="Percent-encode its values as UTF-8, at most 40 of them."
        ) from error
    checks, _ = _table(params)
    given: dict[str, object] = {}
    for name, value in pairs:
        if name in given:
            raise InvalidInput(f"{name[:100]!r} is given twice.", hint="Give each parameter once.")
        given[name] = _from_text(name, value, checks[name][1]) if name in checks else value
    return check_params(params, given)


def _from_text(name: str, value: str, kind: object) -> object:
    if kind is bool:
        return True if value in _TRUE else False if value in _FALSE else value
    if value == "" and kind is not str:
        return None
    if kind is int:
        if _WHOLE.fullmatch(value) is None:
            raise _refuse(name, "a whole number")
        return int(value)
    if kind is float:
        if _DECIMAL.fullmatch(value) is None:
            raise _refuse(name, "a number")
        return float(value)
    return value


def check_body(params: type, body: bytes) -> dict[str, Any]:
    """Return the checked parameters of a JSON body (empty: none). Raises InvalidInput."""
    return check_params(params, read_json(body)) if body else check_params(params, {})


def read_json(body: bytes) -> dict[str, object]:
    """Parse a JSON object of bounded shape, in which no name stands twice. Raises InvalidInput."""
    check_shape(body)
    try:
        # As text: from bytes the json module would also take UTF-16 and UTF-32.
        value = json.loads(body.decode("utf-8-sig"), object_pairs_hook=_once_each)
    except InvalidInput:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The body is not JSON: {_where(error)}.", hint="Send a JSON object in UTF-8.") from error
    if not isinstance(value, dict):
        raise InvalidInput("The body is not a JSON object.", hint='Send an object such as {"query": "…"}.')
    return value


def _once_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make an object. Of two values for one name the sender cannot know which one counts."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"{twice[:100]!r} is given twice.", hint="Give each parameter once.")
    return made


def _where(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else "a value in it cannot be read"


def check_shape(body: bytes) -> None:
    """Refuse JSON that nests deeper than `MAX_DEPTH` or has more than `MAX_VALUES`, before it is parsed.

    What stands in strings is not looked at: links in a note are brackets. Raises InvalidInput.
    """
    outside: list[bytes] = []
    end = 0
    for count, string in enumerate(_STRING.finditer(body)):
        if count > MAX_VALUES:
            raise _too_many()
        outside.append(body[end : string.start()])
        end = string.end()
    outside.append(body[end:])
    rest = b"".join(outside)
    if rest.count(b",") >= MAX_VALUES:
        raise _too_many()
    depth = 0
    for bracket in rest.translate(None, _NOT_BRACKET):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise InvalidInput(f"The JSON is nested deeper than {MAX_DEPTH}.", hint="Send a flat object.")


def _too_many() -> InvalidInput:
    return InvalidInput(f"The JSON has more than {MAX_VALUES:,} values.", hint="Send a flat object.")
