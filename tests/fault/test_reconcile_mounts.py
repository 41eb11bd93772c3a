"""Mounts that come and go below a vault, and file systems whose stamps are coarse."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reconciling import codes, living, new_vault, two_notes
from tests.savers import Gardener

needs_mount = pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting needs root, on Linux")


def _mount(kind: str, place: Path) -> None:
    subprocess.run(["mount", "-t", kind, "none", place], check=True, timeout=20)


def _unmount(place: Path) -> None:
    subprocess.run(["umount", "-l", place], check=False, timeout=20, capture_output=True)


def _bind(source: Path, place: Path) -> None:
    subprocess.run(["mount", "--bind", source, place], check=True, timeout=20)


@pytest.fixture
def ram(tmp_path: Path) -> Iterator[Path]:
    """A ramfs, which stamps as every file system did before kernel 6.13: a second write may leave no trace in them."""
    place = tmp_path / "ram"
    place.mkdir()
    _mount("ramfs", place)
    yield place
    _unmount(place)


@needs_mount
@pytest.mark.parametrize("place", ["wiki", "wiki/sub"])
def test_a_place_that_is_unmounted_keeps_its_answers(tmp_path: Path, place: str) -> None:
    async def run() -> None:
        root = new_vault(tmp_path)
        (root / place).mkdir(parents=True, exist_ok=True)
        _mount("tmpfs", root / place)
        try:
            async with living(root, tmp_path / "state.db") as life:
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

    asyncio.run(run())


@needs_mount
@pytest.mark.parametrize("mode", ["inotify", "polling"])
def test_random_edits_on_coarse_stamps_are_never_missed(ram: Path, tmp_path: Path, mode: str) -> None:
    async def run() -> None:
        async with living(new_vault(ram), tmp_path / "state.db", mode=mode) as life:
            gardener = Gardener(life.root, seed=99, notes=5)
            for number in range(250):
                what = gardener.step()
                assert await life.texts() == life.on_disk(), (number, what)

    asyncio.run(run())


@needs_mount
def test_a_rewrite_of_the_same_size_in_the_same_tick_is_seen_by_polling(ram: Path, tmp_path: Path) -> None:
    async def run() -> None:
        async with living(new_vault(ram), tmp_path / "state.db", mode="polling") as life:
            for number in range(100):
                life.write("wiki/a.md", f"## sea\n\ntext {number:03d}\n")
                assert await life.texts() == {"a:sea": f"text {number:03d}"}

    asyncio.run(run())


@needs_mount
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


@needs_mount
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
