"""`wikimem mcp`: the vault's daemon for MCP clients, over standard input and output.

A thin bridge: each call goes to the socket. It answers `initialize` without asking the daemon, so that a daemon that
is down, or still reading, or a configuration that does not load, is told by the tools and not by a bridge that will
not start. The SDK is imported when the bridge runs: nothing else of wikimem pays for it.
"""

import asyncio
import gc
import json
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from wikimem import __version__, config
from wikimem.api.async_client import AsyncClient
from wikimem.errors import ConfigError, InvalidAddress, NotFound, NotRunning, VaultError, WikimemError
from wikimem.mcp_answers import bounded, told
from wikimem.mcp_tools import INSTRUCTIONS, TOOLS, MemoryTool

if TYPE_CHECKING:
    from mcp import types
    from mcp.server.lowlevel import Server

ITEM_URI = "wikimem://item/"
DAY_URI = "wikimem://day/"
_LISTED = 200


def serve(vault: str | None) -> None:
    """Serve the vault that `vault`, the environment or the working directory names until standard input ends.

    Raises ConfigError when the SDK is missing or too old.
    """
    # The SDK makes some thousand classes at import; collecting in the middle of that takes a fifth of the start.
    gc.disable()
    try:
        from mcp.server.lowlevel import Server  # noqa: PLC0415
        from mcp.server.stdio import stdio_server  # noqa: PLC0415
        from mcp.shared.exceptions import MCPError  # noqa: F401, PLC0415 - the name that version 2 has
    except ImportError as error:
        raise ConfigError(
            f"`wikimem mcp` needs the MCP SDK, version 2 or newer: {error}", hint="pip install --upgrade 'wikimem[mcp]'"
        ) from error
    finally:
        gc.enable()
    gc.freeze()
    server = make_server(Server, Bridge(vault))

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    asyncio.run(run())


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

    async def read(self, uri: str) -> tuple[str, str]:
        """Return the address and the text of a resource. Raises WikimemError."""
        try:
            if uri.startswith(DAY_URI):
                day = unquote(uri.removeprefix(DAY_URI))
                return day, await self._day(day)
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

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _item(self, written: str) -> tuple[str, str]:
        address = unquote(written)
        client = self._opened()
        try:
            found = await client.item(address)
        except NotFound:
            # A category's own `%3A`, written into the URI as it is shown.
            if address == written:
                raise
            found = await client.item(written)
        return found["address"], found["content"]

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


def make_server(make: "type[Server[Any]]", bridge: Bridge) -> "Server[Any]":
    """Return the SDK's server over a bridge."""
    from mcp import types  # noqa: PLC0415
    from mcp.shared.exceptions import MCPError  # noqa: PLC0415

    tools = [_tool_of(types.Tool, types.ToolAnnotations, tool) for tool in TOOLS.values()]

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"no tool is called {params.name!r}; there are: {', '.join(TOOLS)}")
        try:
            answer = bounded(await bridge.call(tool, params.arguments or {}))
        except (WikimemError, OSError) as error:
            return types.CallToolResult(content=[types.TextContent(text=told(error, tool.takes))], is_error=True)
        text = json.dumps(answer, ensure_ascii=False)
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=answer)

    async def list_resources(_context: Any, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        addresses, following = await bridge.listed(params.cursor if params is not None else None)
        resources = [
            types.Resource(uri=ITEM_URI + quote(one, safe=":"), name=one, mime_type="text/markdown")
            for one in addresses
        ]
        return types.ListResourcesResult(resources=resources, next_cursor=following)

    async def list_templates(_context: Any, _params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=f"{ITEM_URI}{{address}}",
                    name="item",
                    description="One item (category:name) or diary entry (YYYY-MM-DD:HH:MM).",
                    mime_type="text/markdown",
                ),
                types.ResourceTemplate(
                    uri_template=f"{DAY_URI}{{date}}",
                    name="day",
                    description="The diary of one day, YYYY-MM-DD.",
                    mime_type="text/markdown",
                ),
            ]
        )

    async def read_resource(_context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        try:
            _, text = await bridge.read(str(params.uri))
        except (WikimemError, OSError) as error:
            code = types.INVALID_PARAMS if isinstance(error, NotFound | InvalidAddress) else types.INTERNAL_ERROR
            raise MCPError(code, told(error), {"uri": str(params.uri)}) from error
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type="text/markdown", text=text)]
        )

    return make(
        "wikimem",
        version=__version__,
        title="wikimem",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _tool_of(
    tool_type: "type[types.Tool]", hints_type: "type[types.ToolAnnotations]", tool: MemoryTool
) -> "types.Tool":
    hints = hints_type(
        read_only_hint=tool.reads,
        destructive_hint=tool.destroys,
        idempotent_hint=tool.name != "diary",
        open_world_hint=False,
    )
    return tool_type(
        name=tool.name, title=tool.title, description=tool.description, input_schema=tool.schema, annotations=hints
    )
