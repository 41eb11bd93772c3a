"""An editor that had a file open before an agent wrote to it saves its old buffer: the agent's text is gone.

From the disk it looks like a deletion. What gives it away is that the save puts the item back to exactly what it was
before the agent's write.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from wikimem.store.history import History, PriorText
from wikimem.store.writelog import NotedWrite, WriteLog

FRESH = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Gone:
    """A text that a save on disk removed: `hash` is the item's before the save, `now_hash` after it (None: no item)."""

    address: str
    hash: str
    now_hash: str | None


@dataclass(frozen=True, slots=True)
class StaleBuffer:
    """One report. `version` is the kept text's id, `command` what puts it back, `written_at` ISO-8601 UTC."""

    address: str
    version: int
    written_at: str
    message: str
    command: str


def find_stale_buffers(gone: Iterable[Gone], log: WriteLog, history: History, *, now: datetime) -> list[StaleBuffer]:
    """Return a report for every text that was written here within the hour and whose save on disk undid that write.

    The text is put into the history first if it is not there yet.
    """
    oldest = (now - FRESH).isoformat(timespec="seconds")
    found: list[StaleBuffer] = []
    for one in gone:
        write = log.last_at(one.address)
        if write is None or write.text is None or write.ts < oldest:
            continue
        if write.text.hash == one.hash and write.prior_hash == one.now_hash:
            found.append(_report(write, history, now))
    return found


def _report(write: NotedWrite, history: History, now: datetime) -> StaleBuffer:
    text = write.text
    if text is None:
        raise ValueError("a write without a text cannot have been undone")
    version = history.find(write.address, text.hash)
    if version is None:
        prior = PriorText(
            write.address,
            text.name,
            text.content,
            text.hash,
            now.isoformat(timespec="seconds"),
            "disk",
            "displaced",
            owner=text.owner,
            source_conv=text.source_conv,
            item_ts=text.ts,
        )
        version = history.record_many([prior])[0]
    undone = "removed" if write.prior_hash is None else "set back"
    return StaleBuffer(
        write.address,
        version,
        write.ts,
        f"{write.address}, written at {write.ts}, was {undone} by a save of an editor that had not seen it",
        f"wikimem restore '{write.address}' {version}",
    )
