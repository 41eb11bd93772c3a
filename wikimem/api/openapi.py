"""The OpenAPI document, made from the table of calls and the typed dictionaries: never written by hand."""

import inspect
from types import NoneType, UnionType
from typing import Any, Final, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

from wikimem import __version__
from wikimem.api.calls import ANY_ERRORS, CALLS, DOOR_ERRORS, HTTP_REFUSALS, Call
from wikimem.api.checks import bare_type, bounds_of
from wikimem.api.params import DEFAULTS
from wikimem.api.problem_json import CONTENT_TYPE
from wikimem.api.protocol import KEY_HEADER, PROTOCOL, PROTOCOL_HEADER, VERSION_HEADER, Problem
from wikimem.errors import WikimemError

Schema = dict[str, Any]

_PLAIN: Final[dict[object, Schema]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    object: {},
}
_PARAMS: Final = frozenset(call.params for call in CALLS)
_HEADERS: Final[Schema] = {
    VERSION_HEADER: {"$ref": "#/components/headers/Version"},
    PROTOCOL_HEADER: {"$ref": "#/components/headers/Protocol"},
}


def openapi() -> Schema:
    """Return the document (OpenAPI 3.1)."""
    schemas: Schema = {}
    paths: dict[str, Schema] = {}
    for call in CALLS:
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call, schemas)
    _reference(Problem, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "wikimem",
            "version": __version__,
            "x-protocol": PROTOCOL,
            "description": "The daemon of one vault, on its Unix socket.",
        },
        "servers": [{"url": "http://wikimem", "description": "over the Unix socket that `wikimem socket` prints"}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "responses": {"Refused": _failure({code for _, code, _ in HTTP_REFUSALS} | {e.code for e in DOOR_ERRORS})},
            "headers": {
                "Version": {"description": "The daemon's version.", "schema": {"type": "string"}},
                "Protocol": {"description": "The protocol that it speaks.", "schema": {"type": "integer"}},
            },
        },
    }


def _operation(call: Call, schemas: Schema) -> Schema:
    operation: Schema = {"operationId": call.verb, "summary": call.summary, "x-kind": call.kind}
    parameters = _header_parameters(call)
    if call.in_query:
        parameters = _query_parameters(call.params) + parameters
    elif get_type_hints(call.params):
        schema = _reference(call.params, schemas)
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    operation["parameters"] = parameters
    kind = "text/event-stream" if call.streams else "application/json"
    operation["responses"] = {
        str(call.status): {
            "description": inspect.getdoc(call.answer) or "",
            "headers": _HEADERS,
            "content": {kind: {"schema": _reference(call.answer, schemas)}},
        },
        **_failures(call),
    }
    return operation


def _failures(call: Call) -> Schema:
    codes: dict[int, list[str]] = {}
    possible: tuple[type[WikimemError], ...] = (*ANY_ERRORS, *call.errors)
    for error in possible:
        codes.setdefault(error.http_status, []).append(error.code)
    failures = {str(status): _failure(set(names)) for status, names in sorted(codes.items())}
    return {**failures, "default": {"$ref": "#/components/responses/Refused"}}


def _failure(codes: set[str]) -> Schema:
    return {
        "description": "`code`: " + ", ".join(sorted(codes)),
        "headers": _HEADERS,
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def _header_parameters(call: Call) -> list[Schema]:
    found: list[Schema] = [
        {
            "name": PROTOCOL_HEADER,
            "in": "header",
            "required": False,
            "description": f"The protocol that the client speaks; {PROTOCOL} and {PROTOCOL - 1} are answered.",
            "schema": {"type": "integer"},
        }
    ]
    if call.kind == "write":
        found.append(
            {
                "name": KEY_HEADER,
                "in": "header",
                "required": False,
                "description": "A random key: a retry with it within ten minutes is applied once.",
                "schema": {"type": "string", "minLength": 1, "maxLength": 200},
            }
        )
    if call.streams:
        found.append({"name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "string"}})
    return found


def _query_parameters(params: type) -> list[Schema]:
    required: frozenset[str] = params.__required_keys__  # type: ignore[attr-defined]
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "schema": _schema(bare_type(hint), {}) | _bounds(params, name),
        }
        for name, hint in get_type_hints(params, include_extras=True).items()
    ]


def _bounds(params: type, name: str) -> Schema:
    """Return the limits and the default of a parameter; an answer's field has neither."""
    if params not in _PARAMS:
        return {}
    bounds, defaults = bounds_of(params, name), DEFAULTS.get(params, {})
    limits = {} if bounds is None else {"minimum": bounds[0], "maximum": bounds[1]}
    return limits | ({"default": defaults[name]} if name in defaults else {})


def _reference(kind: type, schemas: Schema) -> Schema:
    name = kind.__name__
    if name not in schemas:
        schemas[name] = {}  # stands while its own fields are looked at
        hints = get_type_hints(kind, include_extras=True)
        required = sorted(kind.__required_keys__, key=list(hints).index)  # type: ignore[attr-defined]
        schemas[name] = {
            "type": "object",
            "description": inspect.getdoc(kind) or "",
            "properties": {field: _schema(hint, schemas) | _bounds(kind, field) for field, hint in hints.items()},
            "required": required,
        }
    return {"$ref": f"#/components/schemas/{name}"}


def _schema(hint: Any, schemas: Schema) -> Schema:
    if get_origin(hint) in {Required, NotRequired}:
        return _schema(get_args(hint)[0], schemas)
    if get_origin(hint) in {Union, UnionType}:
        kinds = [_schema(each, schemas) for each in get_args(hint) if each is not NoneType]
        nullable = NoneType in get_args(hint)
        if len(kinds) == 1 and nullable and isinstance(kinds[0].get("type"), str) and "enum" not in kinds[0]:
            return kinds[0] | {"type": [kinds[0]["type"], "null"]}
        return {"anyOf": kinds + ([{"type": "null"}] if nullable else [])}
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if get_origin(hint) is list:
        return {"type": "array", "items": _schema(get_args(hint)[0], schemas)}
    if is_typeddict(hint):
        return _reference(hint, schemas)
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    return {"type": "object"}
