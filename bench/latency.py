"""Round trips of `retrieve` over the socket, what they cost the daemon, and the memory that it needs.

    python bench/latency.py [--items 10000] [--files 200 5000] [--calls 1000] [--json OUT]

Asked idle, right after a save (of one item, for its new word), beside a person who saves all the time, and during a
full rebuild. The words of the notes follow Zipf's law, as those of a language do; the questions are three words of one
note. `work` is the daemon's processor time for each call, which says the same on a busy machine; `resident` is what
`status` says at the end of the row.

Bars (BM25, `fresh` on): 10,000 items p50 <= 1.2 ms, p99 <= 5 ms; 100,000 items p50 <= 3 ms, p99 <= 15 ms; while a
rebuild of 100,000 items runs p99 <= 15 ms, max <= 150 ms. A one-item edit in a 20 KB file (--items 100000 --files
2300) takes <= 5 ms of work until it is found. Resident after the rebuild <= 140 MB at 10,000 items, 600 MB at 100,000.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.freshness import cpu_seconds
from tests.serving import Served

WORDS_A_NOTE = 70
VOCABULARY = 30_000
EDIT_EVERY_S = 0.02
SAVES = 200


@dataclass(frozen=True, slots=True)
class Trips:
    """One row of the table, in milliseconds."""

    files: int
    items: int
    state: str
    calls: int
    p50: float
    p99: float
    most: float
    work: float
    resident_mb: float


class Notes:
    """Notes of made-up words, the same for the same number."""

    def __init__(self, items: int, files: int) -> None:
        self.files = files
        self.per_file = max(1, items // files)
        rng = random.Random(11)
        parts = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
        self._words = ["".join(rng.choices(parts, k=rng.choice((1, 2, 2, 3, 3, 4)))) for _ in range(VOCABULARY)]
        total = 0.0
        self._weights = [total := total + 1 / (rank + 3) for rank in range(VOCABULARY)]

    def words(self, number: int, edition: int = 0) -> list[str]:
        """Return the words of an item."""
        return random.Random(number * 1_000 + edition).choices(self._words, cum_weights=self._weights, k=WORDS_A_NOTE)

    def page(self, file: int, edition: int = 0) -> str:
        """Return a file's text; another edition changes its first item."""
        numbers = range(file * self.per_file, (file + 1) * self.per_file)
        return "\n".join(
            f"## item {number}\n\n{' '.join(self.words(number, edition if number == numbers.start else 0))} "
            f"[[notes{file}:item {numbers.start}]]\n"
            for number in numbers
        )

    def edited(self, file: int, word: str) -> str:
        """Return a file's text with one word more in its first item."""
        return self.page(file).replace("\n\n", f"\n\n{word} ", 1)

    def question(self, number: int) -> str:
        """Return three words of a note."""
        return " ".join(random.Random(number).sample(self.words(number % (self.files * self.per_file)), 3))


@contextmanager
def serving(notes: Notes) -> Iterator[Served]:
    """Serve a vault of these notes, read in full."""
    with tempfile.TemporaryDirectory() as folder:
        served = Served(Path(folder))
        for file in range(notes.files):
            served.write(f"wiki/notes{file}.md", notes.page(file))
        served.start(wait=False)
        try:
            deadline = time.monotonic() + 300
            while not _complete(served):
                if time.monotonic() > deadline:
                    raise SystemExit("the vault was not read in five minutes")
                time.sleep(0.05)
            yield served
        finally:
            served.stop()


def _complete(served: Served) -> bool:
    try:
        return not served.client(timeout=2.0).status()["partial"]
    except Exception:  # noqa: BLE001 - it does not answer yet
        return False


def ask(served: Served, notes: Notes, calls: int, until: Callable[[], bool] = lambda: True) -> list[float]:
    """Ask one question after the other, at least so many, on until a condition holds; return the round trips."""
    taken: list[float] = []
    with served.client(timeout=30) as client:
        for number in range(50):
            client.retrieve(notes.question(number))
        number = 0
        while number < calls or (not until() and number < calls * 100):
            started = time.perf_counter()
            client.retrieve(notes.question(number))
            taken.append((time.perf_counter() - started) * 1_000)
            number += 1
    return taken


def saved(served: Served, notes: Notes, saves: int) -> list[float]:
    """Save one item so many times, each in another file, and ask for its new word; return the round trips."""
    taken: list[float] = []
    with served.client(timeout=30) as client:
        for number in range(saves):
            word = f"edit{number}"
            save(served, number % notes.files, notes.edited(number % notes.files, word))
            started = time.perf_counter()
            found = client.retrieve(word, limit=1)["items"]
            taken.append((time.perf_counter() - started) * 1_000)
            if not found or word not in found[0]["content"]:
                raise SystemExit(f"{word} was not found right after it was saved")
    return taken


def save(served: Served, file: int, text: str) -> None:
    """Replace a file at once, as most editors do: a query that meets a half-written note waits for its writer."""
    aside = served.write(f"wiki/.notes{file}.tmp", text)
    aside.replace(served.vault / f"wiki/notes{file}.md")


@contextmanager
def editing(served: Served, notes: Notes) -> Iterator[None]:
    """Save one note after the other meanwhile."""
    stop = threading.Event()

    def keep_saving() -> None:
        edition = 0
        while not stop.wait(EDIT_EVERY_S):
            edition += 1
            save(served, edition % notes.files, notes.page(edition % notes.files, edition))

    thread = threading.Thread(target=keep_saving)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def rebuilding(served: Served) -> Callable[[], bool]:
    """Start a rebuild and return what tells that it is over."""
    with served.client(timeout=30) as client:
        client.rebuild()
    looked = [0.0]
    over = [False]

    def is_over() -> bool:
        # Asked ten times a second: the question itself is a call.
        if not over[0] and time.monotonic() - looked[0] > 0.1:
            looked[0] = time.monotonic()
            with served.client(timeout=30) as client:
                over[0] = client.status()["rebuild"]["state"] not in {"running", "idle"}
        return over[0]

    return is_over


def measure(items: int, files: int, calls: int) -> list[Trips]:
    """Measure one vault in its four states."""
    notes = Notes(items, files)
    with serving(notes) as served:
        idle = row(served, notes, "idle", lambda: ask(served, notes, calls))
        after = row(served, notes, "after a save", lambda: saved(served, notes, min(calls, SAVES)))
        with editing(served, notes):
            beside = row(served, notes, "under edits", lambda: ask(served, notes, calls))
        rebuild = row(served, notes, "during a rebuild", lambda: ask(served, notes, 100, rebuilding(served)))
    return [idle, after, beside, rebuild]


def row(served: Served, notes: Notes, state: str, calls: Callable[[], list[float]]) -> Trips:
    """Sum up some round trips."""
    used = cpu_seconds(served)
    ordered = sorted(calls())
    work = (cpu_seconds(served) - used) * 1_000 / len(ordered)
    middle, late = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    resident = served.client().status()["rss_bytes"] / 1e6
    items = notes.files * notes.per_file
    return Trips(notes.files, items, state, len(ordered), middle, late, ordered[-1], work, resident)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--files", type=int, nargs="+", default=[200, 5_000])
    parser.add_argument("--calls", type=int, default=1_000)
    parser.add_argument("--json", type=Path, metavar="OUT")
    options = parser.parse_args(arguments)
    rows = [found for files in options.files for found in measure(options.items, files, options.calls)]
    print("| files | items | state | calls | p50 ms | p99 ms | max ms | work ms | resident MB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for one in rows:
        print(
            f"| {one.files} | {one.items} | {one.state} | {one.calls} "
            f"| {one.p50:.2f} | {one.p99:.2f} | {one.most:.1f} | {one.work:.2f} | {one.resident_mb:.0f} |"
        )
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(one) for one in rows], indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
