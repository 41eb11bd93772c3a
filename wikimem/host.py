"""The two hooks that an agent needs: before the turn, after the turn.

    host = MemoryHost(Client(vault="notes"), llm)
    prompt_part = await host.on_before_turn(user_text)        # no LLM call, None when there is nothing
    ...                                                       # the agent's own turn
    await host.on_after_turn(user_text, assistant_text)       # returns at once; at most one LLM call behind it
    await host.flush()                                        # at shutdown

Both fail open: whatever goes wrong costs that turn's recall or that turn's memories, never the turn.
"""

import asyncio
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from wikimem.errors import NotRunning, Unreachable, WikimemError
from wikimem.host_memory import Memory, memory_of
from wikimem.host_prompt import (
    MAX_ITEMS_PER_TURN,
    ExtractedItem,
    extraction_prompt,
    fitted,
    injection_text,
    parse_extraction,
    query_of,
)
from wikimem.host_wait import within
from wikimem.text.decoding import replace_improper
from wikimem.threads import in_own_thread

if TYPE_CHECKING:
    from wikimem.api.async_client import AsyncClient
    from wikimem.api.client import Client
    from wikimem.api.local import LocalClient
    from wikimem.store.vault import MemoryStore

__all__ = ["DIARY_TOOL", "Llm", "MemoryHost"]

_log = logging.getLogger("wikimem.host")

Llm = Callable[[str], str | Awaitable[str]]
"""The host's model: a prompt in, the reply's text out. A plain function runs in a thread of its own."""

_Turn: TypeAlias = "asyncio.Task[float | None]"
"""A turn that is being memorized; see `MemoryHost._write` for what it gives."""

_TRIES_PER_ITEM: Final = 4
"""So many refused proposals for each that may be kept: a reply with thousands of them costs no thousands of calls."""

_LEAST_WAIT_S: Final = 0.5
"""Seconds that each turn waits for a daemon for which another turn has just waited in vain."""

DIARY_TOOL: Mapping[str, Any] = {
    "name": "diary_append",
    "description": (
        "Write one event into the diary: what happened, in a sentence or two, in the user's language. Use it when "
        "something happens that may be asked about later by its day. Entries are never changed afterwards. Link to a "
        "memory with [[category:name]] only if you have seen that address."
    ),
    "parameters": {
        "type": "object",
        "properties": {
            "content": {"type": "string", "description": "What happened; understandable by itself."},
            "date": {"type": "string", "description": "YYYY-MM-DD, the user's local day. Left out: today."},
            "time": {"type": "string", "description": "HH:MM, 24 hours, the user's local time. Left out: now."},
        },
        "required": ["content"],
        "additionalProperties": False,
    },
}
"""The diary as a tool of the agent, in the shape that function-calling models take; `run_diary_tool` handles a call."""


class MemoryHost:
    """Memory for one conversation.

    `memory` is a `Client`, an `AsyncClient`, a `LocalClient`, a `MemoryStore` (indexed here), or any `Memory`.
    `limit` and `budget_tokens` bound what is injected before a turn (hits; words or CJK characters). `owner` and
    `source_conv` go into each memory as its provenance. `recall_timeout_s`: seconds that a turn waits for its memory at
    most; `llm_timeout_s`: seconds for the one call after a turn.
    """

    def __init__(
        self,
        memory: "Memory | MemoryStore | Client | LocalClient | AsyncClient",
        llm: Llm,
        *,
        limit: int = 10,
        budget_tokens: int = 800,
        owner: str | None = None,
        source_conv: str | None = None,
        max_items_per_turn: int = MAX_ITEMS_PER_TURN,
        recall_timeout_s: float = 2.0,
        llm_timeout_s: float = 120.0,
    ) -> None:
        self._memory = memory_of(memory)
        self._llm = llm
        self._limit = limit
        self._budget_tokens = budget_tokens
        self._owner = owner
        self._source_conv = source_conv
        self._most = max_items_per_turn
        self._recall_timeout_s = recall_timeout_s
        self._llm_timeout_s = llm_timeout_s
        self._pending: set[_Turn] = set()
        self._last: _Turn | None = None
        self.related_names: list[str] = []

    async def on_before_turn(self, user_text: str) -> str | None:
        """Return the memory to put before this turn; None when there is none or it cannot be had.

        What surfaced stands in `related_names`: the candidates for links after the turn.
        """
        self.related_names = []
        try:
            query = replace_improper(query_of(user_text))
            asked = self._memory.retrieve(query, limit=self._limit, budget_tokens=self._budget_tokens)
            surfaced = await within(self._recall_timeout_s, asked)
        except Exception as error:  # noqa: BLE001 - fail open: a broken memory must not break the chat
            _log.warning("nothing is recalled for this turn: %s: %s", type(error).__name__, error)
            return None
        self.related_names = [address for address, _ in surfaced]
        return injection_text(fitted(surfaced, self._budget_tokens)) or None

    async def on_after_turn(self, user_text: str, assistant_text: str) -> None:
        """Start to memorize this turn and return at once."""
        # The names of this turn: the next one may begin before this extraction is done.
        turn = self._memorize(user_text, assistant_text, tuple(self.related_names), self._last)
        task = asyncio.create_task(turn)
        self._last = task
        # The loop keeps only a weak reference to a task: one that nobody holds may vanish in mid-work.
        self._pending.add(task)
        task.add_done_callback(self._ended)

    async def flush(self) -> None:
        """Wait for the turns that are being memorized: at a graceful shutdown, in tests, before the event loop ends."""
        # Tasks of another loop cannot be waited for here: a host may call `asyncio.run` for every turn.
        here = asyncio.get_running_loop()
        while pending := [task for task in self._pending if task.get_loop() is here]:
            await asyncio.gather(*pending, return_exceptions=True)

    def _ended(self, task: _Turn) -> None:
        self._pending.discard(task)
        if task.cancelled():
            _log.warning("a turn is not memorized: it was cancelled before it was done; `await host.flush()` waits")

    async def run_diary_tool(self, arguments: Mapping[str, Any] | str) -> str:
        """Handle a call of `DIARY_TOOL`; return what to tell the model, also when it could not be done.

        `arguments` may be the JSON text that some models' APIs hand out.
        """
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except (ValueError, RecursionError):
                arguments = {}
        if not isinstance(arguments, Mapping):
            arguments = {}
        content, date, time = (arguments.get(key) for key in ("content", "date", "time"))
        if not isinstance(content, str) or not content.strip():
            return "Nothing was written: `content` must be a text."
        if not all(part is None or isinstance(part, str) for part in (date, time)):
            return "Nothing was written: `date` is YYYY-MM-DD and `time` is HH:MM."
        try:
            address = await self._memory.append(
                replace_improper(content), date=date, time=time, owner=self._owner, source_conv=self._source_conv
            )
        except Exception as error:  # noqa: BLE001 - fail open: the model is told, the turn goes on
            return f"Nothing was written: {error}"
        return f"Written as {address}."

    async def _memorize(
        self, user_text: str, assistant_text: str, related: tuple[str, ...], before: "_Turn | None"
    ) -> float | None:
        found: list[ExtractedItem] = []
        try:
            found = await self._extract(user_text, assistant_text, related)
        except Exception as error:  # noqa: BLE001 - fail open: this turn is not memorized
            _log.warning("this turn is not memorized: %s: %s", type(error).__name__, error)
        loop = asyncio.get_running_loop()
        ready, patience = loop.time(), None
        if before is not None and not before.done() and before.get_loop() is loop:
            # In the turns' order, however fast each reply came: of two facts of one name the later one stays.
            await asyncio.wait([before])
            patience = None if before.cancelled() else before.result()
        return await self._write(found, ready, patience)

    async def _write(self, found: list[ExtractedItem], ready: float, patience: float | None) -> float | None:
        """Write what a turn brought; return how long a memory that does not answer was waited for, None if it does.

        `patience` is what the turn returned that this one, `ready` since then, has waited for: the wait behind it
        counts, or a flush would wait for the same daemon once a turn.
        """
        loop = asyncio.get_running_loop()
        kept = 0
        for item in found[: self._most * _TRIES_PER_ITEM]:
            began = loop.time()
            try:
                if patience is None:
                    kept += await self._keep(item)
                else:
                    kept += await within(max(_LEAST_WAIT_S, patience - (began - ready)), self._keep(item))
            except (NotRunning, Unreachable, TimeoutError) as error:
                # Each further item would wait as long for the same daemon.
                _log.warning("the memories of this turn are not written: %s", error)
                waited = patience or loop.time() - began
                return waited if waited > _LEAST_WAIT_S else None
            patience = None
            if kept >= self._most:
                break
        return patience

    async def _extract(self, user_text: str, assistant_text: str, related: tuple[str, ...]) -> list[ExtractedItem]:
        prompt = extraction_prompt(
            user_text, assistant_text, categories=await self._categories(), related=related, most=self._most
        )
        reply = await within(self._llm_timeout_s, self._ask(prompt))
        return parse_extraction(reply) if isinstance(reply, str) else []

    async def _categories(self) -> list[str]:
        """Return what to suggest to the model; a memory that cannot be asked just now may take the items later."""
        try:
            return await within(self._recall_timeout_s, self._memory.categories())
        except Exception as error:  # noqa: BLE001 - fail open: the base set is suggested then
            _log.info("the categories cannot be read: %s: %s", type(error).__name__, error)
            return []

    async def _ask(self, prompt: str) -> object:
        if inspect.iscoroutinefunction(self._llm):
            reply: object = self._llm(prompt)
        else:
            # Not in the loop's own pool: models that never return would fill it, and then everything waits.
            reply = await in_own_thread(lambda: self._llm(prompt), "wikimem-host")
        return await reply if isinstance(reply, Awaitable) else reply

    async def _keep(self, item: ExtractedItem) -> bool:
        try:
            await self._memory.add(item, owner=self._owner, source_conv=self._source_conv)
        except (NotRunning, Unreachable):
            raise
        except WikimemError as error:
            _log.info("an item of this turn is left out: %s", error)
        except Exception as error:  # noqa: BLE001 - fail open: this item is lost, the others are kept
            _log.warning("an item of this turn could not be written: %s: %s", type(error).__name__, error)
        else:
            return True
        return False
