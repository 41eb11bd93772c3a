"""`relations.jsonl` on disk: read when it changed, written through the vault's files under its write lock."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime

from wikimem.errors import NotFound, TryAgain
from wikimem.pages.relations import (
    RELATIONS_FILE,
    Relation,
    drop_relation,
    put_relation,
    read_relations,
)
from wikimem.store.files import FileRead, Files, Stale, Stamp, stamp_is_racy
from wikimem.text.problems import Problem

__all__ = ["RELATIONS_FILE", "Relation", "RelationsFile", "read_relations"]

MAX_REDOS = 100


class RelationsFile:
    """The manual edges of one vault. `locked` holds the vault's write lock for one write."""

    def __init__(
        self, files: Files, locked: Callable[[], AbstractContextManager[None]], now: Callable[[], datetime]
    ) -> None:
        self._files = files
        self._locked = locked
        self._now = now
        self._seen: FileRead | None = None
        self._relations: tuple[Relation, ...] = ()
        self.problems: tuple[Problem, ...] = ()

    def read(self) -> tuple[Relation, ...]:
        """Return the relations as they are on disk now; the same tuple as long as the file is the same.

        A file that cannot be read keeps the last good answer and is named in `problems`; a missing one has none.
        """
        try:
            stamp = self._files.stamp(RELATIONS_FILE)
            if self._seen is None or not _is_same(self._seen, stamp):
                self._take(self._files.read(RELATIONS_FILE))
        except FileNotFoundError:
            self._seen, self._relations, self.problems = None, (), ()
        except OSError as error:
            message = f"{RELATIONS_FILE} cannot be read: {error.strerror}"
            self.problems = (Problem("unreadable", 0, message, "make it readable for you"),)
        return self._relations

    def add(self, relation: Relation) -> Relation:
        """Write a relation, in the place of an earlier one for the same pair. Raises `StorageError`, `TryAgain`."""
        written = replace(relation, ts=self._now().astimezone(UTC).isoformat(timespec="seconds"))
        self._edit(lambda data: put_relation(data, written))
        return next((one for one in self.read() if _pair(one) == _pair(written)), written)

    def remove(self, source: str, target: str) -> Relation:
        """Remove a relation and return what it was. Raises `NotFound`, `StorageError`, `TryAgain`."""
        removed: list[Relation] = []

        def drop(data: bytes) -> bytes:
            removed[:] = [one for one in read_relations(data)[0] if _pair(one) == (source, target)]
            if not removed:
                hint = "list them: `wikimem links`; a link in a note's text is removed in the note"
                raise NotFound(f"no manual relation leads from {source} to {target}", hint=hint)
            return drop_relation(data, source, target)

        self._edit(drop)
        return removed[0]

    def _edit(self, change: Callable[[bytes], bytes]) -> None:
        with self._locked():
            for _ in range(MAX_REDOS):
                current = self._current()
                data = current.data if current is not None else b""
                changed = change(data)
                if changed == data:
                    return
                try:
                    self._files.write(RELATIONS_FILE, changed, based_on=current.hash if current is not None else None)
                except Stale:
                    continue
                self.read()
                return
        message = f"{RELATIONS_FILE} changes faster than it can be written"
        raise TryAgain(message, hint="close it in the other program, try again")

    def _current(self) -> FileRead | None:
        try:
            return self._files.read(RELATIONS_FILE)
        except FileNotFoundError:
            return None

    def _take(self, read: FileRead) -> None:
        if self._seen is None or self._seen.data != read.data:
            relations, problems = read_relations(read.data)
            self._relations, self.problems = tuple(relations), tuple(problems)
        self._seen = read


def _is_same(seen: FileRead, stamp: Stamp) -> bool:
    """Tell whether a file is still what was read: an equal stamp is trusted only if it was old when it was read."""
    return stamp == seen.stamp and not stamp_is_racy(seen.stamp, seen.read_at_ns)


def _pair(relation: Relation) -> tuple[str, str]:
    return relation.source, relation.target
