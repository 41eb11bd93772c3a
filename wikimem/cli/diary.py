"""`wikimem diary`: append an entry, or show days."""

from typing import TYPE_CHECKING

import click

from wikimem.api.protocol import MAX_PAGE_LIMIT
from wikimem.cli.connection import connect, settings_for
from wikimem.cli.input import content_from
from wikimem.cli.options import json_option, provenance_options, vault_option
from wikimem.cli.output import note_staleness, print_json, print_text
from wikimem.cli.paging import each_page
from wikimem.errors import UsageError

if TYPE_CHECKING:
    from wikimem.cli.connection import MemoryClient


@click.command()
@click.argument("content", required=False)
@click.option("--date", metavar="YYYY-MM-DD", help="The day; else today.")
@click.option("--time", metavar="HH:MM", help="The local time of a new entry; else now.")
@click.option("--start", metavar="YYYY-MM-DD", help="Show entries from this day on.")
@click.option("--end", metavar="YYYY-MM-DD", help="Show entries up to this day.")
@provenance_options
@vault_option
@json_option
def diary(
    content: str | None,
    *,
    date: str | None,
    time: str | None,
    start: str | None,
    end: str | None,
    owner: str | None,
    source_conv: str | None,
    ts: str | None,
    vault: str | None,
    as_json: bool,
) -> None:
    """Append CONTENT to the diary (`-`: from standard input), or without it show today, --date, or --start to --end.

    Entries are only ever added here; to change one, edit the day's file.
    """
    if content is None:
        if time or ts or owner or source_conv:
            raise UsageError("there is no content for a new entry", hint="as `wikimem diary --time 14:30 'met Ann'`")
        _show(connect(settings_for(vault)), date or start, date or end, as_json=as_json)
        return
    if start or end:
        raise UsageError("--start and --end show days, and CONTENT appends", hint="a new entry takes --date")
    client = connect(settings_for(vault))
    text = content_from(content)
    entry = client.diary_append(text, ts=ts, date=date, time=time, owner=owner, source_conv=source_conv)
    if as_json:
        print_json(entry)
    else:
        print_text(f"wrote {entry['address']}")


def _show(client: "MemoryClient", start: str | None, end: str | None, *, as_json: bool) -> None:
    pages = list(each_page(lambda after: client.diary(start, end, limit=MAX_PAGE_LIMIT, after=after)))
    note_staleness(pages[-1])
    entries = [entry for page in pages for entry in page["items"]]
    if as_json:
        print_json({"items": entries})
        return
    if not entries:
        print_text("no entries")
    for position, entry in enumerate(entries):
        if position:
            print_text()
        print_text(entry["address"])
        print_text(entry["content"], indent="  ")
