"""`wikimem grep`: a regular expression over every item, with addresses."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from wikimem.api.protocol import MAX_PAGE_LIMIT, ReadStamp
from wikimem.cli.connection import connect, settings_for
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import note_staleness, print_json, safe
from wikimem.cli.paging import each_page
from wikimem.cli.search_output import marked
from wikimem.errors import UsageError

if TYPE_CHECKING:
    from wikimem.cli.connection import MemoryClient

# Of the processor, for one item; a pattern such as (a+)+$ would take years over a line of forty letters.
PATIENCE_S = 2.0
_FIRST_DAY, _LAST_DAY = "0001-01-01", "9999-12-31"

Text = tuple[str, str, str]
Stamps = list[ReadStamp]


@click.command()
@click.argument("pattern")
@click.option("-i", "--ignore-case", is_flag=True, help="Upper and lower case are alike.")
@click.option("-F", "--fixed", is_flag=True, help="PATTERN is text, no regular expression.")
@click.option("-l", "--addresses", is_flag=True, help="Print only the addresses.")
@click.option("--category", metavar="CATEGORY", help="Only this category; a day of the diary is one too.")
@click.option("--no-diary", is_flag=True, help="Only the wiki.")
@vault_option
@json_option
def grep(
    pattern: str,
    *,
    ignore_case: bool,
    fixed: bool,
    addresses: bool,
    category: str | None,
    no_diary: bool,
    vault: str | None,
    as_json: bool,
) -> None:
    """Find every item whose name or content has a line that PATTERN (a Python regular expression) matches.

    Prints one line a match: the address, the line's number in the item (0: its name) and the line. The exit status is
    1 when nothing matches. A pattern that takes more than two seconds over one item is given up.
    """
    try:
        wanted = re.compile(re.escape(pattern) if fixed else pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"the pattern cannot be read: {error}", hint="-F takes it as plain text") from error
    stamps: Stamps = []
    found: list[dict[str, object]] = []
    for address, name, content in _texts(connect(settings_for(vault)), category, stamps, diary=not no_diary):
        with _patience(address):
            lines = _matches(wanted, name, content)
            if lines and not as_json:
                _print(address, lines, wanted, addresses_only=addresses)
        if lines:
            found.append({"address": address, "lines": [{"line": number, "text": text} for number, text in lines]})
    for stamp in stamps:
        note_staleness(stamp)
    if as_json:
        print_json({"items": found})
    if not found:
        click.get_current_context().exit(1)


@contextmanager
def _patience(address: str) -> Iterator[None]:
    """Raise `UsageError` when the block takes longer than anybody waits (not on systems without such a clock)."""

    def give_up(*_: object) -> None:
        hint = "repeats inside repeats, as in (a+)+, are the usual cause"
        raise UsageError(f"the pattern takes too long on {address}", hint=hint)

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _matches(wanted: re.Pattern[str], name: str, content: str) -> list[tuple[int, str]]:
    return [(number, line) for number, line in enumerate([name, *content.split("\n")]) if wanted.search(line)]


def _print(address: str, lines: list[tuple[int, str]], wanted: re.Pattern[str], *, addresses_only: bool) -> None:
    if addresses_only:
        click.echo(safe(address))
        return
    for number, line in lines:
        shown = safe(line)
        # A pattern that also matches nothing would mark nothing, between all characters.
        spans = [match.span() for match in wanted.finditer(shown) if match.end() > match.start()]
        click.echo(f"{click.style(safe(address), fg='cyan')}  {number}  {marked(shown, spans)}")


def _texts(client: "MemoryClient", category: str | None, stamps: Stamps, *, diary: bool) -> Iterator[Text]:
    """Yield address, name and content of every item, and collect whether the answers were fresh."""
    for page in each_page(lambda after: client.items(category, limit=MAX_PAGE_LIMIT, after=after)):
        yield from ((item["address"], item["name"], item["content"]) for item in page["items"])
    stamps.append(page)
    if diary and category is None:
        for days in each_page(lambda after: client.diary(_FIRST_DAY, _LAST_DAY, limit=MAX_PAGE_LIMIT, after=after)):
            yield from ((entry["address"], entry["time"], entry["content"]) for entry in days["items"])
        stamps.append(days)
