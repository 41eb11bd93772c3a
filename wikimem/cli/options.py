"""The options that every command has alike."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def vault_option(function: Function) -> Function:
    """Add `--vault NAME|PATH`, passed as `vault`."""
    return click.option("--vault", metavar="NAME|PATH", help="The vault; else WIKIMEM_VAULT, else the one around you.")(
        function
    )


def json_option(function: Function) -> Function:
    """Add `--json`, passed as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")(function)


def provenance_options(function: Function) -> Function:
    """Add `--owner`, `--source-conv` and `--ts`: what the metadata comment of an entry says."""
    return _all(
        function,
        click.option("--owner", metavar="WHO", help="Whose memory it is, as user:ann."),
        click.option("--source-conv", metavar="ID", help="The conversation that it comes from."),
        click.option("--ts", metavar="ISO-8601", help="When it was learned; else now."),
    )


def filter_options(function: Function) -> Function:
    """Add `--category`, `--owner` and `--tag`: which items a search looks at."""
    return _all(
        function,
        click.option("--category", metavar="GLOB", help="Only items of these categories."),
        click.option("--owner", metavar="WHO", help="Only items of this owner."),
        click.option("--tag", metavar="TAG", help="Only items with this tag, or one below it."),
    )


def _all(function: Function, *options: Callable[[Function], Function]) -> Function:
    """Add the options in the order in which the help lists them: click puts the one that is added last first."""
    for option in reversed(options):
        function = option(function)
    return function
