"""Two agents and a person in one file at once: every text is in the vault, or in the history."""

import asyncio
import json
import os
import threading
from pathlib import Path

from tests.serving import Served, serving, wait_until
from wikimem.api.async_client import AsyncClient
from wikimem.host import MemoryHost

TURNS = 15
FILE = "wiki/shared.md"


def scripted(agent: str) -> "list[str]":
    """Return what a model says turn by turn: an item of its own, and one that both write again and again."""
    replies = []
    for turn in range(TURNS):
        own = {"category": "shared", "name": f"{agent} {turn}", "content": f"Fact {turn} of {agent}."}
        both = {"category": "shared", "name": "state", "content": f"State after turn {turn} of {agent}."}
        replies.append(json.dumps([own, both]))
    return replies


async def work(agent: str, memory: AsyncClient | object, replies: list[str]) -> None:
    said = iter(replies)
    host = MemoryHost(memory, lambda _: next(said), owner=f"agent:{agent}")  # type: ignore[arg-type]
    for turn in range(TURNS):
        await host.on_before_turn(f"fact {turn}")
        await host.on_after_turn(f"turn {turn}", "done")
        await host.flush()


def edit(file: Path, line: str, *, rename: bool) -> None:
    """Add a line to the person's own section, as an editor does: read the file, change the text, save all of it."""
    text = file.read_text(encoding="utf-8")
    head, mine, rest = text.partition("## mine\n")
    changed = f"{head}{mine}\n{line}{rest}" if mine else f"{text}\n## mine\n\n{line}\n"
    if rename:
        beside = file.with_name(".shared.md.swp")
        beside.write_text(changed, encoding="utf-8")
        beside.replace(file)
    else:
        with file.open("r+", encoding="utf-8") as stream:
            stream.write(changed)
            stream.truncate()
            os.fsync(stream.fileno())


def kept(served: Served, address: str) -> str:
    """Return everything that the vault and the history have for an address."""
    with served.client() as client:
        now = [item["content"] for item in client.items("shared", limit=1_000)["items"] if item["address"] == address]
        before = [version["content"] for version in client.history(address, limit=1_000)["versions"]]
    return "\n".join([*now, *before])


def test_no_text_is_lost_when_two_agents_and_a_person_write_at_once(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        file = served.write(FILE, "# shared\n\nMy own words.\n\n## mine\n\nbegun\n")
        served.start()
        lines = [f"line {number}" for number in range(2 * TURNS)]

        def person() -> None:
            for number, line in enumerate(lines):
                edit(file, f"{line}\n", rename=number % 2 == 0)

        async def agents() -> None:
            async with AsyncClient(served.socket) as awaited:
                with served.client() as blocking:
                    await asyncio.gather(
                        work("a", awaited, scripted("a")),
                        work("b", blocking, scripted("b")),
                    )

        typing = threading.Thread(target=person)
        typing.start()
        asyncio.run(agents())
        typing.join()

        text = file.read_text(encoding="utf-8")
        assert text.startswith("# shared\n\nMy own words.\n")
        everything = {
            ("shared:state", f"State after turn {turn} of {agent}.") for turn in range(TURNS) for agent in "ab"
        }
        everything |= {
            (f"shared:{agent} {turn}", f"Fact {turn} of {agent}.") for turn in range(TURNS) for agent in "ab"
        }
        everything |= {("shared:mine", line) for line in [*lines, "begun"]}

        def missing() -> list[tuple[str, str]]:
            texts = {address: kept(served, address).split("\n") for address in {one[0] for one in everything}}
            return sorted(one for one in everything if one[1] not in texts[one[0]])

        # What a save from a stale buffer took out of the file reaches the history after the grace period of removals.
        wait_until(lambda: not missing(), "every text is in the vault or in the history")
        with served.client() as client:
            state = client.status(verify=True)
            assert state["fresh"]
