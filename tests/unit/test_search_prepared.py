"""What was prepared in a thread is searched as what was read on the spot."""

from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.pages.reading import read_page
from wikimem.search.index import MemoryIndex
from wikimem.search.prepared import prepare
from wikimem.search.shelf import fresh_texts
from wikimem_daemon.indexing import FedPages

FIRST = "## sea\n\nSalt, 海边的日出.\n\n## hill\n\nA steep path; naïve walkers.\n\n## sea\n\nThe last one counts.\n"
SECOND = FIRST.replace("steep", "stony").replace("counts", "wins") + "\n## moor\n\nHeather 🌾 and fog.\n"
QUERIES = ("salt", "日出", "steep", "stony", "walker", "wins", "heather", "🌾", "fog sea")


def read(text: str) -> Page:
    return read_page("wiki/a.md", text.encode(), Layout())


def scores(index: MemoryIndex) -> list[list[tuple[str, float | None]]]:
    found = [index.retrieve(query).items for query in QUERIES]
    return [[(hit.item.address, hit.bm25_score) for hit in hits] for hits in found]


def test_prepared_texts_are_found_with_the_same_scores() -> None:
    plain, ahead = MemoryIndex(FedPages()), MemoryIndex(FedPages())
    other = read_page("wiki/b.md", b"## b\n\nWaves of heather.\n", Layout())
    for index in (plain, ahead):
        index.replace_page(other)
    before = None
    for text in (FIRST, SECOND):
        page = read(text)
        plain.replace_page(page)
        ahead.replace_page(page, prepare(fresh_texts(page, before)))
        assert scores(ahead) == scores(plain)
        before = page


def test_only_what_an_edit_changed_is_prepared() -> None:
    assert len(fresh_texts(read(SECOND), read(FIRST))) == 3
    assert fresh_texts(read(FIRST), read(FIRST)) == []


def test_what_was_prepared_for_another_state_of_the_page_is_not_taken() -> None:
    index = MemoryIndex(FedPages())
    first, second = read(FIRST), read(SECOND)
    index.replace_page(second, prepare(fresh_texts(first, None)))
    assert [hit.item.address for hit in index.retrieve("heather").items] == ["a:moor"]
