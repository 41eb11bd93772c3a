"""`relations.jsonl` and the temperatures on a real disk."""

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from wikimem.errors import HistoryUnavailable, InvalidInput, NotFound
from wikimem.pages.relations import Relation
from wikimem.store.relations import RELATIONS_FILE, RelationsFile, read_relations
from wikimem.store.state import State
from wikimem.store.temperatures import TemperatureTable
from wikimem.store.vault import MemoryStore

NOW = datetime(2026, 7, 21, 6, 30, tzinfo=UTC)


def relations_of(vault: Path, state_root: Path) -> RelationsFile:
    return RelationsFile(MemoryStore(vault, state_dir=state_root / "v", clock=lambda: NOW))


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


def test_a_line_that_is_replaced_or_removed_stays_in_the_history(vault: Path, tmp_path: Path) -> None:
    store = MemoryStore(vault, state_dir=tmp_path / "state" / "v", clock=lambda: NOW)
    line = '{"source": "a:x", "target": "b:y", "weight": 2, "why": "a word of mine"}'
    (vault / RELATIONS_FILE).write_text(f"{line}\n", encoding="utf-8")
    RelationsFile(store).add(Relation("a:x", "b:y", 3.0))
    RelationsFile(store).remove("a:x", "b:y")
    newer, older = store.versions("relations.jsonl:a:x -> b:y").versions
    assert (older.action, older.content) == ("update", line)
    with pytest.raises(InvalidInput, match="is a line of relations"):
        store.restore("relations.jsonl:a:x -> b:y", newer.id)
    assert (newer.action, read_relations(newer.content.encode())[0][0].weight) == ("remove", 3.0)


def test_no_relation_is_written_when_the_history_cannot_be(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "v").write_text("in the way of the state's folder")
    with pytest.raises(HistoryUnavailable):
        relations_of(vault, tmp_path / "state").add(Relation("a:x", "b:y"))
    assert not (vault / RELATIONS_FILE).exists()


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
