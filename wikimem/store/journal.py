"""The journal: one line of JSON for everything that this program wrote, appended and never rewritten."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from wikimem.pages.journal import JournalEntry, read_lines, render_line
from wikimem.pages.skipped import is_conflict_copy
from wikimem.store.steps import step
from wikimem.text.problems import Problem

FILE_NAME = "journal.jsonl"
_TAIL_BYTES = 65_536


class Journal:
    """The log in one folder: the vault, or the state directory with `[vault] derived = "state"`.

    Written under the vault's write lock only. Copies that a sync tool made of a conflicting version are read as part
    of the log, and never written.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME

    def append(self, entry: JournalEntry) -> None:
        """Add one entry and see it on the disk. Raises `StorageError`."""
        self.append_line(render_line(entry))

    def prepare(self) -> int:
        """Make sure that a line can be appended, and return the size at which it will start. Raises `StorageError`.

        A torn last line is sealed with a newline here, so that nothing is ever joined to it.
        """
        with step(FILE_NAME, "open the journal"):
            descriptor = self._open()
            try:
                size = os.fstat(descriptor).st_size
                if size and os.pread(descriptor, 1, size - 1) != b"\n":
                    size += os.write(descriptor, b"\n")
                return size
            finally:
                os.close(descriptor)

    def append_line(self, line: bytes) -> None:
        """Add one rendered line and see it on the disk. Raises `StorageError`; a part is sealed later."""
        self.prepare()
        with step(FILE_NAME, "append to the journal"):
            descriptor = self._open()
            try:
                written = 0
                while written < len(line):
                    written += os.write(descriptor, line[written:])
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def holds_line(self, line: bytes, since: int) -> bool:
        """Say whether this line was appended at or after a size that the file once had."""
        try:
            with self.path.open("rb") as file:
                if file.seek(0, os.SEEK_END) >= since:
                    file.seek(since)
                else:
                    file.seek(0)  # somebody cut or replaced the log: all of it may be newer
                return line in file.read()
        except FileNotFoundError:
            return False

    def entries(self) -> tuple[list[JournalEntry], list[Problem]]:
        """Return every line that can be read, oldest first, and what is wrong with the others.

        A line of a conflict copy counts once when both have it.
        """
        own, problems = self._read(self.path)
        copies = list(self._conflict_copies())
        if not copies:
            return own, problems
        known = Counter(own)
        merged = list(own)
        for path in copies:
            found, more = self._read(path)
            problems += more
            extra = Counter(found) - known
            known |= Counter(found)
            merged += list(_first_of_each(found, extra))
        return sorted(merged, key=lambda entry: entry.ts), problems

    def tail(self, count: int) -> list[JournalEntry]:
        """Return the last entries, oldest first."""
        if count <= 0:
            return []
        if any(True for _ in self._conflict_copies()):
            return self.entries()[0][-count:]
        size = _TAIL_BYTES
        while True:
            data, whole = self._end(size)
            found, _ = read_lines(data)
            if whole or len(found) >= count:
                return found[-count:]
            size *= 4

    def _end(self, size: int) -> tuple[bytes, bool]:
        """Return the last whole lines within so many bytes, and whether that is everything."""
        try:
            with self.path.open("rb") as file:
                total = file.seek(0, os.SEEK_END)
                file.seek(max(0, total - size))
                data = file.read()
        except FileNotFoundError:
            return b"", True
        return (data, True) if total <= size else (data.partition(b"\n")[2], False)

    def _read(self, path: Path) -> tuple[list[JournalEntry], list[Problem]]:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return [], []
        entries, problems = read_lines(data)
        return list(entries), list(problems)

    def _conflict_copies(self) -> Iterator[Path]:
        try:
            names = sorted(os.listdir(self.path.parent))  # noqa: PTH208 - only the names
        except OSError:
            return
        for name in names:
            if name.startswith("journal") and name.endswith(".jsonl") and is_conflict_copy(name):
                yield self.path.parent / name

    def _open(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _first_of_each(entries: Iterable[JournalEntry], counts: Counter[JournalEntry]) -> Iterator[JournalEntry]:
    left = Counter(counts)
    for entry in entries:
        if left[entry] > 0:
            left[entry] -= 1
            yield entry
