"""The journal's lines: one JSON object for each mutation that this program made."""

import json
from dataclasses import dataclass
from typing import cast

from wikimem.text.decoding import replace_improper
from wikimem.text.problems import Problem

_FIELDS = ("ts", "action", "file", "item", "date", "time", "owner", "source_conv", "detail")


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One line. `ts` is ISO-8601 UTC with second precision; `action` is add, update, remove or diary."""

    ts: str
    action: str
    file: str | None = None
    item: str | None = None
    date: str | None = None
    time: str | None = None
    owner: str | None = None
    source_conv: str | None = None
    detail: str | None = None


def render_line(e: JournalEntry) -> bytes:
    """Return the line with its line end; fields that are None are left out, other scripts stand raw."""
    values = ((name, getattr(e, name)) for name in _FIELDS)
    shown = {name: replace_improper(value) for name, value in values if value is not None}
    return json.dumps(shown, ensure_ascii=False).encode() + b"\n"


def read_lines(data: bytes) -> tuple[list[JournalEntry], list[Problem]]:
    """Read journal lines; one that cannot be read costs itself, and is reported with its number."""
    entries: list[JournalEntry] = []
    problems: list[Problem] = []
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        entry = _read(line)
        if entry is not None:
            entries.append(entry)
        elif number == len(lines):
            problems.append(
                Problem("torn-line", number, "the last line is incomplete", "the next write seals it; nothing to do")
            )
        else:
            problems.append(
                Problem("bad-line", number, "the line is no journal entry", "remove the line, or mend it by hand")
            )
    return entries, problems


def _read(line: bytes) -> JournalEntry | None:
    try:
        values = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    known = {name: values[name] for name in _FIELDS if values.get(name) is not None}
    if not all(isinstance(value, str) for value in known.values()) or not {"ts", "action"} <= known.keys():
        return None
    return JournalEntry(**cast("dict[str, str]", known))
