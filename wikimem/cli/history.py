"""`wikimem history`, `diff` and `restore`: the texts that every change replaced, whoever made the change."""

import difflib
import sys
from typing import TYPE_CHECKING

import click

from wikimem.api.protocol import MAX_PAGE_LIMIT, VersionBody
from wikimem.cli.connection import connect, settings_for
from wikimem.cli.input import address_from
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import note, note_staleness, print_json, print_table, print_text, safe, shortened
from wikimem.cli.paging import each_page
from wikimem.errors import NotFound, UsageError

if TYPE_CHECKING:
    from wikimem.cli.connection import MemoryClient
    from wikimem.config import Settings

_SHOWN = 20
_PREVIEW_CELLS = 50


@click.command()
@click.argument("address", required=False)
@click.argument("name", required=False)
@click.option("--limit", type=click.IntRange(1), default=_SHOWN, show_default=True, help="How many versions to list.")
@click.option("--id", "version_id", type=int, help="Print the whole text of this version.")
@click.option("--purge", is_flag=True, help="Delete kept texts for good: of ADDRESS, --containing TEXT, or --all.")
@click.option("--containing", metavar="TEXT", help="With --purge: every kept text that holds TEXT.")
@click.option("--all", "everything", is_flag=True, help="With --purge: every kept text.")
@click.option("--yes", is_flag=True, help="With --purge: do not ask.")
@vault_option
@json_option
def history(
    address: str | None,
    name: str | None,
    *,
    limit: int,
    version_id: int | None,
    purge: bool,
    containing: str | None,
    everything: bool,
    yes: bool,
    vault: str | None,
    as_json: bool,
) -> None:
    """List the texts that ADDRESS had before, newest first.

    Every change of an item or a diary entry keeps what it replaced or removed: changes made here, and those of any
    editor or tool that the daemon saw. `diff` compares a version with the text of now, `restore` puts it back.
    """
    settings = settings_for(vault)
    if purge:
        target = address_from(address, name) if address is not None else None
        _purge(settings, target, containing, everything=everything, yes=yes, as_json=as_json)
        return
    if containing or everything or yes:
        raise UsageError("--containing, --all and --yes go with --purge", hint="as `wikimem history --purge ADDRESS`")
    if address is None:
        raise UsageError("there is no ADDRESS", hint="as `wikimem history preferences:coffee`")
    client, wanted = connect(settings), address_from(address, name)
    if version_id is not None:
        version = _version(client, wanted, version_id)
        if as_json:
            print_json(version)
        else:
            print_text(version["content"])
        return
    _list(client, wanted, limit, as_json=as_json)


@click.command()
@click.argument("address")
@click.argument("older", type=int, required=False)
@click.argument("newer", type=int, required=False)
@vault_option
@json_option
def diff(address: str, older: int | None, newer: int | None, *, vault: str | None, as_json: bool) -> None:
    """Show how the text at ADDRESS changed: from version OLDER (else the last) to NEWER (else what is there now)."""
    client = connect(settings_for(vault))
    if older is None:
        versions = client.history(address, limit=1)["versions"]
        if not versions:
            raise NotFound(f"{address} has no earlier text", hint=f"read it: `wikimem show {address}`")
        before = versions[0]
    else:
        before = _version(client, address, older)
    after = _version(client, address, newer) if newer is not None else None
    text = after["content"] if after is not None else _current(client, address)
    names = (f"version {before['id']}", f"version {after['id']}" if after is not None else "now")
    lines = _diff(before["content"], text, *names)
    if as_json:
        later = after["id"] if after is not None else None
        print_json({"address": address, "older": before["id"], "newer": later, "diff": "\n".join(lines)})
        return
    for line in lines:
        click.secho(safe(line), fg=_colour(line))
    if not lines:
        note(f"{names[0]} and {names[1]} are the same text")


@click.command()
@click.argument("address")
@click.argument("version", type=int, required=False)
@vault_option
@json_option
def restore(address: str, version: int | None, vault: str | None, as_json: bool) -> None:
    """Put VERSION of ADDRESS back (else its last one), as a new write; the text of now is kept as a version too.

    A diary entry is appended to its day: the diary is only added to.
    """
    client = connect(settings_for(vault))
    if version is None:
        versions = client.history(address, limit=1)["versions"]
        if not versions:
            raise NotFound(f"{address} has no earlier text", hint="list what changed: `wikimem journal`")
        version = versions[0]["id"]
    answer = client.restore(address, version)
    if as_json:
        print_json(answer)
    else:
        print_text(f"restored {answer['address']} from version {version}")


def _list(client: "MemoryClient", address: str, limit: int, *, as_json: bool) -> None:
    versions: list[VersionBody] = []
    after: str | None = None
    while len(versions) < limit:
        page = client.history(address, limit=min(limit - len(versions), MAX_PAGE_LIMIT), after=after)
        versions += page["versions"]
        after = page["next"]
        if after is None:
            break
    note_staleness(page)
    if as_json:
        print_json({"address": page["address"], "versions": versions, "next": after})
        return
    if not versions:
        print_text(f"no earlier texts of {page['address']}")
    print_table(
        [str(one["id"]), one["ts"], one["action"], one["cause"], shortened(one["content"], _PREVIEW_CELLS)]
        for one in versions
    )
    if after is not None:
        note("there are more; list them with a larger --limit")


def _version(client: "MemoryClient", address: str, wanted: int) -> VersionBody:
    for page in each_page(lambda after: client.history(address, limit=MAX_PAGE_LIMIT, after=after)):
        for version in page["versions"]:
            if version["id"] == wanted:
                return version
    raise NotFound(f"{address} has no version {wanted}", hint=f"list them: `wikimem history {address}`")


def _current(client: "MemoryClient", address: str) -> str:
    try:
        return client.item(address)["content"]
    except NotFound:
        return ""


def _diff(before: str, after: str, before_name: str, after_name: str) -> list[str]:
    # Lines of a note end at \n only; `splitlines` would also cut at U+2028 and form feeds.
    old, new = (text.split("\n") if text else [] for text in (before, after))
    return list(difflib.unified_diff(old, new, before_name, after_name, lineterm=""))


def _colour(line: str) -> str | None:
    if line.startswith(("+++", "---", "@@")):
        return "cyan"
    return {"+": "green", "-": "red"}.get(line[:1])


def _purge(
    settings: "Settings", address: str | None, containing: str | None, *, everything: bool, yes: bool, as_json: bool
) -> None:
    if sum((address is not None, containing is not None, everything)) != 1 or containing == "":
        raise UsageError(
            "--purge needs exactly one of ADDRESS, --containing TEXT and --all",
            hint="as `wikimem history --purge preferences:coffee`",
        )
    what = "every kept text" if everything else f"the kept texts of {address}" if address else "the kept texts with it"
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"--purge would delete {what}", hint="say --yes to do it: it cannot be undone")
        click.confirm(f"Delete {what} for good?", abort=True, err=True)
    from wikimem.store.purging import purge_vault  # noqa: PLC0415 - only a purge opens the state here

    purged = purge_vault(settings, address=address, containing=containing, everything=everything)
    if as_json:
        print_json({"purged": purged.versions, "still_in": list(purged.still_in)})
        return
    print_text(f"purged {purged.versions} version{'' if purged.versions == 1 else 's'}")
    for path in purged.still_in:
        note(f"the text still stands in {path}: edit it by hand, then purge again")
