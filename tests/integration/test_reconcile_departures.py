"""A file that goes and is back before its removal is told: what it held is taken back while it cannot be read."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reconciling import Life, living, new_vault
from wikimem_daemon.reconcile import Reconciler

GOOD = "## sea\n\nfirst\n\n## hill\n\nsecond\n"
SERVED = {"a:sea": "first", "a:hill": "second"}
MARKERS = "## sea\n\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n"


def with_markers(note: Path) -> None:
    note.write_text(MARKERS)


def emptied(note: Path) -> None:
    note.touch()


WITHHELD = [with_markers, emptied]


async def a_note_that_went(life: Life) -> Path:
    note = life.write("wiki/a.md", GOOD)
    assert await life.texts() == SERVED
    note.unlink()
    assert await life.texts() == {}
    return note


@pytest.mark.parametrize("withhold", WITHHELD)
def test_a_note_that_comes_back_withheld_answers_from_its_last_good_text(
    tmp_path: Path, withhold: Callable[[Path], None]
) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            note = await a_note_that_went(life)
            cursor = life.reconciler.cursor()
            withhold(note)
            found = await life.fresh(0.25)
            assert not found.fresh
            assert "wiki/a.md" in found.degraded[0].detail
            assert life.index.texts() == SERVED
            await life.after(1.5)
            assert life.index.texts() == SERVED
            assert life.changes(cursor) == []
            note.write_text(GOOD.replace("first", "third"))
            assert await life.texts() == SERVED | {"a:sea": "third"}
            assert life.changes(cursor) == [("update", "a:sea", None)]

    asyncio.run(run())


def test_a_writer_that_has_just_begun_the_note_anew_leaves_its_last_good_text(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            note = await a_note_that_went(life)
            with note.open("w") as file:
                file.write("## sea\n\nfi")
                file.flush()
                found = await life.fresh(0.05)
                assert [one.code for one in found.degraded] == ["being-written"]
                assert life.index.texts() == SERVED
                file.write("rst\n")
            assert await life.texts() == {"a:sea": "first"}

    asyncio.run(run())


@pytest.mark.parametrize("told_before_the_end", [False, True])
def test_the_next_daemon_knows_what_a_note_held_that_went_in_the_last_ones_life(
    tmp_path: Path, *, told_before_the_end: bool
) -> None:
    async def run() -> None:
        root, state = new_vault(tmp_path), tmp_path / "state.db"
        async with living(root, state) as life:
            cursor = life.reconciler.cursor()
            note = await a_note_that_went(life)
            if told_before_the_end:
                await life.after(1.5)
                assert life.changes(cursor) == []
        with_markers(note)
        async with living(root, state) as life:
            await life.fresh(0.25)
            assert life.index.texts() == ({} if told_before_the_end else SERVED)
            note.write_text(GOOD)
            assert await life.texts() == SERVED
            await life.after(3600)
            assert {one[0] for one in life.changes(cursor)} == {"add"}

    asyncio.run(run())


def test_a_note_that_stays_away_over_a_restart_is_told_as_removed_once(tmp_path: Path) -> None:
    async def run() -> None:
        root, state = new_vault(tmp_path), tmp_path / "state.db"
        async with living(root, state) as life:
            life.write("wiki/a.md", GOOD)
            assert await life.texts() == SERVED
            cursor = life.reconciler.cursor()
            (root / "wiki/a.md").unlink()
            assert await life.texts() == {}
        async with living(root, state) as life:
            await life.after(2)
            assert sorted(life.changes(cursor)) == [("remove", "a:hill", None), ("remove", "a:sea", None)]
        async with living(root, state) as life:
            await life.after(2)
            assert len(life.changes(cursor)) == 2

    asyncio.run(run())


def test_what_was_pasted_elsewhere_meanwhile_is_not_taken_back_as_another(tmp_path: Path) -> None:
    async def run() -> None:
        root, state = new_vault(tmp_path), tmp_path / "state.db"
        async with living(root, state) as life:
            life.write("wiki/a.md", GOOD)
            await life.fresh()
            cursor = life.reconciler.cursor()
            (root / "wiki/a.md").unlink()
            await life.fresh()
            life.write("wiki/b.md", "## sea\n\nfirst\n")
            await life.fresh()
        async with living(root, state) as life:
            await life.after(2)
            assert sorted(life.changes(cursor)) == [("remove", "a:hill", None), ("rename", "b:sea", "a:sea")]
            assert await life.texts() == {"b:sea": "first"}

    asyncio.run(run())


def test_a_note_with_markers_whose_items_were_moved_is_not_served_from_them(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            note = life.write("wiki/a.md", GOOD)
            await life.fresh()
            note.rename(life.root / "wiki/b.md")
            await life.fresh()
            with_markers(note)
            await life.fresh(0.25)
            assert life.index.texts() == {"b:sea": "first", "b:hill": "second"}

    asyncio.run(run())


def seen_in_between(reconciler: Reconciler) -> None:
    """The daemon wakes up in the middle of what somebody else does."""
    reconciler.tick()


@pytest.mark.parametrize(("place", "remade"), [("wiki", False), (".", False), (".", True)])
def test_a_place_that_was_seen_to_go_note_by_note_keeps_its_answers(tmp_path: Path, place: str, remade: bool) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        async with living(root, tmp_path / "state.db") as life:
            life.write("wiki/a.md", GOOD)
            life.write("wiki/deep/b.md", "## lake\n\nthird\n")
            both = SERVED | {"deep/b:lake": "third"}
            assert await life.texts() == both
            cursor = life.reconciler.cursor()
            (root / "wiki/a.md").unlink()
            seen_in_between(life.reconciler)
            shutil.rmtree(root / "wiki/deep")
            seen_in_between(life.reconciler)
            assert life.index.texts() == {}
            shutil.rmtree(root / place)
            if remade:
                (root / "wiki").mkdir(parents=True)
            assert not (await life.fresh(0.25)).fresh
            assert life.index.texts() == both
            await life.after(3600)
            assert life.changes(cursor) == []
            (root / "wiki").mkdir(parents=True, exist_ok=True)
            life.write("wiki/a.md", GOOD)
            await life.until(lambda: life.index.texts() == SERVED)

    asyncio.run(run())


def test_what_was_kept_below_a_folder_is_looked_at_when_that_is_there_again(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        async with living(root, tmp_path / "state.db") as life:
            life.write("wiki/a.md", GOOD)
            life.write("wiki/deep/b.md", "## lake\n\nthird\n")
            await life.fresh()
            (root / "wiki").rename(root / "old")
            (root / "wiki").mkdir()
            life.reconciler._tree.note_places()  # as after a mount
            assert not (await life.fresh(0.25)).fresh
            life.write("wiki/c.md", "## moor\n\nfourth\n")
            assert await life.texts() == {"c:moor": "fourth"}

    asyncio.run(run())


@pytest.mark.parametrize("target", ["wiki/b.md", "wiki/0.md", "wiki/sub/b.md"])
def test_a_withheld_note_that_is_renamed_takes_its_last_good_text_along(tmp_path: Path, target: str) -> None:
    async def run() -> None:
        root, state = new_vault(tmp_path), tmp_path / "state.db"
        async with living(root, state) as life:
            note = life.write("wiki/a.md", GOOD)
            (root / "wiki/sub").mkdir()
            assert await life.texts() == SERVED
            cursor = life.reconciler.cursor()
            note.write_text(MARKERS)
            assert not (await life.fresh()).fresh
            await life.after(5)
            moved = note.rename(root / target)
            found = await life.fresh()
            assert [one.code for one in found.degraded] == ["git-markers"]
            assert sorted(life.index.texts().values()) == ["first", "second"]
            await life.after(5)
            assert sorted(life.index.texts().values()) == ["first", "second"]
            assert sorted(one[0] for one in life.changes(cursor)) == ["rename", "rename"]
        async with living(root, state) as life:
            assert sorted(life.index.texts().values()) == ["first", "second"]
            moved.write_text(GOOD.replace("first", "third"))
            assert sorted((await life.texts()).values()) == ["second", "third"]
            assert sorted(one[0] for one in life.changes(cursor)) == ["rename", "rename"]

    asyncio.run(run())


def test_another_withheld_note_in_the_place_of_one_that_went_takes_nothing_over(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            note = life.write("wiki/a.md", GOOD)
            await life.texts()
            note.write_text(MARKERS)
            await life.fresh()
            life.write("wiki/b.md", MARKERS)
            note.unlink()
            await life.fresh()
            assert life.index.texts() == {}

    asyncio.run(run())
