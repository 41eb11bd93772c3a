"""Files that are read by what their path says, and files that are only reported."""

import pytest

from wikimem.pages.layout import Layout
from wikimem.pages.reading import git_marker_line, read_page, too_large_page

CONFLICT = b"<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> main\n"


def test_the_path_decides_what_a_file_is() -> None:
    data = b"## 14:30\n\nx\n"
    assert read_page("wiki/a.md", data, Layout()).items[0].address == "a:14:30"
    day = read_page("diary/2026-07-21.md", data, Layout())
    assert (day.kind, day.category, day.items[0].address) == ("diary", "2026-07-21", "2026-07-21:14:30")
    for path in ("a.md", "wiki/.a.md", "wiki/a.sync-conflict-20260101-120000-ABCDEFG.md"):
        assert read_page(path, data, Layout()).items == ()


def test_a_file_over_the_limit_is_one_problem() -> None:
    for path, kind in (("wiki/a.md", "wiki"), ("diary/2026-07-21.md", "diary")):
        page = too_large_page(path, 50_000_000, Layout())
        assert (page.path, page.kind, page.items) == (path, kind, ())
        assert [problem.kind for problem in page.problems] == ["too-large"]
        assert "50000000" in page.problems[0].message


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (CONFLICT, 1),
        (b"# n\r\n\r\n" + CONFLICT.replace(b"\n", b"\r\n"), 3),
        (b"<<<<<<<\na\n||||||| base\nb\n=======\nc\n>>>>>>>", 1),
        (b"```\n" + CONFLICT + b"```\n\n" + CONFLICT, 9),
        (CONFLICT.replace(b"one", b"```\none"), 1),
        (b"```\n" + CONFLICT + b"```\n", None),
        (CONFLICT.replace(b"=======", b"======"), None),
        (CONFLICT.replace(b">>>>>>>", b"> > >"), None),
        (CONFLICT.replace(b"<<<<<<<", b"<<<<<<<<"), None),
        (b"x " + CONFLICT, None),
        (b">>>>>>> main\n=======\n<<<<<<< HEAD\n", None),
        (b"", None),
    ],
)
def test_git_markers_count_in_order_and_outside_fences(data: bytes, line: int | None) -> None:
    assert git_marker_line(data) == line
