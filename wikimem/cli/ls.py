"""`wikimem ls`: what is in the vault."""

import click

from wikimem.api.protocol import MAX_PAGE_LIMIT
from wikimem.cli.connection import connect, settings_for
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import note_staleness, print_json, print_table, print_text, shortened
from wikimem.cli.paging import each_page

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
        listed = list(each_page(lambda after: client.categories(limit=MAX_PAGE_LIMIT, after=after)))
        note_staleness(listed[-1])
        categories = [one for page in listed for one in page["categories"]]
        if as_json:
            print_json({"categories": categories})
        else:
            print_table([str(one["items"]), one["name"]] for one in categories)
        return
    pages = list(each_page(lambda after: client.items(category, limit=MAX_PAGE_LIMIT, after=after)))
    note_staleness(pages[-1])
    items = [item for page in pages for item in page["items"]]
    if as_json:
        print_json({"items": items})
    elif not items and category is not None:
        print_text(f"no items in {category}")
    else:
        print_table([item["address"], shortened(item["content"], _PREVIEW_CELLS)] for item in items)
