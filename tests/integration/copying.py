"""A loop that keeps two folders equal, as a sync tool does: whole files, old times, conflict copies, no locks."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from wikimem.store.kernel import Kernel

State = dict[str, str]


def tree(root: Path) -> State:
    """Return the hash of every file; one that vanishes meanwhile is not there."""
    found: State = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            if name.startswith(".syncing-"):
                continue
            try:
                found[str(path.relative_to(root))] = hashlib.sha256(path.read_bytes()).hexdigest()
            except FileNotFoundError:
                continue
    return found


@dataclass(slots=True)
class CopyingLoop:
    """Two roots and what they agreed on last."""

    one: Path
    other: Path
    agreed: State = field(default_factory=dict)
    conflicts: int = 0

    def step(self) -> int:
        """Look once and copy what changed; return how many files were touched."""
        mine, theirs = tree(self.one), tree(self.other)
        touched = 0
        for path in sorted({*mine, *theirs, *self.agreed}):
            left, right, last = mine.get(path), theirs.get(path), self.agreed.get(path)
            if left == right:
                self._agree(path, left)
            elif right == last:
                touched += self._carry(path, self.one, self.other, left, right)
            elif left == last:
                touched += self._carry(path, self.other, self.one, right, left)
            elif left is None or right is None:
                # Deleted here and changed there: the change wins.
                source, target = (self.other, self.one) if left is None else (self.one, self.other)
                touched += self._carry(path, source, target, left or right, None)
            else:
                touched += self._conflict(path, left, right)
        return touched

    def _agree(self, path: str, digest: str | None) -> None:
        if digest is None:
            self.agreed.pop(path, None)
        else:
            self.agreed[path] = digest

    def _carry(self, path: str, source: Path, target: Path, wanted: str | None, replaced: str | None) -> int:
        """Bring one file over, if both sides are still as they were seen."""
        if wanted is None:
            if _digest(target / path) != replaced or _digest(source / path) is not None:
                return 0
            (target / path).unlink(missing_ok=True)
            self._agree(path, None)
            return 1
        temporary = (target / path).with_name(f".syncing-{(target / path).name}")
        temporary.parent.mkdir(parents=True, exist_ok=True)
        try:
            data, stamp = (source / path).read_bytes(), (source / path).stat()
        except FileNotFoundError:
            return 0  # a temporary file of somebody's save, say: the next look tells
        temporary.write_bytes(data)
        os.utime(temporary, ns=(stamp.st_mtime_ns, stamp.st_mtime_ns))
        if hashlib.sha256(data).hexdigest() != wanted or _digest(target / path) != replaced:
            temporary.unlink()
            return 0
        if replaced is None:
            temporary.replace(target / path)
        else:
            Kernel().exchange(str(temporary), str(target / path))
            if _digest(temporary) != replaced:  # written between the look and the exchange: nothing may be lost by us
                self._put_aside(path, target, temporary.read_bytes())
            temporary.unlink()
        self._agree(path, wanted)
        return 1

    def _conflict(self, path: str, left: str, right: str) -> int:
        """Both changed: the newer one keeps the name, the other one becomes a conflict copy on its own side.

        The name is never missing in between: a program that wrote then would begin a new note.
        """
        try:
            newer_is_left = (self.one / path).stat().st_mtime_ns >= (self.other / path).stat().st_mtime_ns
            winner, loser = (self.one, self.other) if newer_is_left else (self.other, self.one)
            kept = (loser / path).read_bytes()
        except FileNotFoundError:
            return 0
        wanted, replaced = (left, right) if newer_is_left else (right, left)
        if hashlib.sha256(kept).hexdigest() != replaced or _digest(winner / path) != wanted:
            return 0
        self._put_aside(path, loser, kept)
        return 1 + self._carry(path, winner, loser, wanted, replaced)

    def _put_aside(self, path: str, side: Path, data: bytes) -> None:
        self.conflicts += 1
        stem, dot, suffix = Path(path).name.rpartition(".")
        copy = (side / path).with_name(f"{stem}.sync-conflict-20260721-{self.conflicts:06}-ABCDEFG{dot}{suffix}")
        copy.write_bytes(data)


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
