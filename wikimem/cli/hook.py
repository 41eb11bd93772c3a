"""`wikimem hook`: memory for coding agents, before each prompt and at the start of a session."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import date, timedelta
from typing import Any, Final

import click

from wikimem.cli.connection import answers, daemon_client, not_running, settings_for
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import note
from wikimem.config import Settings, require_vault
from wikimem.errors import UsageError
from wikimem.hook import BUDGET_TOKENS, MOST_ITEMS, Candidate, HookCall, answer_text, choose, read_call, shown
from wikimem.hook_session import GivenKeys
from wikimem.host_prompt import cost, query_of

TIME_S: Final = 0.6
"""From here to the answer; with the start of the interpreter it stays below the second that a person notices."""

MOST_INPUT: Final = 16_000_000
_MOST_MORE: Final = 40
_TOOLS: Final = ("claude-code", "codex", "gemini", "cursor")
_SETTING: Final = frozenset({"install", "uninstall"})


class FailOpenGroup(click.Group):
    """A group whose own mistakes end in status 0: Claude Code takes a hook's status 2 for "block this prompt"."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the options; a wrong one is said and nothing is recalled."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            if not _SETTING.isdisjoint(args):
                raise
            note(f"nothing is recalled: {error.format_message()}")
            raise click.exceptions.Exit(0) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is named; an unknown one is said and nothing is recalled."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            note(f"nothing is recalled: {error.format_message()}")
            raise click.exceptions.Exit(0) from None


@click.group(cls=FailOpenGroup, invoke_without_command=True)
@click.option(
    "--budget-tokens",
    type=click.IntRange(min=1),
    default=BUDGET_TOKENS,
    show_default=True,
    metavar="N",
    help="Give at most so many words (or CJK characters) of notes.",
)
@json_option
@vault_option
@click.pass_context
def hook(context: click.Context, *, budget_tokens: int, as_json: bool, vault: str | None) -> None:
    """Give a coding agent what the notes say about a prompt.

    Reads the hook's JSON on standard input (Claude Code, Codex, Gemini, Cursor, and others by their likely keys) and
    prints the memory to inject, if there is any that this conversation has not been given yet. Whatever goes wrong
    costs one turn's recall: the exit status is 0, and nothing is printed but one line on stderr.

    `wikimem hook install` shows what a tool's settings need for this, and adds it with --yes; `wikimem hook uninstall`
    takes it out again.
    """
    context.obj = vault
    if context.invoked_subcommand is not None:
        return
    try:
        with _deadline():
            _recall(vault, budget_tokens, as_json=as_json)
    except Exception as error:  # noqa: BLE001 - fail open: a broken memory must not stop a prompt
        note(f"nothing is recalled: {str(error) or type(error).__name__}".replace("\n", " "))


_tools_argument = click.argument("tools", nargs=-1, type=click.Choice(_TOOLS), metavar=f"[{'|'.join(_TOOLS)}]...")


@hook.command()
@_tools_argument
@click.option("--yes", is_flag=True, help="Apply the change that is shown.")
@vault_option
@click.pass_context
def install(context: click.Context, tools: tuple[str, ...], *, yes: bool, vault: str | None) -> None:
    """Show what a tool's settings need to call `wikimem hook`; with --yes add it.

    Without a name every tool is meant whose folder is there. Only the new entries are added: every other byte of the
    file stays, and an entry that is there already is left as it is.
    """
    from wikimem.cli.hook_setup import install_hooks  # noqa: PLC0415 - what every prompt calls does not pay for it

    install_hooks(settings_for(vault or context.obj), tools, yes=yes)


@hook.command()
@_tools_argument
@click.option("--yes", is_flag=True, help="Apply the change that is shown.")
@vault_option
@click.pass_context
def uninstall(context: click.Context, tools: tuple[str, ...], *, yes: bool, vault: str | None) -> None:
    """Show a tool's settings without `wikimem hook`; with --yes take it out.

    Without a name every tool is meant whose folder is there; with --vault only what was set up for that vault. Every
    other byte of the file stays.
    """
    from wikimem.cli.hook_setup import uninstall_hooks  # noqa: PLC0415 - see above

    uninstall_hooks(vault or context.obj, tools, yes=yes)


def _recall(vault: str | None, budget_tokens: int, *, as_json: bool) -> None:
    # A stream that the caller closed is None.
    if sys.stdin is None or sys.stdout is None:
        raise UsageError("standard input and output must be open")
    if sys.stdin.isatty():
        note("`wikimem hook` reads a coding agent's JSON on standard input; `wikimem hook install` sets it up")
        return
    call = read_call(sys.stdin.buffer.read(MOST_INPUT))
    if call.kind == "other":
        return
    settings = settings_for(vault)
    if not answers(settings):
        require_vault(settings.path, configured=settings.configured)
        raise not_running(settings)
    with ExitStack() as stack:
        given = _given(stack, settings, call.session)
        if given is None:
            _give(settings, call, frozenset(), budget_tokens, as_json=as_json)
            return
        if call.forgotten:
            given.forget()
        given.add(_give(settings, call, given.read(), budget_tokens, as_json=as_json))


def _given(stack: ExitStack, settings: Settings, session: str) -> GivenKeys | None:
    """Return what the session was given; None where it cannot be kept: better twice than never."""
    try:
        return stack.enter_context(GivenKeys(settings.state_dir / "hook", session)) if session else None
    except OSError as error:
        note(f"what this conversation is given is not remembered: {error}")
        return None


def _give(
    settings: Settings, call: HookCall, before: frozenset[str], budget_tokens: int, *, as_json: bool
) -> list[str]:
    """Print what there is to give beside what was given before; return its keys."""
    chosen = choose(_candidates(settings, call, len(before)), before, budget_tokens)
    text = answer_text(call, shown(chosen, budget_tokens), as_json=as_json)
    if text:
        _print(text)
    return [one.key for one in chosen]


def _print(text: str) -> None:
    """Print as UTF-8, which the tool reads whatever the terminal's encoding is."""
    try:
        sys.stdout.buffer.write(f"{text}\n".encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # What is buffered still would fail again at exit, with status 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _candidates(settings: Settings, call: HookCall, known: int) -> list[Candidate]:
    with daemon_client(settings) as client:
        if call.kind == "start":
            today = date.today()  # noqa: DTZ011 - the local day
            window = ((today - timedelta(days=1)).isoformat(), today.isoformat())
            answer = client.retrieve("", MOST_ITEMS + min(known, _MOST_MORE), time_range=window)
        else:
            answer = client.retrieve(query_of(call.prompt), MOST_ITEMS + min(known, _MOST_MORE))
    return [
        Candidate(one["address"], one["content"], cost(one["content"], one["tokens_est"])) for one in answer["items"]
    ]


@contextmanager
def _deadline() -> Iterator[None]:
    """End the process with status 0 when the time is up, whatever it waits for: a socket, a disk, standard input."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Callable[..., Any] | int | None = signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, TIME_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _give_up(_number: int, _frame: object) -> None:
    os.write(2, b"wikimem: nothing is recalled: no answer in time\n")
    os._exit(0)
