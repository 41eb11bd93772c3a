"""The link graph at size: 10,000 items, 100,000 edges, one hub of 5,000.

    python bench/graph.py [--items N] [--edges N] [--hub N] [--json FILE]

Bars: building 100,000 edges <= 2 s, one edit <= 5 ms, `related` at depth 5 in both directions <= 50 ms. Wall time; the
processor's time stands beside it, because on a busy machine only that is the graph's own. What was built is frozen for
the garbage collector, as the daemon does after reading a vault.
"""

import argparse
import gc
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.pages.reading import read_page
from wikimem.search.edges import RelatedResult
from wikimem.search.graph import LinkGraph

PER_PAGE = 50
Weight = Callable[[random.Random], float]
WEIGHTS: dict[str, Weight] = {
    "all 1.0": lambda _: 1.0,
    "some 2.0 and 2.5": lambda rng: rng.choice([1.0] * 8 + [2.0, 2.5]),
    "random": lambda rng: round(rng.uniform(0.5, 3.0), 3),
}


def item_name(number: int) -> str:
    return f"item-{number}"


def address(number: int) -> str:
    return f"c{number // PER_PAGE}:{item_name(number)}"


def texts(items: int, edges: int, hub: int, weight: Weight, rng: random.Random) -> dict[str, str]:
    """Return the files: half of the hub's edges lead to it, half away from it."""
    out: dict[int, dict[int, float]] = {number: {} for number in range(items)}
    for number in rng.sample(range(1, items), hub // 2):
        out[0][number] = weight(rng)
    for number in rng.sample(range(1, items), hub - hub // 2):
        out[number][0] = weight(rng)
    made = hub
    while made < edges:
        source, target = rng.randrange(items), rng.randrange(items)
        if source != target and target not in out[source]:
            out[source][target] = weight(rng)
            made += 1
    files: dict[str, str] = {}
    for first in range(0, items, PER_PAGE):
        parts = []
        for number in range(first, min(first + PER_PAGE, items)):
            links = " ".join(link(target, w) for target, w in out[number].items())
            parts.append(f"## {item_name(number)}\n\nSome words about {number}. {links}\n\n")
        files[f"wiki/c{first // PER_PAGE}.md"] = "".join(parts)
    return files


def link(target: int, weight: float) -> str:
    suffix = "" if weight == 1.0 else f"; w={weight}"
    category, _, name = address(target).partition(":")
    return f"[[{category}#{name}{suffix}]]" if target % 2 else f"[[{category}:{name}{suffix}]]"


Took = tuple[float, float]  # wall and processor time in milliseconds


def milliseconds(work: Callable[[], object], times: int = 1) -> list[Took]:
    took = []
    for _ in range(times):
        wall, processor = time.perf_counter(), time.process_time()
        work()
        took.append(((time.perf_counter() - wall) * 1000, (time.process_time() - processor) * 1000))
    return took


def summary(took: list[Took]) -> dict[str, float]:
    wall, processor = ([one[index] for one in took] for index in (0, 1))
    return {
        "p50": round(statistics.median(wall), 2),
        "max": round(max(wall), 2),
        "processor p50": round(statistics.median(processor), 2),
    }


def measure(name: str, weight: Weight, sizes: argparse.Namespace) -> dict[str, object]:
    rng = random.Random(1)
    files = texts(sizes.items, sizes.edges, sizes.hub, weight, rng)
    pages = [read_page(path, text.encode(), Layout()) for path, text in files.items()]
    gc.collect()
    gc.freeze()
    graphs: list[LinkGraph] = []

    def build() -> None:
        graphs[:] = [LinkGraph()]
        for page in pages:
            graphs[0].replace_page(page)

    built = milliseconds(build, 3)
    graph = graphs[0]
    gc.collect()
    gc.freeze()
    result: dict[str, object] = {
        "weights": name,
        "edges": graph.counts().resolved,
        "build_ms": summary(built),
        "settle_ms": summary(milliseconds(graph.settle)),
        "first_related_ms": summary(milliseconds(lambda: ask(graph, 0, 20))),
        "edit_ms": summary(edits(graph, files, rng)),
        "rename_and_back_ms": summary(renames(graph, pages)),
    }
    truncated = 0
    anchors = [0, *rng.sample(range(1, sizes.items), 19)]
    for limit in (20, 100, None):
        took: list[Took] = []
        for anchor in anchors:
            found: list[RelatedResult] = []
            took += milliseconds(lambda anchor=anchor, found=found: found.append(ask(graph, anchor, limit)))  # type: ignore[misc] # noqa: B023
            truncated += found[0].truncated
        result[f"related_depth_5_both_limit_{limit}_ms"] = summary(took)
    edited: list[Took] = []
    for number in range(20):
        change(graph, files, rng, number)
        edited += milliseconds(lambda: ask(graph, 7, 20))
    result["related_after_an_edit_ms"] = summary(edited)
    result["truncated"] = truncated
    return result


def ask(graph: LinkGraph, number: int, limit: int | None) -> RelatedResult:
    return graph.related(address(number), direction="both", depth=5, limit=limit)


def change(graph: LinkGraph, files: dict[str, str], rng: random.Random, number: int) -> list[Took]:
    """Add one link to one item of a page, and take the page into the graph."""
    path = rng.choice(sorted(files))
    text = files[path].replace("Some words", f"Some words [[c0:item-{number}]]", 1)
    page = read_page(path, text.encode(), Layout())
    return milliseconds(lambda: graph.replace_page(page))


def edits(graph: LinkGraph, files: dict[str, str], rng: random.Random) -> list[Took]:
    return [took for number in range(100) for took in change(graph, files, rng, number)]


def renames(graph: LinkGraph, pages: list[Page]) -> list[Took]:
    """Rename an ordinary item, and take it back."""
    took: list[Took] = []
    for page in pages[1:21]:
        name = page.items[0].name
        text = f"## {name}-new\n\n" + "".join(f"## {item.name}\n\n{item.content}\n\n" for item in page.items[1:])
        renamed = read_page(page.path, text.encode(), Layout())
        took += milliseconds(lambda page=renamed: graph.replace_page(page))  # type: ignore[misc]
        took += milliseconds(lambda page=page: graph.replace_page(page))  # type: ignore[misc]
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--edges", type=int, default=100_000)
    parser.add_argument("--hub", type=int, default=5_000)
    parser.add_argument("--json", type=Path)
    sizes = parser.parse_args()
    results = [measure(name, weight, sizes) for name, weight in WEIGHTS.items()]
    for result in results:
        print(*(f"{key:45} {value}" for key, value in result.items()), "", sep="\n")
    if sizes.json:
        sizes.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
