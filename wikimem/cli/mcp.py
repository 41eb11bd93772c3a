"""`wikimem mcp`: the memory as tools of an MCP client."""

import click

from wikimem.cli.options import vault_option


@click.command()
@vault_option
def mcp(vault: str | None) -> None:
    """Serve the vault to an MCP client on standard input and output.

    The client starts this command itself; see docs/agents.md for what its settings say. It is a bridge to the
    vault's daemon, which must run (`wikimem serve`, or `wikimem service install`); while it does not, every tool says
    how to start it.
    """
    from wikimem.mcp import serve  # noqa: PLC0415 - brings asyncio

    serve(vault)
