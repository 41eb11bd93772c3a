"""Events that are lost, a kernel without watches, a clock that steps."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reconciling import living, new_vault, two_notes
from tests.watching import FakeDuty
from wikimem.store.stamps import Stamp

REPOSITORY = Path(__file__).resolve().parents[2]


QUEUE_LIMIT = Path("/proc/sys/fs/inotify/max_queued_events")


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
from tests.reconciling import living, new_vault, codes, two_notes

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
