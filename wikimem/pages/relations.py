"""Manual edges: the lines of `relations.jsonl`, one JSON object each, as values."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass

from wikimem.text.problems import Problem


@dataclass(frozen=True, slots=True)
class Relation:
    """An edge that somebody asked for: `source` is an address, `target` an address or a label, as it was given.

    `line` is the 1-based line of `relations.jsonl`, 0 before it is written.
    """

    source: str
    target: str
    weight: float = 1.0
    ts: str | None = None
    line: int = 0


def read_relations(data: bytes) -> tuple[list[Relation], list[Problem]]:
    """Read the lines of `relations.jsonl`; what is no relation is a problem and is passed over, never an error.

    Of several lines for one source and target the last counts, in the place of the first.
    """
    relations: dict[tuple[str, str], Relation] = {}
    problems: list[Problem] = []
    for number, line in enumerate(data.decode("utf-8", "replace").removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip():
            continue
        relation = _read_line(line, number)
        if relation is None:
            hint = 'write {"source": "…", "target": "…", "weight": 1.0} or remove the line'
            problems.append(Problem("invalid-relation", number, f"no relation can be read from {line[:80]!r}", hint))
        else:
            relations[relation.source, relation.target] = relation
    return list(relations.values()), problems


def render_relation(relation: Relation) -> bytes:
    """Write a relation as one line of `relations.jsonl`, readable in a pager: non-ASCII text stays as it is."""
    fields: dict[str, object] = {"source": relation.source, "target": relation.target, "weight": relation.weight}
    if relation.ts is not None:
        fields["ts"] = relation.ts
    return (json.dumps(fields, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def render_relations(relations: Iterable[Relation]) -> bytes:
    """Write a whole `relations.jsonl`."""
    return b"".join(render_relation(relation) for relation in relations)


def _read_line(line: str, number: int) -> Relation | None:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    source, target, weight, ts = (fields.get(key) for key in ("source", "target", "weight", "ts"))
    if not isinstance(source, str) or not isinstance(target, str) or not source.strip() or not target.strip():
        return None
    weight = 1.0 if weight is None else weight
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not is_weight(weight):
        return None
    return Relation(source, target, float(weight), ts if isinstance(ts, str) else None, number)


def is_weight(weight: float) -> bool:
    """Tell whether a weight is a finite positive number."""
    try:
        return weight > 0 and math.isfinite(float(weight))
    except OverflowError:
        return False
