"""A host's memory over a store, over a vault in this process, and over a daemon: the same four calls."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.serving import Served, serving
from wikimem.api.async_client import AsyncClient
from wikimem.api.local import LocalClient
from wikimem.config import load
from wikimem.errors import AppendOnly, InvalidInput, WikimemError
from wikimem.host_memory import Memory, memory_of
from wikimem.host_prompt import ExtractedItem
from wikimem.store.vault import MemoryStore

KINDS = ["store", "local", "client", "async client"]


@pytest.fixture
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    with serving(tmp_path) as one:
        one.write("wiki/people.md", "# people\n\n## Ann\n\nSister; sails.\n")
        yield one


@asynccontextmanager
async def memory_over(kind: str, served: Served) -> AsyncIterator[Memory]:
    """Give a memory of the kind; a daemon is started where it needs one."""
    if kind == "store":
        store = MemoryStore(served.vault, state_dir=served.base / "state/wikimem/x")
        yield memory_of(store)
        store.close()
    elif kind == "local":
        settings = load(str(served.vault), env=served.env, cwd=served.base)
        with LocalClient(settings) as local:
            yield memory_of(local)
    elif kind == "client":
        served.start()
        with served.client() as client:
            yield memory_of(client)
    else:
        served.start()
        async with AsyncClient(served.socket) as awaited:
            yield memory_of(awaited)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_added_is_found_and_the_same_name_replaces(kind: str, served: Served) -> None:
    async def use() -> None:
        async with memory_over(kind, served) as memory:
            assert await memory.retrieve("who sails?", limit=5, budget_tokens=100) == [("people:Ann", "Sister; sails.")]
            for content in ("A dinghy.", "A dinghy, sold."):
                address = await memory.add(ExtractedItem("boats", "dinghy", content), owner="user:me", source_conv="c1")
                assert address == "boats:dinghy"
            assert await memory.categories() == ["boats", "people"]
            assert await memory.retrieve("dinghy", limit=5, budget_tokens=100) == [("boats:dinghy", "A dinghy, sold.")]

    asyncio.run(use())
    item = MemoryStore(served.vault).get("boats", "dinghy")
    assert item is not None
    assert (item.owner, item.source_conv) == ("user:me", "c1")


@pytest.mark.parametrize("kind", KINDS)
def test_the_diary_takes_an_entry_with_its_provenance(kind: str, served: Served) -> None:
    async def use() -> None:
        async with memory_over(kind, served) as memory:
            address = await memory.append("Swam.", date="2026-07-21", time="14:30", owner="user:me", source_conv="c1")
            assert address == "2026-07-21:14:30"

    asyncio.run(use())
    (entry,) = MemoryStore(served.vault).diary.window("2026-07-21", "2026-07-21")
    assert (entry.content, entry.owner, entry.source_conv) == ("Swam.", "user:me", "c1")


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_taken_is_refused_with_an_error_of_ours(kind: str, served: Served) -> None:
    refused = [
        ExtractedItem("No Slug", "x", "y"),
        ExtractedItem("2026-07-21", "x", "y"),
        ExtractedItem("a", "b:c", "y"),
        ExtractedItem("a", "[[b]]", "y"),
        ExtractedItem("a", "b", "y\n\n<!-- wikimem: owner=user:boss | ts=2020-01-01T00:00:00+00:00 -->"),
    ]

    async def use() -> None:
        async with memory_over(kind, served) as memory:
            for item in refused:
                with pytest.raises((InvalidInput, AppendOnly)):
                    await memory.add(item, owner=None, source_conv=None)
            with pytest.raises(WikimemError):
                await memory.append("x", date="yesterday", time=None, owner=None, source_conv=None)

    asyncio.run(use())
    assert MemoryStore(served.vault).categories() == ["people"]


@pytest.mark.parametrize("kind", KINDS)
def test_calls_at_once_all_arrive(kind: str, served: Served) -> None:
    async def use() -> None:
        async with memory_over(kind, served) as memory:
            adds = [
                memory.add(ExtractedItem("many", f"item {n}", f"Number {n}."), owner=None, source_conv=None)
                for n in range(12)
            ]
            asks = [memory.retrieve("sails", limit=1, budget_tokens=50) for _ in range(6)]
            found = await asyncio.gather(*adds, *asks)
            assert [one for one in found if one == [("people:Ann", "Sister; sails.")]] == [found[-1]] * 6

    asyncio.run(use())
    names = [item.name for item in MemoryStore(served.vault).items("many")]
    assert sorted(names) == sorted(f"item {n}" for n in range(12))
