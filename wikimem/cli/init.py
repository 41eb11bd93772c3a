"""`wikimem init`: make a folder a vault."""

import os
import shlex
from pathlib import Path

import click

from wikimem.cli.options import json_option
from wikimem.cli.output import note, print_json, print_text
from wikimem.config import is_vault
from wikimem.errors import UsageError
from wikimem.places import expand
from wikimem.shipped import shipped
from wikimem.store.create import Created, create_vault


@click.command()
@click.argument("directory", metavar="DIR", required=False)
@click.option("--vault", metavar="PATH", help="The same as DIR.")
@json_option
def init(directory: str | None, vault: str | None, as_json: bool) -> None:
    """Make DIR a vault.

    A folder that is new or empty gets the template: a few linked sample items, a diary day, settings for Obsidian.
    A folder that holds notes gets one file, wikimem.toml, and nothing in it is touched. No configuration is needed.
    """
    given = directory or vault
    if given is None or (directory and vault and directory != vault):
        raise UsageError("name one folder", hint="as `wikimem init ~/memory`")
    root = expand(given, env=os.environ, base=Path.cwd())
    around = next((folder for folder in root.parents if is_vault(folder)), None)
    if around is not None and not as_json:
        note(f"{root} lies inside the vault {around}: notes below its wiki are served by both")
    created = create_vault(root, shipped("vault_template"))
    if as_json:
        print_json({"path": str(root), "kind": created.kind, "written": list(created.written)})
    else:
        _tell(created, given)


def _tell(created: Created, given: str) -> None:
    shown = shlex.quote(given)
    if created.kind == "already":
        print_text(f"{given} is a vault already; nothing was changed")
    elif created.kind == "adopted":
        print_text(f"{given} is a vault now: wikimem.toml was added, your notes are as they were")
    else:
        print_text(f"made the vault {given}: {len(created.written)} files, some of them samples that you can delete")
    print_text(f"serve it:  wikimem serve --vault {shown}")
    print_text(f"ask it:    wikimem retrieve --vault {shown} 'what do I like?'")
