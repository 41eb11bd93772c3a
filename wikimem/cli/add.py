"""`wikimem add`: write one item."""

import click

from wikimem.cli.connection import connect, settings_for
from wikimem.cli.input import content_from
from wikimem.cli.options import json_option, provenance_options, vault_option
from wikimem.cli.output import print_json, print_text


@click.command()
@click.argument("category")
@click.argument("name")
@click.argument("content", required=False)
@provenance_options
@click.option("--expected-hash", metavar="SHA256", help="Refuse if the item is no longer the text with this hash.")
@vault_option
@json_option
def add(
    category: str,
    name: str,
    content: str | None,
    *,
    owner: str | None,
    source_conv: str | None,
    ts: str | None,
    expected_hash: str | None,
    vault: str | None,
    as_json: bool,
) -> None:
    """Add the item NAME to CATEGORY, or replace the one of that name.

    CONTENT is read from standard input when it is left out or is `-`. A text that is replaced stays in the history.
    """
    client = connect(settings_for(vault))
    written = client.put_item(
        category,
        name,
        content_from(content),
        owner=owner,
        source_conv=source_conv,
        ts=ts,
        expected_hash=expected_hash,
    )
    if as_json:
        print_json(written)
    else:
        print_text(f"wrote {written['address']}")
