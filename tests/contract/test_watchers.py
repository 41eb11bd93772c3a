"""What every watcher promises, over real files: inotify, watchfiles in both modes, and the fake that tests use.

An exact watcher has everything in the first drain after a write; the others are asked until they have it.
"""

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.savers import SAVERS
from tests.watching import SnapshotWatcher
from wikimem_daemon.native import native_watcher
from wikimem_daemon.polling import polling_watcher
from wikimem_daemon.watcher import Observation, Watcher

DEADLINE_S = 10.0


def _inotify(root: Path) -> Watcher:
    from wikimem_daemon.inotify import InotifyWatcher  # noqa: PLC0415 - Linux only

    return InotifyWatcher(root)


MAKERS: dict[str, Callable[[Path], Watcher]] = {
    "inotify": _inotify,
    "native": native_watcher,
    "polling": lambda root: polling_watcher(root, poll_s=0.03, racy_ns=50_000_000),
    "fake": SnapshotWatcher,
}


@dataclass
class Bench:
    """A watched vault."""

    root: Path
    watcher: Watcher

    def enter_all(self) -> None:
        for folder, _, _ in os.walk(self.root):
            inside = os.path.relpath(folder, self.root)
            self.watcher.enter("" if inside == "." else inside)

    def covers(self, *paths: str) -> Observation:
        """Drain until every path was reported, itself or by a folder that holds it."""
        deadline = time.monotonic() + DEADLINE_S
        seen = Observation()
        while True:
            found = self.watcher.drain()
            seen = Observation(
                seen.paths + found.paths,
                seen.folders + found.folders,
                seen.overflow or found.overflow,
                seen.root_lost or found.root_lost,
            )
            missing = [path for path in paths if not _is_covered(path, seen)]
            if not missing:
                return seen
            assert not self.watcher.exact, f"{missing} not in {seen}"
            assert time.monotonic() < deadline, f"{missing} not in {seen}"
            time.sleep(0.005)

    def settle(self) -> None:
        """Let a late watcher tell about everything that is over."""
        quiet = 0
        while quiet < (1 if self.watcher.exact else 14):
            quiet = 0 if self.watcher.drain() else quiet + 1
            if not self.watcher.exact:
                time.sleep(0.01)


def _is_covered(path: str, seen: Observation) -> bool:
    folders = {path}
    while path:
        path = path.rpartition("/")[0]
        folders.add(path)
    return bool(folders & set(seen.folders)) or max(folders, key=len) in seen.paths or seen.overflow or seen.root_lost


@pytest.fixture(params=list(MAKERS))
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    if request.param == "inotify" and sys.platform != "linux":
        pytest.skip("inotify is Linux's")
    # watchfiles' own filter would drop everything below a folder of this name.
    root = tmp_path / ".venv" / "vault"
    for folder in ("wiki/sub", "diary"):
        (root / folder).mkdir(parents=True)
    (root / "wiki" / "old.md").write_text("## a\n\nold\n")
    (root / "wiki" / "sub" / "deep.md").write_text("## a\n\ndeep\n")
    made = Bench(root, MAKERS[request.param](root))
    made.watcher.start()
    made.enter_all()
    made.settle()
    yield made
    made.watcher.close()


def test_a_quiet_vault_says_nothing(bench: Bench) -> None:
    assert not bench.watcher.drain()


def test_reading_and_listing_say_nothing(bench: Bench) -> None:
    (bench.root / "wiki" / "old.md").read_bytes()
    list((bench.root / "wiki").iterdir())
    bench.settle()
    assert not bench.watcher.drain()


def test_every_way_to_save_a_note_is_seen(bench: Bench) -> None:
    for number, save in enumerate(SAVERS):
        for path in ("wiki/old.md", f"wiki/sub/new{number}.md"):
            save(bench.root / path, f"## a\n\n{save.__name__} {number}\n".encode())
            bench.covers(path)


def test_a_note_that_goes_is_seen(bench: Bench) -> None:
    (bench.root / "wiki" / "old.md").unlink()
    bench.covers("wiki/old.md")


def test_a_move_is_seen_at_both_ends(bench: Bench) -> None:
    (bench.root / "wiki" / "old.md").rename(bench.root / "wiki" / "sub" / "Old.md")
    bench.covers("wiki/old.md", "wiki/sub/Old.md")


def test_a_rename_of_case_only_is_seen_at_both_ends(bench: Bench) -> None:
    (bench.root / "wiki" / "old.md").rename(bench.root / "wiki" / "OLD.md")
    bench.covers("wiki/old.md", "wiki/OLD.md")


def test_a_new_folder_with_a_note_written_at_once_is_seen(bench: Bench) -> None:
    folder = bench.root / "wiki" / "n" / "m"
    folder.mkdir(parents=True)
    (folder / "new.md").write_text("## a\n\nnew\n")
    bench.covers("wiki/n/m/new.md")


def test_a_folder_is_seen_into_once_it_was_entered(bench: Bench) -> None:
    (bench.root / "wiki" / "n").mkdir()
    bench.covers("wiki/n")
    bench.watcher.enter("wiki/n")
    bench.settle()
    (bench.root / "wiki" / "n" / "later.md").write_text("## a\n\nlater\n")
    bench.covers("wiki/n/later.md")


def test_a_folder_that_is_moved_in_with_its_notes_is_seen(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "in.md").write_text("## a\n\nin\n")
    outside.rename(bench.root / "wiki" / "moved")
    bench.covers("wiki/moved/in.md")


def test_a_folder_that_is_renamed_is_seen_at_both_ends_and_then_inside(bench: Bench) -> None:
    (bench.root / "wiki" / "sub").rename(bench.root / "wiki" / "other")
    bench.covers("wiki/sub/deep.md", "wiki/other/deep.md")
    bench.watcher.enter("wiki/other")
    bench.settle()
    (bench.root / "wiki" / "other" / "deep.md").write_text("## a\n\nagain\n")
    seen = bench.covers("wiki/other/deep.md")
    assert not [path for path in seen.paths if path.startswith("wiki/sub")]


def test_a_folder_that_is_moved_out_is_seen_and_then_nobodys(bench: Bench, tmp_path: Path) -> None:
    (bench.root / "wiki" / "sub").rename(tmp_path / "gone")
    bench.covers("wiki/sub/deep.md")
    bench.settle()
    (tmp_path / "gone" / "deep.md").write_text("## a\n\nelsewhere\n")
    bench.settle()
    assert not bench.watcher.drain()


def test_a_folder_that_is_removed_and_made_again_is_seen_into(bench: Bench) -> None:
    shutil.rmtree(bench.root / "wiki" / "sub")
    (bench.root / "wiki" / "sub").mkdir()
    bench.covers("wiki/sub/deep.md")
    bench.watcher.enter("wiki/sub")
    bench.settle()
    (bench.root / "wiki" / "sub" / "again.md").write_text("## a\n\nagain\n")
    bench.covers("wiki/sub/again.md")


def test_a_root_that_goes_is_told(bench: Bench) -> None:
    shutil.rmtree(bench.root)
    seen = bench.covers("wiki/old.md")
    assert seen.root_lost or not bench.watcher.exact


def test_the_loop_is_woken(bench: Bench) -> None:
    async def run() -> None:
        woken = asyncio.Event()
        bench.watcher.attach(asyncio.get_running_loop(), woken.set)
        (bench.root / "wiki" / "old.md").write_text("## a\n\nnew\n")
        if isinstance(bench.watcher, SnapshotWatcher):
            bench.watcher.nudge()
        await asyncio.wait_for(woken.wait(), DEADLINE_S)
        bench.watcher.close()

    asyncio.run(run())


def test_a_root_that_is_not_there_cannot_be_watched(bench: Bench, tmp_path: Path) -> None:
    watcher = MAKERS["fake"](tmp_path / "none") if isinstance(bench.watcher, SnapshotWatcher) else None
    watcher = watcher or next(
        make(tmp_path / "none") for name, make in MAKERS.items() if type(make(tmp_path)) is type(bench.watcher)
    )
    with pytest.raises(FileNotFoundError):
        watcher.start()
    watcher.close()


def test_a_closed_watcher_is_silent_and_may_be_closed_again(bench: Bench) -> None:
    bench.watcher.close()
    (bench.root / "wiki" / "old.md").write_text("## a\n\nnew\n")
    assert not bench.watcher.drain()
    bench.watcher.close()
