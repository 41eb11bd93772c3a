"""`wikimem show`: print one item."""

import click

from wikimem.cli.connection import connect, settings_for
from wikimem.cli.input import address_from
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import note_staleness, print_json, print_text


@click.command()
@click.argument("address")
@click.argument("name", required=False)
@click.option("--content", "content_only", is_flag=True, help="Print the content and nothing else.")
@vault_option
@json_option
def show(address: str, name: str | None, content_only: bool, vault: str | None, as_json: bool) -> None:
    """Print the item at ADDRESS: `category:name`, `CATEGORY NAME`, or `YYYY-MM-DD:HH:MM` for a diary entry."""
    client = connect(settings_for(vault))
    item = client.item(address_from(address, name))
    note_staleness(item)
    if as_json:
        print_json(item)
        return
    if not content_only:
        known = (("owner", item["owner"]), ("source", item["source_conv"]), ("ts", item["ts"]))
        told = [f"{word} {value}" for word, value in known if value]
        tags = [f"#{tag}" for tag in item["tags"]]
        print_text("  ".join([item["address"], *told, *tags]))
        print_text()
    print_text(item["content"])
