"""Lost events, full kernels, sleeping machines, places that cannot be read, a state that cannot be written."""

import asyncio
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.nobody import as_nobody, folder_of_nobody
from tests.reconciling import Life, PlainIndex, living, new_vault
from tests.savers import Gardener
from tests.watching import FakeDuty
from wikimem.errors import HistoryUnavailable
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.search.prepared import Prepared
from wikimem.store.files import Stamp
from wikimem.store.state import State
from wikimem_daemon.disk import Disk, Listing
from wikimem_daemon.freshness import Freshness
from wikimem_daemon.reconcile import Reconciler
from wikimem_daemon.survey import Survey, Surveyor
from wikimem_daemon.unsaved import Keeper

REPOSITORY = Path(__file__).resolve().parents[2]
QUEUE_LIMIT = Path("/proc/sys/fs/inotify/max_queued_events")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


def codes(found: Freshness) -> set[str]:
    return {one.code for one in found.degraded}


async def two_notes(life: Life) -> None:
    life.write("wiki/a.md", "## sea\n\nfirst\n")
    life.write("wiki/sub/b.md", "## hill\n\nsecond\n")
    assert await life.texts() == {"a:sea": "first", "sub/b:hill": "second"}


# ---------------------------------------------------------------------- events


def test_a_queue_that_overflowed_is_answered_by_a_comparison(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        duty = FakeDuty(root)
        async with living(root, tmp_path / "state.db", new_watcher=duty) as life:
            await two_notes(life)
            duty.watcher.overflows = 1
            life.write("wiki/a.md", "## sea\n\nedited\n")
            assert (await life.texts())["a:sea"] == "edited"
            assert life.reconciler.status().compared_by == "overflow"

    asyncio.run(run())


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
def test_a_real_queue_overflows_and_nothing_is_missed(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        async with living(root, tmp_path / "state.db") as life:
            await two_notes(life)
            limit = int(QUEUE_LIMIT.read_text())  # noqa: ASYNC240 - a file of the kernel
            if limit > 50_000:
                pytest.skip("the queue of this kernel is too long to be filled in a test")
            (root / "wiki" / "sub").rename(root / "wiki" / "other")
            note = root / "wiki" / "a.md"
            for number in range(limit // 2 + 10):
                # Two names in turn, or the kernel folds equal events into one.
                os.utime(note if number % 2 else root / "wiki" / "other" / "b.md")
                os.utime(root / "wiki" / "other")
            (root / "wiki" / "other").rename(root / "wiki" / "third")
            note.write_text("## sea\n\nedited\n")
            assert await life.texts() == {"a:sea": "edited", "third/b:hill": "second"}
            assert life.reconciler.status().compared_by == "overflow"
            life.write("wiki/third/b.md", "## hill\n\nedited too\n")
            assert (await life.texts())["third/b:hill"] == "edited too"
            assert life.reconciler.status().watches == 4

    asyncio.run(run())


def test_events_that_are_lost_in_silence_are_found_by_the_timer(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        duty = FakeDuty(root)
        async with living(root, tmp_path / "state.db", new_watcher=duty, scan_interval_s=60) as life:
            await two_notes(life)
            duty.watcher.deaf = True
            life.write("wiki/a.md", "## sea\n\nedited\n")
            await life.fresh()
            assert life.index.texts()["a:sea"] == "first"
            await life.after(61)
            assert life.index.texts()["a:sea"] == "edited"

    asyncio.run(run())


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


@pytest.mark.parametrize(("slept", "stepped", "why"), [(90.0, 0.0, "resume"), (0.0, -3600.0, "clock-step")])
def test_a_machine_that_slept_or_was_set_compares_everything(
    tmp_path: Path, slept: float, stepped: float, why: str
) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        duty = FakeDuty(root)
        async with living(root, tmp_path / "state.db", new_watcher=duty) as life:
            await two_notes(life)
            duty.watcher.deaf = True
            life.write("wiki/a.md", "## sea\n\nedited\n")
            life.clock.slept += slept
            life.clock.stepped += stepped
            await life.after(1)
            assert life.reconciler.status().compared_by == why
            assert life.index.texts()["a:sea"] == "edited"

    asyncio.run(run())


def test_stamps_of_before_a_step_of_the_clock_prove_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the clock was set back, a write may bring the very stamp that the file had."""

    async def run() -> None:
        root = new_vault(tmp_path)
        duty = FakeDuty(root)
        monkeypatch.setattr("wikimem_daemon.disk.stamp_of", lambda found: Stamp(1, 2, found.st_size, 3, 4))
        async with living(root, tmp_path / "state.db", new_watcher=duty, scan_interval_s=60) as life:
            life.write("wiki/a.md", "## sea\n\nfirst\n")
            await life.fresh()
            duty.watcher.deaf = True
            life.write("wiki/a.md", "## sea\n\nother\n")
            await life.after(61)
            assert life.index.texts() == {"a:sea": "first"}, "this file system gives no sign of the write"
            life.clock.stepped -= 3600
            await life.after(1)
            assert life.index.texts() == {"a:sea": "other"}

    asyncio.run(run())


# ---------------------------------------------------------------------- kernel


def test_a_kernel_without_watches_is_polled_and_status_says_how_to_raise_them(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        duty = FakeDuty(root, watches=2)
        async with living(root, tmp_path / "state.db", new_watcher=duty) as life:
            status = life.reconciler.status()
            assert status.mode == "polling"
            assert "fs.inotify.max_user_watches" in status.fallback
            assert "sysctl" in status.hint
            await two_notes(life)

    asyncio.run(run())


def test_a_kernel_that_has_watches_again_is_asked_by_the_timer(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        (root / "wiki/a.md").write_text("## sea\n\nfirst\n")
        duty = FakeDuty(root, watches=2)
        async with living(root, tmp_path / "state.db", new_watcher=duty, scan_interval_s=30) as life:
            assert life.reconciler.status().mode == "polling"
            await life.after(31)
            assert life.reconciler.status().mode == "polling", "there are none yet"
            duty.room = 3
            await life.after(31)
            await life.until(lambda: life.reconciler.status().mode == "inotify")
            assert life.reconciler.status().fallback == ""
            life.write("wiki/a.md", "## sea\n\nsecond\n")
            assert await life.texts() == {"a:sea": "second"}
            (root / "wiki/b").mkdir()
            life.write("wiki/b/c.md", "## hill\n\nthird\n")
            assert await life.texts() == {"a:sea": "second", "b/c:hill": "third"}
            assert life.reconciler.status().mode == "polling", "a fourth folder is one too many again"

    asyncio.run(run())


def test_a_kernel_that_runs_out_of_watches_later_is_polled_from_then_on(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        duty = FakeDuty(root, watches=3)
        async with living(root, tmp_path / "state.db", new_watcher=duty) as life:
            assert life.reconciler.status().mode == "inotify"
            await two_notes(life)
            assert life.reconciler.status().mode == "polling"
            life.write("wiki/sub/b.md", "## hill\n\nedited\n")
            assert (await life.texts())["sub/b:hill"] == "edited"

    asyncio.run(run())


_EXHAUSTED = """
import asyncio, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
Path("/proc/sys/user/max_inotify_watches").write_text("4")
from tests.reconciling import living, new_vault

async def run():
    base = Path(sys.argv[1])
    root = new_vault(base)
    async with living(root, base / "state.db") as life:
        assert life.reconciler.status().mode == "inotify", life.reconciler.status()
        for number in range(6):
            life.write(f"wiki/f{number}/n.md", f"## x\\n\\ntext {number}\\n")
            assert len(await life.texts()) == number + 1
        status = life.reconciler.status()
        assert status.mode == "polling", status
        assert "fs.inotify.max_user_watches" in status.hint, status

asyncio.run(run())
print("followed")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
def test_the_real_limit_of_watches_is_survived(tmp_path: Path) -> None:
    probe = ["unshare", "-Ur", "sh", "-c", "echo 4 > /proc/sys/user/max_inotify_watches"]
    try:
        made = subprocess.run(probe, capture_output=True, check=False, timeout=20).returncode == 0
    except FileNotFoundError:
        made = False
    if not made:
        pytest.skip("this system gives no user namespace with a limit of its own")
    run = subprocess.run(
        ["unshare", "-Ur", sys.executable, "-c", _EXHAUSTED, tmp_path, REPOSITORY, REPOSITORY / "daemon"],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert run.stdout.strip() == "followed", run.stderr


# --------------------------------------------------------------------- places


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


@needs_root
@pytest.mark.skipif(sys.platform != "linux", reason="mount is Linux's here")
@pytest.mark.parametrize("place", ["wiki", "wiki/sub"])
def test_a_place_that_is_unmounted_keeps_its_answers(tmp_path: Path, place: str) -> None:
    async def run(base: Path) -> None:
        root = new_vault(base)
        (root / place).mkdir(parents=True, exist_ok=True)
        _mount("tmpfs", root / place)
        try:
            async with living(root, base / "state.db") as life:
                life.write(f"{place}/a.md", "## sea\n\nfirst\n")
                (address,) = await life.texts()
                cursor = life.reconciler.cursor()
                _unmount(root / place)
                found = await life.fresh(0.25)
                assert codes(found) == {"empty-folder"}
                await life.after(3600)
                assert life.index.texts() == {address: "first"}
                assert life.changes(cursor) == []
                _mount("tmpfs", root / place)
                life.write(f"{place}/a.md", "## sea\n\nsecond\n")
                assert await life.texts() == {address: "second"}
        finally:
            _unmount(root / place)

    asyncio.run(run(tmp_path))


@needs_root
@pytest.mark.skipif(sys.platform != "linux", reason="ramfs is Linux's")
@pytest.mark.parametrize("mode", ["inotify", "polling"])
def test_random_edits_on_coarse_stamps_are_never_missed(tmp_path: Path, mode: str) -> None:
    """Ramfs stamps as every file system did before kernel 6.13: a second write may leave no trace in them."""

    async def run(base: Path) -> None:
        async with living(new_vault(base), tmp_path / "state.db", mode=mode) as life:
            gardener = Gardener(life.root, seed=99, notes=5)
            for number in range(250):
                what = gardener.step()
                assert await life.texts() == life.on_disk(), (number, what)

    place = tmp_path / "ram"
    place.mkdir()
    _mount("ramfs", place)
    try:
        asyncio.run(run(place))
    finally:
        _unmount(place)


@needs_root
@pytest.mark.skipif(sys.platform != "linux", reason="ramfs is Linux's")
def test_a_rewrite_of_the_same_size_in_the_same_tick_is_seen_by_polling(tmp_path: Path) -> None:
    async def run(base: Path) -> None:
        async with living(new_vault(base), tmp_path / "state.db", mode="polling") as life:
            for number in range(100):
                life.write("wiki/a.md", f"## sea\n\ntext {number:03d}\n")
                assert await life.texts() == {"a:sea": f"text {number:03d}"}

    place = tmp_path / "ram"
    place.mkdir()
    _mount("ramfs", place)
    try:
        asyncio.run(run(place))
    finally:
        _unmount(place)


def _mount(kind: str, place: Path) -> None:
    subprocess.run(["mount", "-t", kind, "none", place], check=True, timeout=20)


def _unmount(place: Path) -> None:
    subprocess.run(["umount", "-l", place], check=False, timeout=20, capture_output=True)


# -------------------------------------------------------------- our own parts


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
from tests.reconciling import living

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


@needs_root
@pytest.mark.skipif(sys.platform != "linux", reason="mount is Linux's here")
def test_a_folder_that_is_mounted_over_is_seen_though_no_event_tells(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        other = tmp_path / "other"
        other.mkdir()
        async with living(root, tmp_path / "state.db") as life:
            await two_notes(life)
            _mount("tmpfs", root / "wiki" / "sub")
            assert codes(await life.fresh(0.25)) == {"empty-folder"}
            _unmount(root / "wiki" / "sub")
            assert await life.texts() == {"a:sea": "first", "sub/b:hill": "second"}
            (other / "c.md").write_text("## cove\n\nthird\n")
            _bind(other, root / "wiki" / "sub")
            try:
                assert await life.texts() == {"a:sea": "first", "sub/c:cove": "third"}
                (other / "c.md").write_text("## cove\n\nfourth\n")
                assert (await life.texts())["sub/c:cove"] == "fourth"
            finally:
                _unmount(root / "wiki" / "sub")

    asyncio.run(run())


@needs_root
@pytest.mark.skipif(sys.platform != "linux", reason="mount is Linux's here")
def test_a_folder_that_is_bound_twice_is_followed_at_both_places(tmp_path: Path) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        other = tmp_path / "other"
        other.mkdir()
        (other / "c.md").write_text("## cove\n\nthird\n")
        for name in ("x", "y"):
            (root / "wiki" / name).mkdir()
            _bind(other, root / "wiki" / name)
        try:
            async with living(root, tmp_path / "state.db") as life:
                assert await life.texts() == {"x/c:cove": "third", "y/c:cove": "third"}
                (other / "c.md").write_text("## cove\n\nfourth\n")
                assert await life.texts() == {"x/c:cove": "fourth", "y/c:cove": "fourth"}
        finally:
            for name in ("x", "y"):
                _unmount(root / "wiki" / name)

    asyncio.run(run())


def _bind(source: Path, place: Path) -> None:
    subprocess.run(["mount", "--bind", source, place], check=True, timeout=20)


def test_a_place_of_another_kind_below_the_vault_is_polled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        async with living(root, tmp_path / "state.db") as life:
            await two_notes(life)
            assert life.reconciler.status().mode == "inotify"
            life.reconciler._tree._devices.clear()
            monkeypatch.setattr(
                "wikimem_daemon.choose.file_system", lambda path: "nfs4" if path.name == "nas" else "ext4"
            )
            life.write("wiki/nas/n.md", "## n\n\nfar\n")
            # The device is the same here, so the tree is told that it was not met yet.
            life.reconciler._tree._devices.clear()
            assert (await life.texts())["nas/n:n"] == "far"
            status = life.reconciler.status()
            assert status.mode == "polling"
            assert "nfs4" in status.fallback

    asyncio.run(run())


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
