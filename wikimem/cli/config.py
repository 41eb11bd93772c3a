"""`wikimem config`: what holds for a vault, and where each value came from."""

import click

from wikimem.cli.connection import settings_for
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import print_json, print_table, print_text
from wikimem.config import Settings
from wikimem.config_endpoint import shown_address
from wikimem.config_tables import TABLES


@click.command()
@click.argument("key", required=False)
@vault_option
@json_option
def config(key: str | None, vault: str | None, as_json: bool) -> None:
    """Print the settings of the vault and where each came from, or the value of one KEY (as `links.style`)."""
    settings = settings_for(vault)
    values = flat_values(settings)
    if key is not None:
        if key not in values:
            raise click.UsageError(f"no setting is called {key!r}; `wikimem config` lists them all")
        values = {key: values[key]}
    if as_json:
        print_json({name: {"value": value, "from": settings.origins.get(name, "")} for name, value in values.items()})
    elif key is not None:
        print_text(_shown(values[key]))
    else:
        print_table([name, _shown(value), f"# {settings.origins.get(name, '')}"] for name, value in values.items())


def flat_values(settings: Settings) -> dict[str, object]:
    """Return every setting as `table.key: value`, the places first. A key's content is never among them."""
    values: dict[str, object] = {
        "name": settings.name,
        "path": str(settings.path),
        "config_file": str(settings.config_file),
        "socket_path": str(settings.socket_path),
        "state_dir": str(settings.state_dir),
    }
    for table, keys in TABLES.items():
        source = settings.layout if table == "vault" else getattr(settings, table)
        for key in keys:
            holder = settings if key.name == "derived" else source
            values[f"{table}.{key.name}"] = getattr(holder, key.name)
    values["embeddings.base_url"] = settings.embeddings.base_url and shown_address(settings.embeddings.base_url)
    values["vault.diary_format"] = settings.layout.diary_format
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _shown(value: object) -> str:
    if value is None:
        return "(not set)"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
