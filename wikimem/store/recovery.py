"""After a crash: whether a noted write happened, and what becomes of the files that it left.

Runs under the vault's write lock. Decides by bytes alone; whatever cannot be explained goes into the history before
its last name does.
"""

# ruff: noqa: PTH120, PTH208
# Names on disk need not be UTF-8, and every call here is exactly one step.

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from wikimem.store.based_on import bytes_hash
from wikimem.store.exchange import rename_new
from wikimem.store.inplace import is_torn, read_undo, restore_in_place
from wikimem.store.kernel import Kernel
from wikimem.store.leftovers import Leftover, belongs_to, read_leftover
from wikimem.store.lingering import LOOK_AGAIN_S
from wikimem.store.writelog import NotedWrite

_SKIPPED = frozenset({".git", ".obsidian", ".trash"})


@dataclass(slots=True)
class Recovered:
    """What a recovery found.

    `happened` and `undone` are writes that did and did not reach their file, `unclear` those that seem not to have
    but whose file somebody has changed since. `cleared` are leftovers that are gone, `waiting` those that must stay
    for now, with the vault path that they belong to.
    """

    happened: list[NotedWrite] = field(default_factory=list)
    undone: list[NotedWrite] = field(default_factory=list)
    unclear: list[NotedWrite] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)


class Recovery:
    """One recovery.

    `real` gives the absolute path of a vault path, `holds_text` says whether a file has an item of that hash,
    `writes_to` gives the writes to a path that are still noted, `is_journalled` says whether the journal has its line.
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        real: Callable[[str], str],
        keep: Callable[[str, bytes], bool],
        holds_text: Callable[[str, str], bool],
        writes_to: Callable[[str], list[NotedWrite]],
        is_journalled: Callable[[NotedWrite], bool],
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._kernel = kernel
        self._real = real
        self._keep = keep
        self._holds_text = holds_text
        self._writes_to = writes_to
        self._is_journalled = is_journalled
        self._wall = wall
        self.result = Recovered()

    def settle(self, path: str, writes: list[NotedWrite]) -> None:
        """Decide the unfinished writes of one path, oldest first, and clear its leftovers."""
        target = self._real(path)
        folder, name = os.path.split(target)
        for leftover in self._leftovers(folder, lambda one: belongs_to(one, name)):
            if leftover.kind == "undo":
                self._repair(path, target, leftover)
            elif leftover.kind == "tmp":
                self._unlink(f"{folder}/{leftover.name}")
        found = self._hash(target)
        left = [one for one in self._leftovers(folder, lambda one: belongs_to(one, name)) if one.kind in ("new", "old")]
        hashes = {self._hash(f"{one.folder}/{one.name}") for one in left}
        last = max((number for number, write in enumerate(writes) if write.after == found), default=None)
        for number, write in enumerate(writes):
            # The line comes last. With it the write was done, although an editor's old buffer may have undone it since.
            done = (last is not None and number <= last) or self._is_journalled(write)
            if done or (write.before != found and self._guess(write, hashes)):
                self.result.happened.append(write)
            elif write.before == found:
                self.result.undone.append(write)
            else:
                self.result.unclear.append(write)
        for leftover in left:
            self._clear(path, target, leftover)

    def look_at(self, path: str, name: str) -> None:
        """Clear a file that an earlier process left waiting beside the one at `path`."""
        target = self._real(path)
        leftover = read_leftover(os.path.dirname(target), name)
        if leftover is not None and leftover.kind in ("new", "old"):
            self._clear(path, target, leftover)

    def sweep(self, root: str) -> None:
        """Clear every leftover below the resolved root."""
        for folder, folders, names in os.walk(root):
            folders[:] = [one for one in folders if one not in _SKIPPED]
            for name in names:
                leftover = read_leftover(folder, name)
                if leftover is None:
                    continue
                target = f"{folder}/{leftover.target or name}"
                path = os.path.relpath(target, root)
                if leftover.kind == "undo":
                    self._repair(path, target, leftover)
                elif leftover.kind == "tmp":
                    self._unlink(f"{folder}/{name}")
                else:
                    self._clear(path, target, leftover)

    def _guess(self, write: NotedWrite, leftover_hashes: set[str | None]) -> bool:
        """Decide a write when somebody has changed the file since: by what is left, else by the item's own text."""
        if write.before is not None and write.before in leftover_hashes:
            return True  # the old file was displaced
        if write.after is not None and write.after in leftover_hashes:
            return False  # the new file never got its place
        return write.text is not None and self._holds_text(write.path, write.text.hash)

    def _repair(self, path: str, target: str, leftover: Leftover) -> None:
        """Set a file right that was being written in place."""
        name = f"{leftover.folder}/{leftover.name}"
        texts = read_undo(self._read(name) or b"")
        found = self._read(target)
        if texts is not None and leftover.target is not None:
            before, after = texts
            if found is not None and is_torn(found, before, after):
                restore_in_place(self._kernel, target, before)
            elif found not in texts and not self._keep(path, before):
                self.result.waiting[name] = path
                return
        self._unlink(name)

    def _clear(self, path: str, target: str, leftover: Leftover) -> None:
        name = f"{leftover.folder}/{leftover.name}"
        data = self._read(name)
        if data is None:
            return
        if self._may_be_written(name):
            self.result.waiting[name] = path
            return
        digest = bytes_hash(data)
        writes = [one for one in self._writes_to(path) if digest in (one.before, one.after)]
        found = self._read(target) if leftover.target is not None else None
        if found is None and leftover.target is not None and self._belongs_back(leftover, digest, writes):
            try:
                rename_new(self._kernel, name, target)
            except OSError:
                self.result.waiting[name] = path
            else:
                self.result.cleared.append(name)
        elif not data or found == data or writes or self._keep(path, data):
            self._unlink(name)
        else:
            self.result.waiting[name] = path

    def _belongs_back(self, leftover: Leftover, digest: str, writes: list[NotedWrite]) -> bool:
        """Say whether a file without a target is one that was displaced and must not stay away."""
        if any(write.after is None and write.before == digest for write in writes):
            return False  # the removal was meant, and its texts are in the history
        return leftover.kind == "old" or any(write.before == digest for write in writes)

    def _may_be_written(self, name: str) -> bool:
        """Say whether another process of ours, or an editor, may still be at this file."""
        try:
            descriptor = self._kernel.open(name, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return True
        try:
            self._kernel.lease(descriptor, "read")
        except BlockingIOError:
            return True
        except OSError:
            # No leases here: what was displaced less than five seconds ago is still being looked at.
            return self._kernel.fstat(descriptor).st_ctime > self._wall() - LOOK_AGAIN_S
        finally:
            self._kernel.close(descriptor)
        return False

    def _leftovers(self, folder: str, wanted: Callable[[str], bool]) -> Iterator[Leftover]:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return
        for name in filter(wanted, names):
            leftover = read_leftover(folder, name)
            if leftover is not None:
                yield leftover

    def _hash(self, target: str) -> str | None:
        data = self._read(target)
        return None if data is None else bytes_hash(data)

    def _read(self, name: str) -> bytes | None:
        """Return a file's bytes, None when there is none. Raises `OSError` when it is there and cannot be read."""
        try:
            descriptor = self._kernel.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        try:
            return self._kernel.read(descriptor)
        finally:
            self._kernel.close(descriptor)

    def _unlink(self, name: str) -> None:
        with contextlib.suppress(OSError):
            self._kernel.unlink(name)
            self.result.cleared.append(name)
