"""What every command prints alike: JSON, tables, text from notes, and errors with their next step."""

import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from wikimem.errors import Conflict, WikimemError

# C0 and C1 control characters but tab and newline: a note must not be able to move the cursor, rename the terminal
# or clear the screen of the person who lists it. Those that turn the direction of writing show a line as another one.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (0x09, 0x0A)} | {
    code: f"\\u{code:04x}" for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


def prepare_streams() -> None:
    """Make printing never raise for a character that the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def coloured() -> bool:
    """Whether what is printed goes to somebody who sees its colours."""
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    return sys.stdout.isatty()


def print_json(value: Any) -> None:
    """Print one JSON document, non-ASCII raw."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def safe(text: str) -> str:
    r"""Return text from a note as it may be printed on a terminal: control characters show as `\x1b`."""
    return text.translate(_CONTROLS)


def print_text(text: str = "", *, indent: str = "") -> None:
    """Print text that may come from a note."""
    for line in safe(text).split("\n"):
        click.echo(f"{indent}{line}".rstrip())


def print_line(text: str, *, indent: str = "") -> None:
    """Print one line, whatever the text holds: a file's name may have a line end in it, and feign a line of ours."""
    click.echo(indent + safe(text).replace("\n", "\\x0a"))


def print_table(rows: Iterable[Sequence[str]], *, indent: str = "") -> None:
    """Print rows in columns. The last column is not padded, CJK characters count as two cells."""
    cells = [[safe(cell).replace("\n", " ") for cell in row] for row in rows]
    if not cells:
        return
    widths = [max(cell_width(row[i]) for row in cells if i < len(row)) for i in range(max(map(len, cells)))]
    for row in cells:
        padded = [cell + " " * (widths[i] - cell_width(cell)) for i, cell in enumerate(row[:-1])]
        click.echo((indent + "  ".join([*padded, row[-1]])).rstrip())


def cell_width(text: str) -> int:
    """Return how many terminal cells `text` takes."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def note(message: str) -> None:
    """Say something on stderr that is no part of the answer."""
    click.echo(f"wikimem: {safe(message)}", err=True)


def print_error(message: str, hint: str = "") -> None:
    """Print `wikimem: message` and below it what to do next, on stderr."""
    click.echo(f"wikimem: {safe(message)}", err=True)
    for line in safe(hint).split("\n") if hint else ():
        click.echo(f"  {line}", err=True)


def fail(error: WikimemError) -> int:
    """Print an error of ours and return its exit status."""
    print_error(error.message, error.hint)
    if isinstance(error, Conflict) and error.theirs is not None:
        click.echo("  what is there now:", err=True)
        for line in safe(error.theirs).split("\n"):
            click.echo(f"  | {line}".rstrip(), err=True)
    return error.exit_status


def fail_os(error: OSError) -> int:
    """Print what the system refused, and to which file."""
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
    print_error(f"{where}{error.strerror or error}", "`wikimem doctor` looks at rights, space and settings")
    return 1


def fail_usage(error: click.ClickException) -> int:
    """Print click's complaint in the same shape and return 2."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "wikimem"
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):  # the help itself, which needs no word before or after it
        click.echo(message, err=True)
        return error.exit_code
    hint = f"see `{path} --help`"
    if isinstance(error, click.NoSuchOption) and context is not None and isinstance(context.command, click.Group):
        hint = f"options go after the command, as `wikimem ls --vault PATH`; {hint}"
    elif isinstance(error, click.NoSuchOption) and context is not None and _takes_words(context.command):
        hint = f"words that begin with a dash go last, after `--`; {hint}"
    print_error(message[:1].lower() + message[1:], hint)
    return error.exit_code if isinstance(error, click.UsageError) else 1


def _takes_words(command: click.Command) -> bool:
    return any(isinstance(parameter, click.Argument) and parameter.nargs == -1 for parameter in command.params)


def shortened(text: str, cells: int) -> str:
    """Return the first line of `text`, cut to so many terminal cells."""
    line = text.strip().split("\n", 1)[0]
    if cell_width(line) <= cells:
        return line
    kept: list[str] = []
    width = 0
    for char in line:
        width += cell_width(char)
        if width >= cells:
            break
        kept.append(char)
    return "".join(kept).rstrip() + "…"


def note_staleness(stamp: Mapping[str, Any]) -> None:
    """Say on stderr when an answer may lack what is on disk, and why: nothing stale is shown as fresh."""
    if stamp["fresh"]:
        return
    reasons = stamp["degraded"] or [{"detail": "the vault is still being read", "hint": ""}]
    for reason in reasons:
        print_error(f"this answer may lack recent edits: {reason['detail']}", reason["hint"])
