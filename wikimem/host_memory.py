"""The memory as an agent's host sees it: four awaited calls, over a local index or over a client.

Whatever blocks (a file that is written, a socket that is waited for) runs in a thread of its own: the host's event loop
never waits for a disk, and no work of the host's own pool does. One call at a time goes to what is not made for several
threads. Nothing heavy is imported that the host does not use itself.
"""

import contextlib
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from wikimem.host_prompt import ExtractedItem
from wikimem.threads import in_own_thread

if TYPE_CHECKING:
    from wikimem.api.async_client import AsyncClient
    from wikimem.api.client import Client
    from wikimem.api.local import LocalClient
    from wikimem.search.index import MemoryIndex
    from wikimem.store.vault import MemoryStore

T = TypeVar("T")

Surfaced = tuple[str, str]
"""Address and content of one item that a retrieval brought."""


class Memory(Protocol):
    """What a host needs of a memory. Every call may raise `WikimemError` or `OSError`."""

    async def retrieve(self, query: str, *, limit: int, budget_tokens: int) -> Sequence[Surfaced]:
        """Return the items for a query within a budget, in the answer's order."""

    async def categories(self) -> list[str]:
        """Return the categories that exist."""

    async def add(self, item: ExtractedItem, *, owner: str | None, source_conv: str | None) -> str:
        """Add an item or replace the one of its name; return its address."""

    async def append(
        self, content: str, *, date: str | None, time: str | None, owner: str | None, source_conv: str | None
    ) -> str:
        """Append a diary entry; return its address."""


class StoreMemory:
    """A store and an index in this process."""

    def __init__(self, store: "MemoryStore", index: "MemoryIndex | None" = None) -> None:
        self._store = store
        self._index = index
        self._lock = threading.Lock()

    async def retrieve(self, query: str, *, limit: int, budget_tokens: int) -> Sequence[Surfaced]:
        """Return the items for a query; the index reads again what this store wrote since."""
        result = await self._alone(lambda: self._built().retrieve(query, limit=limit, budget_tokens=budget_tokens))
        return [(one.item.address, one.item.content) for one in result.items]

    async def categories(self) -> list[str]:
        """Return the categories that exist."""
        return await self._alone(self._store.categories)

    async def add(self, item: ExtractedItem, *, owner: str | None, source_conv: str | None) -> str:
        """Add an item or replace the one of its name."""
        written = await self._alone(
            lambda: self._store.add(item.category, item.name, item.content, owner=owner, source_conv=source_conv)
        )
        return written.address

    async def append(
        self, content: str, *, date: str | None, time: str | None, owner: str | None, source_conv: str | None
    ) -> str:
        """Append a diary entry."""
        written = await self._alone(
            lambda: self._store.diary.append(content, date=date, time=time, owner=owner, source_conv=source_conv)
        )
        return written.address

    def _built(self) -> "MemoryIndex":
        if self._index is None:
            from wikimem.search.index import MemoryIndex  # noqa: PLC0415 - brings numpy, and reads the whole vault

            self._index = MemoryIndex(self._store)
        return self._index

    async def _alone(self, work: Callable[[], T]) -> T:
        return await in_own_thread(lambda: _locked(self._lock, work), "wikimem-host")


class BlockingMemory:
    """The daemon through the blocking client, or a vault in this process through `LocalClient`."""

    def __init__(self, client: "Client | LocalClient") -> None:
        self._client = client
        # Threads may share a `Client`, and a recall need not wait for what the turn before still writes.
        self._lock = None if _is_a(client, "wikimem.api.client", "Client") else threading.Lock()

    async def retrieve(self, query: str, *, limit: int, budget_tokens: int) -> Sequence[Surfaced]:
        """Return the items for a query."""
        answer = await self._alone(lambda: self._client.retrieve(query, limit=limit, budget_tokens=budget_tokens))
        return [(one["address"], one["content"]) for one in answer["items"]]

    async def categories(self) -> list[str]:
        """Return the categories that exist."""
        answer = await self._alone(self._client.categories)
        return [one["name"] for one in answer["categories"]]

    async def add(self, item: ExtractedItem, *, owner: str | None, source_conv: str | None) -> str:
        """Add an item or replace the one of its name."""
        answer = await self._alone(
            lambda: self._client.put_item(item.category, item.name, item.content, owner=owner, source_conv=source_conv)
        )
        return answer["address"]

    async def append(
        self, content: str, *, date: str | None, time: str | None, owner: str | None, source_conv: str | None
    ) -> str:
        """Append a diary entry."""
        answer = await self._alone(
            lambda: self._client.diary_append(content, date=date, time=time, owner=owner, source_conv=source_conv)
        )
        return answer["address"]

    async def _alone(self, work: Callable[[], T]) -> T:
        return await in_own_thread(lambda: _locked(self._lock, work), "wikimem-host")


class AwaitedMemory:
    """The daemon through the asyncio client."""

    def __init__(self, client: "AsyncClient") -> None:
        self._client = client

    async def retrieve(self, query: str, *, limit: int, budget_tokens: int) -> Sequence[Surfaced]:
        """Return the items for a query."""
        answer = await self._client.retrieve(query, limit=limit, budget_tokens=budget_tokens)
        return [(one["address"], one["content"]) for one in answer["items"]]

    async def categories(self) -> list[str]:
        """Return the categories that exist."""
        answer = await self._client.categories()
        return [one["name"] for one in answer["categories"]]

    async def add(self, item: ExtractedItem, *, owner: str | None, source_conv: str | None) -> str:
        """Add an item or replace the one of its name."""
        answer = await self._client.put_item(
            item.category, item.name, item.content, owner=owner, source_conv=source_conv
        )
        return answer["address"]

    async def append(
        self, content: str, *, date: str | None, time: str | None, owner: str | None, source_conv: str | None
    ) -> str:
        """Append a diary entry."""
        answer = await self._client.diary_append(content, date=date, time=time, owner=owner, source_conv=source_conv)
        return answer["address"]


def memory_of(source: "Memory | MemoryStore | Client | LocalClient | AsyncClient") -> Memory:
    """Return the memory port over whatever the host has."""
    given: Any = source
    if _is_a(given, "wikimem.store.vault", "MemoryStore"):
        return StoreMemory(given)
    if _is_a(given, "wikimem.api.async_client", "AsyncClient"):
        return AwaitedMemory(given)
    if _is_a(given, "wikimem.api.client", "Client") or _is_a(given, "wikimem.api.local", "LocalClient"):
        return BlockingMemory(given)
    memory: Memory = given
    return memory


def _is_a(value: object, module: str, name: str) -> bool:
    """Tell whether a value is of a class, importing nothing: who holds such a value has imported its module."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def _locked(lock: "threading.Lock | None", work: Callable[[], T]) -> T:
    with lock if lock is not None else contextlib.nullcontext():
        return work()
