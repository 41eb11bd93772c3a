"""The vocabulary of generated notes: what people, editors, sync tools and agents put in a file."""

from hypothesis import assume
from hypothesis import strategies as st

from wikimem.errors import InvalidContent
from wikimem.pages.cleaning import clean_content
from wikimem.text.frontmatter import find_frontmatter

LINES: tuple[bytes, ...] = (
    b"",
    b"",
    b"  ",
    b"text",
    b"more `code` text",
    b"half ` a span",
    "中文的一段话。".encode(),
    "emoji 🙂 und Umlaut ä".encode(),
    b"latin-1 caf\xe9",
    b"nul \x00 byte",
    "line\u2028separator".encode(),
    "form\x0cfeed and next\x85line".encode(),
    b"# part",
    b"## a",
    b"## b",
    b"## a",
    b"  ## indented",
    b"   ## three",
    b"    ## code",
    b"## closed ##",
    b"##\ttab",
    b"##none",
    b"## ",
    b"##",
    b"## caf\xe9",
    "## Cafe\u0301".encode(),
    "## Café".encode(),
    b"## 09:15",
    b"## 14:30 Lunch",
    b"## 14:30",
    b"## Tasks",
    b"### deeper",
    b"###### six",
    b"> ## quoted",
    b"> ```",
    b"- item",
    b"- ",
    b"  ## in the item",
    b"- ```",
    b"  ```",
    b"1. one",
    b"```",
    b"```python",
    b"````",
    b"~~~",
    b"~~~~ text",
    b"---",
    b"===",
    b"***",
    b"<!-- comment -->",
    b"<!--",
    b"-->",
    b"<div>",
    b"</div>",
    b"<pre>",
    b"</pre>",
    b"<?php",
    b"<span>",
    b"%%",
    b"%% note %%",
    b"half %% a note",
    b"`%%`",
    b"$$",
    b"x $$ y $$ z",
    b"\ttabbed",
    b"    indented",
    b"#tag and #nested/tag",
    b"[[cat:name]] [[note#a|b]]",
    b"[[heavy; w=2]] [[wrong; w=-1]]",
    b"| a | b |",
    b"a paragraph ^block-id",
    b"<!-- wikimem: owner=user:x | source=c | ts=2026-07-10T03:00:00+00:00 -->",
    b"<!-- wikimem: owner=user:x | mood=fine -->",
    b"<!-- wikimem: nonsense -->",
    b"<!-- wikimem: -->",
    b"<!-- wikimem: owner=x",
)
LINE_ENDS: tuple[bytes, ...] = (b"\n", b"\r\n", b"\r")
FRONTMATTER: tuple[bytes, ...] = (
    b"---\ntags: [x, y/z]\naliases: one\n---\n",
    b"---\r\ntitle: 'a: b'\r\n---\r\n",
    b"---\nbroken: [\n---\n",
    b"---\n```\n%%\n---\n",
    b"---\nnever: closed\n",
    b"---\n---\n",
)


def _joined(lines: list[bytes], ends: list[bytes], *, final: bool) -> bytes:
    text = b"".join(line + end for line, end in zip(lines, ends, strict=True))
    if final or not lines:
        return text
    return text[: -len(ends[-1])]


@st.composite
def bodies(draw: st.DrawFn, max_lines: int = 14) -> bytes:
    """A body of lines, with one line end throughout or mixed ones, with or without the last."""
    lines = draw(st.lists(st.sampled_from(LINES), max_size=max_lines))
    common = draw(st.sampled_from((b"\n", b"\n", b"\r\n", b"\r", None)))
    kinds = st.sampled_from(LINE_ENDS)
    ends = [common if common is not None else draw(kinds) for _ in lines]
    return _joined(lines, ends, final=draw(st.booleans()))


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A whole file: BOM, frontmatter, body."""
    bom = draw(st.sampled_from((b"", b"", b"", b"\xef\xbb\xbf")))
    block = draw(st.sampled_from((b"", b"", *FRONTMATTER)))
    return bom + block + draw(bodies())


@st.composite
def files_with_item(draw: st.DrawFn, heading: bytes = b"## a") -> bytes:
    """A file in which the heading stands at least once where it counts unless something before it is left open."""
    newline = draw(st.sampled_from(LINE_ENDS))
    before, after = draw(files()), draw(bodies(max_lines=8))
    again = draw(st.booleans())
    middle = [heading, draw(bodies(max_lines=5)), *([heading, draw(bodies(max_lines=5))] if again else [])]
    return newline.join([before, *middle, after])


def any_bytes() -> st.SearchStrategy[bytes]:
    """Bytes that may be no text at all, and generated files."""
    return st.one_of(st.binary(max_size=200), files())


def contents() -> st.SearchStrategy[str]:
    """What an agent may pass as content: the same lines, arbitrary text, surrogates and NUL included."""
    lines = st.lists(st.sampled_from(LINES), max_size=8)
    ends = st.sampled_from(("\n", "\n", "\r\n", "\r"))
    written = st.tuples(lines, ends).map(lambda pair: pair[1].join(line.decode("utf-8", "replace") for line in pair[0]))
    anything = st.text(st.characters(), max_size=40)
    marks = st.text(st.sampled_from("#`~$%<>!-/ \n\r\tab[]:|=*_\\\x00\ud800"), max_size=40)
    return st.one_of(written, written, anything, marks)


def item_names() -> st.SearchStrategy[str]:
    """Names that may be written, among them some that the generated files hold."""
    known = st.sampled_from(("a", "b", "Café", "closed", "tab", "Tasks", "indented", "new item"))
    anything = st.text(
        st.characters(exclude_characters="[]:|#", exclude_categories=("Cs", "Cc")), min_size=1, max_size=12
    )
    return st.one_of(known, known, anything.filter(lambda name: bool(name.split()) and "; w" not in name))


def times() -> st.SearchStrategy[str]:
    """Minutes of a day, among them those that the generated files hold."""
    any_minute = st.tuples(st.integers(0, 23), st.integers(0, 59)).map(lambda pair: f"{pair[0]:02}:{pair[1]:02}")
    return st.one_of(st.sampled_from(("09:15", "14:30", "00:00", "23:59")), any_minute)


def provenance() -> st.SearchStrategy[str | None]:
    """An owner or source value, or none."""
    return st.one_of(st.none(), st.sampled_from(("user:x", "a|b", "--> x", "conv 1")), st.text(max_size=8))


def cleaned(content: str, data: bytes = b"") -> str:
    """Clean content that this file can hold: one that opens properties without closing them takes no `---` line."""
    assume(not (find_frontmatter(data)[2] and "---" in content))
    try:
        return clean_content(content)
    except InvalidContent:
        assume(False)
        raise
