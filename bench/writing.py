"""Writing beside editors: texts lost, files torn, and how long a write takes.

    python bench/writing.py            the full form: 10,000 made interleavings, 4,000 real races, 500 kills
    python bench/writing.py --short    a tenth of each

Made interleavings let an editor in between two system calls of a write; real races are two processes that start at
the same moment. Every text must be in the file or in the history afterwards; every file must be one whole text.
"""

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.fault.editors import LAYOUT, PATH, STYLES, Between, WithoutLeases, race, start_text
from tests.fault.killing import rounds
from wikimem.errors import Conflict, TryAgain
from wikimem.pages.wiki import read_wiki_page
from wikimem.store.vault import MemoryStore

KERNELS: dict[str, Callable[[], Between]] = {
    "leases": Between,
    "no leases": lambda: WithoutLeases(exchange=True),
    "no leases, no exchange": lambda: WithoutLeases(exchange=False),
}


def made_interleavings(folder: Path, count: int) -> None:
    print(f"made interleavings, {count} a file system, four saving styles")
    for name, kernel in KERNELS.items():
        lost = torn = left = 0
        place = folder / name.replace(" ", "-").replace(",", "")
        for seed in range(count):
            outcome = race(place, kernel(), STYLES[seed % len(STYLES)], seed)
            lost, torn, left = lost + len(outcome.lost), torn + len(outcome.torn), left + len(outcome.left)
        print(f"  {name:26} lost {lost}  torn {torn}  left over {left}")


def editor_process(note: Path, style: str, commands: int, answers: int) -> None:
    """Save once for every byte that comes in; the delay is the seed's."""
    seed = 0
    while os.read(commands, 1):
        chance = random.Random(seed)
        text = note.read_bytes().replace(f"<<old{seed}>>".encode(), f"<<new{seed}>>".encode())
        os.write(answers, b"r")
        _wait(chance.random() * 0.003)
        half = len(text) // 2
        if style == "rename":
            temporary = note.with_name("editor~")
            temporary.write_bytes(text)
            temporary.replace(note)
        else:
            if style == "unlink and create":
                note.unlink(missing_ok=True)
            descriptor = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.write(descriptor, text[:half])
            _wait(0.001 if style == "slow" else 0.0001)
            os.write(descriptor, text[half:])
            os.close(descriptor)
        os.write(answers, b"s")
        seed += 1


def _wait(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def real_races(folder: Path, count: int) -> None:
    print(f"real races of two processes, {count} a saving style")
    for style in STYLES:
        place = folder / f"real-{style.replace(' ', '-')}"
        note = place / "vault" / PATH
        note.parent.mkdir(parents=True)
        store = MemoryStore(place / "vault", layout=LAYOUT, state_dir=place / "state" / "v")
        command_read, command_write = os.pipe()
        answer_read, answer_write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(command_write)
            try:
                editor_process(note, style, command_read, answer_write)
            finally:
                os._exit(0)
        os.close(command_read)
        lost, torn, conflicts, taken = 0, 0, 0, []
        for seed in range(count):
            note.write_bytes(start_text(seed))
            os.write(command_write, b"g")
            assert os.read(answer_read, 1) == b"r"
            ours, started = f"agent {seed} <<api{seed}>>", time.perf_counter()
            try:
                store.add("notes", "agent" if seed % 3 else "mine", ours)
            except (Conflict, TryAgain):
                conflicts += 1
            taken.append((time.perf_counter() - started) * 1_000)
            assert os.read(answer_read, 1) == b"s"
            texts = {f"person {seed} <<new{seed}>>": "mine", ours: "agent" if seed % 3 else "mine"}
            one_lost, one_torn = _judge(store, note, texts, seed)
            lost, torn = lost + one_lost, torn + one_torn
        os.close(command_write)
        os.waitpid(child, 0)
        store.close()
        taken.sort()
        print(
            f"  {style:26} lost {lost}  torn {torn}  conflicts {conflicts}  a write p50 {statistics.median(taken):.2f}"
            f"  p99 {taken[len(taken) * 99 // 100]:.2f} ms"
        )


def _judge(store: MemoryStore, note: Path, texts: dict[str, str], seed: int) -> tuple[int, int]:
    live = {item.name: item.content for item in read_wiki_page(PATH, note.read_bytes(), LAYOUT).items}
    lost = 0
    for text, name in texts.items():
        kept = [version.content for version in store.versions(f"notes:{name}", 20).versions]
        lost += live.get(name) != text and text not in kept
    known = {*texts, f"person {seed} <<old{seed}>>", f"agent {seed} <<was{seed}>>", "end"}
    return lost, sum(content not in known for content in live.values())


def kills(folder: Path, count: int) -> None:
    print(f"kill -9 of a writing child, {count} each; then one start")
    (folder / "call").mkdir()
    (folder / "moment").mkdir()
    (folder / "in-place").mkdir()
    wrong = {
        "at one of its calls": rounds(folder / "call", count, 1, kill=lambda c: {"at_call": c.randrange(1, 260)}),
        "at any moment": rounds(folder / "moment", count, 2, kill=lambda c: {"after_s": c.random() * 0.06}),
        "at a call, files in place": rounds(
            folder / "in-place", count, 3, kill=lambda c: {"at_call": c.randrange(1, 260)}, linked=True
        ),
    }
    for name, found in wrong.items():
        print(f"  {name:26} disagreements {len(found)}", *found[:3], sep="  ")


def writes(folder: Path, count: int) -> None:
    print(f"one write, {count} each, nobody else")
    store = MemoryStore(_vault(folder / "alone"), layout=LAYOUT, state_dir=folder / "alone-state" / "v")
    for items in (1, 100):
        for number in range(items):
            store.add("notes", f"item {number}", "some text of a usual length, a sentence or two. " * 4)
        taken = []
        for number in range(count):
            started = time.perf_counter()
            store.add("notes", "item 0", f"text {number}")
            taken.append((time.perf_counter() - started) * 1_000)
        taken.sort()
        name = f"update, file of {items} items"
        print(f"  {name:26} p50 {statistics.median(taken):.2f}  p99 {taken[len(taken) * 99 // 100]:.2f} ms")
    store.close()


def _vault(folder: Path) -> Path:
    (folder / "wiki").mkdir(parents=True)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    factor = 10 if parser.parse_args().short else 1
    with tempfile.TemporaryDirectory(prefix="wm-bench-") as folder:
        writes(Path(folder), 1_000 // factor)
        made_interleavings(Path(folder), 10_000 // factor)
        real_races(Path(folder), 1_000 // factor)
        kills(Path(folder), 500 // factor)


if __name__ == "__main__":
    main()
