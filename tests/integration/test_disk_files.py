"""What a write to the disk keeps: mode, owner, attributes, hard links, symbolic links, other people's files."""

import os
import stat
from pathlib import Path

import pytest

from tests.fault.editors import Between, WithoutLeases
from wikimem.api.local import LocalClient
from wikimem.config import load
from wikimem.errors import StorageError, TryAgain
from wikimem.store.files import DiskFiles, OutsideVault, Stale, WalkFault, bytes_hash
from wikimem.store.stamps import stamp_of
from wikimem.store.vault import MemoryStore

OLD = b"old text\n"
NEW = b"new text, longer\n"


class Shelter:
    def __init__(self) -> None:
        self.kept: list[tuple[str, bytes]] = []
        self.waiting: set[tuple[str, str]] = set()

    def keep(self, path: str, data: bytes) -> bool:
        self.kept.append((path, data))
        return True

    def note_waiting(self, path: str, name: str) -> None:
        self.waiting.add((path, name))

    def note_gone(self, path: str, name: str) -> None:
        self.waiting.discard((path, name))


def write(files: DiskFiles, path: str = "a.md") -> None:
    files.write(path, NEW, based_on=bytes_hash(OLD))


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "a.md"
    path.write_bytes(OLD)
    return path


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664, 0o755])
def test_the_mode_stays(mode: int, note: Path) -> None:
    note.chmod(mode)
    write(DiskFiles(note.parent))
    assert stat.S_IMODE(note.stat().st_mode) == mode


def test_a_new_file_has_the_mode_that_the_umask_gives(tmp_path: Path) -> None:
    DiskFiles(tmp_path).write("new/a.md", NEW, based_on=None)
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "new/a.md").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_extended_attributes_stay(note: Path) -> None:
    try:
        os.setxattr(note, "user.mark", b"kept")
    except OSError:
        pytest.skip("this file system has no user attributes")
    write(DiskFiles(note.parent))
    assert os.getxattr(note, "user.mark") == b"kept"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_stays(note: Path) -> None:
    os.chown(note, 65534, 65534)
    write(DiskFiles(note.parent))
    assert (note.stat().st_uid, note.stat().st_gid) == (65534, 65534)


@pytest.mark.parametrize("kernel", [Between, lambda: WithoutLeases(exchange=True)], ids=["leases", "no leases"])
def test_every_name_of_a_file_has_the_new_text(kernel: type[Between], note: Path, tmp_path: Path) -> None:
    (tmp_path / "other name").hardlink_to(note)
    before = stamp_of(note.stat())
    write(DiskFiles(tmp_path, kernel=kernel()))
    assert (tmp_path / "other name").read_bytes() == NEW
    assert (note.stat().st_ino, note.stat().st_nlink) == (before.ino, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.md", "other name"]


def test_a_link_inside_the_vault_stays_and_its_target_is_written(note: Path, tmp_path: Path) -> None:
    (tmp_path / "wiki").mkdir()
    link = tmp_path / "wiki" / "l.md"
    link.symlink_to("../a.md")
    write(DiskFiles(tmp_path), "wiki/l.md")
    assert link.is_symlink()
    assert note.read_bytes() == NEW


@pytest.mark.parametrize("kind", ["file", "folder", "new"])
def test_nothing_is_written_through_a_link_that_leads_out(kind: str, tmp_path: Path) -> None:
    outside, vault = tmp_path / "outside", tmp_path / "vault"
    outside.mkdir()
    vault.mkdir()
    (outside / "a.md").write_bytes(OLD)
    (vault / "l").symlink_to(outside)
    (vault / "a.md").symlink_to(outside / "a.md")
    path, basis = {"file": ("a.md", bytes_hash(OLD)), "folder": ("l/a.md", bytes_hash(OLD)), "new": ("l/b.md", None)}[
        kind
    ]
    files = DiskFiles(vault)
    with pytest.raises(StorageError) as raised:
        files.write(path, NEW, based_on=basis)
    assert "leads out of the vault" in raised.value.message
    assert "symbolic link" in raised.value.hint
    assert [one.name for one in outside.iterdir()] == ["a.md"]
    assert (outside / "a.md").read_bytes() == OLD
    with pytest.raises(OutsideVault):
        files.read("a.md")


def test_a_note_that_became_a_folder_or_a_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    files = DiskFiles(tmp_path)
    for name in ("folder.md", "pipe.md"):
        with pytest.raises(OSError, match="not a regular file"):
            files.read(name)
        with pytest.raises(StorageError):
            files.write(name, NEW, based_on=bytes_hash(OLD))
    faults: list[WalkFault] = []
    assert list(files.walk(report=faults.append)) == []
    assert [(fault.path, fault.kind) for fault in faults] == [("pipe.md", "not-a-file")]


def test_a_program_that_keeps_the_file_open_for_writing_makes_the_write_wait_and_then_say_so(note: Path) -> None:
    kernel = Between()
    files = DiskFiles(note.parent, kernel=kernel)
    with note.open("r+b"), pytest.raises(TryAgain, match=r"keeps a\.md open for writing"):
        write(files)
    assert note.read_bytes() == OLD
    assert kernel.now >= 5
    assert [one.name for one in note.parent.iterdir()] == ["a.md"]
    write(files)
    assert note.read_bytes() == NEW


def test_a_reader_does_not_hinder_a_write(note: Path) -> None:
    with note.open("rb") as reader:
        write(DiskFiles(note.parent))
        assert reader.read() == OLD


def test_a_name_that_holds_a_line_end_makes_no_line_of_its_own_in_a_message(tmp_path: Path) -> None:
    (tmp_path / "two\nlines.md").mkdir()
    with pytest.raises(StorageError) as raised:
        DiskFiles(tmp_path).write("two\nlines.md", NEW, based_on=bytes_hash(OLD))
    assert raised.value.path == "two\\x0alines.md"
    assert "\n" not in raised.value.message


def test_a_very_long_name_is_written_too(tmp_path: Path) -> None:
    name = "x" * 252 + ".md"
    files = DiskFiles(tmp_path)
    files.write(name, OLD, based_on=None)
    files.write(name, NEW, based_on=bytes_hash(OLD))
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_probing_changes_nothing(note: Path) -> None:
    before = stamp_of(note.stat())
    files = DiskFiles(note.parent)
    files.probe("a.md")
    assert files.write_mode == "lease"
    assert stamp_of(note.stat()) == before
    without = DiskFiles(note.parent, kernel=WithoutLeases(exchange=True))
    without.probe("a.md")
    assert without.write_mode == "basic"


def test_the_basic_way_keeps_the_displaced_file_five_seconds_and_looks_again(note: Path, tmp_path: Path) -> None:
    shelter = Shelter()
    kernel = WithoutLeases(exchange=True)
    files = DiskFiles(tmp_path, kernel=kernel, shelter=shelter)
    with note.open("r+b") as slow_editor:  # it opened the file before our write, and writes after it
        write(files)
        assert files.write_mode == "basic"
        slow_editor.write(b"late")
    (left,) = (one.name for one in tmp_path.iterdir() if one.name != "a.md")
    assert shelter.waiting == {("a.md", left)}
    files.tidy()
    assert len(list(tmp_path.iterdir())) == 2
    kernel.now += 5
    files.tidy()
    assert shelter.kept == [("a.md", b"late" + OLD[4:])]
    assert shelter.waiting == set()
    assert [one.name for one in tmp_path.iterdir()] == ["a.md"]
    assert note.read_bytes() == NEW


def test_a_displaced_file_stays_when_its_bytes_cannot_be_kept(note: Path, tmp_path: Path) -> None:
    kernel = WithoutLeases(exchange=True)
    files = DiskFiles(tmp_path, kernel=kernel)
    with note.open("r+b") as slow_editor:
        write(files)
        slow_editor.write(b"late")
    kernel.now += 5
    files.tidy()
    (left,) = (one for one in tmp_path.iterdir() if one.name != "a.md")
    assert left.read_bytes() == b"late" + OLD[4:]
    assert left.name.startswith(".")
    assert not left.name.endswith(".md")


def test_links_in_a_walk_are_followed_once_and_faults_are_named(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / "wiki" / "sub").mkdir(parents=True)
    (vault / "shared").mkdir()
    for path in ("wiki/a.md", "wiki/sub/b.md", "shared/c.md", "../secret.md"):
        (vault / path).write_bytes(b"x")
    links = {
        "wiki/linked": "../shared",
        "wiki/loop": "..",
        "wiki/sub/self": ".",
        "wiki/out.md": "../../secret.md",
        "wiki/gone.md": "nothing.md",
        "wiki/alias.md": "a.md",
        "wiki/round.md": "round.md",
    }
    for link, target in links.items():
        (vault / link).symlink_to(target)
    faults: list[WalkFault] = []
    found = [path for path, _ in DiskFiles(vault).walk("wiki", report=faults.append)]
    assert found == ["wiki/a.md", "wiki/alias.md", "wiki/linked/c.md", "wiki/sub/b.md"]
    assert sorted((fault.path, fault.kind) for fault in faults) == [
        ("wiki/gone.md", "link-dangling"),
        ("wiki/loop", "link-loop"),
        ("wiki/out.md", "link-outside"),
        ("wiki/round.md", "link-loop"),
        ("wiki/sub/self", "link-loop"),
    ]


def test_a_note_that_links_lead_to_is_served_once(tmp_path: Path) -> None:
    (tmp_path / "wiki" / "sub").mkdir(parents=True)
    (tmp_path / "shared").mkdir()
    for path in ("wiki/z.md", "wiki/sub/b.md", "shared/c.md"):
        (tmp_path / path).write_bytes(b"## x\n\ntext\n")
    links = {
        "wiki/a.md": "z.md",
        "wiki/also": "sub",
        "wiki/one.md": "../shared/c.md",
        "wiki/two.md": "../shared/c.md",
        "elsewhere": "wiki",
    }
    for link, target in links.items():
        (tmp_path / link).symlink_to(target)
    assert MemoryStore(tmp_path).categories() == ["one", "sub/b", "z"]
    with LocalClient(load(str(tmp_path), env={"HOME": str(tmp_path)}, cwd=tmp_path)) as client:
        assert [one["name"] for one in client.categories()["categories"]] == ["one", "sub/b", "z"]


def test_two_folders_that_link_to_each_other_end(tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / one).mkdir()
        (tmp_path / one / f"{one}.md").write_bytes(b"x")
        (tmp_path / one / "link").symlink_to(f"../{other}")
    paths = [path for path, _ in DiskFiles(tmp_path).walk(report=lambda _: None)]
    assert paths[:2] == ["a/a.md", "a/link/b.md"]
    assert len(paths) <= 6


def test_a_vault_that_is_reached_through_a_link_is_the_same_vault(note: Path, tmp_path: Path) -> None:
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    write(DiskFiles(link))
    assert note.read_bytes() == NEW
    link.unlink()


def test_a_stale_write_leaves_inode_and_stamp(note: Path) -> None:
    before = stamp_of(note.stat())
    with pytest.raises(Stale):
        DiskFiles(note.parent).write("a.md", NEW, based_on=bytes_hash(b"another"))
    assert stamp_of(note.stat()) == before
