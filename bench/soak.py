"""A long walk: random edits and twenty clients for ten minutes; memory, descriptors and log must stay flat.

python bench/soak.py --seconds 600 --clients 20
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.freshness import asking, fill, on_disk, served_items, shares
from tests.savers import Gardener
from tests.serving import Served, serving
from wikimem.pages.layout import Layout

_SAMPLES = 20


@dataclass(slots=True)
class Soaked:
    """What was seen, sampled over the time; `stale` names the steps after which a fresh answer was not the disk's."""

    steps: int = 0
    stale: list[str] = field(default_factory=list)
    not_fresh: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    log_lines: list[int] = field(default_factory=list)
    state_bytes: list[int] = field(default_factory=list)


def soak(served: Served, *, seconds: float, clients: int, seed: int) -> Soaked:
    """Walk for so long."""
    found, layout = Soaked(), Layout()
    gardener = Gardener(served.vault, seed, notes=8)
    with served.client(timeout=30) as client, asking(served, clients) as asked:
        began = time.monotonic()
        sample_at = began
        while time.monotonic() - began < seconds:
            if time.monotonic() >= sample_at:
                sample_at += seconds / _SAMPLES
                _sample(served, found)
            what = gardener.step()
            found.steps += 1
            fresh, items, degraded = served_items(client)
            if not fresh:
                found.not_fresh[str(degraded)[:120]] += 1
            elif items != on_disk(served.vault, layout):
                found.stale.append(f"step {found.steps}, {what}")
    found.calls, found.errors, found.seconds = asked.calls, asked.errors, asked.seconds
    _sample(served, found)
    return found


def _sample(served: Served, found: Soaked) -> None:
    with served.client(timeout=30) as client:
        found.resident.append(client.status()["rss_bytes"])
    found.descriptors.append(served.descriptors())
    found.log_lines.append(served.log().count("\n"))
    found.state_bytes.append(sum(path.stat().st_size for path in (served.base / "state").rglob("*") if path.is_file()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Walk and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--items", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as served:
        (served.vault / "diary").mkdir(exist_ok=True)
        fill(served, chosen.items, 100)
        served.start()
        found = soak(served, seconds=chosen.seconds, clients=chosen.clients, seed=chosen.seed)
    print(
        f"{chosen.seconds:g} s: {found.steps} steps, {len(found.stale)} stale {found.stale[:5]}, "
        f"{found.not_fresh.total()} not fresh {dict(found.not_fresh)}\n"
        f"{chosen.clients} clients: {found.calls} queries, errors {dict(found.errors)}, {shares(found.seconds)}\n"
        f"resident MB {[value // 1_000_000 for value in found.resident]}\n"
        f"descriptors {found.descriptors}\nlog lines {found.log_lines}\n"
        f"state MB {[round(value / 1e6, 1) for value in found.state_bytes]}"
    )
    return 1 if found.stale or found.errors else 0


if __name__ == "__main__":
    sys.exit(main())
