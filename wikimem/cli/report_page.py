"""A page about the state of a vault, as Markdown or as HTML that needs nothing else. Pure: data in, text out."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MARK = "<!-- written by `wikimem report` -->"
"""The first line of every report: a file that starts with it may be replaced by the next one."""

_STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1d2127; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #d9dde3; }
td { overflow-wrap: anywhere; }
p.none { color: #6a7280; }
@media (prefers-color-scheme: dark) {
  body { color: #e3e6ea; background: #16181c; } td, th { border-color: #363b43; }
}
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and a table below it. `none` stands there when the table has no rows; `more` below its last row."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    none: str = "none"
    more: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a page says."""

    title: str
    intro: str
    sections: tuple[Section, ...]


def as_markdown(report: Report) -> str:
    """Return the report as Markdown tables."""
    lines = [MARK, "", f"# {_cell(report.title)}", "", _cell(report.intro)]
    for section in report.sections:
        lines += ["", f"## {section.title}", ""]
        if not section.rows:
            lines.append(f"{section.none}.")
            continue
        lines += [_row(section.head, str), _row(tuple("---" for _ in section.head), str)]
        lines += [_row(row, _cell) for row in section.rows]
        if section.more:
            lines += ["", section.more]
    return "\n".join(lines) + "\n"


def as_html(report: Report) -> str:
    """Return the report as one page: no script, no network, nothing of a note unescaped."""
    parts = [
        "<!doctype html>",
        MARK,
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(report.title)}</title><style>\n{_STYLE}</style></head><body>",
        f"<h1>{html.escape(report.title)}</h1><p>{html.escape(report.intro)}</p>",
    ]
    for section in report.sections:
        parts.append(f"<h2>{html.escape(section.title)}</h2>")
        if not section.rows:
            parts.append(f'<p class="none">{html.escape(section.none)}</p>')
            continue
        parts += ["<table>", _html_row("th", section.head), *(_html_row("td", row) for row in section.rows), "</table>"]
        if section.more:
            parts.append(f'<p class="none">{html.escape(section.more)}</p>')
    return "\n".join([*parts, "</body></html>"]) + "\n"


def is_report(text: str) -> bool:
    """Whether a file is a report of ours, so that the next one may take its place."""
    return MARK in text.split("\n", 3)[:3]


def _row(cells: Sequence[str], shape: Callable[[str], str]) -> str:
    return "| " + " | ".join(shape(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    """Return text as it may stand in a Markdown table: a pipe, a line end or a tag of a note changes nothing."""
    shown = " ".join(text.split())
    for char in "\\`|<[]*_":
        shown = shown.replace(char, "\\" + char)
    return shown


def _html_row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
