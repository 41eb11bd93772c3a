"""Two daemons on two copies of one vault, and a loop that keeps the copies equal as a sync tool does."""

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from tests.integration.copying import CopyingLoop, tree
from tests.serving import Served, serving, wait_until
from wikimem.errors import Conflict

ROUNDS = 12
PAUSE_S = 0.12  # long beside a write, so that both sides change between two looks
QUIET_STEPS = 8


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Served, Served]]:
    with serving(tmp_path / "a") as one, serving(tmp_path / "b") as other:
        for side in (one, other):
            side.write("wiki/shared.md", "---\ntags: [both]\n---\n# shared\n\nprose\n\n## start\n\nbegin.\n")
        yield one.start(), other.start()


class Syncing:
    """The copying loop in a thread."""

    def __init__(self, loop: CopyingLoop) -> None:
        self.loop = loop
        self.steps_since_change = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(PAUSE_S):
            self.steps_since_change = 0 if self.loop.step() else self.steps_since_change + 1


def write_everywhere(sides: tuple[Served, Served], written: dict[str, str]) -> None:
    """Let two agents and a person write; `written` gets every text that was taken, with its address."""
    chance = random.Random(5)
    clients = [side.client() for side in sides]
    for number in range(ROUNDS):
        for which, client in enumerate(clients):
            for name in (f"own-{which}", "contested", f"item-{number}"):
                text = f"text {number} of side {which} for {name}."
                try:
                    client.put_item("shared", name, text, owner=f"agent:{which}")
                except Conflict:
                    continue
                written[text] = f"shared:{name}"
            entry = f"entry {number} of side {which}."
            client.diary_append(entry, date="2026-07-21", time=f"1{number % 10}:00", owner=f"agent:{which}")
            written[entry] = f"2026-07-21:1{number % 10}:00"
        note = sides[0].vault / "wiki" / "person.md"
        text = f"a person's text {number}."
        temporary = note.with_name("person.md.tmp")
        known = note.read_text() if note.exists() else "# person\n"
        temporary.write_text(f"{known}\n## thought {number}\n\n{text}\n")
        temporary.replace(note)
        written[text] = f"person:thought {number}"
        time.sleep(chance.random() * 0.05)  # agents do not write at the sync tool's pace


def addresses_of(address: str, side: Served, cursor: str) -> set[str]:
    """Return under what an item's versions are found: they go with it when it is taken for renamed."""
    found = {address}
    while True:
        page = side.client().changes(cursor)
        assert not page["fresh_instance"]
        for change in page["changes"]:
            if change["old_address"] in found:
                found.add(change["address"])
        cursor = page["cursor"]
        if not page["more"]:
            return found


def where_is(text: str, address: str, sides: dict[str, Served]) -> bool:
    """Say whether a text is in a file of either copy, or in the history of either side (by its cursor at the start)."""
    for cursor, side in sides.items():
        if any(text in path.read_text() for path in side.vault.rglob("*.md")):
            return True
        for known in addresses_of(address, side, cursor):
            if any(version["content"] == text for version in side.client().history(known, limit=500)["versions"]):
                return True
    return False


@pytest.mark.timeout(120)
@pytest.mark.xfail(
    strict=False,
    reason="an open fault: in about one run of five one early text is in neither note nor history of either side",
)
def test_both_copies_converge_nothing_is_lost_and_nobody_writes_for_ever(pair: tuple[Served, Served]) -> None:
    one, other = pair
    begun = {side.client().status()["cursor"]: side for side in pair}
    written = {"begin.": "shared:start"}
    with Syncing(CopyingLoop(one.vault, other.vault)) as syncing:
        write_everywhere(pair, written)
        wait_until(lambda: syncing.steps_since_change >= QUIET_STEPS, "the copies hold still", 40)
        assert tree(one.vault) == tree(other.vault)
        assert syncing.loop.conflicts > 0, "the loop made no conflict, so that nothing was tried"
    # Removals reach the history after their grace period, so that is what a lost text has to wait for.
    lost = dict(written)

    def all_found() -> bool:
        for text in [text for text, address in lost.items() if where_is(text, address, begun)]:
            del lost[text]
        return not lost

    try:
        wait_until(all_found, "every text is somewhere", 40)
    finally:
        assert lost == {}
    for side in pair:
        items = {item["address"]: item["content"] for item in side.client().items("shared")["items"]}
        assert set(items) >= {"shared:start"}
        journal = side.client().journal(1_000, merged=False)["entries"]
        entries = [one["time"] for one in journal if one["action"] == "diary"]
        assert len(entries) == 2 * ROUNDS
    kept = tree(one.vault)
    assert not [path for path in kept if ".wikimem-" in path]
