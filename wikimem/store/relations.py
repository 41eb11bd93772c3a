"""`relations.jsonl` on disk: read when it changed, written as notes are."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Protocol

from wikimem.errors import NotFound
from wikimem.pages.items import content_hash
from wikimem.pages.relations import (
    RELATIONS_FILE,
    Relation,
    drop_relation,
    lines_of,
    put_relation,
    read_relations,
)
from wikimem.store.files import FileRead, Files
from wikimem.store.history import History, PriorText
from wikimem.store.stamps import Stamp, stamp_is_racy
from wikimem.store.writelog import NotedWrite
from wikimem.store.writing import Planned, Writer
from wikimem.text.decoding import decode
from wikimem.text.problems import Problem

__all__ = ["RELATIONS_FILE", "Relation", "RelationsFile", "read_relations"]

Pair = tuple[str, str]


class RelationStore(Protocol):
    """What the manual edges need of a vault's store."""

    disk: Files
    writer: Writer

    @property
    def history(self) -> History:
        """The prior texts."""

    def written_under(self, key: str) -> NotedWrite | None:
        """Return the write that was done under an idempotency key in the last ten minutes."""


class RelationsFile:
    """The manual edges of one vault, written as an item is: noted before, a replaced line kept, refused with 507."""

    def __init__(self, store: RelationStore) -> None:
        self._store = store
        self._files = store.disk
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

    def add(self, relation: Relation, *, idempotency_key: str | None = None) -> Relation:
        """Write a relation, in the place of an earlier one for the same pair.

        Raises `HistoryUnavailable`, `StorageError`, `TryAgain`.
        """
        with self._store.writer.locked():
            if self._before(idempotency_key) is None:
                relation = replace(relation, ts=self._store.writer.now().astimezone(UTC).isoformat(timespec="seconds"))
                self._edit([(_pair(relation), relation)], idempotency_key)
            return next((one for one in self.read() if _pair(one) == _pair(relation)), relation)

    def remove(self, source: str, target: str, *, idempotency_key: str | None = None) -> Relation:
        """Remove a relation and return what it was. Raises `NotFound`, and as `add` does."""
        with self._store.writer.locked():
            found = [one for one in self.read() if _pair(one) == (source, target)]
            self._edit([((source, target), None)], idempotency_key)
            return found[-1] if found else Relation(source, target)

    def removed_under(self, key: str) -> Relation | None:
        """Return the relation whose removal was done under an idempotency key in the last ten minutes."""
        with self._store.writer.locked():
            before = self._before(key)
            if before is None or not before.history:
                return None
            kept = self._store.history.get(before.history[-1])
            return next(iter(read_relations(kept.content.encode())[0]), None)

    def rewrite(self, pairs: Iterable[tuple[Relation, Relation]]) -> None:
        """Put each second relation in the place of the first, in one write. Raises as `add` does."""
        self._edit([(_pair(old), new) for old, new in pairs], None)

    def _before(self, key: str | None) -> NotedWrite | None:
        return self._store.written_under(key) if key else None

    def _edit(self, edits: Sequence[tuple[Pair, Relation | None]], key: str | None) -> None:
        now = self._store.writer.now().isoformat(timespec="seconds")

        def plan(data: bytes | None) -> Planned:
            changed, prior = data or b"", list[PriorText]()
            for pair, relation in edits:
                lines = lines_of(changed, *pair)
                if relation is None and not lines:
                    hint = "list them: `wikimem links`; a link in a note's text is removed in the note"
                    raise NotFound(f"no manual relation leads from {pair[0]} to {pair[1]}", hint=hint)
                if relation is None or pair != _pair(relation):
                    changed = drop_relation(changed, *pair)
                if relation is not None:
                    changed = put_relation(changed, relation)
                prior += [_prior(pair, decode(line), now, removed=relation is None) for line in lines]
            return Planned(changed, prior, address=RELATIONS_FILE)

        self._store.writer.apply(RELATIONS_FILE, plan, key=key)
        self.read()

    def _take(self, read: FileRead) -> None:
        if self._seen is None or self._seen.data != read.data:
            relations, problems = read_relations(read.data)
            self._relations, self.problems = tuple(relations), tuple(problems)
        self._seen = read


def _is_same(seen: FileRead, stamp: Stamp) -> bool:
    """Tell whether a file is still what was read: an equal stamp is trusted only if it was old when it was read."""
    return stamp == seen.stamp and not stamp_is_racy(seen.stamp, seen.read_at_ns)


def _pair(relation: Relation) -> Pair:
    return relation.source, relation.target


def _prior(pair: Pair, line: str, now: str, *, removed: bool) -> PriorText:
    name = f"{pair[0]} -> {pair[1]}"
    digest = content_hash(name, line)
    return PriorText(f"{RELATIONS_FILE}:{name}", name, line, digest, now, "api", "remove" if removed else "update")
