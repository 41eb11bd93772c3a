"""One log for people: the journal's lines and what was seen on disk, in the order in which they happened."""

from collections.abc import Iterable, Sequence
from heapq import merge

from wikimem.errors import InvalidAddress
from wikimem.pages.journal import JournalEntry
from wikimem.store.state import Row, State
from wikimem.text.names import is_day, parse_address

_SEEN = """
SELECT action, address, old_address, ts, cause FROM changes
WHERE cause != 'api' ORDER BY seq DESC LIMIT ?
"""


def merged_journal(own: Sequence[JournalEntry], state: State | None, count: int) -> list[JournalEntry]:
    """Return the last `count` of both, oldest first; within one second what was written here comes first."""
    seen = seen_on_disk(state, count) if state is not None else []
    return in_one_order(own, seen)[-count:] if count > 0 else []


def in_one_order(own: Iterable[JournalEntry], seen: Iterable[JournalEntry]) -> list[JournalEntry]:
    """Merge two logs by time. Each keeps its own order where the clock went back."""
    both = merge(_never_back(own), _never_back(seen), key=lambda pair: pair[0])
    return [entry for _, entry in both]


def seen_on_disk(state: State, count: int) -> list[JournalEntry]:
    """Return the last changes that other programs made, as journal entries; `detail` says how they were noticed."""
    if not state.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'changes'"):
        return []
    return [_entry(row) for row in reversed(state.query(_SEEN, (count,)))]


def _entry(row: Row) -> JournalEntry:
    action, address, old, ts, cause = (None if value is None else str(value) for value in row)
    detail = "seen on disk" if cause == "disk" else "changed while no daemon ran"
    if old is not None:
        detail += f"; was {old}"
    try:
        at = parse_address(address or "")
    except InvalidAddress:
        return JournalEntry(ts or "", action or "", detail=f"{detail}: {address}")
    if is_day(at.category):
        return JournalEntry(ts or "", action or "", date=at.category, time=at.name, detail=detail)
    return JournalEntry(ts or "", action or "", file=at.category, item=at.name, detail=detail)


def _never_back(entries: Iterable[JournalEntry]) -> list[tuple[str, JournalEntry]]:
    latest = ""
    keyed = []
    for entry in entries:
        latest = max(latest, entry.ts)
        keyed.append((latest, entry))
    return keyed
