"""Manual edges: the lines of `relations.jsonl`, one JSON object each, as values and as edits.

A person reads and edits this file too: an edit touches the lines of one pair and leaves every other byte alone, also
lines that cannot be read. A torn last line (a crash, a sync in the middle) is closed with a line end, never joined.
"""

import json
import math
from dataclasses import dataclass

from wikimem.text.problems import Problem

RELATIONS_FILE = "relations.jsonl"


@dataclass(frozen=True, slots=True)
class Relation:
    """An edge that somebody asked for: `source` and `target` are addresses or labels, as they were given.

    `line` is the 1-based line of `relations.jsonl`, 0 before it is written.
    """

    source: str
    target: str
    weight: float = 1.0
    ts: str | None = None
    line: int = 0


def read_relations(data: bytes) -> tuple[list[Relation], list[Problem]]:
    """Read the lines of `relations.jsonl`; what is no relation is a problem and is passed over, never an error.

    Of several lines for one source and target the last counts.
    """
    relations: dict[tuple[str, str], Relation] = {}
    problems: list[Problem] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        relation = _read_line(line, number)
        if relation is None:
            shown = line[:80].decode("utf-8", "replace")
            hint = 'write {"source": "…", "target": "…", "weight": 1.0}, or remove the line'
            problems.append(Problem("invalid-relation", number, f"no relation can be read from {shown!r}", hint))
        else:
            relations.pop((relation.source, relation.target), None)
            relations[relation.source, relation.target] = relation
    return list(relations.values()), problems


def put_relation(data: bytes, relation: Relation) -> bytes:
    """Return the file with the relation in it: in the place of the pair's last line, else at the end."""
    line = render_relation(relation)
    lines = data.split(b"\n")
    places = _places(lines, relation.source, relation.target)
    if not places:
        return (data if not data or data.endswith(b"\n") else data + b"\n") + line
    lines[places[-1]] = line.removesuffix(b"\n")
    kept = (one for place, one in enumerate(lines) if place not in places[:-1])
    return b"\n".join(kept)


def drop_relation(data: bytes, source: str, target: str) -> bytes:
    """Return the file without the lines of a pair."""
    lines = data.split(b"\n")
    places = _places(lines, source, target)
    return b"\n".join(one for place, one in enumerate(lines) if place not in places)


def lines_of(data: bytes, source: str, target: str) -> list[bytes]:
    """Return the lines of a pair as they stand in the file, without their ends."""
    lines = data.split(b"\n")
    return [lines[place].rstrip(b"\r") for place in _places(lines, source, target)]


def render_relation(relation: Relation) -> bytes:
    """Write a relation as one line, readable in a pager: non-ASCII text stays as it is."""
    fields: dict[str, object] = {"source": relation.source, "target": relation.target, "weight": relation.weight}
    if relation.ts is not None:
        fields["ts"] = relation.ts
    return (json.dumps(fields, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def is_weight(weight: float) -> bool:
    """Tell whether a weight is a finite positive number."""
    try:
        return weight > 0 and math.isfinite(float(weight))
    except OverflowError:  # an integer too large for any float
        return False


def _places(lines: list[bytes], source: str, target: str) -> list[int]:
    read = ((place, _read_line(line, place)) for place, line in enumerate(lines))
    return [place for place, one in read if one is not None and (one.source, one.target) == (source, target)]


def _read_line(line: bytes, number: int) -> Relation | None:
    try:
        fields = json.loads(line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    source, target, ts = (fields.get(key) for key in ("source", "target", "ts"))
    weight = fields.get("weight", 1.0)
    if not isinstance(source, str) or not isinstance(target, str) or not source.strip() or not target.strip():
        return None
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not is_weight(weight):
        return None
    return Relation(source.strip(), target.strip(), float(weight), ts if isinstance(ts, str) else None, number)
