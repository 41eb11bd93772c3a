"""`wikimem ls`: what is in the vault."""

from typing import TYPE_CHECKING

import click

from wikimem.api.protocol import MAX_PAGE_LIMIT, CategoryBody, ItemBody, ReadStamp
from wikimem.cli.connection import connect, settings_for
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import note_staleness, print_json, print_table, print_text, shortened

if TYPE_CHECKING:
    from wikimem.cli.connection import MemoryClient

_PREVIEW_CELLS = 60


@click.command()
@click.argument("category", required=False)
@click.option("--all", "everything", is_flag=True, help="List the items of every category.")
@vault_option
@json_option
def ls(category: str | None, everything: bool, vault: str | None, as_json: bool) -> None:
    """List the categories with their number of items, or the items of CATEGORY.

    With --json the items come with their content: `wikimem ls --all --json` is what `wikimem import` takes.
    """
    client = connect(settings_for(vault))
    if category is None and not everything:
        categories, stamp = _all_categories(client)
        note_staleness(stamp)
        if as_json:
            print_json({"categories": categories})
        else:
            print_table([str(one["items"]), one["name"]] for one in categories)
        return
    items, stamp = _all_items(client, category)
    note_staleness(stamp)
    if as_json:
        print_json({"items": items})
    elif not items and category is not None:
        print_text(f"no items in {category}")
    else:
        print_table([item["address"], shortened(item["content"], _PREVIEW_CELLS)] for item in items)


def _all_categories(client: "MemoryClient") -> tuple[list[CategoryBody], ReadStamp]:
    found: list[CategoryBody] = []
    after: str | None = None
    while True:
        page = client.categories(limit=MAX_PAGE_LIMIT, after=after)
        found += page["categories"]
        after = page["next"]
        if after is None:
            return found, page


def _all_items(client: "MemoryClient", category: str | None) -> tuple[list[ItemBody], ReadStamp]:
    found: list[ItemBody] = []
    after: str | None = None
    while True:
        page = client.items(category, limit=MAX_PAGE_LIMIT, after=after)
        found += page["items"]
        after = page["next"]
        if after is None:
            return found, page
