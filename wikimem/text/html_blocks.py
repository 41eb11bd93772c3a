"""HTML blocks by CommonMark's seven kinds (0.31, section 4.6): what opens one, what ends it."""

import re
from dataclasses import dataclass

_NAMES = (
    "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li "
    "link main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th "
    "thead title tr track ul"
)
_ATTRIBUTE = (
    rb"(?:[ \t\n]+[A-Za-z_:][A-Za-z0-9_.:-]*"
    rb"(?:[ \t\n]*=[ \t\n]*(?:[^ \t\n\"'=<>`]+|'[^'\n]*'|\"[^\"\n]*\"))?)"
)

# kind 1 to 5: opening, ending (found on any line, the opening one included), what closes it if nothing did
_UNTIL = (
    (re.compile(rb"<(script|pre|style|textarea)(?=[ \t>\n]|\Z)", re.IGNORECASE), None, None),
    (re.compile(rb"<!--"), re.compile(rb"-->"), b"-->"),
    (re.compile(rb"<\?"), re.compile(rb"\?>"), b"?>"),
    (re.compile(rb"<![A-Za-z]"), re.compile(rb">"), b">"),
    (re.compile(rb"<!\[CDATA\["), re.compile(rb"\]\]>"), b"]]>"),
)
_RAW_END = re.compile(rb"</(?:script|pre|style|textarea)>", re.IGNORECASE)
_BLOCK = re.compile(rb"</?(?:%b)(?=[ \t\n]|/?>|\Z)" % _NAMES.replace(" ", "|").encode(), re.IGNORECASE)
_WHOLE_TAG = re.compile(
    rb"(?:<[A-Za-z][A-Za-z0-9-]*+%b*[ \t]*/?>|</[A-Za-z][A-Za-z0-9-]*+[ \t]*>)[ \t]*(?:\n|\Z)"
    % _ATTRIBUTE.replace(b"[ \\t\\n]", b"[ \\t]")
)
_BLANK_LINE = re.compile(rb"\n(?=[ \t]*\n)")


@dataclass(frozen=True, slots=True)
class HtmlBlock:
    """Where a block ends, after its last line.

    `closer` is what would have ended it when the buffer did instead; None also for the kinds that a blank line ends.
    """

    end: int
    closer: bytes | None = None
    until_blank: bool = False


def find_html_block(buffer: bytes, start: int, *, in_paragraph: bool) -> HtmlBlock | None:
    """Return the HTML block that the `<` at `start` opens, or None. Only kind 7 cannot interrupt a paragraph."""
    for opening, ending, closer in _UNTIL:
        found = opening.match(buffer, start)
        if found is not None:
            close = closer or b"</" + found[1].lower() + b">"
            end = (ending or _RAW_END).search(buffer, start)
            return HtmlBlock(len(buffer), close) if end is None else HtmlBlock(_line_end(buffer, end.end()))
    if _BLOCK.match(buffer, start) or (not in_paragraph and _WHOLE_TAG.match(buffer, start)):
        blank = _BLANK_LINE.search(buffer, start)
        return HtmlBlock(len(buffer) if blank is None else blank.end(), until_blank=True)
    return None


def _line_end(buffer: bytes, position: int) -> int:
    newline = buffer.find(b"\n", position)
    return len(buffer) if newline < 0 else newline + 1
