"""`wikimem rebuild`: have the daemon read everything again."""

import time

import click

from wikimem.cli.connection import connect_daemon, settings_for
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import print_json, print_text
from wikimem.errors import WikimemError

_PAUSE_S = 0.05


@click.command()
@click.option("--wait", is_flag=True, help="Return when it is done.")
@vault_option
@json_option
def rebuild(wait: bool, vault: str | None, as_json: bool) -> None:
    """Have the daemon read the whole vault again. It answers from what it has until the new index is complete.

    Nothing calls for this in daily use: edits are followed by themselves.
    """
    client = connect_daemon(settings_for(vault))
    answer: object = client.rebuild()
    task = client.status()["rebuild"]
    while wait and task["state"] == "running":
        time.sleep(_PAUSE_S)
        task = client.status()["rebuild"]
        answer = task
    if wait and task["state"] == "failed":
        raise WikimemError(f"the rebuild failed: {task['detail']}", hint="see the daemon's log")
    if as_json:
        print_json(answer)
    else:
        print_text("the index is rebuilt" if wait else "the index is being rebuilt; `wikimem status` shows progress")
