"""Code in a text is the same whether plain and blank lines are taken in runs or one by one."""

from hypothesis import given
from hypothesis import strategies as st

from wikimem.text.code_spans import _LINE, CodeMap, Span, _Scanner, _scanned

PIECES = (
    *("`", "``", "```", "````", "~~~", "~~~~", "   ```", "  ~~~ ", "> ```", "- ```", "c```d", "x`y`"),
    *("\n", "\n\n", "\r\n", "\r", "- ", "> ", ">", "  ", "    ", "\t", "1. ", "10) ", "-", "# h", "#", "| x |"),
    *("text", "a b", "\u2028", "é", "\x0b"),
)


def texts() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def line_by_line(text: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    scanner = _Scanner()
    for line in _LINE.finditer(text):
        if line.start() < len(text):
            scanner.line(line[1], line.start(), line.end())
    scanner.finish(len(text))
    return tuple(scanner.fences), tuple(scanner.blocks)


@given(texts())
def test_runs_of_lines_are_taken_as_their_lines_are(text: str) -> None:
    assert _scanned(text) == line_by_line(text)


@given(texts())
def test_a_code_span_ends_where_the_blocks_say(text: str) -> None:
    fences, blocks = line_by_line(text)
    code = CodeMap(text)
    assert code.fences == fences
    for length, starts in code.runs.items():
        for index, start in enumerate(starts):
            if code.fence_end(start) is None:
                end = next(end for first, end in blocks if first <= start < end)
                closing = starts[index + 1] if index + 1 < len(starts) else len(text)
                assert CodeMap(text).inline_end(start, length) == (closing + length if closing < end else None)
