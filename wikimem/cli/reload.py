"""`wikimem reload`: have the daemon read its configuration again."""

import click

from wikimem.api.protocol import ReloadAnswer
from wikimem.cli.connection import connect_daemon, settings_for
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import print_json, print_text


@click.command()
@vault_option
@json_option
def reload(vault: str | None, as_json: bool) -> None:
    """Have the daemon read its configuration again, and return when the new one is in use.

    A configuration that is wrong is refused with the reason, and the old one stays.
    """
    answer = connect_daemon(settings_for(vault)).reload()
    if as_json:
        print_json(answer)
    else:
        tell_reloaded(answer)


def tell_reloaded(answer: ReloadAnswer) -> None:
    """Print what the daemon took over, and what it will only after a restart."""
    print_text(f"changed: {', '.join(answer['changed'])}" if answer["changed"] else "nothing changed")
    if answer["restart_needed"]:
        print_text(f"in use after a restart of the daemon: {', '.join(answer['restart_needed'])}")
