"""One changed item beside many vectors: what it costs, what queries see of it, what is written.

    python bench/vectors.py [--items 100000] [--dim 1024] [--edits 40] [--json FILE]

Bar: 1 text embedded for one changed item; the whole matrix is written at most once per debounce (2 s of quiet, at
latest 30 s). Round trips of `retrieve` over the socket, every one with a new question, so that each also asks the
endpoint (which answers at once, from this machine) for its vector.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.latency import Notes
from tests.embedding import Endpoint, configure, running
from tests.serving import Served
from wikimem.cache.files import VectorFiles, key_line
from wikimem.pages.layout import Layout
from wikimem.pages.reading import read_page

FILES = 500
START_S = 300.0


@dataclass(frozen=True, slots=True)
class Row:
    """Round trips in milliseconds while something goes on, what of them is the daemon's own, and what that cost."""

    what: str
    calls: int
    p50: float
    p99: float
    most: float
    own_p50: float
    own_p99: float
    own_most: float
    texts: int
    commits: int
    megabytes: float
    seconds: float


def prepare(served: Served, notes: Notes, dim: int) -> int:
    """Write notes and a cache that has a vector for each; return how many there are."""
    rng = np.random.default_rng(5)
    lines: list[bytes] = []
    for file in range(FILES):
        text = notes.page(file)
        path = f"wiki/c{file:04}.md"
        served.write(path, text)
        page = read_page(path, text.encode(), Layout())
        lines += [key_line(item.category, item.name, item.hash) for item in page.items]
    blocks = (
        rng.normal(size=(min(1_000, len(lines) - start), dim)).astype(np.float32)
        for start in range(0, len(lines), 1_000)
    )
    VectorFiles(served.vault).write("m1", dim, lines, blocks)
    return len(lines)


class Bench:
    """The daemon, the endpoint, and questions that were never asked before."""

    def __init__(self, served: Served, endpoint: Endpoint, notes: Notes) -> None:
        self.served, self.endpoint, self.notes = served, endpoint, notes
        self.client = served.client(timeout=60)
        self._asked = 0

    def vectors(self) -> Any:
        return self.client.status()["vectors"]

    def trip(self) -> tuple[float, float]:
        self._asked += 1
        words = self.notes.words(self._asked)
        started = time.perf_counter()
        answer = self.client.retrieve(f"{words[0]} {words[1]} {words[2]} q{self._asked}")
        took = (time.perf_counter() - started) * 1000
        assert answer["embedding_used"], answer["degraded"]
        return took, float(answer["took_ms"])

    def measure(
        self, what: str, over: Callable[[float, int], bool], each: Callable[[int], None] = lambda _: None
    ) -> Row:
        """Ask until `over(seconds, calls)`; `each` is done between two calls."""
        before, paid, started = self.vectors(), self._texts(), time.perf_counter()
        trips: list[tuple[float, float]] = []
        while not over(time.perf_counter() - started, len(trips)):
            each(len(trips))
            trips.append(self.trip())
        after = self.vectors()
        p50, p99, most = (np.percentile(np.array(trips), part, axis=0).round(2).tolist() for part in (50, 99, 100))
        return Row(
            what,
            len(trips),
            p50[0],
            p99[0],
            most[0],
            p50[1],
            p99[1],
            most[1],
            texts=self._texts() - paid,
            commits=after["commits"] - before["commits"],
            megabytes=round((after["written_bytes"] - before["written_bytes"]) / 1e6, 1),
            seconds=round(time.perf_counter() - started, 1),
        )

    def _texts(self) -> int:
        """Return how many notes were paid for, without the questions."""
        with self.endpoint.lock:
            return sum(count for text, count in self.endpoint.paid.items() if "\n" in text)


def wait_ready(bench: Bench, items: int) -> float:
    started = time.monotonic()
    while True:
        found = bench.vectors()
        if found["state"] == "ready" and found["count"] == items:
            return time.monotonic() - started
        assert time.monotonic() - started < START_S, found
        time.sleep(0.05)


def edit(served: Served, notes: Notes, edition: int) -> None:
    served.write("wiki/c0000.md", notes.page(0, edition))


def run(bench: Bench, notes: Notes, edits: int) -> list[Row]:
    """Measure quiet, one edit, and a person who edits for a while."""
    rows = [bench.measure("first question", lambda _, calls: calls >= 1)]
    rows.append(bench.measure("quiet", lambda _, calls: calls >= 300))
    commits = bench.vectors()["commits"]
    edit(bench.served, notes, 1)
    rows.append(
        bench.measure(
            "one edit, until it is written",
            lambda seconds, calls: seconds > 60 or (calls % 20 == 0 and bench.vectors()["commits"] > commits),
        )
    )
    done = [time.monotonic(), 1]

    def every_second(_: int) -> None:
        if time.monotonic() - done[0] >= 1.0 and done[1] <= edits:
            done[0], done[1] = time.monotonic(), done[1] + 1
            edit(bench.served, notes, int(done[1]))

    rows.append(bench.measure(f"an edit a second, {edits} s", lambda seconds, _: seconds > edits, every_second))
    return rows


def main() -> None:
    """Run it and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=1_024)
    parser.add_argument("--edits", type=int, default=40)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    notes = Notes(chosen.items, FILES)
    with tempfile.TemporaryDirectory() as base, running(Endpoint(dim=chosen.dim)) as endpoint:
        served = Served(Path(base))
        items = prepare(served, notes, chosen.dim)
        configure(served, endpoint, query_timeout_ms=20_000)
        served.start(wait=False)
        try:
            bench = Bench(served, endpoint, notes)
            while not served.socket.exists():
                time.sleep(0.01)
            print(f"{items:,} items, ready after {wait_ready(bench, items):.1f} s; "
                  f"{bench.client.status()['rss_bytes'] / 1e6:.0f} MB resident")  # fmt: skip
            rows = run(bench, notes, chosen.edits)
        finally:
            served.stop()
    heads = ("calls", "p50", "p99", "max", "own p50", "p99", "max", "texts", "commits", "MB", "s")
    print(" " * 34 + "".join(f"{head:>8}" for head in heads))
    for row in rows:
        what, *numbers = asdict(row).values()
        print(f"{what:34}" + "".join(f"{number:>8}" for number in numbers))
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(row) for row in rows], indent=2))
    sys.exit(any(row.texts > 1 for row in rows if row.what.startswith("one edit")))


if __name__ == "__main__":
    main()
