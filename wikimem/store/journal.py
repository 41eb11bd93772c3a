"""The journal: one line of JSON for everything that this program wrote, appended and never rewritten."""

import os
from pathlib import Path

from wikimem.errors import StorageError
from wikimem.pages.journal import JournalEntry, read_lines, render_line
from wikimem.text.problems import Problem

FILE_NAME = "journal.jsonl"


class Journal:
    """The log in one folder: the vault, or the state directory with `[vault] derived = "state"`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME

    def append(self, entry: JournalEntry) -> None:
        """Add one line and see it on the disk. A torn last line is sealed with a newline, never joined.

        Raises `StorageError`.
        """
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                seal = b"" if _ends_whole(descriptor) else b"\n"
                _write_all(descriptor, seal + render_line(entry))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise StorageError(
                f"{self.path}: append to the journal: {error.strerror}",
                path=str(self.path),
                step="append to the journal",
            ) from error

    def entries(self) -> tuple[list[JournalEntry], list[Problem]]:
        """Return every line that can be read, in order, and what is wrong with the others."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return [], []
        entries, problems = read_lines(data)
        return list(entries), list(problems)

    def tail(self, count: int) -> list[JournalEntry]:
        """Return the last entries, oldest first."""
        return self.entries()[0][-count:] if count > 0 else []


def _ends_whole(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
