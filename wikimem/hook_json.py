"""Insert into a JSON text, and take out again, without touching what is there: every other byte stays. Pure.

The text must be valid JSON already. Positions come from the decoder of the standard library, one member at a time.
"""

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_BLANKS = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\n([ \t]+)\S")
_decoder = json.JSONDecoder()


class _Member(NamedTuple):
    """A member of an object or array: its key or index, and where it, its value and its end are."""

    key: str | int
    start: int
    value: int
    end: int


class _Container(NamedTuple):
    """An object or array in the text: behind its opening bracket, its members, at its closing one."""

    inside: int
    members: list[_Member]
    close: int

    def find(self, key: str | int) -> _Member | None:
        """Return the member that a reader of the file takes: of a key that stands twice the last one."""
        return next((one for one in reversed(self.members) if one.key == key), None)


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
        container = _container(text, start)
        found = container.find(rest[0])
        if found is None:
            for key in reversed(rest[1:]):
                value = {key: value}
            return _append(text, container, depth, f"{json.dumps(rest[0])}: {_rendered(text, value, depth + 1)}")
        start, depth = found.value, depth + 1
        rest.pop(0)
    if text[start] != "[":
        raise ValueError(f"{path[-1]!r} is no list")
    return _append(text, _container(text, start), depth, _rendered(text, element, depth + 1))


def remove(text: str, path: Sequence[str | int]) -> str:
    """Return the text without the member at `path`, and without what only held it.

    What `insert` added beside something is taken out to the byte. Raises LookupError when nothing
    is there.
    """
    start = _skip(text, 0)
    taken: tuple[_Container, _Member] | None = None
    for key in path:
        container = _container(text, start)
        member = container.find(key)
        if member is None:
            raise LookupError(key)
        if taken is None or len(container.members) > 1:
            taken = (container, member)
        start = member.value
    if taken is None:
        raise LookupError("the whole text")
    return _without(text, *taken)


def _without(text: str, container: _Container, member: _Member) -> str:
    at = container.members.index(member)
    if at:
        return text[: container.members[at - 1].end] + text[member.end :]
    if len(container.members) > 1:
        return text[: member.start] + text[container.members[1].start :]
    return text[: container.inside] + text[container.close :]


def _container(text: str, start: int) -> _Container:
    is_object = text[start] == "{"
    members: list[_Member] = []
    position = _skip(text, start + 1)
    while text[position] not in "}]":
        key: str | int = len(members)
        value = position
        if is_object:
            key, after = _decoder.raw_decode(text, position)
            value = _skip(text, _skip(text, after) + 1)
        _, end = _decoder.raw_decode(text, value)
        members.append(_Member(key, position, value, end))
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return _Container(start + 1, members, position)


def _append(text: str, container: _Container, depth: int, member: str) -> str:
    newline = _newline(text)
    unit = _unit(text)
    lead = f"{newline}{unit * (depth + 1)}"
    if container.members:
        last_end = container.members[-1].end
        tail = text[last_end : container.close]
        end = tail if "\n" in tail else f"{newline}{unit * depth}"
        return f"{text[:last_end]},{lead}{member}{end}{text[container.close :]}"
    opened = text[: container.close].rstrip(" \t\r\n")
    return f"{opened}{lead}{member}{newline}{unit * depth}{text[container.close :]}"


def _rendered(text: str, value: Any, depth: int) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return f"{_newline(text)}{_unit(text) * depth}".join(lines)


def _unit(text: str) -> str:
    found = _INDENT.findall(text)
    if not found or "\t" in found[0]:
        return found[0][:1] if found else "  "
    # The first one may be of a line deep inside. A line that was indented by eye leaves no common width.
    common = math.gcd(*map(len, found))
    return " " * common if common > 1 else found[0]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _skip(text: str, position: int) -> int:
    found = _BLANKS.match(text, position)
    return position if found is None else found.end()
