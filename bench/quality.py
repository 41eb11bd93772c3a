"""How often the right item is found: recall@1/5/10 and MRR@10 on question sets of the SQuAD form.

    python bench/quality.py FILE… [--json OUT]

Each paragraph is an item, each question a query, and the gold item is the paragraph that the question was asked of.
Every file is measured alone, then all of them pooled in one index. Paragraphs that occur in several questions count
once; of equal texts any is right. The speed of the tokenizer is measured on the same texts (one core).
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from wikimem.pages.items import RecallItem
from wikimem.pages.page import Page
from wikimem.search.analyzer import Analyzer
from wikimem.search.index import MemoryIndex
from wikimem.search.vectors import VectorIndex

DEPTH = 10


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Paragraphs, and questions with the number of their paragraph."""

    name: str
    paragraphs: tuple[str, ...]
    questions: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Quality:
    """One row of the table."""

    name: str
    items: int
    questions: int
    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    mrr_at_10: float
    query_ms: float


class Pages:
    """Pages in memory, as the source of an index."""

    revision = 0

    def __init__(self, pages: Iterable[Page]) -> None:
        self._pages = {page.path: page for page in pages}

    def pages(self) -> list[Page]:
        return list(self._pages.values())

    def changed_since(self, revision: int) -> list[str]:
        del revision
        return []

    def read_page(self, path: str) -> Page | None:
        return self._pages.get(path)


def read_set(path: Path) -> QuestionSet:
    """Read a file of the SQuAD form."""
    paragraphs: dict[str, int] = {}
    questions: list[tuple[str, int]] = []
    for article in json.loads(path.read_text("utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            number = paragraphs.setdefault(paragraph["context"], len(paragraphs))
            questions.extend((asked["question"], number) for asked in paragraph["qas"])
    return QuestionSet(path.stem, tuple(paragraphs), tuple(questions))


def index_of(sets: Sequence[QuestionSet], vectors: VectorIndex | None = None) -> MemoryIndex:
    """Return an index with a category for each set. Names are no words, so that only texts are found."""
    pages = []
    for number, one in enumerate(sets):
        items = tuple(RecallItem(f"set{number}", f"x{at:05d}x", text) for at, text in enumerate(one.paragraphs))
        pages.append(Page(f"wiki/set{number}.md", "wiki", f"set{number}", items))
    return MemoryIndex(Pages(pages), vectors=vectors)


def measure(name: str, sets: Sequence[QuestionSet]) -> Quality:
    """Ask every question of the sets in one index of all their paragraphs."""
    index = index_of(sets)
    ranks: list[int | None] = []
    started = time.perf_counter()
    for number, one in enumerate(sets):
        for question, gold in one.questions:
            found = index.retrieve(question, DEPTH, expand_links=False).items
            wanted = f"set{number}:x{gold:05d}x"
            ranks.append(next((at for at, hit in enumerate(found, start=1) if hit.item.address == wanted), None))
    spent = time.perf_counter() - started
    recall = {depth: sum(rank is not None and rank <= depth for rank in ranks) / len(ranks) for depth in (1, 5, 10)}
    return Quality(
        name,
        sum(len(one.paragraphs) for one in sets),
        len(ranks),
        recall[1],
        recall[5],
        recall[10],
        mrr_at_10=sum(1 / rank for rank in ranks if rank is not None) / len(ranks),
        query_ms=1000 * spent / len(ranks),
    )


def tokens_per_second(sets: Sequence[QuestionSet], rounds: int = 20) -> float:
    """Return the speed of the tokenizer over a text in which words recur as they do in a large vault."""
    texts = [text for one in sets for text in one.paragraphs]
    analyzer = Analyzer()
    started = time.process_time()
    tokens = sum(int(analyzer.tokens(texts).lengths.sum()) for _ in range(rounds))
    return tokens / (time.process_time() - started)


def table(rows: Sequence[Quality]) -> str:
    """Return the rows as a Markdown table."""
    lines = [
        "| set | items | questions | R@1 | R@5 | R@10 | MRR@10 | ms a query |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.name} | {row.items} | {row.questions} | {row.recall_at_1:.3f} | {row.recall_at_5:.3f} "
        f"| {row.recall_at_10:.3f} | {row.mrr_at_10:.4f} | {row.query_ms:.2f} |"
        for row in rows
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the files of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="questions in the SQuAD form")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the figures here")
    options = parser.parse_args(arguments)
    sets = [read_set(path) for path in options.files]
    rows = [measure(one.name, [one]) for one in sets]
    if len(sets) > 1:
        rows.append(measure("pooled", sets))
    speed = tokens_per_second(sets)
    print(table(rows))
    print(f"\ntokenizer: {speed / 1e6:.2f} million tokens/s")
    if options.json is not None:
        figures = {"sets": [asdict(row) for row in rows], "tokens_per_second": round(speed)}
        options.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
