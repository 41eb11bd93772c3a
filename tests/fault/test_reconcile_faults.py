"""Lost events, full kernels, sleeping machines, places that cannot be read, a state that cannot be written."""

import asyncio
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.nobody import as_nobody, folder_of_nobody
from tests.reconciling import Life, PlainIndex, codes, living, new_vault, two_notes
from tests.watching import FakeDuty
from wikimem.errors import HistoryUnavailable
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.search.prepared import Prepared
from wikimem.store.state import State
from wikimem_daemon.disk import Disk, Listing
from wikimem_daemon.reconcile import Reconciler
from wikimem_daemon.survey import Survey, Surveyor
from wikimem_daemon.unsaved import Keeper

REPOSITORY = Path(__file__).resolve().parents[2]


def test_a_note_that_is_looked_at_before_its_folder_is_known_to_be_gone_is_kept(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        duty = FakeDuty(root)
        async with living(root, tmp_path / "state.db", new_watcher=duty) as life:
            await two_notes(life)
            duty.watcher.deaf = True
            shutil.rmtree(root / "wiki")
            life.reconciler.note_write("wiki/a.md")
            assert codes(await life.fresh(0.1)) == {"missing-folder"}
            assert life.index.texts() == {"a:sea": "first", "sub/b:hill": "second"}

    asyncio.run(run())


def test_a_folder_that_nobody_may_read_keeps_its_answers(tmp_path: Path) -> None:
    async def run(base: Path) -> None:
        async with living(new_vault(base), base / "state.db") as life:
            await two_notes(life)
            cursor = life.reconciler.cursor()
            for folder in ("wiki/sub", "wiki", "."):
                (life.root / folder).chmod(0)
                found = await life.fresh(0.25)
                assert codes(found) == {"unreadable-folder"}
                assert folder in found.degraded[0].detail
                await life.after(3600)
                assert life.index.texts() == {"a:sea": "first", "sub/b:hill": "second"}
                (life.root / folder).chmod(0o755)
                assert await life.texts() == {"a:sea": "first", "sub/b:hill": "second"}
            assert life.changes(cursor) == []
            life.write("wiki/sub/b.md", "## hill\n\nedited\n")
            assert (await life.texts())["sub/b:hill"] == "edited"

    with folder_of_nobody() as base:
        as_nobody(lambda: asyncio.run(run(base)))


def test_a_folder_whose_names_show_but_not_its_notes_keeps_its_answers(tmp_path: Path) -> None:
    async def run(base: Path) -> None:
        async with living(new_vault(base), base / "state.db") as life:
            await two_notes(life)
            (life.root / "wiki/sub").chmod(0o400)
            found = await life.fresh(0.25)
            assert "unreadable" in codes(found)
            assert life.index.texts() == {"a:sea": "first", "sub/b:hill": "second"}
            (life.root / "wiki/sub").chmod(0o755)
            assert (await life.texts()) == {"a:sea": "first", "sub/b:hill": "second"}

    with folder_of_nobody() as base:
        as_nobody(lambda: asyncio.run(run(base)))


@pytest.mark.parametrize("mode", ["inotify", "polling"])
def test_a_note_that_nobody_may_read_keeps_its_items_also_over_a_restart(tmp_path: Path, mode: str) -> None:
    async def run(base: Path) -> None:
        root = new_vault(base)
        async with living(root, base / "state.db", mode=mode) as life:
            await two_notes(life)
            (root / "wiki/a.md").chmod(0)
            found = await life.fresh(0.25)
            assert codes(found) == {"unreadable"}
            assert "wiki/a.md" in found.degraded[0].detail
            assert [problem.kind for _, problem in life.reconciler.status().problems] == ["unreadable"]
        async with living(root, base / "state.db", mode=mode) as life:
            assert codes(await life.fresh(0.25)) == {"unreadable"}
            assert life.index.texts() == {"a:sea": "first", "sub/b:hill": "second"}
            (root / "wiki/a.md").chmod(0o644)
            assert (await life.texts())["a:sea"] == "first"

    with folder_of_nobody() as base:
        as_nobody(lambda: asyncio.run(run(base)))


class BrittleIndex(PlainIndex):
    """An index with a fault that one note meets."""

    def replace_page(self, page: Page, prepared: Prepared | None = None) -> None:
        if any("poison" in item.content for item in page.items):
            raise ValueError("a fault of ours")
        super().replace_page(page, prepared)


def test_a_note_that_breaks_our_own_code_costs_itself_only(tmp_path: Path) -> None:
    async def run() -> None:
        index = BrittleIndex()
        async with living(new_vault(tmp_path), tmp_path / "state.db", index=index) as life:
            life.write("wiki/bad.md", "## bad\n\npoison\n")
            life.write("wiki/good.md", "## good\n\ngood\n")
            found = await life.fresh(0.5)
            assert codes(found) == {"internal-error"}
            assert "wiki/bad.md" in found.degraded[0].detail
            assert life.index.texts() == {"good:good": "good"}
            life.write("wiki/bad.md", "## bad\n\nmended\n")
            assert (await life.texts())["bad:bad"] == "mended"

    asyncio.run(run())


def test_a_state_that_cannot_be_written_is_told_and_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Keeper.keep
    broken = True

    def keep(self: Keeper, *batch: object) -> None:
        if broken:
            raise HistoryUnavailable("the disk is full", path="state.db", step="commit", hint="free some space")
        real(self, *batch)  # type: ignore[arg-type]

    monkeypatch.setattr(Keeper, "keep", keep)

    async def run() -> None:
        nonlocal broken
        async with living(new_vault(tmp_path), tmp_path / "state.db") as life:
            cursor = life.reconciler.cursor()
            life.write("wiki/a.md", "## sea\n\nfirst\n")
            await life.fresh()
            life.write("wiki/a.md", "## sea\n\nsecond, another text\n")
            assert await life.texts() == {"a:sea": "second, another text"}
            await life.until(lambda: bool(life.reconciler.status().degraded))
            assert life.reconciler.status().degraded[0].code == "history-unavailable"
            assert life.changes(cursor) == [("add", "a:sea", None)]
            broken = False
            await life.until(lambda: not life.reconciler.status().degraded)
            assert life.history("a:sea") == [("update", "sea", "first")]
        async with living(life.root, tmp_path / "state.db") as life:
            assert life.changes(cursor) == [("add", "a:sea", None)]

    asyncio.run(run())


def test_a_disk_that_hangs_stops_neither_the_loop_nor_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Disk.list_folder
    hang = threading.Event()
    hang.set()

    def list_folder(self: Disk, folder: str) -> Listing:
        hang.wait(30)
        return real(self, folder)

    monkeypatch.setattr(Disk, "list_folder", list_folder)

    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db", mode="polling") as life:
            await two_notes(life)
            hang.clear()
            began = time.monotonic()
            found = await life.fresh(0.1)
            assert codes(found) == {"behind"}
            assert time.monotonic() - began < 10
            assert life.index.texts()["a:sea"] == "first"
            hang.set()
            assert (await life.fresh()).fresh

    asyncio.run(run())


def test_a_disk_that_hangs_does_not_hold_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Disk.list_folder
    hang, asked = threading.Event(), threading.Event()
    hang.set()

    def list_folder(self: Disk, folder: str) -> Listing:
        if not hang.is_set():
            asked.set()
        hang.wait()
        return real(self, folder)

    monkeypatch.setattr(Disk, "list_folder", list_folder)

    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db", mode="polling") as life:
            hang.clear()
            await life.fresh(0.05)
            assert asked.is_set()

    asyncio.run(run())  # and the test's time limit says whether it ended
    hang.set()


_LIFE = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from tests.reconciling import living, codes, two_notes

async def run():
    base = Path(sys.argv[1])
    async with living(base / "vault", base / "state.db") as life:
        await life.until(lambda: life.reconciler._saver.idle)
        print("ready", life.reconciler.cursor(), flush=True)
        while True:
            await life.fresh()
            print("cursor", life.reconciler.cursor(), flush=True)
            await asyncio.sleep(0.002)

asyncio.run(run())
"""


def test_a_first_life_that_is_killed_before_it_kept_anything_is_another_life(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        with State(tmp_path / "state.db") as state:
            cursor = Reconciler(root, Layout(), PlainIndex(), state).cursor()
        async with living(root, tmp_path / "state.db") as life:
            assert life.reconciler.changes_since(cursor).fresh_instance

    asyncio.run(run())


def test_a_life_that_is_killed_loses_no_change(tmp_path: Path) -> None:
    root = new_vault(tmp_path)
    command = [sys.executable, "-c", _LIFE, str(tmp_path), str(REPOSITORY), str(REPOSITORY / "daemon")]
    for number in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            cursor = child.stdout.readline().split()[1]
            for step in range(10):
                (root / f"wiki/n{number}-{step}.md").write_text(f"## x\n\ntext {number} {step}\n")
            handed_out = ""
            while not handed_out or handed_out == cursor:
                handed_out = child.stdout.readline().split()[1]
            child.kill()

        async def after(first: str = cursor, last: str = handed_out, number: int = number) -> None:
            async with living(root, tmp_path / "state.db") as life:
                expected = [("add", f"n{number}-{step}:x", None) for step in range(10)]
                assert sorted(set(life.changes(first))) == expected
                # What the dead life said it had told may be told again, never skipped.
                assert set(life.changes(last)) <= set(expected)
                life.write("wiki/after.md", f"## x\n\nafter {number}\n")
                await life.fresh()
                assert life.changes(last)[-1][1] == "after:x"

        asyncio.run(after())


def test_our_own_write_while_a_survey_runs_is_not_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Surveyor.walk
    wrote: list[str] = []

    async def run() -> None:
        async with living(new_vault(tmp_path), tmp_path / "state.db", mode="polling") as life:
            await two_notes(life)
            loop = asyncio.get_running_loop()

            def walk(self: Surveyor) -> Survey:
                found = real(self)
                if not wrote:
                    wrote.append("once")
                    life.write("wiki/a.md", "## sea\n\nours\n")
                    asyncio.run_coroutine_threadsafe(noted(life), loop).result(10)
                return found

            monkeypatch.setattr(Surveyor, "walk", walk)
            cursor = life.reconciler.cursor()
            life.write("wiki/a.md", "## sea\n\nold\n")
            await life.fresh()
            assert life.index.texts()["a:sea"] == "ours"
            assert len(life.change_values(cursor)) == 1

    async def noted(life: Life) -> None:
        life.reconciler.note_write("wiki/a.md")

    asyncio.run(run())


def test_a_first_comparison_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Surveyor.walk
    failures = [ValueError("a fault of ours")]

    def walk(self: Surveyor) -> Survey:
        if failures:
            raise failures.pop()
        return real(self)

    monkeypatch.setattr(Surveyor, "walk", walk)

    async def run() -> None:
        root = new_vault(tmp_path)
        (root / "wiki" / "a.md").write_text("## sea\n\nfirst\n")
        async with living(root, tmp_path / "state.db", mode="polling") as life:
            assert life.index.texts() == {"a:sea": "first"}

    asyncio.run(run())
    assert not failures
