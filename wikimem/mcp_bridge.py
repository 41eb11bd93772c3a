"""The vault's daemon as an MCP client sees it: tools and resources. No SDK is imported here."""

import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from wikimem import config
from wikimem.api.async_client import AsyncClient
from wikimem.errors import InvalidAddress, NotFound, NotRunning, VaultError, WikimemError
from wikimem.mcp_tools import MemoryTool

ITEM_URI = "wikimem://item/"
DAY_URI = "wikimem://day/"
_LISTED = 200


class Bridge:
    """The vault's daemon, as tools and resources.

    The vault is looked up at the first call, and again while that fails.
    """

    def __init__(self, vault: str | None) -> None:
        self._vault = vault
        self._client: AsyncClient | None = None
        self._settings: config.Settings | None = None

    async def call(self, tool: MemoryTool, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call a tool. Raises WikimemError."""
        given = tool.check(arguments)
        try:
            return await tool.call(self._opened(), given)
        except NotRunning as error:
            raise self._not_running() from error

    async def read(self, uri: str) -> str:
        """Return the text of a resource. Raises WikimemError."""
        try:
            if uri.startswith(DAY_URI):
                return await self._day(unquote(uri.removeprefix(DAY_URI)))
            if uri.startswith(ITEM_URI):
                return await self._item(uri.removeprefix(ITEM_URI))
        except NotRunning as error:
            raise self._not_running() from error
        raise InvalidAddress(f"{uri!r} is no resource", hint=f"as {ITEM_URI}category:name or {DAY_URI}2026-07-21")

    async def listed(self, after: str | None) -> tuple[list[str], str | None]:
        """Return a page of addresses and the cursor of the next one; none while the daemon cannot be asked."""
        try:
            answer = await self._opened().items(limit=_LISTED, after=after)
        except (WikimemError, OSError):
            return [], None
        return [one["address"] for one in answer["items"]], answer["next"]

    async def _item(self, written: str) -> str:
        address = unquote(written)
        client = self._opened()
        try:
            found = await client.item(address)
        except NotFound:
            # A category's own `%3A`, written into the URI as it is shown.
            if address == written:
                raise
            found = await client.item(written)
        return found["content"]

    async def _day(self, day: str) -> str:
        client = self._opened()
        answer = await client.diary(day, day)
        entries = list(answer["items"])
        while answer["next"] is not None:
            answer = await client.diary(day, day, after=answer["next"])
            entries += answer["items"]
        if not entries:
            raise NotFound(f"the diary has nothing on {day}")
        return "\n\n".join(f"## {entry['time']}\n\n{entry['content']}" for entry in entries)

    def _opened(self) -> AsyncClient:
        if self._client is None:
            self._settings = config.load(self._vault, require=False)
            self._client = AsyncClient(self._settings.socket_path)
        return self._client

    def _not_running(self) -> WikimemError:
        settings = self._settings
        if settings is None:
            return NotRunning("the memory's daemon does not run")
        try:
            config.require_vault(settings.path, configured=settings.configured)
        except VaultError as error:
            return error
        start = f"wikimem serve --vault {shlex.quote(settings.called)}"
        return NotRunning(
            "the memory's daemon does not run",
            hint=f"ask the user to start it: `{start}`, or as a service: `wikimem service install NAME PATH`",
        )
