"""How a parent and the child that builds for it talk: a line of JSON, then arrays and blobs, over two pipes."""

import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from wikimem.search.mapped import allocate

# Read once, at import: what is installed later is another version than this process runs.
VERSION = version("wikimem")
# Raised whenever what is sent means something else.
FORMAT = 1
_PIECE = 1 << 20


class ChildFailed(Exception):
    """The other side ended early, or said something that makes no sense."""


class Writable(Protocol):
    """A raw pipe's end: it may take less than it is given."""

    def write(self, data: Any, /) -> int | None:
        """Write some of the data and return how much."""


class Readable(Protocol):
    """The other end: it may give less than is asked for."""

    def read(self, size: int, /) -> bytes | None:
        """Read some bytes."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of either side."""

    version: str
    texts: int = 0
    capacity: int = 0
    rows: int = 0
    total: int = 0
    blob: int = 0

    @classmethod
    def here(cls, **counts: int) -> "Header":
        """Return a header of this process's version."""
        return cls(f"{VERSION}/{FORMAT}", **counts)


def write_header(pipe: Writable, header: Header) -> None:
    """Write the first line."""
    write_all(pipe, json.dumps(asdict(header)).encode() + b"\n")


def read_header(pipe: Readable) -> Header:
    """Read the first line. Raises `ChildFailed`."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = pipe.read(1)
        if not byte or len(line) > 10_000:
            raise ChildFailed("the other side said nothing")
        line += byte
    try:
        return Header(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise ChildFailed(f"no header: {bytes(line[:100])!r}") from error


def write_array(pipe: Writable, array: npt.NDArray[Any]) -> None:
    """Write an array of one dimension."""
    write_all(pipe, json.dumps([array.dtype.str, len(array)]).encode().ljust(64))
    write_all(pipe, np.ascontiguousarray(array).view(np.uint8).data if len(array) else b"")


def read_array(pipe: Readable) -> npt.NDArray[Any]:
    """Read an array. Raises `ChildFailed`."""
    kind, length = json.loads(bytes(read_exactly(pipe, 64)))
    array = allocate(length, kind)
    if length:
        _fill(pipe, memoryview(array.view(np.uint8).data))
    return array


def read_exactly(pipe: Readable, size: int) -> bytes:
    """Read so many bytes. Raises `ChildFailed` when there are fewer."""
    buffer = bytearray(size)
    _fill(pipe, memoryview(buffer))
    return bytes(buffer)


def write_all(pipe: Writable, data: Any) -> None:
    """Write all of the data, a piece at a time."""
    view = memoryview(data)
    while view:
        view = view[pipe.write(view[:_PIECE]) or 0 :]


def _fill(pipe: Readable, view: memoryview) -> None:
    while len(view):
        piece = pipe.read(min(len(view), _PIECE))
        if not piece:
            raise ChildFailed("the other side ended early")
        view[: len(piece)] = piece
        view = view[len(piece) :]
