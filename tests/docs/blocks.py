"""The code blocks of the documentation, and how each kind is run.

- `console`: commands after `$ ` with what they print (see tests/transcript/session.py). `wikimem serve` becomes a
  daemon in the background; `make` is only asked what it would do.
- `python`: run in the same folder, after the blocks above it; `>>>` is not used.
- `toml`: the first line is a comment that names the file, `config.toml` or `wikimem.toml`; it must load.
- `json`: must parse.
- `text`, `markdown`, `ini`, `xml`, `css`, `js`: shown, not run.

A block that cannot be run here has a comment above it that says why: `<!-- not run: it needs a network -->`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHOWN = {"text", "markdown", "ini", "xml", "css", "js", "html", "jsonl"}
RUN = {"console", "python", "toml", "json"}

_FENCE = re.compile(r"^(?P<indent> *)(?P<marks>`{3,}|~{3,})(?P<language>[^`\n]*)$")
_NOT_RUN = re.compile(r"<!-- not run: (?P<reason>.+?) -->")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its first line's number, and the reason when it is not to be run."""

    page: Path
    line: int
    language: str
    text: str
    not_run: str | None


def pages() -> list[Path]:
    """Return the README and every page of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    """Return the fenced blocks of a page."""
    lines = page.read_text(encoding="utf-8").split("\n")
    reason: str | None = None
    number = 0
    while number < len(lines):
        line = lines[number]
        opening = _FENCE.match(line)
        if opening is None:
            mark = _NOT_RUN.search(line)
            reason = mark["reason"] if mark else reason if not line.strip() else None
            number += 1
            continue
        end = next(i for i in range(number + 1, len(lines)) if lines[i].strip() == opening["marks"])
        indent = len(opening["indent"])
        text = "\n".join(inner[indent:] for inner in lines[number + 1 : end])
        yield Block(page, number + 2, opening["language"].strip(), text, reason)
        reason = None
        number = end + 1
