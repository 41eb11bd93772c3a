"""The report as Markdown and as HTML."""

from html.parser import HTMLParser

from wikimem.cli.report_page import MARK, Report, Section, as_html, as_markdown, is_report

HOSTILE = "<script>alert(1)</script> | [x](http://e) `c` \n## no heading"
REPORT = Report(
    title="wikimem: notes",
    intro="17 items.",
    sections=(
        Section("Problems", ("where", "what"), ((HOSTILE, "b"),), more="3 more"),
        Section("Links", ("target",), (), none="none"),
    ),
)


def test_nothing_of_a_note_becomes_markup_in_html() -> None:
    seen: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen.append(tag)
            assert not any(name in {"src", "href"} for name, _ in attrs), "the page needs nothing else"

    Tags().feed(as_html(REPORT))
    assert "script" not in seen
    assert seen.count("td") == 2


def test_nothing_of_a_note_becomes_markup_in_markdown() -> None:
    (row,) = [line for line in as_markdown(REPORT).split("\n") if "script" in line]
    assert row.startswith("| \\<script>")
    assert row.count(" | ") - row.count("\\|") <= 1
    assert "\n## no heading" not in as_markdown(REPORT)


def test_what_was_cut_is_said() -> None:
    assert "3 more" in as_markdown(REPORT)
    assert "3 more" in as_html(REPORT)


def test_a_section_without_rows_says_so() -> None:
    assert "## Links\n\nnone.\n" in as_markdown(REPORT)


def test_only_a_report_counts_as_one() -> None:
    assert is_report(as_html(REPORT))
    assert is_report(as_markdown(REPORT))
    assert not is_report(f"my notes about\n\n\n\n{MARK}\n")
    assert not is_report("")
