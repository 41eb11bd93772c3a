"""A file's version by its `stat`: when it may be trusted and when the bytes must be asked."""

import os
from dataclasses import dataclass

RACY_NS = 2_000_000_000
FAT_RACY_NS = 4_000_000_000


@dataclass(frozen=True, slots=True)
class Stamp:
    """What `fstat` says about a file's version. Equal stamps mean equal bytes only when the stamp is not racy."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int


def stamp_of(found: os.stat_result) -> Stamp:
    """Return the stamp in what `stat` answered."""
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def stamp_is_racy(stamp: Stamp, read_at_ns: int, *, racy_ns: int = RACY_NS) -> bool:
    """Say whether a later write could have left this stamp unchanged.

    Before kernel 6.13, and on many file systems still, stamps move in steps of up to 10 ms (FAT: 2 s, so pass
    `FAT_RACY_NS`): a file that changed just before it was read may change again under one stamp. `ctime` counts,
    because `utimes` sets the other one back. A clock that was set back leaves stamps of the future: those prove
    nothing either.
    """
    return stamp.ctime_ns > read_at_ns - racy_ns
