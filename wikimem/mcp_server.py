"""The bridge in the types of the MCP SDK, which this module alone imports.

Importing it raises ImportError where the SDK is missing or older than version 2.
"""

import json
from typing import Any
from urllib.parse import quote

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from wikimem import __version__
from wikimem.errors import InvalidAddress, NotFound, WikimemError
from wikimem.mcp_answers import bounded, told
from wikimem.mcp_bridge import DAY_URI, ITEM_URI, Bridge
from wikimem.mcp_tools import INSTRUCTIONS, TOOLS, MemoryTool

_MARKDOWN = "text/markdown"


async def serve_bridge(vault: str | None) -> None:
    """Answer on standard output until standard input ends. `vault` as in `wikimem.mcp.serve`."""
    calls = Calls(Bridge(vault))
    server: Server[Any] = Server(
        "wikimem",
        version=__version__,
        title="wikimem",
        instructions=INSTRUCTIONS,
        on_list_tools=calls.list_tools,
        on_call_tool=calls.call_tool,
        on_list_resources=calls.list_resources,
        on_list_resource_templates=calls.list_templates,
        on_read_resource=calls.read_resource,
    )
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


class Calls:
    """What a client may call. Parameters and answers are the protocol's."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._tools = [_tool_of(tool) for tool in TOOLS.values()]

    async def list_tools(self, _context: Any, _params: Any) -> types.ListToolsResult:
        """List the tools."""
        return types.ListToolsResult(tools=self._tools)

    async def call_tool(self, _context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Call one tool. What the daemon refuses is an answer; a tool that does not exist raises MCPError."""
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"no tool is called {params.name!r}; there are: {', '.join(TOOLS)}")
        try:
            answer = bounded(await self._bridge.call(tool, params.arguments or {}))
        except (WikimemError, OSError) as error:
            return types.CallToolResult(content=[types.TextContent(text=told(error, tool.takes))], is_error=True)
        text = json.dumps(answer, ensure_ascii=False)
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=answer)

    async def list_resources(
        self, _context: Any, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List a page of items."""
        addresses, following = await self._bridge.listed(params.cursor if params is not None else None)
        resources = [
            types.Resource(uri=ITEM_URI + quote(one, safe=":"), name=one, mime_type=_MARKDOWN) for one in addresses
        ]
        return types.ListResourcesResult(resources=resources, next_cursor=following)

    async def list_templates(self, _context: Any, _params: Any) -> types.ListResourceTemplatesResult:
        """List the two kinds of resources."""
        item = types.ResourceTemplate(
            uri_template=f"{ITEM_URI}{{address}}",
            name="item",
            description="One item (category:name) or diary entry (YYYY-MM-DD:HH:MM).",
            mime_type=_MARKDOWN,
        )
        day = types.ResourceTemplate(
            uri_template=f"{DAY_URI}{{date}}",
            name="day",
            description="The diary of one day, YYYY-MM-DD.",
            mime_type=_MARKDOWN,
        )
        return types.ListResourceTemplatesResult(resource_templates=[item, day])

    async def read_resource(self, _context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Read an item or a day. Raises MCPError."""
        try:
            text = await self._bridge.read(str(params.uri))
        except (WikimemError, OSError) as error:
            code = types.INVALID_PARAMS if isinstance(error, NotFound | InvalidAddress) else types.INTERNAL_ERROR
            raise MCPError(code, told(error), {"uri": str(params.uri)}) from error
        contents = types.TextResourceContents(uri=params.uri, mime_type=_MARKDOWN, text=text)
        return types.ReadResourceResult(contents=[contents])


def _tool_of(tool: MemoryTool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads,
            destructive_hint=tool.destroys,
            idempotent_hint=tool.name != "diary",
            open_world_hint=False,
        ),
    )
