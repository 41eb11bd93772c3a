"""The `wikimem` command: one group whose commands are imported when they are called.

`wikimem --help` imports click and the table of commands, nothing else: a shell that completes words, or a prompt
that runs it, must not wait for numpy.
"""

import gc
import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from wikimem.cli.commands import COMMANDS
from wikimem.cli.output import fail, fail_os, fail_usage, prepare_streams
from wikimem.errors import WikimemError

_INTERRUPTED = 130  # 128 + SIGINT, as shells report it


class LazyGroup(click.Group):
    """A group that knows its commands from a table and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the table's order, which is the order of a day's use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """Import the command's module; None for a name that the table does not have."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, name = entry.target.partition(":")
        # Imports make no garbage; looking for some meanwhile takes a tenth of a short command.
        gc.disable()
        try:
            command: click.Command = getattr(importlib.import_module(module), name)
        finally:
            gc.enable()
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Write the `Commands:` section from the table, importing no command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command when there is none of that name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib  # noqa: PLC0415 - only a mistyped command pays for it

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            better = f" Did you mean `{near[0]}`?" if near else ""
            raise click.UsageError(f"no command is called {args[0]!r}.{better}", ctx)
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from wikimem import __version__  # noqa: PLC0415 - not needed for any other call

        click.echo(f"wikimem {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Print the version."
)
def cli() -> None:
    """Keep an Obsidian vault and what agents remember in step.

    The markdown is the memory: a person edits it, a daemon follows, agents ask. Every command takes
    --vault NAME|PATH; without it the vault around the working directory is meant.
    """


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run `wikimem` and end the process with the documented exit status."""
    sys.exit(run(list(sys.argv[1:] if args is None else args)))


def daemon_main() -> NoReturn:
    """Run `wikimemd`, which is `wikimem serve`."""
    main(["serve", *sys.argv[1:]])


def run(args: list[str]) -> int:
    """Run one command and return its exit status: 0 ok, 1 error, 2 usage, 3 not running, 69, 75, 78."""
    prepare_streams()
    try:
        result = cli.main(args=args, prog_name="wikimem", standalone_mode=False)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.Abort:
        return _INTERRUPTED
    except click.ClickException as error:
        return fail_usage(error)
    except WikimemError as error:
        return fail(error)
    except OSError as error:  # a disk or a right that no layer below expected; a full pipe is click's own business
        return fail_os(error)
    return result if isinstance(result, int) else 0
