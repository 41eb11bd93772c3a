"""The journal: one line of JSON for everything that this program wrote, appended and never rewritten."""

import errno
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from wikimem.pages.journal import JournalEntry, read_lines, render_line
from wikimem.pages.skipped import is_conflict_copy
from wikimem.store.steps import failed, step
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
            # A sync tool that brings the other side's log over replaces the file, and a line in the old one is gone.
            while not self._append(line):
                pass

    def _append(self, line: bytes) -> bool:
        """Add a line; say whether the file that took it is still the one of that name."""
        descriptor = self._open()
        try:
            written = 0
            while written < len(line):
                written += os.write(descriptor, line[written:])
            os.fsync(descriptor)
            try:
                return os.path.samestat(os.fstat(descriptor), self.path.lstat())
            except FileNotFoundError:
                return False
        finally:
            os.close(descriptor)

    def holds_line(self, line: bytes, since: int) -> bool:
        """Say whether this line was appended at or after a size that the file once had."""
        try:
            with _reader(self.path) as file:
                if file.seek(0, os.SEEK_END) >= since:
                    file.seek(since)
                else:
                    file.seek(0)  # somebody cut or replaced the log: all of it may be newer
                return line in file.read().replace(b"\r\n", b"\n")  # an editor or git may have turned its line ends
        except FileNotFoundError:
            return False

    def entries(self) -> tuple[list[JournalEntry], list[Problem]]:
        """Return every line that can be read, oldest first, and what is wrong with the others.

        A line of a conflict copy counts once when both have it.
        """
        own, problems = self._read(self.path)
        others = [self._read(path) for path in self._conflict_copies()]
        return _one_log(own, (found for found, _ in others)), problems + [one for _, more in others for one in more]

    def tail(self, count: int) -> list[JournalEntry]:
        """Return the last entries, oldest first."""
        if count <= 0:
            return []
        own = self._tail_of(self.path, count)
        return _one_log(own, (self._tail_of(path, count) for path in self._conflict_copies()))[-count:]

    def _tail_of(self, path: Path, count: int) -> list[JournalEntry]:
        size = _TAIL_BYTES
        while True:
            data, whole = self._end(path, size)
            found, _ = read_lines(data)
            if whole or len(found) >= count:
                return found[-count:]
            size *= 4

    def _end(self, path: Path, size: int) -> tuple[bytes, bool]:
        """Return the last whole lines within so many bytes, and whether that is everything."""
        try:
            with _reader(path) as file:
                total = file.seek(0, os.SEEK_END)
                file.seek(max(0, total - size))
                data = file.read()
        except FileNotFoundError:
            return b"", True
        return (data, True) if total <= size else (data.partition(b"\n")[2], False)

    def _read(self, path: Path) -> tuple[list[JournalEntry], list[Problem]]:
        try:
            with _reader(path) as file:
                return read_lines(file.read())
        except FileNotFoundError:
            return [], []

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
        return _open_plain(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)


def _reader(path: Path) -> BinaryIO:
    """Open a log to be read. Raises `FileNotFoundError`, and `StorageError` for one that cannot be read."""
    try:
        return os.fdopen(_open_plain(path, os.O_RDONLY), "rb")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise failed(path.name, "read the journal", error) from error


def _open_plain(path: Path, flags: int) -> int:
    """Open a plain file, and nothing that a synced vault may have put in its place.

    A link could lead our lines into any file of the user's, and a FIFO would keep us waiting, the vault's lock held.
    """
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(error.errno, "it is a symbolic link, and the journal must be a file", str(path)) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    return descriptor


def _one_log(own: list[JournalEntry], copies: Iterable[list[JournalEntry]]) -> list[JournalEntry]:
    """Merge the log with its conflict copies by time; a line that several have counts once."""
    known, merged = Counter(own), list(own)
    for found in copies:
        extra = Counter(found) - known
        known |= Counter(found)
        merged += _first_of_each(found, extra)
    return merged if len(merged) == len(own) else sorted(merged, key=lambda entry: entry.ts)


def _first_of_each(entries: Iterable[JournalEntry], counts: Counter[JournalEntry]) -> Iterator[JournalEntry]:
    left = Counter(counts)
    for entry in entries:
        if left[entry] > 0:
            left[entry] -= 1
            yield entry
