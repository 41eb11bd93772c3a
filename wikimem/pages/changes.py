"""A change: one item that was added, updated, removed or renamed."""

from dataclasses import dataclass
from typing import Literal

Action = Literal["add", "update", "remove", "rename"]
Cause = Literal["api", "disk", "offline"]


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the change feed.

    `id` is the item's stable id: it survives a rename. `hash` is of the text after the change (None: removed).
    `ts` is ISO-8601 UTC. `cause`: this program's own write, a write seen on disk, or one made while no daemon ran.
    """

    id: str
    action: Action
    address: str
    old_address: str | None
    hash: str | None
    ts: str
    cause: Cause
