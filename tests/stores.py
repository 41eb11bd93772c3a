"""A clock that the test moves, and the lines of a store's journal: what the tests of the store share."""

import json
from datetime import UTC, datetime, timedelta, timezone

from wikimem.store.vault import MemoryStore

NOW = datetime(2026, 7, 21, 6, 30, 5, tzinfo=UTC)
SHANGHAI = timezone(timedelta(hours=8))


class Clock:
    """Stands still until a test moves `now`."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


def lines(store: MemoryStore) -> list[dict[str, str]]:
    assert store.journal is not None
    path = store.journal.path
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
