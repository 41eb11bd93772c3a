"""`wikimem journal`: what happened, in the order in which it happened."""

from collections.abc import Mapping

import click

from wikimem.cli.connection import connect, settings_for
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import note_staleness, print_json, print_table, print_text

_SHOWN = 20


@click.command()
@click.option("--tail", type=click.IntRange(1), default=_SHOWN, show_default=True, help="How many of the last entries.")
@click.option("--own", is_flag=True, help="Only what was written through wikimem: the lines of journal.jsonl.")
@vault_option
@json_option
def journal(tail: int, own: bool, vault: str | None, as_json: bool) -> None:
    """Show the last things that happened to the vault, oldest first.

    What was written through wikimem is in journal.jsonl; what a person or another tool did to the notes is added from
    the change feed, marked as seen on disk.
    """
    answer = connect(settings_for(vault)).journal(tail, merged=not own)
    note_staleness(answer)
    if as_json:
        print_json({"entries": answer["entries"]})
        return
    if not answer["entries"]:
        print_text("nothing has happened yet")
    print_table([str(entry["ts"]), str(entry["action"]), target_of(entry), _rest(entry)] for entry in answer["entries"])


def target_of(entry: Mapping[str, object]) -> str:
    """Return what a journal entry is about: an address, or a whole file."""
    names = ("date", "time") if entry.get("date") else ("file", "item")
    return ":".join(str(entry[name]) for name in names if entry.get(name))


def _rest(entry: Mapping[str, object]) -> str:
    return "  ".join(str(value) for name in ("owner", "source_conv", "detail") if (value := entry.get(name)))
