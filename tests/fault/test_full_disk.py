"""A file system of one megabyte that is really full."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fault.editors import LAYOUT
from wikimem.errors import StorageError
from wikimem.store.vault import MemoryStore

NOTE = b"# work\n\n## job\n\n" + b"old text\n" * 2_000


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root mounts a file system")
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("this system lets nobody mount a tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path) -> Path:
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4_096)
        except OSError:
            return filler


@pytest.mark.parametrize("links", [1, 2], ids=["replaced", "in place"])
@pytest.mark.parametrize("content", ["short", "a longer text " * 20_000], ids=["shorter", "longer"])
def test_a_full_vault_refuses_and_keeps_every_byte(content: str, links: int, small: Path, tmp_path: Path) -> None:
    (small / "wiki").mkdir()
    note = small / "wiki/work.md"
    note.write_bytes(NOTE)
    if links == 2:
        (small / "second name").hardlink_to(note)
    store = MemoryStore(small, layout=LAYOUT, state_dir=tmp_path / "state" / "v")
    store.add("work", "first", "makes the journal")
    before = note.read_bytes()
    filler = fill(small)
    for category in ("work", "fresh"):
        with pytest.raises(StorageError) as raised:
            store.add(category, "job", content)
        assert raised.value.path == f"wiki/{category}.md"
        assert raised.value.step
        assert "No space left on device" in raised.value.message
        assert "free some space" in raised.value.hint
    assert note.read_bytes() == before
    assert sorted(path.name for path in (small / "wiki").iterdir()) == ["work.md"]
    assert store.versions("work:job").versions == ()
    filler.unlink()
    store.add("work", "job", "short")
    assert b"short" in note.read_bytes()
    store.close()


def test_a_full_state_directory_refuses_and_keeps_every_byte(small: Path, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / "wiki").mkdir(parents=True)
    (vault / "wiki/work.md").write_bytes(NOTE)
    store = MemoryStore(vault, layout=LAYOUT, state_dir=small / "state" / "v")
    filler = fill(small)
    with pytest.raises(StorageError) as raised:
        store.add("work", "job", "new")
    assert str(small) in raised.value.path
    assert (vault / "wiki/work.md").read_bytes() == NOTE
    filler.unlink()
    store.add("work", "job", "new")
    assert len(store.versions("work:job").versions) == 1
    store.close()
