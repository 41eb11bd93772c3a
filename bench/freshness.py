"""How soon a save is found, by driving a real daemon: the first rows of the numbers to meet.

python bench/freshness.py save --items 10000             save to correct hit, with and without `fresh`
python bench/freshness.py save --writer                  the same beside a writer that saves every 2 ms
python bench/freshness.py burst --files 200 20000        files at once, until all are searchable, queries meanwhile
python bench/freshness.py cold --items 10000             start to `status`, and to the complete index
python bench/freshness.py stale --steps 20000            random saves in all styles: stale answers with `fresh`
python bench/freshness.py idle --files 1000 --seconds 60 what an idle daemon does
"""

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.savers import SAVERS, Gardener, by_rename
from tests.serving import Served, serving
from wikimem.api.client import Client
from wikimem.errors import WikimemError
from wikimem.pages.layout import Layout
from wikimem.pages.reading import read_page

WORDS = ("sea", "robot", "coffee", "garden", "winter", "train", "letter", "music", "river", "lamp", "stone", "bread")
PATIENCE_S = 60.0


def fill(served: Served, items: int, files: int) -> None:
    """Write a vault of so many items in so many files."""
    rng = random.Random(7)
    per_file = -(-items // files)
    for number in range(files):
        count = max(min(per_file, items - number * per_file), 0)
        sections = (f"## item {each}\n\n{' '.join(rng.choices(WORDS, k=60))}\n" for each in range(count))
        served.write(f"wiki/fill/n{number}.md", "\n".join(sections))


def shares(values: Sequence[float]) -> str:
    """Return p50, p90 and p99 of seconds, in milliseconds."""
    ordered = sorted(values)
    found = [ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 for share in (0.5, 0.9, 0.99)]
    return f"p50 {found[0]:.1f}, p90 {found[1]:.1f}, p99 {found[2]:.1f}, max {ordered[-1] * 1000:.1f} ms"


def finds(client: Client, word: str, text: str, *, fresh: bool) -> bool:
    """Ask for a word; say whether the first hit has the text. A fresh answer that lacks it is a stale one."""
    answer = client.retrieve(word, limit=1, fresh=fresh, fresh_timeout_ms=5_000 if fresh else None)
    if fresh and not answer["fresh"]:
        raise RuntimeError(f"no fresh answer: {answer['degraded']}")
    return bool(answer["items"]) and answer["items"][0]["content"] == text


def cpu_seconds(served: Served) -> float:
    """Return the processor time that the daemon has used: it says the same on a busy machine."""
    if served.process is None:
        return 0.0
    fields = Path(f"/proc/{served.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def writing(served: Served, every_s: float) -> Iterator[None]:
    """Let somebody save another note all the time."""
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.wait(every_s):
            number += 1
            by_rename(served.vault / "wiki" / "busy.md", f"## busy\n\nbusy {number}\n".encode())

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


# --- save ---------------------------------------------------------------------------------------------------------


def save_to_hit(served: Served, saves: int, *, fresh: bool) -> list[float]:
    """Save a note so many times, each in another style; return the seconds from the end of each save to its hit."""
    seconds: list[float] = []
    note = served.vault / "wiki" / "watched.md"
    with served.client(timeout=30) as client:
        for number in range(saves):
            word = f"save{number:06d}{'f' if fresh else 'n'}"
            text = f"{word} in the text"
            SAVERS[number % len(SAVERS)](note, f"## watched\n\n{text}\n".encode())
            saved = time.perf_counter()
            while not finds(client, word, text, fresh=fresh):
                if fresh:
                    raise RuntimeError(f"a stale answer was called fresh after {SAVERS[number % len(SAVERS)].__name__}")
                if time.perf_counter() - saved > PATIENCE_S:
                    raise RuntimeError(f"{word} was never found")
            seconds.append(time.perf_counter() - saved)
            time.sleep(0.01)
    return seconds


def run_save(served: Served, chosen: argparse.Namespace) -> int:
    """Print save-to-hit with and without `fresh`."""
    fill(served, chosen.items, chosen.files)
    served.start()
    for fresh in (False, True):
        if chosen.writer:
            with writing(served, 0.002):
                seconds = save_to_hit(served, chosen.saves, fresh=fresh)
        else:
            seconds = save_to_hit(served, chosen.saves, fresh=fresh)
        beside = ", beside a writer" if chosen.writer else ""
        print(f"save to hit, {chosen.items} items{beside}, {'fresh' if fresh else 'not fresh'}: {shares(seconds)}")
    return 0


# --- burst --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Asked:
    """What clients saw while a burst was taken in."""

    calls: int = 0
    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    not_fresh: int = 0
    daemon_s: float = 0.0


@contextmanager
def asking(served: Served, clients: int) -> Iterator[Asked]:
    """Let so many clients query all the time, with the default freshness."""
    found, stop, lock = Asked(), threading.Event(), threading.Lock()

    def ask(number: int) -> None:
        rng = random.Random(number)
        with served.client(timeout=30) as client:
            while not stop.is_set():
                began = time.perf_counter()
                try:
                    answer = client.retrieve(rng.choice(WORDS), limit=5)
                except WikimemError as error:
                    with lock:
                        found.errors[f"{type(error).__name__}: {error}"] += 1
                    continue
                with lock:
                    found.calls += 1
                    found.seconds.append(time.perf_counter() - began)
                    found.not_fresh += not answer["fresh"]
                time.sleep(0.02)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield found
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def is_in(client: Client, word: str) -> bool:
    """Say whether a word of a note is found, without waiting for freshness."""
    items = client.retrieve(word, limit=1, fresh=False)["items"]
    return bool(items) and word in items[0]["content"].split()


def check_out(source: Path, target: Path) -> None:
    """Bring files as git does: each is made and written by itself."""
    target.mkdir()
    for file in sorted(source.iterdir()):
        (target / file.name).write_bytes(file.read_bytes())


def burst(served: Served, files: int, clients: int, *, one_by_one: bool = False) -> tuple[float, Asked]:
    """Put so many files into the vault at once; return the seconds until all are searchable."""
    outside = served.base / f"burst{files}"
    outside.mkdir()
    rng = random.Random(files)
    for number in range(files):
        text = f"## one\n\nburst{files}x{number} {' '.join(rng.choices(WORDS, k=20))}\n"
        (outside / f"b{number:06d}.md").write_text(text)
    with served.client(timeout=30) as client, asking(served, clients) as asked:
        wanted = client.status()["items"] + files
        began, used = time.perf_counter(), cpu_seconds(served)
        if one_by_one:
            check_out(outside, served.vault / "wiki" / f"burst{files}")
        else:
            outside.rename(served.vault / "wiki" / f"burst{files}")
        # The names are read in order. `status` goes through every page, so it is asked for the count at the end only.
        while not is_in(client, f"burst{files}x{files - 1}") or client.status()["items"] < wanted:
            if time.perf_counter() - began > 10 * PATIENCE_S:
                raise RuntimeError("the burst was never taken in")
            time.sleep(0.02)
        seconds = time.perf_counter() - began
        asked.daemon_s = cpu_seconds(served) - used
        for number in (0, files // 2, files - 1):
            if not is_in(client, f"burst{files}x{number}"):
                raise RuntimeError(f"burst file {number} is not searchable")
    return seconds, asked


def run_burst(served: Served, chosen: argparse.Namespace) -> int:
    """Print how long bursts take."""
    fill(served, chosen.items, chosen.files_before)
    served.start()
    failed = 0
    for files in chosen.files:
        seconds, asked = burst(served, files, chosen.clients, one_by_one=chosen.one_by_one)
        failed += asked.errors.total()
        print(
            f"{files} files at once: all searchable after {seconds:.2f} s ({asked.daemon_s:.2f} s of processor time); "
            f"meanwhile {asked.calls} queries by "
            f"{chosen.clients} clients, {shares(asked.seconds)}, {asked.not_fresh} not fresh, "
            f"errors {dict(asked.errors)}"
        )
    return 1 if failed else 0


# --- cold ---------------------------------------------------------------------------------------------------------


def cold(served: Served) -> tuple[float, float]:
    """Start the daemon; return the seconds to the first `status` and to the complete index."""
    began = time.perf_counter()
    served.start(wait=False)
    answered = 0.0
    while True:
        try:
            with served.client(timeout=5) as client:
                status = client.status()
        except WikimemError as error:
            if served.process is None or served.process.poll() is not None:
                raise RuntimeError(served.log()) from error
            time.sleep(0.005)
            continue
        answered = answered or time.perf_counter() - began
        if not status["partial"] and status["state"] != "starting":
            return answered, time.perf_counter() - began
        time.sleep(0.005)


def run_cold(served: Served, chosen: argparse.Namespace) -> int:
    """Print how long a start takes, the first time and again with a manifest."""
    fill(served, chosen.items, chosen.files)
    for name in ("first start", *(["start again"] * chosen.rounds)):
        answered, complete = cold(served)
        print(
            f"{name}, {chosen.items} items in {chosen.files} files: status {answered:.2f} s, complete {complete:.2f} s "
            f"({cpu_seconds(served):.2f} s of processor time)"
        )
        time.sleep(1)
        served.stop()
    return 0


# --- stale --------------------------------------------------------------------------------------------------------


def on_disk(root: Path, layout: Layout) -> dict[str, str]:
    """Return the wiki's items as a fresh reading gives them."""
    found: dict[str, str] = {}
    for path in sorted((root / "wiki").rglob("*.md")):
        inside = str(path.relative_to(root))
        page = read_page(inside, path.read_bytes(), layout)
        found |= {item.address: item.content for item in page.items}
    return found


def served_items(client: Client) -> tuple[bool, dict[str, str], Sequence[Any]]:
    """Return whether the answer is fresh, every wiki item, and what is degraded."""
    found: dict[str, str] = {}
    after, fresh, degraded = None, True, list[Any]()
    while True:
        answer = client.items(limit=1_000, after=after, fresh_timeout_ms=5_000)
        fresh &= answer["fresh"]
        degraded += answer["degraded"]
        found |= {item["address"]: item["content"] for item in answer["items"]}
        after = answer["next"]
        if after is None:
            return fresh, found, degraded


@dataclass(slots=True)
class Staleness:
    """What a random walk over a vault found."""

    steps: int = 0
    stale: list[str] = field(default_factory=list)
    not_fresh: Counter[str] = field(default_factory=Counter)


def staleness(served: Served, steps: int, seed: int) -> Staleness:
    """Do random things to the vault, and compare every fresh answer with the disk."""
    found, layout = Staleness(), Layout()
    gardener = Gardener(served.vault, seed, notes=6)
    with served.client(timeout=30) as client:
        for _ in range(steps):
            what = gardener.step()
            found.steps += 1
            fresh, items, degraded = served_items(client)
            if not fresh:
                found.not_fresh[str(degraded)[:200]] += 1
            elif items != on_disk(served.vault, layout):
                found.stale.append(f"step {found.steps}, {what}")
    return found


def run_stale(served: Served, chosen: argparse.Namespace) -> int:
    """Print how many fresh answers were stale."""
    (served.vault / "diary").mkdir(exist_ok=True)
    served.start()
    with asking(served, chosen.clients) as asked:
        found = staleness(served, chosen.steps, chosen.seed)
    print(
        f"{found.steps} random steps: {len(found.stale)} stale answers with fresh {found.stale[:5]}, "
        f"{found.not_fresh.total()} not fresh {dict(found.not_fresh)}; {chosen.clients} clients: "
        f"{asked.calls} queries, errors {dict(asked.errors)}"
    )
    return 1 if found.stale or asked.errors else 0


# --- idle ---------------------------------------------------------------------------------------------------------


def run_idle(served: Served, chosen: argparse.Namespace) -> int:
    """Print what an idle daemon uses."""
    fill(served, chosen.files * 5, chosen.files)
    served.start()
    time.sleep(5)  # what follows a start is over
    with served.client() as client:
        before, used = client.status()["watch"], cpu_seconds(served)
    time.sleep(chosen.seconds)
    used = cpu_seconds(served) - used
    with served.client() as client:
        after = client.status()["watch"]
    print(
        f"idle {chosen.seconds:g} s, {chosen.files} files: {used / chosen.seconds * 100:.3f} % of a core, "
        f"watch before {before}, after {after}"
    )
    return 0


# --- the command --------------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--place", type=lambda text: Path(text).resolve(), help="where to make the vault (a ramfs mount, another disk)"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    save = commands.add_parser("save")
    save.add_argument("--items", type=int, default=10_000)
    save.add_argument("--files", type=int, default=1_000)
    save.add_argument("--saves", type=int, default=400)
    save.add_argument("--writer", action="store_true")
    many = commands.add_parser("burst")
    many.add_argument("--files", type=int, nargs="+", default=[200, 20_000])
    many.add_argument("--items", type=int, default=10_000)
    many.add_argument("--files-before", type=int, default=1_000)
    many.add_argument("--clients", type=int, default=20)
    many.add_argument("--one-by-one", action="store_true", help="as git checks out, not as a folder that is moved in")
    start = commands.add_parser("cold")
    start.add_argument("--items", type=int, default=10_000)
    start.add_argument("--files", type=int, default=1_000)
    start.add_argument("--rounds", type=int, default=2)
    stale = commands.add_parser("stale")
    stale.add_argument("--steps", type=int, default=20_000)
    stale.add_argument("--seed", type=int, default=1)
    stale.add_argument("--clients", type=int, default=20)
    idle = commands.add_parser("idle")
    idle.add_argument("--files", type=int, default=1_000)
    idle.add_argument("--seconds", type=float, default=60)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one measurement and print what it found."""
    chosen = _parser().parse_args(arguments)
    runs = {"save": run_save, "burst": run_burst, "cold": run_cold, "stale": run_stale, "idle": run_idle}
    with tempfile.TemporaryDirectory(dir=chosen.place) as folder, serving(Path(folder)) as served:
        return runs[chosen.command](served, chosen)


if __name__ == "__main__":
    sys.exit(main())
