"""`wikimem vaults`: the vaults that the user's configuration names."""

import os

import click

from wikimem.cli.connection import answers
from wikimem.cli.options import json_option
from wikimem.cli.output import print_json, print_table, print_text
from wikimem.config import is_closed, load
from wikimem.config_vaults import read_user_file
from wikimem.errors import ConfigError


@click.command()
@click.option("--vault", metavar="NAME", help="Only this one.")
@json_option
def vaults(vault: str | None, as_json: bool) -> None:
    """List the configured vaults: name, folder, whether a daemon runs, which one is the default.

    A vault is configured by `[vaults.NAME]` with `path` in the file that is named at the end.
    """
    user = read_user_file(os.environ)
    rows = [
        {"name": name, "path": str(known.path), "default": name == user.default, "state": _state(name)}
        for name, known in sorted(user.vaults.items())
        if vault in (None, name)
    ]
    if as_json:
        print_json({"config_file": str(user.file), "default": user.default, "vaults": rows})
        return
    print_table(
        [str(row["name"]), str(row["state"]), str(row["path"]) + ("  (default)" if row["default"] else "")]
        for row in rows
    )
    there = "from" if user.file.exists() else "no vault is configured; that would be in"
    print_text(f"{there} {user.file}")


def _state(name: str) -> str:
    """Return `running`, `stopped`, or `broken` for a vault whose own settings cannot be read."""
    try:
        settings = load(name, require=False)
    except ConfigError:
        return "broken"
    if answers(settings):
        return "running"
    return "stopped" if is_closed(settings.path) or settings.path.is_dir() else "missing"
