"""`wikimem socket`: where the vault's daemon listens."""

import click

from wikimem.cli.connection import answers, settings_for
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import print_json


@click.command()
@vault_option
@json_option
def socket(vault: str | None, as_json: bool) -> None:
    """Print the path of the vault's socket, for `curl --unix-socket "$(wikimem socket)" ...`.

    It is printed whether or not a daemon runs. WIKIMEM_SOCKET overrides it.
    """
    settings = settings_for(vault)
    if as_json:
        origin = settings.origins["socket_path"]
        print_json({"socket": str(settings.socket_path), "from": origin, "answers": answers(settings)})
    else:
        click.echo(str(settings.socket_path))
