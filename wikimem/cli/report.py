"""`wikimem report`: write a page about the state of the vault."""

import dataclasses
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wikimem.api.protocol import MAX_PAGE_LIMIT, LinkStateName, StatusAnswer
from wikimem.cli.connection import connect, settings_for
from wikimem.cli.journal import target_of
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import note_staleness, print_json, print_text
from wikimem.cli.paging import each_page
from wikimem.cli.report_page import Report, Section, as_html, as_markdown, is_report
from wikimem.config import Settings
from wikimem.errors import NotRunning, StorageError, UsageError

if TYPE_CHECKING:
    from wikimem.cli.connection import MemoryClient

_PROBLEM_HEAD = ("where", "what", "what to do")
_CHANGES = 30
_LINKS = 200


@click.command()
@click.option("-o", "--output", metavar="FILE", help="Where to write it: *.html, *.md, or - for standard output.")
@vault_option
@json_option
def report(output: str | None, vault: str | None, *, as_json: bool) -> None:
    """Write a page about the state of the vault to FILE, as HTML or Markdown by its ending.

    It has counts, problems in notes, links that lead nowhere, the last changes, and how often the vault was asked.
    An earlier report is replaced; any other file is left alone.
    """
    if output is None and not as_json:
        raise UsageError("no file is named", hint="as `wikimem report -o report.html`")
    settings = settings_for(vault)
    page = _gather(connect(settings), settings)
    if as_json:
        print_json(dataclasses.asdict(page))
    if output == "-":
        click.echo(as_markdown(page), nl=False)
    elif output is not None:
        file = Path(output)
        _write(file, as_markdown(page) if file.suffix.lower() in {".md", ".markdown"} else as_html(page))
        if not as_json:
            print_text(f"wrote {output}")


def _gather(client: "MemoryClient", settings: Settings) -> Report:
    now = datetime.now(UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    categories = _categories(client)
    try:
        status = client.status()
    except NotRunning:
        state, about = "no daemon runs", [_problems_here(settings)]
    else:
        note_staleness(status)
        state, about = status["state"], [_degraded(status), _problems(status)]
        if settings.report.counts:
            about.append(_asked(status))
    items = sum(int(count) for _, count in categories.rows)
    return Report(
        title=f"wikimem: {settings.name}",
        intro=f"{settings.path}, {now}: {items} items in {len(categories.rows)} categories, {state}.",
        sections=(
            *about,
            _links(client, "unresolved"),
            _links(client, "ambiguous"),
            _changes(client),
            categories,
        ),
    )


def _degraded(status: StatusAnswer) -> Section:
    rows = [(part["detail"], part["hint"]) for part in status["degraded"]]
    return Section("Degraded", ("what", "what to do"), tuple(rows), none="nothing")


def _asked(status: StatusAnswer) -> Section:
    asked, vectors = status["retrieves"], status["vectors"]
    rows = (
        ("retrieves since start", str(asked["count"])),
        ("of these with embeddings", str(asked["embedding_used"])),
        ("vectors", f"{vectors['count']}, {vectors['pending']} pending, {vectors['state']}"),
    )
    return Section("Use", ("what", "count"), rows)


def _categories(client: "MemoryClient") -> Section:
    pages = each_page(lambda after: client.categories(limit=MAX_PAGE_LIMIT, after=after))
    rows = [(one["name"], str(one["items"])) for page in pages for one in page["categories"]]
    return Section("Categories", ("category", "items"), tuple(rows))


def _problems(status: StatusAnswer) -> Section:
    rows = tuple(
        (f"{one['path']}:{one['line']}" if one["line"] else one["path"], one["message"], one["hint"])
        for one in status["problems"]
    )
    more = status["problems_total"] - len(rows)
    return Section("Problems in notes", _PROBLEM_HEAD, rows, more=f"{more} more" if more > 0 else "")


def _problems_here(settings: Settings) -> Section:
    """Read the vault in this process."""
    from wikimem.store.opening import open_store  # noqa: PLC0415 - the daemon's answer spares us this

    store = open_store(settings)
    rows = tuple(
        (f"{path}:{found.line}" if found.line else path, found.message, found.hint) for path, found in store.problems()
    )
    return Section("Problems in notes", _PROBLEM_HEAD, rows)


def _links(client: "MemoryClient", state: LinkStateName) -> Section:
    page = client.links(state, limit=_LINKS)
    rows = tuple(
        (link["target"], link["source"], f"{link['file']}:{link['line']}", ", ".join(link["candidates"]))
        for link in page["links"]
    )
    more = "" if page["next"] is None else "more are listed by `wikimem links`"
    return Section(f"Links: {state}", ("target", "in", "where", "candidates"), rows, more=more)


def _changes(client: "MemoryClient") -> Section:
    entries = client.journal(tail=_CHANGES)["entries"]
    rows = tuple((str(one["ts"]), str(one["action"]), target_of(one)) for one in reversed(entries))
    return Section("Last changes", ("when", "what", "item"), rows)


def _write(file: Path, text: str) -> None:
    """Write the page; replace only what is a report already."""
    try:
        if file.exists() and not is_report(file.read_bytes()[:2000].decode("utf-8", "replace")):
            raise UsageError(f"{file} is there and is no report", hint="name a new file: nothing was written")
        # The name of a file may hold bytes that are no text.
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        hint = "name a file in a folder that you can write to"
        raise StorageError(f"{file} cannot be written: {error.strerror}", path=str(file), hint=hint) from error
