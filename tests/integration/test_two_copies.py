"""Two daemons on two copies of one vault, and a loop that keeps the copies equal as a sync tool does."""

import random
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
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
    """The copying loop in a thread. `copies` are all that it made, `still` its steps since the last one."""

    def __init__(self, loop: CopyingLoop) -> None:
        self.loop = loop
        self.copies = self.still = 0
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
            copied = self.loop.step()
            self.copies += copied
            self.still = 0 if copied else self.still + 1


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
            client.diary_append(
                entry, date="2026-07-21", time=f"1{number % 10}:0{number // 10}", owner=f"agent:{which}"
            )
            written[entry] = f"2026-07-21:1{number % 10}:0{number // 10}"
        note = sides[0].vault / "wiki" / "person.md"
        text = f"a person's text {number}."
        temporary = note.with_name("person.md.tmp")
        known = note.read_text() if note.exists() else "# person\n"
        temporary.write_text(f"{known}\n## thought {number}\n\n{text}\n")
        temporary.replace(note)
        written[text] = f"person:thought {number}"
        time.sleep(chance.random() * 0.05)  # agents do not write at the sync tool's pace


def where_is(text: str, address: str, sides: Iterable[Served]) -> bool:
    """Say whether a text is in a file of either copy, or in the history of its address on either side."""
    for side in sides:
        if any(text in path.read_text() for path in side.vault.rglob("*.md")):
            return True
        if any(version["content"] == text for version in side.client().history(address, limit=500)["versions"]):
            return True
    return False


def wait_for_all(written: Mapping[str, str], sides: Iterable[Served]) -> None:
    """Wait until every text is somewhere. A removal reaches the history after its grace period."""
    lost = dict(written)

    def all_found() -> bool:
        for text in [text for text, address in lost.items() if where_is(text, address, sides)]:
            del lost[text]
        return not lost

    try:
        wait_until(all_found, "every text is somewhere", 40)
    finally:
        assert lost == {}


@pytest.mark.timeout(120)
def test_both_copies_converge_nothing_is_lost_and_nobody_writes_for_ever(pair: tuple[Served, Served]) -> None:
    one, other = pair
    written = {"begin.": "shared:start"}
    for which, side in enumerate(pair):  # both copies have changed before the loop looks: there is a conflict
        written[f"early text of side {which}."] = f"shared:early-{which}"
        side.client().put_item("shared", f"early-{which}", f"early text of side {which}.")
    with Syncing(CopyingLoop(one.vault, other.vault)) as syncing:
        write_everywhere(pair, written)
        at_the_end = syncing.copies
        wait_until(lambda: syncing.still >= QUIET_STEPS, "the copies hold still", 40)
        assert tree(one.vault) == tree(other.vault)
        assert syncing.loop.conflicts > 0
        # A file costs a conflict copy, its way over, and the winner's way over: then nothing may follow from it.
        assert syncing.copies - at_the_end <= 3 * len(tree(one.vault))
        made = syncing.copies
        wait_for_all(written, pair)
        assert syncing.copies == made
    served = [{item["address"]: item["content"] for item in side.client().items("shared")["items"]} for side in pair]
    assert served[0] == served[1]
    assert "shared:start" in served[0]
    for side in pair:
        journal = side.client().journal(1_000, merged=False)["entries"]
        entries = [one["time"] for one in journal if one["action"] == "diary"]
        assert len(entries) == 2 * ROUNDS
    assert not [path for path in tree(one.vault) if ".wikimem-" in path]
