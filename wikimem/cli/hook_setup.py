"""What `wikimem hook install` and `uninstall` do: show the change of a tool's settings, and make it when told to."""

import os
import shlex
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import click

from wikimem import hook_install
from wikimem.cli.connection import settings_for
from wikimem.cli.output import safe
from wikimem.cli.program import own_program
from wikimem.config import Settings, require_vault
from wikimem.errors import ConfigError, NotFound, TryAgain
from wikimem.service_files import replace_file


def install_hooks(settings: Settings, tools: tuple[str, ...], *, yes: bool) -> None:
    """Add the hook of the vault to the tools' settings, or to those of every tool that is there."""
    # The hook is silent about what is wrong: a vault that is misspelt here would never be noticed.
    require_vault(settings.path, configured=settings.configured)
    command = _command_line(settings)
    changes = [hook_install.plan(name, command, env=os.environ) for name in _named(tools)]
    _apply(changes, yes=yes)
    if any(command not in line for change in changes for line in change.kept):
        click.echo("what is there calls it otherwise; to have it anew, take it out first: `wikimem hook uninstall`")


def uninstall_hooks(vault: str | None, tools: tuple[str, ...], *, yes: bool) -> None:
    """Take the hook out of the tools' settings again; of one vault, or whatever vault it names."""
    vaults = {vault} if vault is not None else set[str]()
    # The vault may be gone by now; what was set up for it is to be taken out all the more.
    with suppress(ConfigError):
        if vault is not None:
            settings = settings_for(vault)
            vaults |= {settings.name, str(settings.path)}
    changes = [hook_install.plan_removal(name, vaults, env=os.environ) for name in _named(tools)]
    for change in changes:
        if not change.diff:
            click.echo(safe(f"{change.tool}: {change.file} has no such call of `wikimem hook`"))
    _apply(changes, yes=yes)


def _named(tools: tuple[str, ...]) -> tuple[str, ...]:
    names = tools or tuple(hook_install.installed_tools(os.environ))
    if not names:
        raise NotFound("no coding agent's folder is there", hint="name the tool: `wikimem hook install claude-code`")
    return names


def _apply(changes: list[hook_install.Change], *, yes: bool) -> None:
    if yes:
        hook_install.require_writable(change.file for change in changes if change.diff)
    for change in changes:
        for line in change.kept:
            click.echo(safe(f"{change.tool}: already there: {line}"))
        if change.diff:
            click.echo(safe(change.diff))
        if change.diff and yes:
            if (change.file.read_bytes() if change.file.exists() else None) != change.before:
                raise TryAgain(f"{change.file} was changed just now", hint="run the command again")
            replace_file(change.file, change.after, new_mode=0o600)
            click.echo(safe(f"{change.tool}: written to {change.file}"))
    if not yes and any(change.diff for change in changes):
        click.echo("nothing is changed yet; add --yes to apply this")


def _command_line(settings: Settings) -> str:
    """Return the command line for a settings file: this `wikimem` and this vault, wherever the tool is started.

    The bare name only where the PATH leads here by a link: an environment's own folder is on the PATH just now.
    """
    beside = own_program() or Path(sys.executable).with_name("wikimem")
    found = shutil.which("wikimem")
    linked = found is not None and Path(found) != beside and Path(found).resolve() == beside.resolve()
    program = "wikimem" if linked or found in {"/usr/bin/wikimem", "/usr/local/bin/wikimem"} else str(beside)
    return shlex.join([program, "hook", "--vault", settings.called])
