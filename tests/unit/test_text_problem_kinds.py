"""Every kind of problem that the code can report is explained to a person, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE_ROW = re.compile(r"^\| (`[a-z0-9-]+`(?:, `[a-z0-9-]+`)*) \|", re.MULTILINE)
BUILT = {f"{what}-{kind}" for what in ("closed", "unclosed") for kind in ("fence", "comment", "html")}


def reported() -> Iterator[str]:
    for folder in ("wikimem", "daemon"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Name)
                    and node.func.id == "Problem"
                    and node.args
                ):
                    kind = node.args[0]
                    if isinstance(kind, ast.Constant):
                        yield str(kind.value)


def explained() -> set[str]:
    text = (ROOT / "docs" / "format.md").read_text(encoding="utf-8").partition("## Problems")[2]
    return {kind.strip("`") for row in TABLE_ROW.findall(text) for kind in row.split(", ")}


def test_every_kind_of_problem_is_explained() -> None:
    assert set(reported()) | BUILT <= explained()


def test_no_kind_is_explained_that_nothing_reports() -> None:
    assert explained() - set(reported()) - BUILT == set()
