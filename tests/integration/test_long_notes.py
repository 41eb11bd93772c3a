"""A long note is read beside the event loop, and all that a short one is promised holds for it."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.reconciling import living, new_vault
from wikimem.search.prepared import prepare
from wikimem_daemon.longnotes import LONG_BYTES

LONG = "## sea\n\n" + "waves and foam\n" * 20_000
MARKERS = "## sea\n\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n"
SHORT = "## hill\n\nsteep\n"
assert len(LONG) > LONG_BYTES


class SlowReading:
    """Reading that takes as long as the test wants."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go = False
        self.begun = 0

        def slow(texts: list[str]) -> object:
            self.begun += 1
            deadline = time.monotonic() + 10
            while not self.go and time.monotonic() < deadline:
                time.sleep(0.001)
            return prepare(texts)

        monkeypatch.setattr("wikimem_daemon.longnotes.prepare", slow)


def test_a_long_note_is_in_every_fresh_answer_from_its_save_on(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            cursor = life.reconciler.cursor()
            life.write("wiki/a.md", LONG)
            assert (await life.texts())["a:sea"].startswith("waves")
            life.write("wiki/a.md", LONG.replace("foam", "salt", 1))
            assert (await life.texts())["a:sea"].startswith("waves and salt")
            assert [one[0] for one in life.changes(cursor)] == ["add"]

    asyncio.run(run())


def test_while_a_long_note_is_read_answers_come_and_are_not_called_fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            life.write("wiki/b.md", SHORT)
            assert await life.texts() == {"b:hill": "steep"}
            reading = SlowReading(monkeypatch)
            life.write("wiki/a.md", LONG)
            found = await life.fresh(0.05)
            assert [one.code for one in found.degraded] == ["behind"]
            assert life.index.texts() == {"b:hill": "steep"}
            life.write("wiki/a.md", LONG.replace("foam", "salt", 1))
            reading.go = True
            assert (await life.texts())["a:sea"].startswith("waves and salt")

    asyncio.run(run())


def test_other_notes_are_taken_in_while_a_long_one_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            cursor = life.reconciler.cursor()
            reading = SlowReading(monkeypatch)
            life.write("wiki/a.md", LONG)
            found = await life.fresh(0.05)
            assert "wiki/a.md is long" in found.degraded[0].detail
            life.write("wiki/b.md", SHORT)
            life.write("wiki/c.md", LONG)
            assert not (await life.fresh(0.05)).fresh
            await life.until(lambda: life.changes(cursor) == [("add", "b:hill", None)])
            assert life.index.texts() == {"b:hill": "steep"}
            life.write("wiki/b.md", "## hill\n\nlow\n")
            await life.until(lambda: life.index.texts() == {"b:hill": "low"})
            assert reading.begun == 1
            reading.go = True
            assert sorted(await life.texts()) == ["a:sea", "b:hill", "c:sea"]

    asyncio.run(run())


def test_a_long_note_that_is_saved_faster_than_it_is_read_is_served_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            reading = SlowReading(monkeypatch)
            number = 0
            while not life.index.texts():
                number += 1
                assert number < 50
                reading.go = False
                life.write("wiki/a.md", f"{LONG}wave {number}\n")
                await life.fresh(0.02)
                life.write("wiki/a.md", f"{LONG}wave {number} is not the last\n")
                reading.go = True
                await life.fresh(0.1)
            assert (await life.fresh()).fresh

    asyncio.run(run())


def test_the_root_that_goes_while_a_long_note_is_read_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        async with living(root, tmp_path / "state.db") as life:
            reading = SlowReading(monkeypatch)
            life.write("wiki/a.md", LONG)
            await life.fresh(0.05)
            root.rename(tmp_path / "away")
            assert [one.code for one in (await life.fresh(0.05)).degraded] == ["missing-root"]
            reading.go = True
            (tmp_path / "away").rename(root)
            assert "a:sea" in await life.texts()

    asyncio.run(run())


def test_a_start_reads_long_notes_too_and_tells_no_change(tmp_path: Path) -> None:
    async def run() -> None:
        root, state = new_vault(tmp_path), tmp_path / "state.db"
        (root / "wiki/a.md").write_text(LONG)
        async with living(root, state) as life:
            assert "a:sea" in life.index.texts()
            cursor = life.reconciler.cursor()
        async with living(root, state) as life:
            assert "a:sea" in life.index.texts()
            assert life.changes(cursor) == []

    asyncio.run(run())


def test_a_write_of_our_own_is_in_the_index_when_it_returns_however_long_the_note(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            life.write("wiki/a.md", LONG)
            life.reconciler.note_write("wiki/a.md")
            assert "a:sea" in life.index.texts()

    asyncio.run(run())


def test_a_note_of_thousands_of_headings_is_long_before_its_bytes_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            reading = SlowReading(monkeypatch)
            many = "".join(f"## h{number}\n" for number in range(2_000))
            assert len(many) < LONG_BYTES / 10
            life.write("wiki/a.md", many)
            assert [one.code for one in (await life.fresh(0.05)).degraded] == ["behind"]
            reading.go = True
            assert len(await life.texts()) == 2_000

    asyncio.run(run())


def test_a_long_note_that_comes_back_withheld_is_read_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            cursor = life.reconciler.cursor()
            note = life.write("wiki/a.md", LONG)
            served = await life.texts()
            note.unlink()
            assert await life.texts() == {}
            reading = SlowReading(monkeypatch)
            note.write_text(MARKERS)
            assert [one.code for one in (await life.fresh(0.05)).degraded] == ["behind"]
            assert life.index.texts() == {}
            reading.go = True
            assert [one.code for one in (await life.fresh()).degraded] == ["git-markers"]
            assert life.index.texts() == served
            await life.after(5)
            assert [one[0] for one in life.changes(cursor)] == ["add"]

    asyncio.run(run())


def test_a_long_note_that_comes_back_withheld_answers_from_what_it_held_last(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            note = life.write("wiki/a.md", LONG)
            await life.texts()
            await life.after(5)
            note.write_text(LONG.replace("foam", "salt", 1))
            await life.texts()
            note.unlink()
            await life.texts()
            note.write_text(MARKERS)
            assert [one.code for one in (await life.fresh()).degraded] == ["git-markers"]
            assert life.index.texts()["a:sea"].startswith("waves and salt")

    asyncio.run(run())


@pytest.mark.parametrize("away", ["note", "folder"])
def test_a_start_reads_the_last_good_text_of_a_long_note_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, away: str
) -> None:
    async def run() -> None:
        root, state = new_vault(tmp_path), tmp_path / "state.db"
        (root / "wiki/a.md").write_text(LONG)
        async with living(root, state) as life:
            served = life.index.texts()
        if away == "note":
            (root / "wiki/a.md").write_text(MARKERS)
        else:
            (root / "wiki").rename(tmp_path / "away")
        reading = SlowReading(monkeypatch)
        async with living(root, state, wait=False) as life:
            await life.until(lambda: reading.begun == 1)
            assert life.index.texts() == {}
            reading.go = True
            assert not (await life.fresh()).fresh
            assert life.index.texts() == served

    asyncio.run(run())
