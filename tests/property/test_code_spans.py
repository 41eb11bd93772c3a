"""Code in a text is the same whether plain and blank lines are taken in runs or one by one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from wikimem.text.code_spans import _LINE, CodeMap, Span, _scanned, _Scanner

STARTS = ("", "", "- ", "> ", "    ", "   ", "\t", "10) ")
BODIES = ("text", "text", "", "```", "```", "````", "~~~", "a `", "# h `", "| ` |", "``\x0b\u2028")
ENDS = ("\n", "\n", "\n\n", "\r\n", "\r", "")


def texts() -> st.SearchStrategy[str]:
    lines = st.tuples(st.sampled_from(STARTS), st.sampled_from(BODIES), st.sampled_from(ENDS)).map("".join)
    return st.lists(lines, min_size=3, max_size=12).map("".join)


def line_by_line(text: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    scanner = _Scanner()
    for line in _LINE.finditer(text):
        if line.start() < len(text):
            scanner.line(line[1], line.start(), line.end())
    scanner.finish(len(text))
    return tuple(scanner.fences), tuple(scanner.blocks)


@settings(max_examples=500)
@given(texts())
def test_runs_of_lines_are_taken_as_their_lines_are(text: str) -> None:
    assert _scanned(text) == line_by_line(text)


@settings(max_examples=500)
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
