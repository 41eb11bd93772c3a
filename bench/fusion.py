"""Which fusion rule: MRR@10 of every rule and weight on questions, on paraphrases, and with a poor model.

    python bench/fusion.py FILE… --vectors DIR [--json OUT]

`DIR/NAME.npz` holds the vectors of `NAME.json` (the SQuAD form): `paragraphs` and `questions`, one row each in the
file's order, by any model. The tasks:

- `words`: questions against paragraphs of their own language, where words overlap;
- `paraphrase`: the questions of one file against the paragraphs of the next, which is the same text in another
  language: hardly a word is shared, the meaning is all there is;
- `poor`: as `words`, with a model that knows a little: most of what tells one vector from the next is noise;
- `useless`: as `words`, with a model that knows nothing: what a rule loses when it listens to it;
- `noise`: the same, and its vectors point everywhere.

As with most models all vectors share a large common part, which only `noise` has not.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from bench.quality import DEPTH, QuestionSet, index_of, read_set
from wikimem.search.fusion import RULES
from wikimem.search.index import MemoryIndex
from wikimem.search.results import RetrievalSettings
from wikimem.search.vectors import ExactVectors, Matrix

WEIGHTS = (0.3, 0.4, 0.5, 0.6, 0.7)
# How much longer the noise is than what tells a vector from the others.
NOISE = {"poor": 2.0, "useless": 50.0}


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: a rule with a weight on a task. Rule `bm25` and `cosine` are the signals alone."""

    task: str
    rule: str
    weight: float
    mrr_at_10: float


@dataclass(frozen=True, slots=True)
class Task:
    """Questions with their vectors, and the paragraphs that they are asked against with theirs."""

    name: str
    paragraphs: QuestionSet
    questions: tuple[tuple[str, int], ...]
    paragraph_vectors: Matrix
    question_vectors: Matrix


def tasks(sets: Sequence[QuestionSet], folder: Path) -> Iterator[Task]:
    """Return the three kinds of tasks over all the files."""
    files = {one.name: np.load(folder / f"{one.name}.npz") for one in sets}
    rng = np.random.default_rng(5)
    for at, one in enumerate(sets):
        paragraphs, questions = files[one.name]["paragraphs"], files[one.name]["questions"]
        yield Task(f"words {one.name}", one, one.questions, paragraphs, questions)
        for name, noise in NOISE.items():
            made = (_noisy(vectors, noise, rng) for vectors in (paragraphs, questions))
            yield Task(f"{name} {one.name}", one, one.questions, *made)
        drawn = (rng.standard_normal(vectors.shape).astype(np.float32) for vectors in (paragraphs, questions))
        yield Task(f"noise {one.name}", one, one.questions, *drawn)
        other = sets[(at + 1) % len(sets)]
        if other is not one:
            name = f"paraphrase {one.name} to {other.name}"
            yield Task(name, other, one.questions, files[other.name]["paragraphs"], questions)


def _noisy(vectors: Matrix, noise: float, rng: np.random.Generator) -> Matrix:
    common = vectors.mean(axis=0)
    own = vectors - common
    drawn = rng.standard_normal(own.shape).astype(np.float32)
    length = np.linalg.norm(own, axis=1, keepdims=True)
    mixed = own / noise + drawn * length / np.linalg.norm(drawn, axis=1, keepdims=True)
    made: Matrix = (common + mixed).astype(np.float32)
    return made


def measure(task: Task) -> Iterator[Row]:
    """Measure the signals alone and every rule with every weight."""
    index = index_of([task.paragraphs])
    vectors = ExactVectors("measured", task.paragraph_vectors.shape[1])
    vectors.put([item.hash for item in index.items()], task.paragraph_vectors)
    yield Row(task.name, "bm25", 1.0, _mrr(index, task, vectors=False))
    fused = index_of([task.paragraphs], vectors)
    for name in RULES:
        for weight in WEIGHTS:
            fused.settings = RetrievalSettings(fusion=name, fusion_weight=weight)
            yield Row(task.name, name, weight, _mrr(fused, task, vectors=True))
    fused.settings = RetrievalSettings(fusion="max", fusion_weight=0.0)
    yield Row(task.name, "cosine", 0.0, _mrr(fused, task, vectors=True))


def _mrr(index: MemoryIndex, task: Task, *, vectors: bool) -> float:
    total = 0.0
    for (question, gold), vector in zip(task.questions, task.question_vectors, strict=True):
        found = index.retrieve(question, DEPTH, expand_links=False, query_vector=vector if vectors else None).items
        wanted = f"set0:x{gold:05d}x"
        total += next((1 / at for at, hit in enumerate(found, start=1) if hit.item.address == wanted), 0.0)
    return total / len(task.questions)


def table(rows: Sequence[Row]) -> str:
    """Return the figures as a Markdown table: a row for each rule and weight, a column for each task."""
    names = list(dict.fromkeys(row.task for row in rows))
    figures = {(row.rule, row.weight, row.task): row.mrr_at_10 for row in rows}
    lines = [f"| rule | weight of BM25 | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for rule, weight in dict.fromkeys((row.rule, row.weight) for row in rows):
        cells = " | ".join(f"{figures[rule, weight, name]:.3f}" for name in names)
        lines.append(f"| {rule} | {weight:g} | {cells} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the files of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="questions in the SQuAD form")
    parser.add_argument("--vectors", type=Path, required=True, metavar="DIR", help="where NAME.npz of each file is")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the figures here")
    options = parser.parse_args(arguments)
    sets = [read_set(path) for path in options.files]
    rows = [row for task in tasks(sets, options.vectors) for row in measure(task)]
    print(table(rows))
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
