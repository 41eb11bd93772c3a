"""How fast notes are read, and what memory that takes: the scan alone, and the whole page.

    python bench/parsing.py [--notes FOLDER] [--json FILE]

Bars: the scan >= 10 MB/s of Markdown on one core; time and memory linear in the size of a file; a 50 MB file over the
size limit costs nothing but its name. `page` is the scan with items, tags, block ids, links and problems. Times are of
the processor, the best of five, so that other programs on the machine matter less.
"""

import argparse
import gc
import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from wikimem.pages.items import RecallItem
from wikimem.pages.layout import Layout
from wikimem.pages.reading import read_page, too_large_page
from wikimem.pages.wiki import put_item
from wikimem.text.document import Document

LAYOUT = Layout(wiki_dir=".")
ROUNDS = 5
MEGABYTE = 1_000_000
PROSE = "The tide was out, and the boats lay on their sides in the mud, as they had done every day of that week.\n"
META = "<!-- wikimem: owner=user:x | source=conv_1 | ts=2026-07-10T03:00:00+00:00 -->\n"

KINDS: dict[str, str] = {
    "memory items": "## item-{n}\n\n" + PROSE * 3 + f"See [[topic-{{n}}:item-{{n}}]].\n\n{META}\n",
    "plain prose": PROSE * 40 + "\n\n## item-{n}\n\n",
    "Chinese prose": "## 条目 {n}\n\n" + "喜欢海边，提到过想去海边玩，只喝手冲咖啡。\n" * 8 + f"\n{META}\n",
    "lists and tasks": "## item-{n}\n\n" + "- [ ] call about the boat #task\n  - nested item\n1. first\n" * 6 + "\n",
    "code and inline code": "## item-{n}\n\n```python\nfor x in y:\n    print(x)\n```\n\n"
    "Use `x` and ``y``, see [[a:b]].\n\n",
    "links, dense": "## item-{n}\n\n" + "[[a:b]] and [[c#d|e]] and [f](g.md#h) in one line\n" * 5 + "\n",
    "comments and formulas": "## item-{n}\n\n%% hidden %% shown\n\n$$ x = y $$\n\n<!-- c -->\n\n" + PROSE + "\n",
}


def corpus(template: str, size: int) -> bytes:
    parts: list[str] = []
    total = number = 0
    while total < size:
        parts.append(template.replace("{n}", str(number)))
        total += len(parts[-1].encode())
        number += 1
    return "".join(parts).encode()[:size]


def best(work: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        gc.collect()
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def peak(work: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def speeds(files: list[tuple[str, bytes]]) -> dict[str, float]:
    size = sum(len(data) for _, data in files)
    return {
        "megabytes": size / MEGABYTE,
        "scan_mb_s": size / MEGABYTE / best(lambda: [Document.parse(data) for _, data in files]),
        "page_mb_s": size / MEGABYTE / best(lambda: [read_page(path, data, LAYOUT) for path, data in files]),
        "page_memory_per_byte": peak(lambda: [read_page(path, data, LAYOUT) for path, data in files]) / size,
    }


def growth(template: str) -> dict[str, float]:
    """Return milliseconds and peak megabytes of one file of 1, 2 and 4 MB."""
    result: dict[str, float] = {}
    for megabytes in (1, 2, 4):
        data = corpus(template, megabytes * MEGABYTE)
        result[f"{megabytes} MB ms"] = best(lambda data=data: read_page("n.md", data, LAYOUT)) * 1_000  # type: ignore[misc]
        result[f"{megabytes} MB peak"] = peak(lambda data=data: read_page("n.md", data, LAYOUT)) / MEGABYTE  # type: ignore[misc]
    return result


def edits() -> dict[str, float]:
    """Return milliseconds for one update in a 20 KB file, reading it back included."""
    data = corpus(KINDS["memory items"], 20_000)
    item = RecallItem("n", "item-7", "A new text.", "user:x")
    return {"update in 20 KB, ms": best(lambda: put_item(data, "n", item)) * 1_000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=Path, default=Path("../shared/data/vaults"), help="a folder of real notes")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    options = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    real = [(path.name, path.read_bytes()) for path in sorted(options.notes.rglob("*.md"))]
    if real:
        figures["real notes"] = speeds(real)
    for name, template in KINDS.items():
        figures[name] = speeds([("n.md", corpus(template, 200_000))] * 5)
    figures["windows line ends"] = speeds(
        [("n.md", corpus(KINDS["memory items"], 200_000).replace(b"\n", b"\r\n"))] * 5
    )
    print(f"{'notes':24} {'scan MB/s':>10} {'page MB/s':>10} {'memory/byte':>12}")
    for name, row in figures.items():
        print(f"{name:24} {row['scan_mb_s']:10.1f} {row['page_mb_s']:10.1f} {row['page_memory_per_byte']:12.1f}")
    sizes = growth(KINDS["memory items"])
    print("one file: " + ", ".join(f"{name} {value:.0f}" for name, value in sizes.items()))
    rest = {**edits(), "50 MB over the limit, ms": best(lambda: too_large_page("n.md", 50 * MEGABYTE, LAYOUT)) * 1_000}
    print(", ".join(f"{name} {value:.2f}" for name, value in rest.items()))
    if options.json:
        options.json.write_text(json.dumps({"kinds": figures, "growth": sizes, "rest": rest}, indent=1))


if __name__ == "__main__":
    main()
