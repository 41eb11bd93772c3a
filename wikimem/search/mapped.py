"""Large arrays in memory mappings of their own.

The C library raises its threshold for mapping up to 32 MB as large blocks are freed; from then on arrays of tens of
megabytes lie in the heap, and what a merge frees stays resident between smaller blocks: 100 MB of 600 at 100,000
items. A mapping goes back to the system when its array is dropped.
"""

import ctypes
import mmap
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

_SMALL = 1 << 20
_M_ARENA_MAX = -8  # malloc.h


def allocate(count: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an array of `count` elements whose values are arbitrary."""
    dtype = np.dtype(kind)
    size = count * dtype.itemsize
    if size < _SMALL or not hasattr(mmap, "MAP_PRIVATE"):
        return np.empty(count, dtype)
    block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(block, dtype, count)


def give_back() -> None:
    """Have the C library return free memory to the system, where it can (glibc): for after a merge or build."""
    _trimmer()()


def one_heap() -> None:
    """Have all threads allocate from one heap, where the C library can be told (glibc): before there are threads.

    A heap for each thread would keep what its work left free: 6 MB of 130 at 10,000 items.
    """
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


@cache
def _trimmer() -> Callable[[], object]:
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return lambda: None
    # A call through ctypes gives the interpreter's lock away: other threads go on meanwhile.
    return lambda: trim(0)
