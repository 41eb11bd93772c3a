"""Symbolic links in the vault: followed once inside it, not read outside it, loops and dangling ones named."""

from dataclasses import dataclass
from typing import Literal

from wikimem.text.problems import Problem
from wikimem_daemon.disk import Disk, Kind

Follow = Literal["folder", "file", "no"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """What to do with a link: `follow` it as a folder or a file whose real path is `inside`, or not."""

    follow: Follow
    inside: str = ""
    problem: Problem | None = None


class Symlinks:
    """Decides about links. `serves` says whether a real path of the vault is read under its own name anyway."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._taken: dict[str, str] = {}

    def resolve(self, path: str, *, served_itself: bool | None = None) -> Resolved:
        """Decide about one link. `served_itself`: its target is read under its own name."""
        target = self._disk.target(path)
        if target.loop:
            return Resolved(
                "no", problem=Problem("link-loop", 0, f"the link leads back to {target.shown}", "remove the link")
            )
        if target.kind == Kind.MISSING:
            message = f"the link's target {target.shown} does not exist"
            return Resolved("no", problem=Problem("link-dangling", 0, message, "restore the target or remove the link"))
        if target.inside is None:
            message = f"the link leads out of the vault, to {target.shown}; it is not read"
            return Resolved("no", problem=Problem("link-outside", 0, message, "move the notes into the vault"))
        if served_itself or target.kind == Kind.SPECIAL:
            return Resolved("no")
        holder = self._taken.setdefault(target.inside, path)
        if holder != path:
            return Resolved("no")
        return Resolved("folder" if target.kind == Kind.FOLDER else "file", target.inside)

    def inside(self, path: str) -> str | None:
        """Return where a link leads, relative to the root; None when not into the vault."""
        return self._disk.target(path).inside

    def forget(self, path: str) -> None:
        """Let another link to the same target be followed."""
        self._taken = {target: link for target, link in self._taken.items() if link != path}
