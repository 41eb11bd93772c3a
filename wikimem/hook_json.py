"""Insert into a JSON text without touching what is there: every other byte stays as the person wrote it. Pure.

The text must be valid JSON already. Positions come from the decoder of the standard library, one member at a time.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_BLANKS = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\n([ \t]+)\S")
_decoder = json.JSONDecoder()


class _Container(NamedTuple):
    """An object or array in the text: where its members end, where it closes, and the members of an object."""

    last_end: int | None
    close: int
    members: dict[str, int]


def insert(text: str, path: Sequence[str], element: Any) -> str:
    """Return the text with `element` appended to the array at `path`; what is missing on the way is made.

    Raises ValueError when something on the way is not of the kind that is needed.
    """
    start, depth = _skip(text, 0), 0
    value: Any = [element]
    rest = list(path)
    while rest:
        if text[start] != "{":
            raise ValueError(f"what holds {rest[0]!r} is no object")
        found = _container(text, start)
        if rest[0] not in found.members:
            for key in reversed(rest[1:]):
                value = {key: value}
            return _append(text, found, depth, f"{json.dumps(rest[0])}: {_rendered(text, value, depth + 1)}")
        start, depth = found.members[rest.pop(0)], depth + 1
    if text[start] != "[":
        raise ValueError(f"{path[-1]!r} is no list")
    return _append(text, _container(text, start), depth, _rendered(text, element, depth + 1))


def _container(text: str, start: int) -> _Container:
    is_object = text[start] == "{"
    members: dict[str, int] = {}
    last_end = None
    position = _skip(text, start + 1)
    while text[position] not in "}]":
        if is_object:
            key, position = _decoder.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
            members[key] = position
        _, last_end = _decoder.raw_decode(text, position)
        position = _skip(text, last_end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return _Container(last_end, position, members)


def _append(text: str, container: _Container, depth: int, member: str) -> str:
    newline = _newline(text)
    unit = _unit(text)
    lead = f"{newline}{unit * (depth + 1)}"
    if container.last_end is not None:
        tail = text[container.last_end : container.close]
        end = tail if "\n" in tail else f"{newline}{unit * depth}"
        return f"{text[: container.last_end]},{lead}{member}{end}{text[container.close :]}"
    opened = text[: container.close].rstrip(" \t\r\n")
    return f"{opened}{lead}{member}{newline}{unit * depth}{text[container.close :]}"


def _rendered(text: str, value: Any, depth: int) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return f"{_newline(text)}{_unit(text) * depth}".join(lines)


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _skip(text: str, position: int) -> int:
    found = _BLANKS.match(text, position)
    return position if found is None else found.end()
