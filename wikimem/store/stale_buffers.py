"""An editor that had a file open before an agent wrote to it saves its old buffer: the agent's text is gone.

From the disk it looks like a deletion. What gives it away is that the save puts the item back to exactly what it was
before the agent's write.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from wikimem.store.history import History, PriorText
from wikimem.store.writelog import NotedWrite, WriteLog, WrittenText

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


def find_stale_buffer(gone: Gone, log: WriteLog, history: History, *, now: datetime) -> StaleBuffer | None:
    """Return a report if the text was written here within the hour and the save on disk undid just that write.

    The text is put into the history first if it is not there yet. Raises `HistoryUnavailable`.
    """
    oldest = (now - FRESH).isoformat(timespec="seconds")
    write = log.last_at(gone.address)
    if write is None or write.text is None or write.ts < oldest:
        return None
    if write.text.hash != gone.hash or write.prior_hash != gone.now_hash:
        return None
    return _report(write, write.text, history, now)


def _report(write: NotedWrite, text: WrittenText, history: History, now: datetime) -> StaleBuffer:
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
