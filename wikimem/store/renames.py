"""What the change feed knows about renames: under which address each item is now that once had another one."""

from collections.abc import Iterable
from pathlib import Path

from wikimem.pages.changes import Change
from wikimem.store.changes import SCHEMA, ChangeTable
from wikimem.store.state import State

_BATCH = 10_000


def follow_renames(changes: Iterable[Change]) -> dict[str, str]:
    """Return the newest address by old address; an address that was given to a new item leads nowhere else."""
    now: dict[str, str] = {}
    for change in changes:
        if change.action == "add":
            now.pop(change.address, None)
        elif change.action == "rename" and change.old_address is not None:
            old, new = change.old_address, change.address
            for first, last in now.items():
                if last == old:
                    now[first] = new
            now[old] = new
            now.pop(new, None)
    return now


def known_renames(state_file: Path) -> dict[str, str]:
    """Return the renames that the state in this file has kept; none when there is no such file.

    Raises `HistoryUnavailable` when it cannot be read.
    """
    if not state_file.exists():
        return {}
    with State(state_file, SCHEMA) as state:
        return follow_renames(_all_changes(ChangeTable(state)))


def _all_changes(table: ChangeTable) -> Iterable[Change]:
    seq = 0
    while rows := table.since(seq, _BATCH):
        for row in rows:
            yield row.change
        seq = rows[-1].seq
