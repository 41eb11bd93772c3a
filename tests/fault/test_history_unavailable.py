"""When prior texts or the journal cannot be kept."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fault.editors import LAYOUT
from wikimem.errors import HistoryUnavailable, StorageError
from wikimem.store.vault import MemoryStore

NOTE = b"# work\n\n## job\n\nold\n"


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    (tmp_path / "vault/wiki").mkdir(parents=True)
    (tmp_path / "vault/wiki/work.md").write_bytes(NOTE)
    return MemoryStore(tmp_path / "vault", layout=LAYOUT, state_dir=tmp_path / "state" / "v")


def journal_lines(store: MemoryStore) -> int:
    path = store.root / "journal.jsonl"
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def is_journal(descriptor: int) -> bool:
    return Path(f"/proc/self/fd/{descriptor}").readlink().name == "journal.jsonl"


def fill_up(store: MemoryStore) -> None:
    # SQLite's own way to a full disk: no page more than there are.
    store.state.query("PRAGMA wal_checkpoint(TRUNCATE)")
    store.state.query(f"PRAGMA max_page_count = {store.state.query('PRAGMA page_count')[0][0]!r}")


def test_nothing_is_overwritten_when_its_text_cannot_be_kept(store: MemoryStore) -> None:
    store.add("other", "first", "opens the state")
    fill_up(store)
    (store.root / "wiki/work.md").write_bytes(b"# work\n\n## job\n\n" + b"x" * 100_000 + b"\n")
    before = (store.root / "wiki/work.md").read_bytes()
    calls: list[Callable[[], object]] = [
        lambda: store.add("work", "job", "new"),
        lambda: store.remove("work", "job"),
    ]
    for call in calls:
        with pytest.raises(HistoryUnavailable) as raised:
            call()
        assert raised.value.http_status == 507
        assert "database or disk is full" in raised.value.message
    assert (store.root / "wiki/work.md").read_bytes() == before
    assert journal_lines(store) == 1
    store.state.query("PRAGMA max_page_count = 1000000")
    store.add("work", "job", "new")
    assert len(store.versions("work:job").versions) == 1


def test_a_state_that_is_no_database_is_moved_aside_and_the_write_goes_on(store: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "state/v").mkdir(parents=True)
    (tmp_path / "state/v/state.sqlite3").write_bytes(b"not a database" * 1_000)
    store.add("work", "job", "new")
    assert len(list((tmp_path / "state/v").glob("*.damaged-*"))) == 1
    assert store.versions("work:job").versions[0].content == "old"


def test_a_journal_that_cannot_be_opened_refuses_the_write(store: MemoryStore) -> None:
    (store.root / "journal.jsonl").mkdir()
    with pytest.raises(StorageError) as raised:
        store.add("work", "job", "new")
    assert (raised.value.path, raised.value.step) == ("journal.jsonl", "open the journal")
    assert (store.root / "wiki/work.md").read_bytes() == NOTE
    assert store.versions("work:job").versions == ()


@pytest.mark.parametrize("how", ["write", "fsync"])
def test_a_line_that_could_not_be_appended_is_owed_and_comes_later(
    how: str, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add("work", "first", "x")
    real: Callable[..., object] = getattr(os, how)

    def full(descriptor: int, *args: object) -> object:
        if is_journal(descriptor):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, *args)

    monkeypatch.setattr(os, how, full)
    assert store.add("work", "job", "new").content == "new"
    assert [problem.kind for path, problem in store.problems() if path == "journal.jsonl"] == ["journal-behind"]
    monkeypatch.undo()
    store.add("work", "later", "y")
    assert store.journal is not None
    assert [entry.item for entry in store.journal.entries()[0]] == ["first", "job", "later"]
    assert store.problems() == []


def test_a_part_of_a_line_is_sealed_and_the_line_comes_whole(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write

    def part(descriptor: int, data: bytes) -> int:
        if is_journal(descriptor):
            if len(data) < 20:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(descriptor, data[: len(data) - 10])
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", part)
    store.add("work", "job", "new")
    monkeypatch.undo()
    store.close()
    store.recover()
    assert store.journal is not None
    entries, problems = store.journal.entries()
    assert [entry.item for entry in entries] == ["job"]
    assert [problem.kind for problem in problems] == ["bad-line"]
