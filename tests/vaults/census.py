"""Counts of what a folder of notes is read as, and a digest of the names: nothing of the notes' text."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.pages.reading import read_page


def pages_of(root: Path, layout: Layout) -> list[Page]:
    """Read every note below `root`, in the order of the paths."""
    paths = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.md"))
    return [read_page(path, (root / path).read_bytes(), layout) for path in paths]


def census(pages: list[Page]) -> dict[str, Any]:
    """Count notes, items, headings, tags, aliases, block ids and problems, over all notes and for each."""
    items = [one for page in pages for one in page.items]
    tags = Counter(tag for one in items for tag in one.tags)
    return {
        "notes": len(pages),
        "items": len(items),
        "headings": sum(len(page.headings) for page in pages),
        "block_ids": sum(len(page.blocks) for page in pages),
        "aliases": sum(len(page.aliases) for page in pages),
        "tags": dict(sorted(tags.items())),
        "problems": dict(sorted(Counter(problem.kind for page in pages for problem in page.problems).items())),
        "names": _digest(one.address for one in items),
        "contents": _digest(one.hash for one in items),
        "items_by_note": {_digest([page.path])[:8]: len(page.items) for page in pages},
    }


def _digest(texts: Any) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
