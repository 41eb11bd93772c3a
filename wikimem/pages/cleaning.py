r"""What is made of content before it is written, so that no content can break out of its item.

The rules, in this order: NUL and lone surrogates become U+FFFD; line ends become `\n`; white space at both ends goes;
links get the vault's style; a last line that reads as a provenance comment is refused; headings of level 1 and 2
become level 3; a fence, HTML comment or HTML block that is still open at the end is closed, and so are `%%` and `$$`.
Applied twice it changes nothing more.
"""

from typing import Literal

from wikimem.errors import InvalidContent
from wikimem.text.blocks import Blocks, Heading, scan
from wikimem.text.comments import find_marks_in_file, outside, pair
from wikimem.text.decoding import replace_improper, unify_line_ends
from wikimem.text.links import to_style
from wikimem.text.metadata import parse_metadata

LinkStyle = Literal["keep", "obsidian"]
_DEMOTED = 3
_ROUNDS = 12


def clean_content(content: str, *, link_style: LinkStyle = "keep", category: str | None = None) -> str:
    """Return `content` as it will be read back; raise `InvalidContent` for what cannot be kept apart from the file."""
    text = unify_line_ends(replace_improper(content)).strip()
    text = to_style(text, link_style, category=category)
    for _ in range(_ROUNDS):
        _refuse_provenance(text)
        safe = _made_safe(text).strip()
        if safe == text:
            return text
        text = safe
    raise InvalidContent("the content nests open blocks in a way that cannot be closed", hint="close its fences")


def _refuse_provenance(text: str) -> None:
    last = text.rpartition("\n")[2]
    if last.rstrip().endswith("-->") and parse_metadata(last) is not None:
        raise InvalidContent(
            "the content ends in a provenance comment, which only wikimem writes",
            hint="pass owner and source as arguments, and leave the comment out",
        )


def _made_safe(text: str) -> str:
    data = text.encode("utf-8")
    blocks = scan(data)
    shallow = [heading for heading in blocks.headings if heading.level < _DEMOTED and not heading.setext]
    if shallow:
        text = _demoted(data, shallow).decode("utf-8")
    if blocks.tail is not None:
        return f"{text}\n{blocks.tail.closer.decode('ascii')}"
    return text if shallow else _with_pairs(text, data, blocks)


def _demoted(data: bytes, headings: list[Heading]) -> bytes:
    parts: list[bytes] = []
    position = 0
    for heading in headings:
        mark = data.index(b"#", heading.start)
        parts += [data[position:mark], b"#" * (_DEMOTED - heading.level)]
        position = mark
    parts.append(data[position:])
    return b"".join(parts)


def _with_pairs(text: str, data: bytes, blocks: Blocks) -> str:
    """Close the first `%%` or `$$` that has no partner; marks in heading lines stay, they pair within the line only."""
    if "%%" not in text and "$$" not in text:
        return text
    lines = [(heading.start, heading.end) for heading in blocks.headings if not heading.setext]
    left = pair(outside(find_marks_in_file(data, blocks), lines))[1]
    return f"{text}\n\n{left[0].text}" if left else text
