"""Links, layouts, own writes, sidebands, and the calls that an operator makes."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from tests.reconciling import Life, living, new_vault
from wikimem.pages.layout import Layout
from wikimem.store.files import DiskFiles
from wikimem.store.vault import MemoryStore
from wikimem_daemon.ownwrites import AnnouncingFiles, OwnWrites


def kinds(life: Life) -> dict[str, str]:
    return {path: problem.kind for path, problem in life.reconciler.status().problems}


def test_links_inside_the_vault_are_followed_once_and_others_are_named(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "secret.md").write_text("## secret\n\nsecret\n")
        (root / "shared").mkdir()
        (root / "shared" / "s.md").write_text("## s\n\nshared\n")
        (root / "notes.md").write_text("## n\n\nnotes\n")
        (root / "wiki" / "real.md").write_text("## r\n\nreal\n")
        wiki = root / "wiki"
        (wiki / "a").symlink_to("../shared")
        (wiki / "b").symlink_to("../shared")
        (wiki / "file.md").symlink_to("../notes.md")
        (wiki / "again.md").symlink_to("real.md")
        (wiki / "loop").symlink_to("..")
        (wiki / "self").symlink_to("self")
        (wiki / "dangling.md").symlink_to("nowhere.md")
        (wiki / "out").symlink_to(tmp_path / "outside")
        (wiki / "out.md").symlink_to(tmp_path / "outside" / "secret.md")
        async with living(root, tmp_path / "state.db") as life:
            expected = {"a/s:s": "shared", "file:n": "notes", "real:r": "real"}
            assert await life.texts() == expected
            assert kinds(life) == {
                "wiki/loop": "link-loop",
                "wiki/self": "link-loop",
                "wiki/dangling.md": "link-dangling",
                "wiki/out": "link-outside",
                "wiki/out.md": "link-outside",
            }
            (root / "shared" / "s.md").write_text("## s\n\nedited\n")
            (root / "notes.md").write_text("## n\n\nedited too\n")
            assert await life.texts() == expected | {"a/s:s": "edited", "file:n": "edited too"}

    asyncio.run(run())


def test_links_that_come_go_and_turn_are_followed(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        (tmp_path / "secret.md").write_text("## secret\n\nsecret\n")
        (root / "shared").mkdir()
        (root / "shared" / "s.md").write_text("## s\n\nshared\n")
        (root / "notes.md").write_text("## n\n\nnotes\n")
        async with living(root, tmp_path / "state.db") as life:
            folder, file = root / "wiki" / "a", root / "wiki" / "file.md"
            folder.symlink_to("../shared")
            file.symlink_to("../notes.md")
            assert await life.texts() == {"a/s:s": "shared", "file:n": "notes"}
            (root / "shared" / "t.md").write_text("## t\n\nlater\n")
            assert (await life.texts())["a/t:t"] == "later"
            file.unlink()
            file.symlink_to(tmp_path / "secret.md")
            assert await life.texts() == {"a/s:s": "shared", "a/t:t": "later"}
            assert kinds(life) == {"wiki/file.md": "link-outside"}
            folder.unlink()
            file.unlink()
            assert await life.texts() == {}
            assert kinds(life) == {}

    asyncio.run(run())


def test_the_same_links_where_nothing_is_announced(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        (root / "shared").mkdir()
        (root / "shared" / "s.md").write_text("## s\n\nshared\n")
        (root / "wiki" / "a").symlink_to("../shared")
        (root / "wiki" / "file.md").symlink_to("../shared/s.md")
        (root / "wiki" / "loop").symlink_to(".")
        async with living(root, tmp_path / "state.db", mode="polling") as life:
            assert await life.texts() == {"a/s:s": "shared"}
            (root / "shared" / "s.md").write_text("## s\n\nedited\n")
            assert await life.texts() == {"a/s:s": "edited"}
            assert kinds(life) == {"wiki/loop": "link-loop"}

    asyncio.run(run())


def test_a_vault_whose_root_is_the_wiki_leaves_dot_folders_alone(tmp_path: Path) -> None:
    async def run() -> None:
        root = tmp_path / "v"
        (root / ".obsidian").mkdir(parents=True)
        (root / ".trash").mkdir()
        (root / "templates").mkdir()
        (root / "deep" / "er").mkdir(parents=True)
        for path in (".trash/t.md", "templates/t.md", "deep/er/n.md", "top.md"):
            (root / path).write_text(f"## x\n\n{path}\n")
        layout = Layout(wiki_dir=".", diary_dir="diary")
        async with living(root, tmp_path / "state.db", layout=layout) as life:
            assert await life.texts() == {"deep/er/n:x": "deep/er/n.md", "top:x": "top.md"}
            # The root, deep and deeper; nothing in the dot-folders is watched.
            assert life.reconciler.status().watches == 3
            (root / "diary").mkdir()
            (root / "diary" / "2026-07-21.md").write_text("## 10:00\n\nday\n")
            assert (await life.texts())["2026-07-21:10:00"] == "day"

    asyncio.run(run())


def test_another_layout_is_taken_up_while_running(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        (root / "notes").mkdir()
        (root / "notes" / "n.md").write_text("## n\n\nnotes\n")
        (root / "wiki" / "w.md").write_text("## w\n\nwiki\n")
        (root / "wiki" / "x.md").write_text("## x\n\nhidden\n")
        async with living(root, tmp_path / "state.db") as life:
            await life.reconciler.relayout(Layout(ignore=("x.md",)))
            assert life.index.texts() == {"w:w": "wiki"}
            await life.reconciler.relayout(Layout(wiki_dir="notes"))
            assert life.index.texts() == {"n:n": "notes"}
            (root / "notes" / "n.md").write_text("## n\n\nedited\n")
            assert await life.texts() == {"n:n": "edited"}

    asyncio.run(run())


def store_of(life: Life, own: OwnWrites, state_dir: Path) -> MemoryStore:
    return MemoryStore(
        life.root,
        layout=life.layout,
        state_dir=state_dir,
        state=life.state,
        files=AnnouncingFiles(DiskFiles(life.root), own),
        clock=lambda: datetime.now(UTC),
    )


def test_our_own_write_is_told_as_ours_even_when_its_event_is_first(tmp_path: Path) -> None:
    async def run() -> None:
        own = OwnWrites()
        async with living(new_vault(tmp_path), tmp_path / "state.db", own=own) as life:
            store = store_of(life, own, tmp_path / "s")
            cursor = life.reconciler.cursor()
            store.add("a", "sea", "ours")
            assert await life.texts() == {"a:sea": "ours"}
            life.reconciler.note_write("wiki/a.md")
            assert [(one.action, one.cause) for one in life.change_values(cursor)] == [("add", "api")]
            cursor = life.reconciler.cursor()
            store.remove("a", "sea")
            life.reconciler.note_write("wiki/a.md")
            assert [(one.action, one.cause) for one in life.change_values(cursor)] == [("remove", "api")]
            store.close()

    asyncio.run(run())


def test_a_person_who_saves_the_same_file_just_after_us_is_not_taken_for_us(tmp_path: Path) -> None:
    async def run() -> None:
        own = OwnWrites()
        async with living(new_vault(tmp_path), tmp_path / "state.db", own=own) as life:
            store = store_of(life, own, tmp_path / "s")
            life.write("wiki/a.md", "## sea\n\nfirst\n\n## hill\n\nfirst\n")
            await life.fresh()
            cursor = life.reconciler.cursor()
            store.add("a", "sea", "ours")
            life.reconciler.note_write("wiki/a.md")
            note = life.root / "wiki" / "a.md"
            note.write_text(note.read_text().replace("first", "theirs"))
            assert await life.texts() == {"a:sea": "ours", "a:hill": "theirs"}
            told = [(one.address, one.cause) for one in life.change_values(cursor)]
            assert told == [("a:sea", "api"), ("a:hill", "disk")]
            await life.until(lambda: life.history("a:hill") == [("update", "hill", "first")])
            # The store kept the prior text of its own write; it is there once.
            assert life.history("a:sea") == [("update", "sea", "first")]
            store.close()

    asyncio.run(run())


def test_a_write_of_another_process_of_ours_has_its_prior_text_kept_once(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            life.write("wiki/a.md", "## sea\n\nfirst\n")
            await life.fresh()
            cursor = life.reconciler.cursor()
            store = store_of(life, OwnWrites(), tmp_path / "s")
            store.add("a", "sea", "from the command line")
            await life.fresh()
            assert [(one.action, one.cause) for one in life.change_values(cursor)] == [("update", "disk")]
            await life.until(lambda: life.reconciler._saver.idle)
            assert life.history("a:sea") == [("update", "sea", "first")]
            store.close()

    asyncio.run(run())


def test_a_sideband_is_read_at_the_start_and_whenever_it_changes(tmp_path: Path) -> None:
    async def run() -> None:
        seen: list[bytes | None] = []
        sidebands = {"relations.jsonl": seen.append}
        async with living(new_vault(tmp_path), tmp_path / "state.db", sidebands=sidebands) as life:
            assert seen == [None]
            life.write("relations.jsonl", '{"source": "a:b"}\n')
            await life.fresh()
            (life.root / "relations.jsonl").touch()
            await life.fresh()
            assert seen == [None, b'{"source": "a:b"}\n']
            (life.root / "relations.jsonl").unlink()
            await life.fresh()
            assert seen[-1] is None

    asyncio.run(run())


def test_verify_and_rebuild_compare_everything_and_say_so(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            life.write("wiki/a.md", "## sea\n\ntext\n")
            await life.fresh()
            before = life.reconciler.status().comparisons
            await life.reconciler.verify()
            status = life.reconciler.status()
            assert (status.compared_by, status.comparisons) == ("verify", before + 1)
            assert status.compared_at is not None
            await life.reconciler.rebuild()
            assert life.reconciler.status().compared_by == "rebuild"
            assert life.reconciler.progress() is None

    asyncio.run(run())


def test_the_timer_compares_though_nothing_was_announced(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db", scan_interval_s=60) as life:
            await life.after(61)
            assert life.reconciler.status().compared_by == "timer"

    asyncio.run(run())


def test_a_burst_is_taken_in_while_others_ask(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        async with living(root, tmp_path / "state.db") as life:
            checkout = tmp_path / "checkout"
            checkout.mkdir()
            for number in range(2000):
                (checkout / f"n{number}.md").write_text(f"## x\n\ntext {number}\n")
            checkout.rename(root / "wiki" / "burst")
            asked = [asyncio.create_task(life.fresh(0.001)) for _ in range(20)]
            found = [await one for one in asked]
            assert {one.degraded[0].code for one in found if not one.fresh} == {"behind"}
            assert len(await life.texts()) == 2000

    asyncio.run(run())


def test_names_that_differ_only_by_case_are_two_notes(tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            life.write("wiki/note.md", "## x\n\nlower\n")
            await life.fresh()
            cursor = life.reconciler.cursor()
            (life.root / "wiki/note.md").rename(life.root / "wiki/Note.md")
            assert await life.texts() == {"Note:x": "lower"}
            await life.after(20)
            assert life.changes(cursor) == [("rename", "Note:x", "note:x")]

    asyncio.run(run())


def test_a_note_with_several_names_is_followed_under_each_whichever_is_written(tmp_path: Path) -> None:
    """A write through one hard link raises an event in the folder of that name only."""

    async def run() -> None:
        root = new_vault(tmp_path)
        outside = tmp_path / "outside.md"
        outside.write_text("## o\n\nfirst\n")
        (root / "wiki" / "in.md").hardlink_to(outside)
        async with living(root, tmp_path / "state.db") as life:
            outside.write_text("## o\n\nsecond\n")
            assert await life.texts() == {"in:o": "second"}
            (root / "wiki" / "sub").mkdir()
            (root / "wiki" / "sub" / "again.md").hardlink_to(outside)
            assert await life.texts() == {"in:o": "second", "sub/again:o": "second"}
            for number, note in enumerate((outside, root / "wiki" / "in.md", root / "wiki" / "sub" / "again.md")):
                note.write_text(f"## o\n\nedit {number}\n")
                assert await life.texts() == {"in:o": f"edit {number}", "sub/again:o": f"edit {number}"}
            life.write("wiki/plain.md", "## p\n\nplain\n")
            await life.fresh()
            (root / "wiki" / "sub" / "twin.md").hardlink_to(root / "wiki" / "plain.md")
            await life.fresh()
            (root / "wiki" / "sub" / "twin.md").write_text("## p\n\nedited\n")
            texts = await life.texts()
            assert (texts["plain:p"], texts["sub/twin:p"]) == ("edited", "edited")
            with outside.open("wb", buffering=0) as file:
                file.write(b"## o\n\nhal")
                assert not (await life.fresh(0.2)).fresh
                file.write(b"f and half\n")
            assert (await life.texts())["in:o"] == "half and half"

    asyncio.run(run())
