"""Noticing that the disk changed: the port, what it says, and how an adapter is chosen.

An event means "look at this path again" and never more: kinds, order and counts differ by kernel, editor and file
system, so only what the disk shows decides. Paths are relative to the vault's root, with `/`, as `os.fsdecode` gives.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

Mode = Literal["inotify", "native", "polling"]


@dataclass(frozen=True, slots=True)
class Observation:
    """What one drain of the watcher brought, in the order in which it was first seen, each path once.

    `paths` are to be looked at again, `folders` to be listed again with all below. `overflow`: events were lost, so
    only a comparison of everything helps. `root_lost`: the root was removed, moved away or unmounted.
    """

    paths: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    overflow: bool = False
    root_lost: bool = False

    def __bool__(self) -> bool:
        """Say whether there is anything to do."""
        return bool(self.paths or self.folders or self.overflow or self.root_lost)


class Watcher(Protocol):
    """A source of observations. Not thread-safe: the event loop's thread owns it.

    `exact`: a drained queue holds every write that finished before the drain, so a drain is enough for a fresh
    answer; otherwise only a comparison with the disk is. `writing` are the files that somebody has open for writing
    as far as the watcher knows, with the monotonic time of the last write seen.
    """

    @property
    def mode(self) -> Mode:
        """Return what `status` shows."""

    @property
    def exact(self) -> bool:
        """Say whether a drain is as good as a comparison."""

    @property
    def writing(self) -> Mapping[str, float]:
        """Return the files with an open writer."""

    @property
    def watches(self) -> int:
        """How many kernel watches are held (0 where the adapter does not know)."""

    def start(self) -> None:
        """Begin; raises `OSError` when the root cannot be watched, `CannotWatch` when the kernel has no more."""

    def enter(self, folder: str) -> None:
        """Watch a folder. Called before the folder is listed, so that nothing falls between the two.

        Raises `OSError` when the folder is gone or cannot be read, `CannotWatch` when there are no watches left.
        """

    def follow(self, path: str, target: str) -> None:
        """Watch a file behind a symlink: a write to `target` (relative to the root) is reported as `path`."""

    def watch_file(self, path: str) -> bool:
        """Watch a file that has several names: a write through another one raises no event in its folder.

        Returns true when it was not watched yet; then it has to be looked at again.
        """

    def keep_only(self, folders: set[str]) -> None:
        """Let go of every watch on a folder that a comparison of everything did not meet."""

    def forget_writing(self, path: str) -> None:
        """Stop taking `path` for a file with an open writer: it has been quiet for long enough."""

    def drain(self) -> Observation:
        """Take everything that is queued now, without waiting."""

    def attach(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        """Call `wake` on the loop's thread when there is something to drain."""

    def close(self) -> None:
        """Let go of everything. Safe to call twice."""


class CannotWatch(OSError):
    """A place cannot be watched so that every write is seen: `reason` says why, `hint` what to do about it.

    `passing`: it may be possible later.
    """

    def __init__(self, reason: str, hint: str, *, passing: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
        self.passing = passing


def watches_exhausted(setting: str) -> CannotWatch:
    """Return what is raised when a limit of the kernel is used up; `setting` is the one to raise."""
    return CannotWatch(
        f"the kernel has no inotify watches left ({setting})",
        f"raise it, for example: sudo sysctl {setting}=524288; the daemon tries again by itself",
        passing=True,
    )
