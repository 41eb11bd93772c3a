"""`wikimem remove`: take one item out."""

import click

from wikimem.cli.connection import connect, settings_for
from wikimem.cli.input import address_from
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import print_json, print_text


@click.command()
@click.argument("category")
@click.argument("name", required=False)
@click.option("--expected-hash", metavar="SHA256", help="Refuse if the item is no longer the text with this hash.")
@vault_option
@json_option
def remove(category: str, name: str | None, expected_hash: str | None, vault: str | None, as_json: bool) -> None:
    """Remove the item NAME from CATEGORY (or give its address, `category:name`).

    The text goes to the history first. The file goes too when nothing else of yours is left in it.
    """
    client = connect(settings_for(vault))
    removed = client.remove_item(address_from(category, name), expected_hash=expected_hash)
    if as_json:
        print_json(removed)
    else:
        print_text(f"removed {removed['address']}")
