"""What a command takes from standard input."""

import sys

from wikimem.cli.output import note
from wikimem.errors import InvalidContent


def content_from(given: str | None) -> str:
    """Return the content that was given, or all of standard input when it is None or `-`.

    Raises InvalidContent for nothing but white space: a command before the pipe that failed must not blank an item.
    """
    content = _piped() if given is None or given == "-" else given
    if not content.strip():
        raise InvalidContent(
            f"{'standard input' if given in {None, '-'} else 'the content'} is empty; nothing was written",
            hint="give the text as the last argument or on standard input; `wikimem remove` takes an item out",
        )
    return content


def _piped() -> str:
    if sys.stdin.isatty():
        note("reading the content from here; end it with Ctrl-D on a line of its own")
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidContent(
            f"standard input is not UTF-8 (byte {error.start})", hint="convert it first: `iconv -f latin1 -t utf-8`"
        ) from error


def address_from(first: str, name: str | None) -> str:
    """Return the address that two arguments (`CATEGORY NAME`) or one (`category:name`) give."""
    return first if name is None else f"{first}:{name}"
