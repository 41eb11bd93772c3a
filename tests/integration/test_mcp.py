"""`wikimem mcp` as an MCP client starts it: the SDK's own client, a process, a pipe."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from tests.serving import Served, serving
from wikimem.mcp_tools import TOOLS

MCP = ["-c", "from wikimem.cli import main; main()", "mcp"]
NAMES = ["retrieve", "get", "list", "add", "remove", "diary", "related", "relate", "changes", "history", "status"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("m")) as one:
        one.write("wiki/preferences.md", "# preferences\n\n## the sea\n\n喜欢海边。 Likes the sea. [[trips:coast]]\n")
        one.write("wiki/trips.md", "# trips\n\n## coast\n\nBy train along the coast.\n")
        one.write("wiki/odd:name.md", "# odd\n\n## 100% sure\n\nA name to be quoted.\n")
        one.start()
        yield one


@asynccontextmanager
async def session(served: Served, *arguments: str) -> AsyncIterator[ClientSession]:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[*MCP, *(arguments or ("--vault", str(served.vault)))],
        env=served.env,
        cwd=served.base,
    )
    with (served.base / "mcp.log").open("w") as log:
        async with stdio_client(parameters, errlog=log) as (reading, writing), ClientSession(reading, writing) as one:
            yield one


def talk(served: Served, what: "Callable[[ClientSession], Coroutine[Any, Any, None]]", *arguments: str) -> None:
    async def run() -> None:
        async with asyncio.timeout(40), session(served, *arguments) as one:
            await one.initialize()
            await what(one)

    asyncio.run(run())


async def called(one: ClientSession, tool: str, /, **arguments: object) -> Any:
    """Call a tool; return its answer, which is the same as text and as structure."""
    result = await one.call_tool(tool, arguments)
    assert isinstance(result, types.CallToolResult)
    assert not result.is_error, result.content
    text = text_of(result)
    assert json.loads(text) == result.structured_content
    return result.structured_content


async def refused(one: ClientSession, tool: str, /, **arguments: object) -> str:
    result = await one.call_tool(tool, arguments)
    assert isinstance(result, types.CallToolResult)
    assert result.is_error, result.content
    return text_of(result)


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def test_every_tool_is_listed_with_a_description_and_a_schema(served: Served) -> None:
    async def look(one: ClientSession) -> None:
        tools = (await one.list_tools()).tools
        assert [tool.name for tool in tools] == NAMES
        for tool in tools:
            assert tool.description
            assert tool.description.endswith(".")
            assert len(tool.description) < 400
            assert tool.input_schema["type"] == "object"
            assert tool.input_schema["additionalProperties"] is False
            assert all(field.get("description") for field in tool.input_schema["properties"].values())
            assert tool.annotations is not None
        reading = [tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint]
        assert reading == ["retrieve", "get", "list", "related", "changes", "history", "status"]

    talk(served, look)


def test_a_memory_is_written_found_linked_and_removed(served: Served) -> None:
    async def use(one: ClientSession) -> None:
        cursor = (await called(one, "changes"))["cursor"]
        written = await called(
            one, "add", category="people", name="Ann", content="Sister; sails. 姐姐", owner="user:me"
        )
        assert written["address"] == "people:Ann"
        found = await called(one, "retrieve", query="who sails?", limit=3)
        assert found["items"][0]["address"] == "people:Ann"
        assert found["items"][0]["content"] == "Sister; sails. 姐姐"
        assert found["fresh"] is True
        got = await called(one, "get", address="people:Ann")
        assert (got["hash"], got["owner"]) == (written["hash"], "user:me")
        await called(one, "relate", source="people:Ann", target="preferences:the sea", weight=2)
        related = await called(one, "related", address="people:Ann", depth=2)
        assert [item["address"] for item in related["items"]] == ["trips:coast", "preferences:the sea"]
        await called(one, "add", category="people", name="Ann", content="Sister; rows.", expected_hash=got["hash"])
        lost = await refused(one, "add", category="people", name="Ann", content="x", expected_hash=got["hash"])
        assert "Sister; rows." in lost
        assert [(change["action"], change["address"]) for change in await changes(one, cursor)] == [
            ("add", "people:Ann")
        ]
        history = await called(one, "history", address="people:Ann")
        assert [version["content"] for version in history["versions"]] == ["x", "Sister; sails. 姐姐"]
        assert (await called(one, "remove", address="people:Ann"))["removed"]["content"] == "Sister; rows."
        assert "people:Ann" in await refused(one, "get", address="people:Ann")
        assert await changes(one, cursor) == []

    async def changes(one: ClientSession, cursor: str) -> Any:
        return (await called(one, "changes", since=cursor))["changes"]

    talk(served, use)


def test_lists_the_diary_and_the_state_can_be_read(served: Served) -> None:
    async def use(one: ClientSession) -> None:
        categories = await called(one, "list")
        assert {"name": "preferences", "items": 1} in categories["categories"]
        items = await called(one, "list", category="preferences")
        assert items["items"][0]["address"] == "preferences:the sea"
        entry = await called(one, "diary", content="Swam.", date="2026-07-21", time="14:30")
        assert entry["address"] == "2026-07-21:14:30"
        read = await called(one, "diary", start="2026-07-20", end="2026-07-22")
        assert [item["content"] for item in read["items"]] == ["Swam."]
        window = await called(one, "retrieve", query="", time_range=["2026-07-20", "2026-07-22"])
        assert [item["address"] for item in window["items"]] == ["2026-07-21:14:30"]
        status = await called(one, "status", verify=True)
        assert status["fresh"] is True
        assert status["items"] >= 3

    talk(served, use)


def test_a_wrong_call_says_what_is_wanted(served: Served) -> None:
    async def use(one: ClientSession) -> None:
        assert "it needs query" in await refused(one, "retrieve")
        assert "it takes: query (string), limit (integer)" in await refused(one, "retrieve", query="x", q=1)
        many = await refused(one, "retrieve", query="x", limit="many")
        assert many.startswith("'limit' must be a whole number.\nit takes: query (string), limit (integer)")
        absent = await refused(one, "get", address="people:nobody")
        assert absent.endswith("\n`retrieve` finds the addresses that there are, and `list` with a category lists them")
        assert "exclusive" not in await refused(one, "get", address="people:nobody", offset=-1)
        assert "slug" in await refused(one, "add", category="No Slug", name="x", content="y")
        assert "only added to" in await refused(one, "remove", address="2026-07-21:14:30")
        assert "either writes or reads" in await refused(one, "diary", content="x", start="2026-07-21")
        with pytest.raises(MCPError, match="no tool is called"):
            await one.call_tool("forget_everything", {})

    talk(served, use)


def test_no_answer_is_longer_than_a_model_takes(served: Served) -> None:
    long = "x" * 300_000
    served.write(
        "wiki/long.md", f"# long\n\n## blob\n\nquokka {long}\n\n## other\n\nquokka {long}\n\n## end\n\nquokka\n"
    )

    async def use(one: ClientSession) -> None:
        found = await called(one, "retrieve", query="quokka")
        assert len(json.dumps(found)) < 50_000
        assert {item["address"] for item in found["items"]} == {"long:blob", "long:other", "long:end"}
        assert "`get` with `offset`" in found["cut"]
        assert found["items"][0].get("content_chars") in {300_007, None}
        whole, offset = "", 0
        while "cut" in (part := await called(one, "get", address="long:blob", offset=offset)):
            whole += part["content"]
            offset = len(whole)
        assert whole + part["content"] == f"quokka {long}"
        await called(one, "add", category="long", name="end", content="quokka.")
        assert "cut" not in await called(one, "get", address="long:end")
        conflict = await refused(one, "add", category="long", name="blob", content="x", expected_hash="0" * 64)
        assert len(conflict) < 20_000
        assert json.loads(conflict.split("\n")[-1])["content_chars"] == 300_007
        assert "cut" in await called(one, "remove", address="long:blob")
        history = await called(one, "history", address="long:blob")
        assert len(json.dumps(history)) < 50_000

    talk(served, use)


def test_items_and_days_are_resources(served: Served) -> None:
    with served.client() as client:
        client.diary_append("Rowed.", date="2026-07-25", time="09:00")
        client.diary_append("Slept.", date="2026-07-25", time="22:00")

    async def use(one: ClientSession) -> None:
        templates = (await one.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["wikimem://item/{address}", "wikimem://day/{date}"]
        resources = (await one.list_resources()).resources
        uris = {resource.name: str(resource.uri) for resource in resources}
        assert "odd%3Aname:100% sure" in uris
        for name, text in (("preferences:the sea", "喜欢海边"), ("odd%3Aname:100% sure", "to be quoted")):
            (content,) = (await one.read_resource(uris[name])).contents
            assert isinstance(content, types.TextResourceContents)
            assert text in content.text
        for uri in ("wikimem://item/preferences:the%20sea", "wikimem://item/odd%3Aname:100% sure"):
            assert (await one.read_resource(uri)).contents
        (day,) = (await one.read_resource("wikimem://day/2026-07-25")).contents
        assert isinstance(day, types.TextResourceContents)
        assert day.text == "## 09:00\n\nRowed.\n\n## 22:00\n\nSlept."
        for uri in ("wikimem://item/preferences:nothing", "wikimem://day/1999-01-01", "wikimem://else", "x:y"):
            with pytest.raises(MCPError):
                await one.read_resource(uri)

    talk(served, use)


def test_the_bridge_starts_without_a_daemon_and_finds_it_when_it_comes(tmp_path: Path) -> None:
    with serving(tmp_path) as one:
        one.write("wiki/a.md", "# a\n\n## b\n\nThe sea.\n")

        async def use(client: ClientSession) -> None:
            assert len((await client.list_tools()).tools) == len(TOOLS)
            assert (await client.list_resources()).resources == []
            for name, arguments in (("retrieve", {"query": "sea"}), ("status", {}), ("changes", {})):
                told = await refused(client, name, **arguments)
                assert f"wikimem serve --vault {one.vault}" in told
            await asyncio.to_thread(one.start)
            assert (await called(client, "retrieve", query="sea"))["items"][0]["address"] == "a:b"
            one.stop()
            one.start()
            assert (await called(client, "get", address="a:b"))["content"] == "The sea."

        talk(one, use)


def test_a_vault_that_is_not_there_is_told_by_the_tools(tmp_path: Path) -> None:
    async def use(client: ClientSession) -> None:
        told = await refused(client, "retrieve", query="sea")
        assert "wikimem init" in told
        assert "serve" not in told

    talk(Served(tmp_path), use, "--vault", str(tmp_path / "mispelt"))


def test_a_configuration_that_does_not_load_is_told_by_the_tools(tmp_path: Path) -> None:
    one = Served(tmp_path)
    file = one.base / "config/wikimem/config.toml"
    file.parent.mkdir()
    file.write_text("defualt = 1", encoding="utf-8")

    async def use(client: ClientSession) -> None:
        assert "config.toml" in await refused(client, "retrieve", query="sea")

    talk(one, use)


def test_standard_output_carries_nothing_but_the_protocol(served: Served) -> None:
    sent = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "retrieve", "arguments": {"query": "sea"}},
        },
        "no json at all",
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "get", "arguments": {}}},
    ]
    lines = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in sent)
    with subprocess.Popen(
        [sys.executable, *MCP, "--vault", str(served.vault)],
        env=served.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines)
        process.stdin.flush()
        answers: dict[int, Any] = {}
        while 3 not in answers or 2 not in answers:
            message = json.loads(process.stdout.readline())
            assert message["jsonrpc"] == "2.0"
            answers[message.get("id")] = message
        process.stdin.close()
        assert process.wait(20) == 0
        assert process.stdout.read() == ""
    assert answers[1]["result"]["serverInfo"]["name"] == "wikimem"
    assert "memory" in answers[1]["result"]["instructions"]
    assert answers[2]["result"].get("isError") is not True
    assert answers[3]["result"]["isError"] is True


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def test_without_the_sdk_the_command_says_how_to_install_it(served: Served) -> None:
    script = (
        "import sys; sys.modules['mcp'] = None; from wikimem.cli import run; sys.exit(run(['mcp', '--vault', 'x']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=served.env, capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 78
    assert done.stdout == ""
    assert "pip install --upgrade 'wikimem[mcp]'" in done.stderr
