"""What every `Files` keeps: one kit for the disk and for the fake."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.fake_files import FakeFiles
from wikimem.store.files import DiskFiles, Files, OutsideVault, Stale, WalkFault, bytes_hash

ODD_NAMES = ["a b.md", "语言.md", "new\nline.md", "caf\udce9.md", "emoji 🙂.md", "A.md", "a.md", "deep/er/x.md"]


@pytest.fixture(params=["disk", "fake"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    made: dict[str, Callable[[], Files]] = {"disk": lambda: DiskFiles(tmp_path), "fake": FakeFiles}
    return made[request.param]()


def test_what_is_written_is_read_with_the_stamp_that_the_write_gave(files: Files) -> None:
    stamp = files.write("wiki/a.md", b"one", based_on=None)
    read = files.read("wiki/a.md")
    assert (read.data, read.stamp, read.hash) == (b"one", stamp, bytes_hash(b"one"))
    assert files.stamp("wiki/a.md") == stamp
    assert stamp.size == 3


def test_a_missing_file_is_a_file_not_found_error(files: Files) -> None:
    with pytest.raises(FileNotFoundError):
        files.read("wiki/none.md")
    with pytest.raises(FileNotFoundError):
        files.stamp("wiki/none.md")


def test_a_write_takes_only_the_bytes_it_was_based_on(files: Files) -> None:
    files.write("a.md", b"one", based_on=None)
    files.write("a.md", b"two", based_on=bytes_hash(b"one"))
    for basis in (bytes_hash(b"one"), None):
        with pytest.raises(Stale):
            files.write("a.md", b"three", based_on=basis)
    with pytest.raises(Stale):
        files.write("b.md", b"three", based_on=bytes_hash(b"two"))
    assert files.read("a.md").data == b"two"
    assert [path for path, _ in files.walk()] == ["a.md"]


def test_a_removal_takes_only_the_bytes_it_was_based_on(files: Files) -> None:
    files.write("a.md", b"one", based_on=None)
    with pytest.raises(Stale):
        files.remove("a.md", based_on=bytes_hash(b"two"))
    files.remove("a.md", based_on=bytes_hash(b"one"))
    with pytest.raises(Stale):
        files.remove("a.md", based_on=bytes_hash(b"one"))
    with pytest.raises(FileNotFoundError):
        files.read("a.md")


def test_every_version_has_another_stamp(files: Files) -> None:
    stamps = [files.write("a.md", b"000", based_on=None)]
    for number in range(1, 20):
        before = bytes_hash(f"{number - 1:03}".encode())
        stamps.append(files.write("a.md", f"{number:03}".encode(), based_on=before))
    assert len(set(stamps)) == len(stamps)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_of_any_kind_come_back_as_they_were(files: Files, name: str) -> None:
    files.write(name, b"x", based_on=None)
    assert [path for path, _ in files.walk()] == [name]
    assert files.read(name).data == b"x"


def test_a_walk_is_in_the_order_of_paths_and_passes_over_dot_files(files: Files) -> None:
    for path in ("b.md", "a/z.md", "a.md", "a/b/c.md", "a/.hidden.md", ".obsidian/x.md", "a/picture.png"):
        files.write(path, b"x", based_on=None)
    paths = [path for path, _ in files.walk()]
    assert paths == sorted(paths) == ["a.md", "a/b/c.md", "a/z.md", "b.md"]
    assert [path for path, _ in files.walk("a")] == ["a/b/c.md", "a/z.md"]
    assert [path for path, _ in files.walk("a", suffix=".png")] == ["a/picture.png"]


def test_a_place_that_cannot_be_walked_is_never_an_empty_one(files: Files) -> None:
    faults: list[WalkFault] = []
    assert list(files.walk("nowhere", report=faults.append)) == []
    assert [(fault.path, fault.kind) for fault in faults] == [("nowhere", "unreadable")]
    with pytest.raises(FileNotFoundError):
        list(files.walk("nowhere"))


def test_no_path_leads_out(files: Files) -> None:
    with pytest.raises(OutsideVault):
        files.read("../outside.md")


def test_it_says_how_it_writes(files: Files) -> None:
    assert files.write_mode in ("lease", "basic")
