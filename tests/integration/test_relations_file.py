"""`relations.jsonl` and the temperatures on a real disk."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from wikimem.errors import NotFound
from wikimem.pages.relations import Relation
from wikimem.store.files import DiskFiles
from wikimem.store.locks import VaultLock, vault_key
from wikimem.store.relations import RELATIONS_FILE, RelationsFile
from wikimem.store.state import State
from wikimem.store.temperatures import TemperatureTable

NOW = datetime(2026, 7, 21, 6, 30, tzinfo=UTC)


def relations_of(vault: Path, state_root: Path) -> RelationsFile:
    @contextmanager
    def locked() -> Iterator[None]:
        lock = VaultLock(state_root, vault_key(vault), "write")
        lock.acquire(10.0)
        try:
            yield
        finally:
            lock.release()

    return RelationsFile(DiskFiles(vault), locked, lambda: NOW)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def relations(vault: Path, tmp_path: Path) -> RelationsFile:
    return relations_of(vault, tmp_path / "state")


def test_a_relation_is_on_the_disk_and_reads_back(vault: Path, relations: RelationsFile) -> None:
    assert relations.read() == ()
    added = relations.add(Relation("a:x", "b:海", 2.5))
    assert added == Relation("a:x", "b:海", 2.5, "2026-07-21T06:30:00+00:00", 1)
    text = (vault / RELATIONS_FILE).read_text(encoding="utf-8")
    assert text == '{"source": "a:x", "target": "b:海", "weight": 2.5, "ts": "2026-07-21T06:30:00+00:00"}\n'
    assert relations.read() == (added,)
    assert relations.remove("a:x", "b:海") == added
    assert relations.read() == ()
    with pytest.raises(NotFound):
        relations.remove("a:x", "b:海")


def test_a_persons_edit_is_seen_and_an_unchanged_file_is_the_same_answer(vault: Path, relations: RelationsFile) -> None:
    relations.add(Relation("a:x", "b:y"))
    first = relations.read()
    assert relations.read() is first
    path = vault / RELATIONS_FILE
    path.write_text(path.read_text(encoding="utf-8") + '{"source": "c:p", "target": "d:q"}', encoding="utf-8")
    assert [one.target for one in relations.read()] == ["b:y", "d:q"]
    relations.add(Relation("e:r", "f:s"))
    assert [one.target for one in relations.read()] == ["b:y", "d:q", "f:s"]
    path.unlink()
    assert relations.read() == ()


def test_what_cannot_be_read_is_a_problem_and_stays_in_the_file(vault: Path, relations: RelationsFile) -> None:
    path = vault / RELATIONS_FILE
    path.write_bytes(b'// a note of mine\n{"source": "a:x", "tar')
    assert relations.read() == ()
    assert [problem.line for problem in relations.problems] == [1, 2]
    relations.add(Relation("a:x", "b:y"))
    assert path.read_bytes().startswith(b'// a note of mine\n{"source": "a:x", "tar\n{"source": "a:x"')


def test_writers_at_the_same_time_lose_no_line(vault: Path, tmp_path: Path) -> None:
    def write(number: int) -> None:
        own = relations_of(vault, tmp_path / "state")
        for count in range(10):
            own.add(Relation(f"w{number}:s", f"t:{count}"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = relations_of(vault, tmp_path / "state").read()
    assert {(one.source, one.target) for one in found} == {(f"w{w}:s", f"t:{c}") for w in range(4) for c in range(10)}


def test_temperatures_and_the_time_of_first_sight_survive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite3"
    with State(path) as state:
        table = TemperatureTable(state)
        assert table.since(100.0) == 100.0
        table.save([("a:x", 0.65, 100.0, False), ("生活:海", 1.0, 100.5, True), ("gone:x", 0.5, 1.0, False)])
        table.save([("a:x", 0.8, 200.0, False)], ["gone:x"])
    with State(path) as state:
        table = TemperatureTable(state)
        assert table.since(999.0) == 100.0
        assert sorted(table.load()) == [("a:x", 0.8, 200.0, False), ("生活:海", 1.0, 100.5, True)]
