"""What happened while no daemon ran, told by the next one from the manifest."""

import asyncio
import shutil
from pathlib import Path

import pytest

from tests.reconciling import living, new_vault
from wikimem.store.manifest import Manifest
from wikimem.store.state import State

LONG = "We drove to the sea on Saturday, ate noodles on the pier and came home late in the rain."
SEA = "## sea\n\nfirst\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new_vault(tmp_path)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state" / "state.db"


def write_notes(root: Path, count: int) -> None:
    for number in range(count):
        (root / f"wiki/n{number}.md").write_text(f"## x\n\ntext {number}\n")


def test_the_first_reading_of_a_vault_is_no_change(root: Path, state: Path) -> None:
    async def run() -> None:
        (root / "wiki/a.md").write_text(SEA)
        async with living(root, state) as life:
            assert life.index.texts() == {"a:sea": "first"}
            first = life.reconciler.cursor()
        async with living(root, state) as life:
            assert life.changes(first) == []

    asyncio.run(run())


def test_edits_made_while_no_daemon_ran_are_told_with_their_prior_texts(root: Path, state: Path) -> None:
    async def run() -> None:
        (root / "wiki/folder/deep").mkdir(parents=True)
        for name in ("edited", "removed", "moved", "same", "folder/deep/gone"):
            (root / f"wiki/{name}.md").write_text(f"## sea\n\n{LONG} {name}\n")
        async with living(root, state) as life:
            cursor = life.reconciler.cursor()
        (root / "wiki/edited.md").write_text("## sea\n\nsecond\n")
        (root / "wiki/removed.md").unlink()
        (root / "wiki/x").mkdir()
        (root / "wiki/moved.md").rename(root / "wiki/x/moved.md")
        (root / "wiki/added.md").write_text("## hill\n\nnew\n")
        (root / "wiki/same.md").touch()
        shutil.rmtree(root / "wiki/folder")
        async with living(root, state) as life:
            assert sorted(life.changes(cursor)) == [
                ("add", "added:hill", None),
                ("remove", "folder/deep/gone:sea", None),
                ("remove", "removed:sea", None),
                ("rename", "x/moved:sea", "moved:sea"),
                ("update", "edited:sea", None),
            ]
            assert {one.cause for one in life.change_values(cursor)} == {"offline"}
            await life.until(lambda: life.history("edited:sea") == [("update", "sea", f"{LONG} edited")])
            await life.until(lambda: life.history("removed:sea") == [("remove", "sea", f"{LONG} removed")])
            cursor = life.reconciler.cursor()
        async with living(root, state) as life:
            assert life.changes(cursor) == []

    asyncio.run(run())


def test_ids_stay_over_restarts(root: Path, state: Path) -> None:
    async def run() -> None:
        async with living(root, state) as life:
            cursor = life.reconciler.cursor()
            life.write("wiki/a.md", f"## sea\n\n{LONG}\n")
            await life.fresh()
            (item_id,) = [one.id for one in life.change_values(cursor)]
        (root / "wiki/a.md").write_text(f"## lake\n\n{LONG}\n")
        async with living(root, state) as life:
            await life.fresh()
            cursor = life.reconciler.cursor()
            life.write("wiki/a.md", "## lake\n\nother\n")
            await life.fresh()
            assert [one.id for one in life.change_values(cursor)] == [item_id]

    asyncio.run(run())


def test_a_removal_in_its_grace_at_the_stop_is_told_by_the_next_life(root: Path, state: Path) -> None:
    async def run() -> None:
        (root / "wiki/a.md").write_text(SEA)
        async with living(root, state) as life:
            cursor = life.reconciler.cursor()
            (root / "wiki/a.md").unlink()
            await life.fresh()
            assert life.changes(cursor) == []
        async with living(root, state) as life:
            await life.until(lambda: life.changes(cursor) == [("remove", "a:sea", None)])
            await life.until(lambda: life.history("a:sea") == [("remove", "sea", "first")])
        with State(state) as opened:
            assert Manifest(opened).gone() == []

    asyncio.run(run())


def test_a_note_that_comes_back_in_the_next_life_was_never_removed(root: Path, state: Path) -> None:
    async def run() -> None:
        (root / "wiki/a.md").write_text(SEA)
        async with living(root, state) as life:
            cursor = life.reconciler.cursor()
            (root / "wiki/a.md").unlink()
            await life.fresh()
        (root / "wiki/a.md").write_text(SEA)
        async with living(root, state) as life:
            await life.after(60)
            assert life.changes(cursor) == []

    asyncio.run(run())


def test_most_of_the_vault_gone_while_no_daemon_ran_is_held_for_a_minute(root: Path, state: Path) -> None:
    async def run() -> None:
        write_notes(root, 30)
        async with living(root, state) as life:
            cursor = life.reconciler.cursor()
        for number in range(29):
            (root / f"wiki/n{number}.md").unlink()
        async with living(root, state) as life:
            assert len(await life.texts()) == 1
            await life.after(30)
            assert life.changes(cursor) == []
            await life.after(31)
            assert len(life.changes(cursor)) == 29

    asyncio.run(run())


def test_a_folder_that_is_missing_at_the_start_answers_from_what_an_earlier_life_read(
    root: Path, state: Path, tmp_path: Path
) -> None:
    async def run() -> None:
        (root / "wiki/a.md").write_text(SEA)
        async with living(root, state) as life:
            cursor = life.reconciler.cursor()
        (root / "wiki").rename(tmp_path / "away")
        async with living(root, state) as life:
            found = await life.fresh(0.25)
            assert [one.code for one in found.degraded] == ["missing-folder"]
            assert life.index.texts() == {"a:sea": "first"}
            (tmp_path / "away").rename(root / "wiki")
            assert await life.texts() == {"a:sea": "first"}
            assert life.changes(cursor) == []

    asyncio.run(run())


def test_a_note_with_git_markers_at_the_start_answers_from_its_last_good_text(root: Path, state: Path) -> None:
    async def run() -> None:
        (root / "wiki/a.md").write_text(SEA)
        async with living(root, state):
            pass
        (root / "wiki/a.md").write_text("## sea\n\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> b\n")
        async with living(root, state) as life:
            assert not (await life.fresh(0.25)).fresh
            assert life.index.texts() == {"a:sea": "first"}

    asyncio.run(run())


def test_an_idle_life_writes_nothing(root: Path, state: Path) -> None:
    async def run() -> None:
        (root / "wiki/a.md").write_text(SEA)
        async with living(root, state) as life:
            await life.until(lambda: life.reconciler._saver.idle)
            rows = life.state.query("SELECT total_changes()")
            calls = len(life.index.calls)
            status = life.reconciler.status()
            for _ in range(50):
                await life.after(1)
                await life.fresh()
            assert life.state.query("SELECT total_changes()") == rows
            assert len(life.index.calls) == calls
            assert life.reconciler.status().comparisons == status.comparisons

    asyncio.run(run())


def test_a_lost_state_is_another_life(root: Path, state: Path) -> None:
    async def run() -> None:
        (root / "wiki/a.md").write_text(SEA)
        async with living(root, state) as life:
            cursor = life.reconciler.cursor()
        shutil.rmtree(state.parent)
        async with living(root, state) as life:
            assert life.reconciler.changes_since(cursor).fresh_instance
            assert life.index.texts() == {"a:sea": "first"}

    asyncio.run(run())


def test_status_and_answers_come_while_a_large_vault_is_still_read(root: Path, state: Path) -> None:
    async def run() -> None:
        write_notes(root, 1500)
        async with living(root, state, wait=False) as life:
            found = await life.fresh(0.0)
            assert (found.partial, found.fresh) == (True, False)
            assert life.reconciler.status().partial
            counts = [len(life.index.pages)]
            while life.reconciler.partial:
                await asyncio.sleep(0)
                counts.append(len(life.index.pages))
            # Slices: the loop had many turns while pages came in.
            assert len(set(counts)) > 10
            assert (await life.fresh()).fresh
            assert len(life.index.texts()) == 1500

    asyncio.run(run())


def test_a_request_that_may_wait_gets_the_whole_vault(root: Path, state: Path) -> None:
    async def run() -> None:
        write_notes(root, 300)
        async with living(root, state, wait=False) as life:
            found = await life.fresh(30)
            assert (found.partial, found.fresh) == (False, True)
            assert len(life.index.texts()) == 300

    asyncio.run(run())


def test_a_stop_while_most_of_the_vault_is_away_does_not_shorten_the_wait(root: Path, state: Path) -> None:
    async def run() -> None:
        write_notes(root, 30)
        async with living(root, state) as life:
            cursor = life.reconciler.cursor()
            (root / "wiki" / "keep.md").write_text("## y\n\nstays\n")
            for number in range(30):
                (root / f"wiki/n{number}.md").unlink()
            await life.fresh()
        async with living(root, state) as life:
            await life.after(30)
            assert [action for action, _, _ in life.changes(cursor)] == ["add"]
            await life.after(31)
            assert len(life.changes(cursor)) == 31

    asyncio.run(run())
