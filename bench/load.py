"""Loads for the socket that a test has no time for; each has a short form that the tests run.

python -m bench.load crowd --clients 64 --seconds 60     64 clients at once: errors, p50, p99
python -m bench.load restarts --rounds 1000              kill -9 and restart under load: starts in one try
python -m bench.load fuzz --bytes 10000000               no crash, no leak, no 500
"""

import argparse
import asyncio
import json
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.fuzzing import byte_level, json_level
from tests.serving import ROOT, Served, connect, serving
from wikimem.api.async_client import AsyncClient
from wikimem.api.http_wire import ResponseReader
from wikimem.errors import WikimemError

WORDS = ("sea", "robot", "coffee", "garden", "winter", "train", "letter", "music", "river", "lamp", "stone", "bread")
QUERIES = ("sea train", "robot", "coffee bread", "winter river lamp", "music")


def fill(served: Served, items: int, per_file: int = 10) -> None:
    """Write a vault of so many items."""
    rng = random.Random(7)
    for number in range(0, items, per_file):
        name = f"notes{number // per_file}"
        sections = (
            f"## item {number + each}\n\n{' '.join(rng.choices(WORDS, k=60))} [[{name}:item {number}]]\n"
            for each in range(min(per_file, items - number))
        )
        served.write(f"wiki/{name}.md", "\n".join(sections))


# --- crowd --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Crowd:
    """What so many clients at once saw."""

    errors: Counter[str] = field(default_factory=Counter)
    reads_ms: list[float] = field(default_factory=list)
    writes_ms: list[float] = field(default_factory=list)

    @property
    def calls(self) -> int:
        return len(self.reads_ms) + len(self.writes_ms)


async def _ask(path: Path, until: float, found: Crowd, number: int) -> None:
    rng = random.Random(number)
    async with AsyncClient(path, timeout=30) as client:
        while time.monotonic() < until:
            started, kind = time.perf_counter(), rng.random()
            try:
                if kind < 0.8:
                    await client.retrieve(rng.choice(QUERIES), limit=5)
                elif kind < 0.9:
                    await client.items(limit=20)
                elif kind < 0.95:
                    await client.status()
                else:
                    await client.put_item(f"crowd{number}", f"n{rng.randrange(50)}", f"text {rng.random()}")
            except WikimemError as error:
                found.errors[type(error).__name__] += 1
            (found.reads_ms if kind < 0.95 else found.writes_ms).append((time.perf_counter() - started) * 1000)


async def _ask_all(path: Path, clients: range, seconds: float) -> Crowd:
    found, until = Crowd(), time.monotonic() + seconds
    await asyncio.gather(*(_ask(path, until, found, number) for number in clients))
    return found


def crowd(path: Path, clients: int, seconds: float, processes: int = 2) -> Crowd:
    """Let so many clients ask at once, spread over processes so that they do not wait for each other."""
    share = -(-clients // processes)
    command = [sys.executable, "-m", "bench.load", "ask", str(path), str(seconds)]
    children = [
        subprocess.Popen([*command, str(first), str(min(first + share, clients))], cwd=ROOT, stdout=subprocess.PIPE)
        for first in range(0, clients, share)
    ]
    total = Crowd()
    for child in children:
        out, _ = child.communicate()
        part = json.loads(out)
        total.errors.update(part["errors"])
        total.reads_ms += part["reads_ms"]
        total.writes_ms += part["writes_ms"]
    return total


def _shares(values: Sequence[float]) -> str:
    ordered = sorted(values)
    middle, late = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.99))
    return f"p50 {middle:.2f} ms, p99 {late:.2f} ms"


# --- restarts -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Restarts:
    """How many times it came back, how long that took, and what the clients saw."""

    rounds: int = 0
    seconds: list[float] = field(default_factory=list)
    calls: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    appended: list[str] = field(default_factory=list)

    def miswritten(self, served: Served) -> dict[str, int]:
        """Return how many times each entry that was answered is in the diary, where that is not once."""
        text = "".join(path.read_text(encoding="utf-8") for path in (served.vault / "diary").glob("*.md"))
        counts = {entry: text.count(f"{entry}\n") for entry in self.appended}
        return {entry: count for entry, count in counts.items() if count != 1}


def restarts(served: Served, rounds: int, *, kill: int = signal.SIGKILL, clients: int = 4) -> Restarts:
    """Kill and start the daemon again and again while clients ask and write; every start must need one try."""
    found, stop = Restarts(), threading.Event()
    lock, met = threading.Lock(), threading.Semaphore(0)

    def load(number: int) -> None:
        rng = random.Random(number)
        with served.client(timeout=60) as client:
            client.health()  # a client that was never answered takes an absent daemon for one that does not run
            met.release()
            while not stop.is_set():
                text = f"entry {number} {uuid.uuid4()}"
                # Over many days: a day of a thousand entries takes so long to write that it is killed every time.
                day = f"2026-07-{rng.randint(1, 31):02}"
                try:
                    client.retrieve(rng.choice(QUERIES), limit=3)
                    client.diary_append(text, date=day, time="12:00")
                except WikimemError as error:
                    with lock:
                        found.errors[f"{type(error).__name__}: {error}"] += 1
                else:
                    with lock:
                        found.appended.append(text)
                with lock:
                    found.calls += 2

    threads = [threading.Thread(target=load, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for _ in threads:
        met.acquire(timeout=60)
    try:
        for _ in range(rounds):
            time.sleep(random.Random(found.rounds).uniform(0.0, 0.3))
            served.stop(kill)
            started = time.monotonic()
            served.start()
            found.seconds.append(time.monotonic() - started)
            found.rounds += 1
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    return found


# --- fuzz ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Fuzzed:
    """What came back."""

    sent: int = 0
    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[bytes] = field(default_factory=list)


def fuzz(path: Path, amount: int, seed: int = 1) -> Fuzzed:
    """Send so many fuzzed bytes, half of them mutated HTTP, half mutated parameters."""
    rng, found = random.Random(seed), Fuzzed()
    while found.sent < amount:
        data = byte_level(rng) if found.requests % 2 else json_level(rng)
        found.sent += len(data)
        found.requests += 1
        for status in _statuses(path, data):
            found.statuses[status] += 1
            if status == 500:
                found.failures.append(data)
    return found


def _statuses(path: Path, data: bytes) -> list[int]:
    """Send bytes, say that this was all, and return the statuses of what comes back."""
    received = b""
    with connect(path, 20) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        try:
            while chunk := connection.recv(1 << 20):
                received += chunk
                if b"text/event-stream" in received:
                    break
        except ConnectionResetError:
            pass
    statuses = []
    while received.startswith(b"HTTP/1.1 "):
        reader = ResponseReader()
        reader.feed(received)
        statuses.append(reader.status)
        length = int(reader.headers.get("content-length", "0"))
        received = received[received.index(b"\r\n\r\n") + 4 + length :]
    return statuses


# --- the command --------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one load and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("crowd")
    one.add_argument("--clients", type=int, default=64)
    one.add_argument("--seconds", type=float, default=60)
    one.add_argument("--items", type=int, default=10_000)
    two = commands.add_parser("restarts")
    two.add_argument("--rounds", type=int, default=1_000)
    three = commands.add_parser("fuzz")
    three.add_argument("--bytes", type=int, default=10_000_000)
    three.add_argument("--seed", type=int, default=1)
    four = commands.add_parser("ask", help="one process of a crowd")
    four.add_argument("path", type=Path)
    four.add_argument("seconds", type=float)
    four.add_argument("first", type=int)
    four.add_argument("end", type=int)
    chosen = parser.parse_args(arguments)
    if chosen.command == "ask":
        part = asyncio.run(_ask_all(chosen.path, range(chosen.first, chosen.end), chosen.seconds))
        print(json.dumps({"errors": part.errors, "reads_ms": part.reads_ms, "writes_ms": part.writes_ms}))
        return 0
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as served:
        commands_by_name = {"crowd": _crowd, "restarts": _restarts, "fuzz": _fuzz}
        return commands_by_name[chosen.command](served, chosen)


def _crowd(served: Served, chosen: argparse.Namespace) -> int:
    fill(served, chosen.items)
    served.start()
    found = crowd(served.socket, chosen.clients, chosen.seconds)
    print(
        f"{chosen.clients} clients, {chosen.items} items, {chosen.seconds:g} s: {found.calls} calls "
        f"({found.calls / chosen.seconds:.0f}/s), errors {dict(found.errors)}; reads {_shares(found.reads_ms)}, "
        f"max {max(found.reads_ms):.0f} ms; writes (one at a time, on the disk) {_shares(found.writes_ms)}"
    )
    return 1 if found.errors else 0


def _restarts(served: Served, chosen: argparse.Namespace) -> int:
    fill(served, 200)
    served.start()
    found = restarts(served, chosen.rounds)
    print(
        f"{found.rounds} x kill -9: {found.calls} calls, errors {dict(found.errors)}, started in one try each, "
        f"p50 {statistics.median(found.seconds):.2f} s, max {max(found.seconds):.2f} s; "
        f"{len(found.appended)} entries written, lost or written twice {found.miswritten(served)}"
    )
    return 1 if found.errors or found.miswritten(served) else 0


def _fuzz(served: Served, chosen: argparse.Namespace) -> int:
    fill(served, 50)
    served.start()
    before = served.descriptors(), served.client().status()["rss_bytes"]
    found = fuzz(served.socket, chosen.bytes, chosen.seed)
    time.sleep(13)  # files that writes displaced are held for a second look
    after = served.descriptors(), served.client().status()["rss_bytes"]
    faults = served.log().count("Traceback")
    print(
        f"{found.sent} bytes in {found.requests} requests: {dict(sorted(found.statuses.items()))}, "
        f"descriptors {before[0]} -> {after[0]}, resident {before[1] / 1e6:.0f} -> {after[1] / 1e6:.0f} MB, "
        f"{faults} tracebacks in the log"
    )
    for data in found.failures[:5]:
        print("500:", data[:500])
    return 1 if found.failures or faults else 0


if __name__ == "__main__":
    sys.exit(main())
