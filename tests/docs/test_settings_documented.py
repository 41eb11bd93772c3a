"""The table of settings in docs/configuration.md is the schema."""

import re

from tests.docs.blocks import ROOT
from wikimem.config_tables import TABLES, Key

PAGE = ROOT / "docs/configuration.md"
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
START, END = "<!-- table: settings -->\n", "<!-- end of table -->"


def shown(key: Key) -> str:
    if key.default is None:
        return "not set"
    if isinstance(key.default, bool):
        return f"`{str(key.default).lower()}`"
    return "`[]`" if key.default == () else f"`{key.default}`"


def table() -> str:
    """Return the table as it must stand in the page."""
    lines = ["| key | default | travels | what it does |", "|---|---|---|---|"]
    for name, keys in TABLES.items():
        for key in keys:
            choices = f"; one of {', '.join(f'`{choice}`' for choice in key.choices)}" if key.choices else ""
            travels = "yes" if key.travels else "no"
            lines.append(f"| `{name}.{key.name}` | {shown(key)} | {travels} | {key.help}{choices} |")
    return "\n".join(lines) + "\n"


def test_the_page_lists_every_setting_with_its_default() -> None:
    text = PAGE.read_text(encoding="utf-8")
    written = text.partition(START)[2].partition(END)[0]
    assert written == table(), "write this table into docs/configuration.md"


def test_every_page_is_reached_from_the_index() -> None:
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    index += (ROOT / "docs/adr/index.md").read_text(encoding="utf-8")
    names = [page.name for page in (ROOT / "docs").rglob("*.md") if page.name != "index.md"]
    assert [name for name in names if f"({name})" not in index] == []


def test_every_link_between_the_pages_leads_somewhere() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    links = [(page, target) for page in pages for target in LINK.findall(CODE.sub("", page.read_text("utf-8")))]
    assert [f"{page.name}: {target}" for page, target in links if not (page.parent / target).exists()] == []
