"""Symbolic links in the vault: followed once inside it, not read outside it, loops and dangling ones named."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Literal

from wikimem.text.problems import Problem
from wikimem_daemon.disk import DiskView, Kind, Target

Follow = Literal["folder", "file", "no"]


class Symlinks:
    """Decides about links. `is_read_anyway` says whether a real path of the vault is read under its own name."""

    def __init__(self, disk: DiskView, is_read_anyway: Callable[[str, Kind], bool]) -> None:
        self._disk = disk
        self._is_read_anyway = is_read_anyway
        # Which link a target is read by, and the reverse. Some vaults are made of thousands of links.
        self._taken: dict[str, str] = {}
        self._targets: dict[str, str] = {}
        self._in_folder: defaultdict[str, set[str]] = defaultdict(set)
        self.problems: dict[str, Problem] = {}

    def resolve(self, path: str) -> Follow:
        """Decide about the link at `path`: read it as a folder, as a file, or not at all."""
        self.forget(path)
        target = self._disk.target(path)
        if target.kind == Kind.MISSING and not target.shown:
            return "no"  # the link itself is gone
        self._in_folder[path.rpartition("/")[0]].add(path)
        problem = _problem(target)
        if problem is not None:
            self.problems[path] = problem
            return "no"
        inside = target.inside or ""
        if target.kind == Kind.SPECIAL or self._is_read_anyway(inside, target.kind) or self._is_taken(inside):
            return "no"
        self._taken[inside] = path
        self._targets[path] = inside
        return "folder" if target.kind == Kind.FOLDER else "file"

    def knows(self, path: str) -> bool:
        """Say whether there was a link at `path`."""
        return path in self.problems or path in self._targets

    def target_of(self, path: str) -> str | None:
        """Return the real path, relative to the root, that a followed link leads to."""
        return self._targets.get(path)

    def is_below_link(self, folder: str) -> bool:
        """Say whether a folder is reached through a followed link."""
        return any(one in self._targets for one in _with_parents(folder))

    def forget(self, path: str) -> None:
        """Let another link to the same target be followed."""
        self.problems.pop(path, None)
        inside = self._targets.pop(path, None)
        if inside is not None:
            del self._taken[inside]
        self._in_folder[path.rpartition("/")[0]].discard(path)

    def prune(self, folder: str, names: frozenset[str]) -> None:
        """Forget the links of a folder that are not among its names."""
        if folder not in self._in_folder:
            return
        for path in list(self._in_folder[folder]):
            if path.rpartition("/")[2] not in names:
                self.forget(path)
        if not self._in_folder[folder]:
            del self._in_folder[folder]

    def _is_taken(self, inside: str) -> bool:
        return any(one in self._taken for one in _with_parents(inside))


def _with_parents(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def _problem(target: Target) -> Problem | None:
    if target.loop:
        return Problem("link-loop", 0, f"the link leads back to {target.shown}", "remove the link")
    if target.kind == Kind.MISSING:
        message = f"the link's target {target.shown} does not exist"
        return Problem("link-dangling", 0, message, "restore the target or remove the link")
    if target.inside is None:
        message = f"the link leads out of the vault, to {target.shown}; it is not read"
        return Problem("link-outside", 0, message, "move the notes into the vault")
    return None
