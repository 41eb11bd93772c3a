r"""From bytes on disk to the text that is handed out, and back.

One rule for everything that is no proper text: NUL, lone surrogates and bytes that are not UTF-8 show as U+FFFD.
Line ends are `\n` in text that is handed out, whatever the file uses. The bytes on disk are never normalised.
"""

import re

REPLACEMENT = "�"
_IMPROPER = re.compile("[\x00\ud800-\udfff]")
BOM = b"\xef\xbb\xbf"


def decode(data: bytes) -> str:
    r"""Return `data` as text: `\n` line ends, no NUL, no surrogates; what is not UTF-8 becomes U+FFFD."""
    text = data.decode("utf-8", "replace")
    if "\r" in text:
        text = unify_line_ends(text)
    if "\x00" in text:
        text = text.replace("\x00", REPLACEMENT)
    return text


def unify_line_ends(text: str) -> str:
    r"""Return `text` with `\r\n` and lone `\r` as `\n`; U+2028, U+0085 and form feed are no line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def replace_improper(text: str) -> str:
    """Return `text` with NUL and lone surrogates as U+FFFD, so that it can be written and read back alike."""
    return _IMPROPER.sub(REPLACEMENT, text)


def encode(text: str, newline: bytes) -> bytes:
    r"""Return `text` (with `\n` line ends) as UTF-8 with the file's own line ends."""
    data = text.encode("utf-8")
    return data if newline == b"\n" else data.replace(b"\n", newline)


def is_utf8(data: bytes) -> bool:
    """Tell whether every byte belongs to well-formed UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
