"""`wikimem changes`: what happened to items since a cursor, and as it happens."""

import json
from collections.abc import Iterable, Mapping

import click

from wikimem.api.protocol import Event
from wikimem.cli.connection import connect_daemon, settings_for
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import note, note_staleness, print_json, print_table, print_text, safe

_PAGE = 500


@click.command()
@click.option("--since", metavar="CURSOR", help="A cursor that an earlier call printed; else only the current one.")
@click.option("--follow", is_flag=True, help="Go on and print changes as they happen, one a line.")
@vault_option
@json_option
def changes(since: str | None, *, follow: bool, vault: str | None, as_json: bool) -> None:
    """List the items that were added, updated, removed or renamed since CURSOR, each once.

    Whoever made the change: this program, an editor, git, a sync tool, also while no daemon ran. Without --since only
    the current cursor is printed, for the next call. A removal is listed a moment after it left the answers, because
    editors take notes away and bring them back.
    """
    client = connect_daemon(settings_for(vault))
    if follow:
        _follow(client.events(since), as_json=as_json)
        return
    found: list[Mapping[str, object]] = []
    fresh_instance = False
    answer = client.changes(since, limit=_PAGE)
    while True:
        found += answer["changes"]
        fresh_instance = fresh_instance or answer["fresh_instance"]
        if not answer["more"]:
            break
        answer = client.changes(answer["cursor"], limit=_PAGE)
    note_staleness(answer)
    if as_json:
        print_json({"cursor": answer["cursor"], "fresh_instance": fresh_instance, "changes": found})
        return
    if fresh_instance:
        note("the cursor is from another life of the state, or too old: read everything again")
    print_table([_row(change) for change in found])
    print_text(f"cursor  {answer['cursor']}")


def _follow(events: Iterable[Event], *, as_json: bool) -> None:
    for event in events:
        if as_json:
            click.echo(json.dumps(event, ensure_ascii=False))
        elif event["event"] == "change":
            click.echo("  ".join(safe(cell) for cell in _row(event["data"])))


def _row(change: Mapping[str, object]) -> list[str]:
    address, old = str(change["address"]), change["old_address"]
    shown = f"{old} -> {address}" if old else address
    return [str(change["ts"]), str(change["action"]), str(change["cause"]), shown]
