"""Read-only notes and folders, unreadable places, no state directory: as a user who is not root."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fault.editors import LAYOUT
from tests.fault.otheruid import as_other_uid, folder_for_anybody
from wikimem.errors import StorageError, WikimemError
from wikimem.store.vault import MemoryStore

NOTE = "# work\n\n## job\n\nold\n"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the other user is a forked child")


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_for_anybody() as folder:
        yield folder


def make(folder: Path) -> MemoryStore:
    (folder / "vault" / "wiki").mkdir(parents=True, exist_ok=True)
    (folder / "vault" / "wiki" / "work.md").write_text(NOTE)
    return MemoryStore(folder / "vault", layout=LAYOUT, state_dir=folder / "state" / "v")


def refusal(store: MemoryStore, category: str = "work") -> tuple[str, str, str, str]:
    try:
        store.add(category, "job", "new")
    except StorageError as error:
        return error.path, error.step, error.message, error.hint
    raise AssertionError("the write went through")


def test_a_note_that_its_owner_made_read_only_is_not_replaced(folder: Path) -> None:
    def body() -> tuple[tuple[str, str, str, str], str, int]:
        store = make(folder)
        note = store.root / "wiki/work.md"
        note.chmod(0o444)
        return refusal(store), note.read_text(), len(list(note.parent.iterdir()))

    (path, step, message, hint), text, files = as_other_uid(body)
    assert (path, step) == ("wiki/work.md", "open the file for writing")
    assert "the file is read-only" in message
    assert "rights" in hint
    assert (text, files) == (NOTE, 1)


@pytest.mark.parametrize("category", ["work", "fresh"])
def test_a_read_only_folder_is_named(category: str, folder: Path) -> None:
    def body() -> tuple[tuple[str, str, str, str], str, int]:
        store = make(folder)
        note = store.root / "wiki/work.md"
        note.parent.chmod(0o555)
        try:
            return refusal(store, category), note.read_text(), len(list(note.parent.iterdir()))
        finally:
            note.parent.chmod(0o755)

    (path, step, message, _), text, files = as_other_uid(body)
    assert (path, step) == (f"wiki/{category}.md", "make the new file")
    assert "Permission denied" in message
    assert (text, files) == (NOTE, 1)


def test_an_unreadable_note_is_refused_and_keeps_the_rest_readable(folder: Path) -> None:
    def body() -> tuple[tuple[str, str, str, str], list[tuple[str, str]], list[str]]:
        store = make(folder)
        (store.root / "wiki/other.md").write_text("## a\n\nx\n")
        (store.root / "wiki/work.md").chmod(0)
        problems = [(path, problem.kind) for path, problem in store.problems()]
        return refusal(store), problems, [page.path for page in store.pages() if page.items]

    (path, step, _, _), problems, read = as_other_uid(body)
    assert (path, step) == ("wiki/work.md", "open the file")
    assert problems == [("wiki/work.md", "unreadable")]
    assert read == ["wiki/other.md"]


def test_a_removal_from_an_unreadable_note_names_file_and_step(folder: Path) -> None:
    def body() -> tuple[str, str]:
        store = make(folder)
        (store.root / "wiki/work.md").chmod(0)
        try:
            store.remove("work", "job")
        except StorageError as error:
            return error.path, error.step
        raise AssertionError("the removal went through")

    assert as_other_uid(body) == ("wiki/work.md", "read the file")


def test_a_journal_that_cannot_be_read_hides_no_other_problem(folder: Path) -> None:
    def body() -> list[tuple[str, str]]:
        store = make(folder)
        (store.root / "journal.jsonl").mkdir()
        (store.root / "wiki/work.md").chmod(0)
        return [(path, problem.kind) for path, problem in store.problems()]

    assert as_other_uid(body) == [("wiki/work.md", "unreadable"), ("journal.jsonl", "unreadable")]


def test_an_unreadable_folder_is_not_an_empty_one(folder: Path) -> None:
    def body() -> str:
        store = make(folder)
        (store.root / "wiki").chmod(0)
        try:
            return ",".join(store.page_paths())
        except PermissionError as error:
            return f"refused: {error.strerror}"
        finally:
            (store.root / "wiki").chmod(0o755)

    assert as_other_uid(body) == "refused: Permission denied"


def test_an_unreadable_folder_inside_the_wiki_costs_itself_only(folder: Path) -> None:
    def body() -> tuple[list[str], list[tuple[str, str]]]:
        store = make(folder)
        (store.root / "wiki/private").mkdir()
        (store.root / "wiki/private").chmod(0)
        try:
            return store.page_paths(), [(path, problem.kind) for path, problem in store.problems()]
        finally:
            (store.root / "wiki/private").chmod(0o755)

    assert as_other_uid(body) == (["wiki/work.md"], [("wiki/private", "unreadable")])


def test_a_state_directory_that_cannot_be_made_stops_writes_and_no_reads(folder: Path) -> None:
    def body() -> tuple[str, str, str, int]:
        store = make(folder)
        (folder / "state").mkdir()
        (folder / "state").chmod(0o555)
        item = store.get("work", "job")
        try:
            store.add("work", "job", "new")
        except WikimemError as error:
            return item.content if item else "", error.code, error.hint, error.http_status
        return "", "", "", 0

    content, code, hint, status = as_other_uid(body)
    assert content == "old"
    assert (code, status) == ("storage", 507)
    assert "state directory" in hint


def test_a_note_of_another_user_is_written_the_basic_way(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes files of two users")
    make(folder)
    note = folder / "vault/wiki/work.md"
    for path in (folder, folder / "vault", folder / "vault/wiki"):
        path.chmod(0o777)
    note.chmod(0o666)  # root's file, in a folder that everybody may write to

    def body() -> tuple[str, str]:
        store = MemoryStore(folder / "vault", layout=LAYOUT, state_dir=folder / "state-of-nobody" / "v")
        store.add("work", "job", "new")
        return store.write_mode, note.read_text()

    assert as_other_uid(body) == ("basic", "# work\n\n## job\n\nnew\n")
