"""The state file: private, shared by threads and processes, begun again when it is damaged."""

import shutil
import sqlite3
import stat
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from wikimem.errors import HistoryUnavailable, InvalidInput
from wikimem.store.idempotency import Answered, Idempotency
from wikimem.store.state import State

TABLE = "CREATE TABLE IF NOT EXISTS numbers (n INTEGER);"
OTHER = "CREATE TABLE IF NOT EXISTS others (n INTEGER);"
NOW = datetime(2026, 7, 21, tzinfo=UTC)


def test_any_number_of_schemas_make_their_tables(tmp_path: Path) -> None:
    with State(tmp_path / "s", TABLE, OTHER) as state:
        state.execute("INSERT INTO numbers VALUES (1)")
        state.execute("INSERT INTO others VALUES (2)")
        assert state.query("SELECT numbers.n, others.n FROM numbers, others") == [(1, 2)]


def test_a_table_may_be_asked_for_later(tmp_path: Path) -> None:
    with State(tmp_path / "s") as state:
        state.ensure(TABLE)
        state.ensure(TABLE)
        assert state.query("SELECT * FROM numbers") == []
        with pytest.raises(RuntimeError), state.transaction():
            state.ensure(OTHER)


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    with State(tmp_path / "deep" / "er" / "s", TABLE) as state:
        state.execute("INSERT INTO numbers VALUES (1)")
        files = list((tmp_path / "deep" / "er").iterdir())
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
        assert stat.S_IMODE((tmp_path / "deep" / "er").stat().st_mode) == 0o700


def test_the_vaults_id_stays(tmp_path: Path) -> None:
    with State(tmp_path / "s") as state:
        first = state.vault_id
        assert state.is_new
    with State(tmp_path / "s") as state:
        assert state.vault_id == first
        assert not state.is_new


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    with State(tmp_path / "s", TABLE) as state:

        def half() -> None:
            with state.transaction() as connection:
                connection.execute("INSERT INTO numbers VALUES (1)")
                state.execute("INSERT INTO numbers VALUES (2)")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            half()
        assert state.query("SELECT * FROM numbers") == []


def test_threads_share_it(tmp_path: Path) -> None:
    with State(tmp_path / "s", TABLE) as state:
        threads = [
            threading.Thread(target=lambda: [state.execute("INSERT INTO numbers VALUES (1)") for _ in range(20)])
            for _ in range(5)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert state.query("SELECT count(*) FROM numbers") == [(100,)]


def test_two_openers_write_in_turn(tmp_path: Path) -> None:
    with State(tmp_path / "s", TABLE) as one, State(tmp_path / "s", TABLE) as other:
        for number in range(10):
            (one if number % 2 else other).execute("INSERT INTO numbers VALUES (?)", (number,))
        assert one.query("SELECT count(*) FROM numbers") == other.query("SELECT count(*) FROM numbers") == [(10,)]


@pytest.mark.parametrize("damage", [b"this is no database" * 100, None], ids=["overwritten", "torn inside"])
def test_a_damaged_file_is_moved_aside_and_a_new_one_begun(damage: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "s"
    with State(path, TABLE) as state:
        state.execute_many("INSERT INTO numbers VALUES (?)", [(number,) for number in range(10_000)])
    data = path.read_bytes()
    path.write_bytes(damage if damage is not None else data[:100] + b"\xff" * 8_000 + data[8_100:])
    with State(path, TABLE) as state:
        assert state.set_aside is not None
        assert state.set_aside.exists()
        assert state.query("SELECT * FROM numbers") == []
        state.execute("INSERT INTO numbers VALUES (1)")


def damaged(path: Path) -> Path:
    """A file that opens as it should, and whose rows cannot be read."""
    with State(path, TABLE) as state:
        state.execute_many("INSERT INTO numbers VALUES (?)", [(one,) for one in range(10_000)])
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 20_000)
    return path


def test_damage_that_shows_in_a_read_is_answered_from_a_new_file_and_the_damaged_one_is_kept(tmp_path: Path) -> None:
    path = damaged(tmp_path / "s")
    size = path.stat().st_size
    with State(path, TABLE) as state:
        assert state.set_aside is None
        assert state.query("SELECT n FROM numbers") == []
        state.execute("INSERT INTO numbers VALUES (1)")
        assert state.set_aside is not None
        assert state.set_aside.stat().st_size == size
    with State(path, TABLE) as later:
        assert later.query("SELECT n FROM numbers") == [(1,)]
        assert later.vault_id == state.vault_id


def test_damage_that_shows_in_a_transaction_costs_that_one(tmp_path: Path) -> None:
    with State(damaged(tmp_path / "s"), TABLE) as state:
        with pytest.raises(HistoryUnavailable, match="malformed") as caught, state.transaction() as connection:
            connection.execute("UPDATE numbers SET n = n + 1")
        assert "try again" in caught.value.hint
        state.execute("INSERT INTO numbers VALUES (1)")
        assert state.query("SELECT n FROM numbers") == [(1,)]


def test_a_file_that_is_deleted_while_it_is_open_is_written_anew_with_all_it_held(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with State(folder / "s", TABLE) as state, State(folder / "s") as other:
        state.execute("INSERT INTO numbers VALUES (1)")
        shutil.rmtree(folder)
        state.execute("INSERT INTO numbers VALUES (2)")
        assert stat.S_IMODE((folder / "s").stat().st_mode) == 0o600
        other.execute("INSERT INTO numbers VALUES (3)")
        (folder / "s").unlink()
        assert state.query("SELECT n FROM numbers") == [(1,), (2,), (3,)]
        state.execute("INSERT INTO numbers VALUES (4)")
    with State(folder / "s") as later:
        assert later.query("SELECT n FROM numbers") == [(1,), (2,), (3,), (4,)]
        assert later.vault_id == state.vault_id


def test_one_that_is_deleted_while_it_is_opened_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adopt, left = State._adopt, [tmp_path / "s"]

    def adopt_and_delete(state: State, connection: sqlite3.Connection) -> None:
        adopt(state, connection)
        if left:
            left.pop().unlink()

    monkeypatch.setattr(State, "_adopt", adopt_and_delete)
    with State(tmp_path / "s", TABLE) as state:
        state.execute("INSERT INTO numbers VALUES (1)")
    with State(tmp_path / "s", TABLE) as later:
        assert later.query("SELECT n FROM numbers") == [(1,)]
        assert later.vault_id == state.vault_id


@pytest.mark.parametrize("kind", ["a stranger", "an old copy", "no database"])
def test_a_file_that_is_put_in_its_place_costs_nothing_that_it_held(kind: str, tmp_path: Path) -> None:
    """Its log is still there, and would be joined to the other file."""
    file, other = tmp_path / "s", tmp_path / "other"
    with State(file, TABLE) as state:
        if kind == "an old copy":
            state.execute("INSERT INTO numbers VALUES (0)")
            state.compact()
            shutil.copy(file, other)
            state.execute("DELETE FROM numbers")
        state.execute_many("INSERT INTO numbers VALUES (?)", [(one,) for one in range(50_000)])
        state.compact()
        state.execute("INSERT INTO numbers VALUES (50000)")
        if kind == "a stranger":
            with closing(sqlite3.connect(other)) as made:
                made.executescript("CREATE TABLE theirs (n); INSERT INTO theirs VALUES (7);")
        elif kind == "no database":
            other.write_text("notes")
        put = other.read_bytes()
        other.replace(file)
        assert state.query("SELECT count(*) FROM numbers") == [(50_001,)]
        state.execute("INSERT INTO numbers VALUES (50001)")
    assert next(tmp_path.glob("s.replaced-*")).read_bytes() == put
    with State(file, TABLE) as later:
        assert later.query("SELECT count(*) FROM numbers") == [(50_002,)]
        assert later.set_aside is None


def test_a_strange_file_in_its_place_is_refused_and_left_alone(tmp_path: Path) -> None:
    with State(tmp_path / "s", TABLE) as state:
        for name in ("s", "s-wal", "s-shm"):
            (tmp_path / name).rename(tmp_path / f"old-{name}")
        with State(tmp_path / "s", TABLE) as other:
            other.execute("INSERT INTO numbers VALUES (1)")
            with pytest.raises(HistoryUnavailable, match="another file has taken its place") as caught:
                state.execute("INSERT INTO numbers VALUES (2)")
            assert "start the program anew" in caught.value.hint
            assert other.query("SELECT n FROM numbers") == [(1,)]


def test_a_file_that_another_program_holds_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wikimem.store.state.BUSY_MS", 10)
    with State(tmp_path / "s", TABLE) as state, closing(sqlite3.connect(tmp_path / "s", isolation_level=None)) as held:
        held.execute("BEGIN IMMEDIATE")
        with pytest.raises(HistoryUnavailable, match="locked") as caught:
            state.execute("INSERT INTO numbers VALUES (1)")
        assert "another program" in caught.value.hint


def test_what_cannot_be_opened_says_where_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(HistoryUnavailable) as raised:
        State(tmp_path / "file" / "s", TABLE)
    assert str(tmp_path / "file" / "s") in raised.value.message
    assert raised.value.step == "open"
    assert raised.value.http_status == 507


def test_a_lost_table_is_an_error_of_ours(tmp_path: Path) -> None:
    with State(tmp_path / "s", TABLE) as state:
        with sqlite3.connect(tmp_path / "s") as other:
            other.execute("DROP TABLE numbers")
        other.close()
        with pytest.raises(HistoryUnavailable):
            state.query("SELECT * FROM numbers")
        with pytest.raises(HistoryUnavailable):
            state.execute("INSERT INTO numbers VALUES (1)")


def test_a_key_is_answered_with_the_same_words_for_ten_minutes(tmp_path: Path) -> None:
    with State(tmp_path / "s") as state:
        keys = Idempotency(state)
        assert keys.find("k", "request", now=NOW) is None
        keys.keep("k", "request", '{"a": 1}', now=NOW)
        assert keys.find("k", "request", now=NOW + timedelta(minutes=10)) == Answered('{"a": 1}')
        with pytest.raises(InvalidInput, match="another request"):
            keys.find("k", "other request", now=NOW)
        assert keys.find("k", "request", now=NOW + timedelta(minutes=10, seconds=1)) is None
        keys.keep("k2", "request", "x", now=NOW + timedelta(minutes=20))
        assert state.query("SELECT key FROM idempotency") == [("k2",)]
        for bad in ("", "x" * 201):
            with pytest.raises(InvalidInput):
                keys.find(bad, "request", now=NOW)
