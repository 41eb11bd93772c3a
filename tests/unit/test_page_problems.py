"""What `status` says about pages follows them, though it is put together only once for each change."""

from tests.searching import index_of, page
from wikimem.search.index import MemoryIndex
from wikimem_daemon.status import PageProblems

GOOD = page("wiki/a.md", "## one\n\ntext\n")
BROKEN = page("wiki/a.md", "## one\n\ntext\n\n## one\n\nagain\n")


def kinds(problems: PageProblems, index: MemoryIndex) -> list[str]:
    return [problem.kind for _, problem in problems.of(index)]


def test_problems_come_and_go_with_the_pages() -> None:
    problems, index = PageProblems(), index_of(GOOD)
    assert kinds(problems, index) == []
    index.replace_page(BROKEN)
    assert kinds(problems, index) == [problem.kind for problem in BROKEN.problems] != []
    index.replace_page(GOOD)
    assert kinds(problems, index) == []
    index.replace_page(page("wiki/ a.md", "## two\n\ntext\n"))
    assert kinds(problems, index) == ["names-alike", "names-alike"]
    index.remove_page("wiki/ a.md")
    assert kinds(problems, index) == []


def test_an_unchanged_vault_is_not_gone_through_again() -> None:
    problems, index = PageProblems(), index_of(BROKEN)
    assert problems.of(index) is problems.of(index)
    assert problems.of(index) is not problems.of(index_of(BROKEN))
