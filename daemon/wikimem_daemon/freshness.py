"""What the reconciler says about itself: how fresh an answer is, and how the disk is watched."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from wikimem.api.protocol import DegradedPart
from wikimem.text.problems import Problem

SHOWN = 20


@dataclass(frozen=True, slots=True)
class Degraded:
    """One thing that keeps answers from being fresh or whole, and what to do about it."""

    code: str
    detail: str
    hint: str

    def body(self) -> DegradedPart:
        """Return it as answers say it."""
        return {"code": self.code, "detail": self.detail, "hint": self.hint}


@dataclass(frozen=True, slots=True)
class Freshness:
    """Whether an answer given now holds every write that finished before it was asked for, and if not, why."""

    fresh: bool
    partial: bool
    degraded: tuple[Degraded, ...]
    cursor: str


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """How the disk is watched.

    `mode` is `inotify`, `native`, `polling` or `none`; `fallback` says why it is not the best one, `hint` what to do
    about that. `compared_at` is when disk and index were last compared in full, `compared_by` what asked for it.
    `pending` is the work on the list, `removals_waiting` counts removals whose grace period is not over.
    """

    mode: str
    compared_at: str | None
    compared_by: str | None
    partial: bool
    fallback: str = ""
    hint: str = ""
    watches: int = 0
    files: int = 0
    pending: int = 0
    comparisons: int = 0
    comparisons_without_change: int = 0
    looks: int = 0
    removals_waiting: int = 0
    degraded: tuple[Degraded, ...] = ()
    problems: tuple[tuple[str, Problem], ...] = field(default=())


def shorten(degraded: Sequence[Degraded]) -> tuple[Degraded, ...]:
    """Return the first of many, with one line for the rest: an unmounted disk makes every file of it one."""
    if len(degraded) <= SHOWN:
        return tuple(degraded)
    rest = len(degraded) - SHOWN
    more = Degraded("more", f"{rest} more places are not read", "see the problems in `wikimem status`")
    return (*degraded[:SHOWN], more)
