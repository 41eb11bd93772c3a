"""What is withheld is never taken for deleted: places that go, files that cannot be read, half-written texts."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from tests.reconciling import Life, codes, living, new_vault
from wikimem.pages.layout import Layout

MARKERS = "## sea\n\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n"


async def a_note(life: Life) -> Path:
    note = life.write("wiki/a.md", "## sea\n\nfirst\n")
    assert await life.texts() == {"a:sea": "first"}
    return note


@pytest.mark.parametrize("place", ["wiki", "."])
def test_a_place_that_goes_keeps_its_answers_marked_until_it_returns(tmp_path: Path, place: str) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        async with living(root, tmp_path / "state.db") as life:
            await a_note(life)
            cursor = life.reconciler.cursor()
            (root / place).rename(tmp_path / "away")
            found = await life.fresh(0.25)
            assert not found.fresh
            assert any(
                str(root / place).removesuffix("/.") in one.detail or place in one.detail for one in found.degraded
            )
            assert life.index.texts() == {"a:sea": "first"}
            await life.after(3600)
            assert life.index.texts() == {"a:sea": "first"}
            assert life.changes(cursor) == []
            (tmp_path / "away").rename(root / place)
            assert await life.texts() == {"a:sea": "first"}
            assert life.changes(cursor) == []

    asyncio.run(run())


def test_a_wiki_folder_that_is_deleted_note_by_note_keeps_its_answers(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            await a_note(life)
            cursor = life.reconciler.cursor()
            shutil.rmtree(life.root / "wiki")
            assert codes(await life.fresh(0.25)) == {"missing-folder"}
            await life.after(3600)
            assert life.index.texts() == {"a:sea": "first"}
            assert life.changes(cursor) == []

    asyncio.run(run())


def test_a_root_that_is_removed_and_remade_is_followed_and_was_degraded_in_between(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        async with living(root, tmp_path / "state.db") as life:
            await a_note(life)
            shutil.rmtree(root)
            await life.until(lambda: bool(life.reconciler.status().degraded), "the degraded state")
            assert codes(await life.fresh(0.1)) == {"missing-root"}
            assert life.index.texts() == {"a:sea": "first"}
            (root / "wiki").mkdir(parents=True)
            found = await life.fresh(0.1)
            assert codes(found) == {"missing-root"}, "an empty folder in its place is no return"
            life.write("wiki/b.md", "## hill\n\nsecond\n")
            await life.until(lambda: life.index.texts() == {"b:hill": "second"})
            assert (await life.fresh()).fresh
            life.write("wiki/b.md", "## hill\n\nthird\n")
            assert await life.texts() == {"b:hill": "third"}

    asyncio.run(run())


def test_an_ancestor_that_is_renamed_is_noticed_though_no_event_tells(tmp_path: Path) -> None:
    async def run() -> None:
        (tmp_path / "up").mkdir()
        root = new_vault(tmp_path / "up")
        async with living(root, tmp_path / "state.db") as life:
            await a_note(life)
            (tmp_path / "up").rename(tmp_path / "down")
            assert codes(await life.fresh(0.1)) == {"missing-root"}
            (tmp_path / "down").rename(tmp_path / "up")
            life.write("wiki/a.md", "## sea\n\nsecond\n")
            assert await life.texts() == {"a:sea": "second"}

    asyncio.run(run())


def test_a_subfolder_that_is_deleted_is_deleted(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            await a_note(life)
            life.write("wiki/x/y/b.md", "## hill\n\nsecond\n")
            await life.fresh()
            shutil.rmtree(life.root / "wiki" / "x")
            assert await life.texts() == {"a:sea": "first"}

    asyncio.run(run())


def test_a_note_with_git_markers_keeps_its_last_good_items(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            note = await a_note(life)
            note.write_text(MARKERS)
            found = await life.fresh(0.25)
            assert codes(found) == {"git-markers"}
            assert "wiki/a.md" in found.degraded[0].detail
            assert life.index.texts() == {"a:sea": "first"}
            ((path, problem),) = life.reconciler.status().problems
            assert (path, problem.kind, problem.line) == ("wiki/a.md", "git-markers", 3)
            note.write_text("## sea\n\nours\n")
            assert await life.texts() == {"a:sea": "ours"}
            assert life.reconciler.status().problems == ()

    asyncio.run(run())


def test_a_new_note_with_git_markers_is_not_served_and_answers_say_that_it_lacks(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            life.write("wiki/b.md", MARKERS)
            assert codes(await life.fresh(0.25)) == {"git-markers"}
            assert life.index.texts() == {}

    asyncio.run(run())


def test_a_conflict_copy_is_reported_and_not_served(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            await a_note(life)
            name = "wiki/a.sync-conflict-20260721-143000-ABCDEFG.md"
            copy = life.write(name, "## sea\n\nother\n")
            assert await life.texts() == {"a:sea": "first"}
            ((path, problem),) = life.reconciler.status().problems
            assert (path, problem.kind) == (name, "conflict-copy")
            copy.unlink()
            await life.fresh()
            assert life.reconciler.status().problems == ()

    asyncio.run(run())


def test_a_note_over_the_limit_is_reported_and_leaves_the_answers(tmp_path: Path) -> None:
    async def run() -> None:
        layout = Layout(max_file_bytes=1000)
        async with living(new_vault(tmp_path), tmp_path / "state.db", layout=layout) as life:
            note = await a_note(life)
            note.write_text("## sea\n\n" + "x" * 2000)
            assert await life.texts() == {}
            ((path, problem),) = life.reconciler.status().problems
            assert (path, problem.kind) == ("wiki/a.md", "too-large")
            note.write_text("## sea\n\nsmall\n")
            assert await life.texts() == {"a:sea": "small"}

    asyncio.run(run())


@pytest.mark.parametrize("mode", ["inotify", "polling"])
def test_an_emptied_note_answers_from_its_last_good_text_until_it_is_surely_empty(tmp_path: Path, mode: str) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db", mode=mode) as life:
            note = await a_note(life)
            cursor = life.reconciler.cursor()
            note.write_bytes(b"")
            found = await life.fresh(0.25)
            assert codes(found) == {"being-written"}
            assert "wiki/a.md" in found.degraded[0].detail
            assert life.index.texts() == {"a:sea": "first"}
            await life.after(2.1)
            assert await life.texts() == {}
            await life.after(2.1)
            assert life.changes(cursor) == [("remove", "a:sea", None)]

    asyncio.run(run())


def test_a_fresh_query_waits_for_a_writer_that_is_about_to_finish(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            note = await a_note(life)
            with note.open("wb", buffering=0) as file:
                file.write(b"## sea\n\nhal")
                asking = asyncio.create_task(life.fresh(5))
                await life.until(lambda: bool(life.reconciler.status().degraded), "the wait")
                assert not asking.done()
                file.write(b"f and half\n")
            found = await asking
            assert found.fresh
            assert life.index.texts() == {"a:sea": "half and half"}

    asyncio.run(run())


def test_a_writer_that_stays_open_gives_the_last_good_text_and_later_what_stands_there(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            note = await a_note(life)
            with note.open("wb", buffering=0) as file:
                file.write(b"## sea\n\nopen\n")
                found = await life.fresh(0.25)
                assert codes(found) == {"being-written"}
                assert life.index.texts() == {"a:sea": "first"}
                await life.after(2.1)
                assert await life.texts() == {"a:sea": "open"}
                file.write(b"\n## hill\n\nmore\n")
                assert not (await life.fresh(0.2)).fresh
            assert await life.texts() == {"a:sea": "open", "a:hill": "more"}

    asyncio.run(run())


def test_a_writer_that_renames_what_it_still_writes_is_waited_for(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            note = await a_note(life)
            temporary = note.with_name("download.part")
            with temporary.open("wb", buffering=0) as file:
                file.write(b"## sea\n\nhal")
                temporary.replace(note)
                assert codes(await life.fresh(0.2)) == {"being-written"}
                assert life.index.texts() == {"a:sea": "first"}
                file.write(b"f and half\n")
            assert await life.texts() == {"a:sea": "half and half"}

    asyncio.run(run())


def test_a_writer_that_never_pauses_is_read_all_the_same(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            note = life.write("wiki/log.md", "## log\n\nstart\n")
            await life.fresh()
            with note.open("ab", buffering=0) as file:
                for number in range(12):
                    file.write(f"line {number}\n".encode())
                    await life.fresh(0.01)
                    await life.after(0.5)
                assert "line 5" in life.index.texts()["log:log"]

    asyncio.run(run())


def test_an_empty_new_note_is_taken_as_it_is_after_a_moment(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            life.write("wiki/new.md", "")
            assert (await life.fresh(5)).fresh
            assert "wiki/new.md" in life.index.pages

    asyncio.run(run())


def test_a_file_that_lost_most_of_its_items_has_its_consequences_held(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            text = "".join(f"## i{number}\n\ntext {number}\n\n" for number in range(6))
            life.write("wiki/a.md", text)
            await life.fresh()
            cursor = life.reconciler.cursor()
            life.write("wiki/a.md", "## i0\n\ntext 0\n")
            assert await life.texts() == {"a:i0": "text 0"}
            await life.after(5)
            assert life.changes(cursor) == []
            life.write("wiki/a.md", text)
            await life.fresh()
            await life.after(100)
            assert life.changes(cursor) == []
            life.write("wiki/a.md", "## i0\n\ntext 0\n")
            await life.fresh()
            await life.after(11)
            assert len(life.changes(cursor)) == 5

    asyncio.run(run())


def test_most_of_the_vault_at_once_is_held_for_a_minute(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            for number in range(30):
                life.write(f"wiki/n{number}.md", f"## x\n\ntext {number}\n")
            await life.fresh()
            cursor = life.reconciler.cursor()
            for number in range(25):
                (life.root / f"wiki/n{number}.md").unlink()
            assert len(await life.texts()) == 5
            await life.after(30)
            assert life.changes(cursor) == []
            await life.after(31)
            assert len(life.changes(cursor)) == 25

    asyncio.run(run())


def test_what_is_no_note_costs_itself_only(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        os.mkfifo(root / "wiki" / "pipe.md")
        (root / "wiki" / "binary.md").write_bytes(bytes(range(256)) * 10)
        (root / "wiki" / "latin.md").write_bytes("## caf\xe9\n\nd\xe9j\xe0\n".encode("latin-1"))
        (root / "wiki" / "yaml.md").write_text("---\na: [\n---\n## y\n\nyaml\n")
        (root / "wiki" / "folder.md").mkdir()
        (root / "wiki" / "folder.md" / "in.md").write_text("## in\n\ninside\n")
        (root / "wiki" / "good.md").write_text("## good\n\ngood\n")
        odd_folder = root / "wiki" / os.fsdecode(b"\xff")
        odd_folder.mkdir()
        (odd_folder / "bad\nname.md").write_text("## odd\n\nodd\n")
        async with living(root, tmp_path / "state.db") as life:
            texts = await life.texts()
            assert texts["good:good"] == "good"
            assert texts["yaml:y"] == "yaml"
            assert texts["folder.md/in:in"] == "inside"
            assert "odd" in texts.values()
            assert any(address.startswith("latin:caf") for address in texts)
            odd = next(path for path in life.index.pages if "bad" in path)
            (root / odd).write_text("## odd\n\nstranger\n")
            assert "stranger" in (await life.texts()).values()

    asyncio.run(run())


def test_a_folder_that_was_emptied_while_it_could_not_be_read_is_empty(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            note = life.write("wiki/sub/b.md", "## hill\n\nsecond\n")
            await life.fresh()
            life.reconciler._tree._hold("wiki/sub", "unreadable-folder", "as if")
            note.unlink()
            await life.fresh(0.1)
            await life.after(2)
            assert await life.texts() == {}

    asyncio.run(run())
