"""Edits on disk and what follows from them: search at once, the change feed, the history."""

import asyncio
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.reconciling import living, new_vault
from tests.savers import SAVERS, Gardener, by_vim
from wikimem.pages.changes import Change
from wikimem.store.files import DiskFiles, bytes_hash
from wikimem_daemon.choose import Choice
from wikimem_daemon.native import native_watcher
from wikimem_daemon.ownwrites import AnnouncingFiles, OwnWrites
from wikimem_daemon.polling import polling_watcher
from wikimem_daemon.watcher import Watcher

LONG = "We drove to the sea on Saturday, ate noodles on the pier and came home late in the rain."


def test_a_saved_note_is_in_the_next_fresh_answer_whatever_saved_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            for number, save in enumerate(SAVERS):
                save(life.root / "wiki" / "a.md", f"## sea\n\ntext {number}\n".encode())
                assert await life.texts() == {"a:sea": f"text {number}"}, save.__name__

    asyncio.run(run())


def test_random_edits_in_all_styles_are_never_missed(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            gardener = Gardener(life.root, seed=20260721, notes=6)
            for number in range(250):
                what = gardener.step()
                assert await life.texts() == life.on_disk(), (number, what)

    asyncio.run(run())


@pytest.mark.parametrize("seed", [1, 2])
def test_whoever_follows_the_changes_ends_with_what_is_on_the_disk(tmp_path: Path, seed: int) -> None:
    """Each change fits what the reader knew: adds are new, the others name the address that the item had."""

    async def run() -> None:
        root, state = new_vault(tmp_path), tmp_path / "state.db"
        known: dict[str, str] = {}
        gardener = Gardener(root, seed=seed, notes=5)
        cursor = ""
        for _ in range(4):
            async with living(root, state) as life:
                cursor = cursor or life.reconciler.cursor()
                for _ in range(5):
                    for _ in range(12):
                        gardener.step()
                        await life.fresh()
                    await life.after(70)
                    page = life.reconciler.changes_since(cursor, 10_000)
                    assert not page.fresh_instance
                    cursor = page.cursor
                    for change in page.changes:
                        follow(known, change)
                    assert sorted(known.values()) == sorted(life.on_disk())
            for _ in range(12):  # while no daemon runs
                gardener.step()

    def follow(known: dict[str, str], change: Change) -> None:
        before = known.pop(change.id, None)
        assert before == {"add": None, "rename": change.old_address}.get(change.action, change.address), change
        if change.action != "remove":
            known[change.id] = change.address

    asyncio.run(run())


@pytest.mark.parametrize("make", [native_watcher, partial(polling_watcher, poll_s=0.1)], ids=["native", "polling"])
def test_random_edits_are_never_missed_where_not_all_is_announced(
    tmp_path: Path, make: Callable[[Path], Watcher]
) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        async with living(root, tmp_path / "state.db", new_watcher=lambda: Choice(make(root))) as life:
            gardener = Gardener(life.root, seed=7, notes=6)
            for number in range(150):
                what = gardener.step()
                assert await life.texts() == life.on_disk(), (number, what)

    asyncio.run(run())


def test_a_save_is_searchable_without_anybody_asking(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            life.write("wiki/a.md", "## sea\n\nnew\n")
            await life.until(lambda: life.index.texts() == {"a:sea": "new"})

    asyncio.run(run())


def test_the_daemon_never_touches_a_note_that_somebody_saves(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            for number in range(20):
                note = life.write("wiki/a.md", f"## sea\n\ntext {number}\n")
                note.chmod(0o640)
                before = note.stat()
                assert (await life.texts())["a:sea"] == f"text {number}"
                after = note.stat()
                assert note.read_text() == f"## sea\n\ntext {number}\n"
                assert (before.st_ino, before.st_mtime_ns, before.st_mode) == (
                    after.st_ino,
                    after.st_mtime_ns,
                    after.st_mode,
                )

    asyncio.run(run())


def test_adds_and_updates_are_told_at_once_with_the_prior_text_kept(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            cursor = life.reconciler.cursor()
            life.write("wiki/a.md", "## sea\n\nfirst\n")
            await life.fresh()
            assert life.changes(cursor) == [("add", "a:sea", None)]
            cursor = life.reconciler.cursor()
            life.write("wiki/a.md", "## sea\n\nsecond, and quite another\n")
            await life.fresh()
            assert life.changes(cursor) == [("update", "a:sea", None)]
            await life.until(lambda: life.history("a:sea") == [("update", "sea", "first")])

    asyncio.run(run())


def test_a_removal_leaves_answers_at_once_and_is_told_after_its_grace(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            note = life.write("wiki/a.md", "## sea\n\nfirst\n")
            await life.fresh()
            cursor = life.reconciler.cursor()
            note.unlink()
            assert await life.texts() == {}
            await life.after(0.7)
            assert life.changes(cursor) == []
            await life.after(0.4)
            assert life.changes(cursor) == [("remove", "a:sea", None)]
            await life.until(lambda: life.history("a:sea") == [("remove", "sea", "first")])

    asyncio.run(run())


def test_a_note_that_vim_takes_away_for_a_moment_is_the_same_note(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            note = life.write("wiki/a.md", "## sea\n\nfirst\n")
            await life.fresh()
            cursor = life.reconciler.cursor()
            backup = note.with_name("a.md~")
            note.rename(backup)
            assert await life.texts() == {}
            note.write_text("## sea\n\nfirst and second\n")
            backup.unlink()
            await life.fresh()
            await life.after(5)
            assert life.changes(cursor) == [("update", "a:sea", None)]
            by_vim(note, note.read_bytes())
            cursor = life.reconciler.cursor()
            await life.fresh()
            await life.after(5)
            assert life.changes(cursor) == []

    asyncio.run(run())


def test_a_renamed_heading_is_one_rename_at_once(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            life.write("wiki/a.md", f"## a\n\n{LONG}\n\n## other\n\nstays\n")
            await life.fresh()
            cursor = life.reconciler.cursor()
            life.write("wiki/a.md", f"## b\n\n{LONG}\n\n## other\n\nstays\n")
            await life.fresh()
            assert life.changes(cursor) == [("rename", "a:b", "a:a")]
            await life.after(20)
            assert life.changes(cursor) == [("rename", "a:b", "a:a")]

    asyncio.run(run())


@pytest.mark.parametrize("target_first", [False, True])
def test_an_item_that_is_cut_here_and_pasted_there_is_one_rename(tmp_path: Path, *, target_first: bool) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            life.write("wiki/a.md", f"## sea\n\n{LONG}\n\n## other\n\nstays\n")
            life.write("wiki/b.md", "## b\n\nb\n")
            await life.fresh()
            cursor = life.reconciler.cursor()
            writes = [("wiki/a.md", "## other\n\nstays\n"), ("wiki/b.md", f"## b\n\nb\n\n## sea\n\n{LONG}\n")]
            for path, text in reversed(writes) if target_first else writes:
                life.write(path, text)
                await life.fresh()
            await life.after(20)
            assert life.changes(cursor) == [("rename", "b:sea", "a:sea")]

    asyncio.run(run())


def test_a_copy_that_stays_is_an_add(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            life.write("wiki/a.md", f"## sea\n\n{LONG}\n")
            await life.fresh()
            cursor = life.reconciler.cursor()
            shutil.copy(life.root / "wiki/a.md", life.root / "wiki/b.md")
            await life.fresh()
            await life.after(20)
            assert life.changes(cursor) == [("add", "b:sea", None)]
            cursor = life.reconciler.cursor()
            (life.root / "wiki/a.md").unlink()
            await life.fresh()
            await life.after(20)
            assert life.changes(cursor) == [("remove", "a:sea", None)]

    asyncio.run(run())


def test_a_renamed_folder_renames_every_item_in_it_once(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            start = life.reconciler.cursor()
            for number in range(5):
                # All alike, so only the files tell them apart.
                life.write(f"wiki/old/n{number}.md", "## todo\n\nsame\n")
            await life.fresh()
            ids = {one.address.partition("/")[2]: one.id for one in life.change_values(start)}
            cursor = life.reconciler.cursor()
            (life.root / "wiki/old").rename(life.root / "wiki/new")
            await life.fresh()
            await life.after(20)
            expected = [("rename", f"new/n{n}:todo", f"old/n{n}:todo") for n in range(5)]
            assert sorted(life.changes(cursor)) == expected
            assert {one.address.partition("/")[2]: one.id for one in life.change_values(cursor)} == ids

    asyncio.run(run())


def test_half_typed_headings_are_one_item_and_one_rename(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            life.write("wiki/a.md", f"## sea\n\n{LONG}\n")
            await life.fresh()
            typed = ["## be\n", "## beach-tr\n", "## beach-trip-plan\n", "## beach-trip-plan\n\nWe w\n"]
            typed += [
                "## beach-trip-plan\n\nWe will take the ear\n",
                "## beach-trip-plan\n\nWe will take the early train.\n",
            ]
            start = life.reconciler.cursor()
            first = ""
            for number, text in enumerate(typed):
                life.write("wiki/a.md", f"## sea\n\n{LONG}\n\n{text}")
                await life.fresh()
                await life.after(2)
                if number == 0:
                    first = life.reconciler.cursor()
            assert life.changes(first) == [("rename", "a:beach-trip-plan", "a:be")]
            assert life.changes(start) == [("add", "a:beach-trip-plan", None)]
            life.reconciler.tick()
            await life.until(lambda: life.reconciler._saver.idle)
            await life.after(60)
            await life.until(lambda: life.reconciler._saver.idle)
            assert life.history("a:beach-trip-plan") == []
            assert (await life.texts())["a:beach-trip-plan"] == "We will take the early train."

    asyncio.run(run())


def test_a_text_that_somebody_cuts_while_typing_is_kept(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            life.write("wiki/a.md", "## sea\n\nshort\n")
            await life.fresh()
            for text in (f"short {LONG}", "entirely new"):
                life.write("wiki/a.md", f"## sea\n\n{text}\n")
                await life.fresh()
                await life.after(2)
            await life.until(lambda: ("update", "sea", f"short {LONG}") in life.history("a:sea"))

    asyncio.run(run())


def test_a_text_that_went_on_disk_is_kept_when_its_name_is_written_again_before_the_removal_is_told(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        own = OwnWrites()
        async with living(new_vault(tmp_path), tmp_path / "state.db", own=own) as life:
            life.write("wiki/a.md", "## sea\n\nthe first text\n\n## hill\n\nstays\n")
            await life.fresh()
            life.write("wiki/a.md", "## hill\n\nstays\n")
            await life.fresh()
            data = "## hill\n\nstays\n\n## sea\n\nthe first text, more or less\n"
            own.expect("wiki/a.md", bytes_hash(data.encode()))
            life.write("wiki/a.md", data)
            life.reconciler.note_write("wiki/a.md")
            await life.until(lambda: life.history("a:sea") == [("update", "sea", "the first text")], "the history")

    asyncio.run(run())


@pytest.mark.parametrize("saved", ["## sea\n\nthe second text\n", "## hill\n\nstays\n"], ids=["edited", "removed"])
def test_a_text_that_an_editor_replaced_is_kept_when_our_write_is_seen_before_the_editors_save(
    tmp_path: Path, saved: str
) -> None:
    async def run() -> None:
        own = OwnWrites()
        async with living(new_vault(tmp_path), tmp_path / "state.db", own=own) as life:
            note = life.write("wiki/a.md", "## sea\n\nwhat was there at first\n\n## hill\n\nstays\n")
            await life.fresh()
            note.write_text(saved)
            ours = f"{saved}\n## lake\n\nan agent's text\n".encode()
            files = AnnouncingFiles(DiskFiles(life.root), own)
            files.write("wiki/a.md", ours, based_on=bytes_hash(saved.encode()))
            life.reconciler.note_write("wiki/a.md")
            await life.after(11)
            await life.until(
                lambda: [text for _, _, text in life.history("a:sea")] == ["what was there at first"], "the history"
            )

    asyncio.run(run())


def test_an_agents_text_is_no_moment_of_somebodys_typing(tmp_path: Path) -> None:
    async def run() -> None:
        own = OwnWrites()
        async with living(new_vault(tmp_path), tmp_path / "state.db", own=own) as life:
            for earlier in ("", "## sea\n\nnothing yet\n"):
                life.write("wiki/a.md", earlier)
                await life.fresh()
                data = f"## sea\n\nat 3 o'clock{earlier and ' again'}, {LONG}\n"
                own.expect("wiki/a.md", bytes_hash(data.encode()))
                life.write("wiki/a.md", data)
                life.reconciler.note_write("wiki/a.md")
                life.write("wiki/a.md", data.replace("3", "5"))
                await life.fresh()
            expected = [f"at 3 o'clock again, {LONG}", f"at 3 o'clock, {LONG}"]
            await life.until(
                lambda: [text for _, _, text in life.history("a:sea") if "at 3" in text] == expected, "the history"
            )

    asyncio.run(run())


def test_a_renamed_items_history_is_found_under_its_new_address(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            for text in (
                f"## sea\n\n{LONG}\n",
                "## sea\n\nanother one altogether\n",
                "## lake\n\nanother one altogether\n",
            ):
                life.write("wiki/a.md", text)
                await life.fresh()
                await life.after(40)
            expected = [("rename", "sea", "another one altogether"), ("update", "sea", LONG)]
            await life.until(lambda: life.history("a:lake") == life.history("a:sea") == expected, "the history")

    asyncio.run(run())


def test_a_text_is_found_under_its_name_when_a_sync_tools_version_of_the_file_looks_like_a_rename(
    tmp_path: Path,
) -> None:
    # Two copies got one new item each, and the texts are much alike. The other copy's file comes over ours.
    ours, theirs = "text 0 of side 0 for own-0.", "text 0 of side 1 for own-1."

    async def run() -> None:
        own = OwnWrites()
        async with living(new_vault(tmp_path), tmp_path / "state.db", own=own) as life:
            for data, mine in (
                (f"## own-0\n\n{ours}\n", True),
                (f"## own-1\n\n{theirs}\n", False),
                (f"## own-1\n\n{theirs}\n\n## own-0\n\ntext 1 of side 0 for own-0.\n", True),
            ):
                if mine:
                    own.expect("wiki/a.md", bytes_hash(data.encode()))
                life.write("wiki/a.md", data)
                life.reconciler.note_write("wiki/a.md")
            await life.until(lambda: ours in [text for _, _, text in life.history("a:own-0")], "the history")

    asyncio.run(run())


def test_diary_entries_of_one_minute_keep_their_identity(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            day = "diary/2026-07-21.md"
            life.write(day, "## 14:30\n\nfirst\n\n## 14:30\n\nsecond\n")
            await life.fresh()
            cursor = life.reconciler.cursor()
            life.write(day, "## 14:30\n\nsecond\n")
            assert await life.texts() == {"2026-07-21:14:30": "second"}
            await life.after(20)
            assert sorted(life.changes(cursor)) == [
                ("remove", "2026-07-21:14:30", None),
                ("rename", "2026-07-21:14:30", "2026-07-21:14:30#2"),
            ]

    asyncio.run(run())


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_checkout_of_another_branch_is_followed_and_the_way_back_is_no_loss(tmp_path: Path) -> None:
    def git(root: Path, *arguments: str) -> None:
        identity = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "core.fsmonitor=false"]
        subprocess.run(["git", "-C", root, *identity, *arguments], check=True, capture_output=True, timeout=30)

    async def run() -> None:
        root = new_vault(tmp_path)
        git(root, "init", "-b", "main")
        async with living(root, tmp_path / "state.db") as life:
            for number in range(60):
                life.write(f"wiki/f{number % 5}/n{number}.md", f"## x\n\nmain {number}\n")
            git(root, "add", ".")
            git(root, "commit", "-m", "main")
            git(root, "checkout", "-b", "other")
            for number in range(40):
                life.write(f"wiki/f{number % 5}/n{number}.md", f"## x\n\nother {number}\n")
            shutil.rmtree(root / "wiki" / "f4")
            life.write("wiki/new/n.md", "## new\n\nnew\n")
            git(root, "add", ".")
            git(root, "commit", "-m", "other")
            assert await life.texts() == life.on_disk()
            await life.after(70)
            for branch in ("main", "other", "main"):
                cursor = life.reconciler.cursor()
                git(root, "checkout", branch)
                assert await life.texts() == life.on_disk()
                await life.after(70)
                actions = Counter(action for action, _, _ in life.changes(cursor))
                assert actions == {
                    "update": 32,
                    "add": 12 if branch == "main" else 1,
                    "remove": 13 - (12 if branch == "main" else 1),
                }

    asyncio.run(run())


def test_a_touched_note_changes_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            note = life.write("wiki/a.md", "## sea\n\ntext\n")
            await life.fresh()
            cursor, calls = life.reconciler.cursor(), len(life.index.calls)
            note.touch()
            os.utime(note, (1, 1))
            note.write_text("## sea\n\ntext\n")
            await life.fresh()
            assert (life.changes(cursor), len(life.index.calls)) == ([], calls)

    asyncio.run(run())
