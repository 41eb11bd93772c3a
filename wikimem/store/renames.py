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


def saved_changes(state_file: Path) -> tuple[list[Change], str | None]:
    """Return the changes that the state in this file has kept, and the feed's cursor after the last of them.

    The cursor is None when there is no such file. A running daemon has later changes still in memory: it gives them
    for the cursor. Raises `HistoryUnavailable` when the file cannot be read.
    """
    if not state_file.exists():
        return [], None
    with State(state_file, SCHEMA) as state:
        table, seq = ChangeTable(state), 0
        found: list[Change] = []
        while rows := table.since(seq, _BATCH):
            found += (row.change for row in rows)
            seq = rows[-1].seq
        # As the daemon writes its cursors; one that it does not know it answers with `fresh_instance`.
        return found, f"{state.vault_id[:12]}-{max(seq, table.pruned_to()):x}"
