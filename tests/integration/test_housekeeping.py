"""The work that a daemon does beside its answers."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.searching import index_of, page
from wikimem.api.warmth import Warmth
from wikimem.store import temperatures
from wikimem.store.state import State
from wikimem.store.vault import MemoryStore
from wikimem_daemon.housekeeping import SETTLE_ITEMS, Housekeeping


def test_the_walkable_graph_is_made_in_slices_before_anybody_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "wiki").mkdir()
    items = 2 * SETTLE_ITEMS + 1
    index = index_of(page("wiki/a.md", "".join(f"## i{at}\n\n[[#i{at // 2}]]\n\n" for at in range(items))))
    assert not index.graph.settle(0)

    async def keep_house(state: State, store: MemoryStore, writer: ThreadPoolExecutor) -> None:
        housekeeping = Housekeeping(lambda: store, index, Warmth(state), writer, asyncio.Lock())
        housekeeping.begin()
        deadline = time.monotonic() + 20
        while not index.graph.settle(0):
            assert time.monotonic() < deadline, "the graph was never settled"
            await asyncio.sleep(0.01)
        await housekeeping.end()

    state = State(tmp_path / "state.sqlite", temperatures.SCHEMA)
    with ThreadPoolExecutor(1) as writer, MemoryStore(tmp_path, state_dir=tmp_path / "state") as store:
        asyncio.run(keep_house(state, store, writer))
    state.close()
