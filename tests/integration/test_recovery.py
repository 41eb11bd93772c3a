"""What a start makes of files that a crash, an old version or a lost state left beside the notes."""

import os
from pathlib import Path

import pytest

from tests.fault.editors import LAYOUT, WithoutLeases
from wikimem.store.inplace import write_in_place
from wikimem.store.kernel import Kernel
from wikimem.store.leftovers import belongs_to, leftover_path, read_leftover
from wikimem.store.vault import MemoryStore

NOTE = b"# work\n\n## job\n\nold\n"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "vault/wiki").mkdir(parents=True)
    (tmp_path / "vault/wiki/work.md").write_bytes(NOTE)
    return tmp_path / "vault"


def open_store(vault: Path, kernel: Kernel | None = None) -> MemoryStore:
    return MemoryStore(vault, layout=LAYOUT, state_dir=vault.parent / "state" / "v", kernel=kernel)


def leave(vault: Path, kind: str, data: bytes, name: str = "wiki/work.md") -> Path:
    path = Path(leftover_path(str(vault / name), kind))  # type: ignore[arg-type]
    path.write_bytes(data)
    return path


def names(vault: Path) -> list[str]:
    return sorted(path.name for path in (vault / "wiki").iterdir())


@pytest.mark.parametrize("kind", ["new", "old"])
def test_a_copy_of_what_is_there_is_cleared_away(kind: str, vault: Path) -> None:
    leave(vault, kind, NOTE)
    with open_store(vault) as store:
        assert len(store.recover().cleared) == 1
        assert names(vault) == ["work.md"]
        assert store.versions("work:job").versions == ()


@pytest.mark.parametrize("kind", ["new", "old"])
def test_a_text_that_nobody_knows_goes_to_the_history_before_its_name_goes(kind: str, vault: Path) -> None:
    leave(vault, kind, b"---\nmine: yes\n---\n# work\n\n## job\n\na person's last save\n\n## extra\n\nmore\n")
    with open_store(vault) as store:
        store.recover()
        assert names(vault) == ["work.md"]
        assert (vault / "wiki/work.md").read_bytes() == NOTE
        assert [one.content for one in store.versions("work:job").versions] == ["a person's last save"]
        assert [one.content for one in store.versions("work:extra").versions] == ["more"]
        (whole,) = store.history.versions("wiki/work.md:(whole file)").versions
        assert whole.content.startswith("---\nmine: yes")


def test_a_displaced_file_without_a_note_is_put_back(vault: Path) -> None:
    leave(vault, "old", NOTE)
    (vault / "wiki/work.md").unlink()
    with open_store(vault) as store:
        store.recover()
        assert names(vault) == ["work.md"]
        assert (vault / "wiki/work.md").read_bytes() == NOTE


def test_half_a_new_file_does_not_become_a_note(vault: Path) -> None:
    leave(vault, "new", b"# fresh\n\n## half a na", "wiki/fresh.md")
    with open_store(vault) as store:
        store.recover()
        assert names(vault) == ["work.md"]
        (whole,) = store.history.versions("wiki/fresh.md:(whole file)").versions
        assert whole.content == "# fresh\n\n## half a na"


def test_a_file_that_was_being_filled_is_nobodys_text(vault: Path) -> None:
    leave(vault, "tmp", b"## job\n\nhalf of a te")
    leave(vault, "tmp", b"## first\n\nhalf", "wiki/fresh.md")
    with open_store(vault) as store:
        store.recover()
        assert names(vault) == ["work.md"]
        assert store.versions("work:job").versions == ()
        assert store.history.size() == 0


def test_bytes_that_are_not_utf8_come_back_whole(vault: Path) -> None:
    data = b"## job\n\ncaf\xe9\n"
    leave(vault, "old", data)
    with open_store(vault) as store:
        store.recover()
        (whole,) = store.history.versions("wiki/work.md:(whole file)").versions
        assert whole.raw == data


def test_a_leftover_that_an_editor_still_writes_to_waits(vault: Path) -> None:
    path = leave(vault, "old", b"## job\n\nbeing wri")
    with open_store(vault) as store, path.open("ab") as editor:
        assert list(store.recover().waiting) == [str(path)]
        assert path.exists()
        editor.write(b"tten\n")
        editor.close()
        store.recover()
        assert names(vault) == ["work.md"]
        assert [one.content for one in store.versions("work:job").versions] == ["being written"]


def test_without_leases_a_young_leftover_waits_five_seconds(vault: Path) -> None:
    path = leave(vault, "old", b"## job\n\nwhose\n")
    with open_store(vault, WithoutLeases(exchange=True)) as store:
        assert list(store.recover().waiting) == [str(path)]
    with open_store(vault, AgedFiles()) as store:
        store.recover()
        assert names(vault) == ["work.md"]


class AgedFiles(WithoutLeases):
    """As if every file had been displaced a minute ago."""

    def __init__(self) -> None:
        super().__init__(exchange=True)

    def fstat(self, descriptor: int) -> os.stat_result:
        found = list(super().fstat(descriptor))
        found[9] -= 60
        return os.stat_result(found)


def test_other_programs_dot_files_are_left_alone(vault: Path) -> None:
    for name in (".work.md.swp", ".work.md.wikimem", ".wikimem-new-12345678", ".work.md.wikimem-new-xyz"):
        (vault / "wiki" / name).write_text("theirs")
    with open_store(vault) as store:
        store.recover()
    assert len(names(vault)) == 5


def test_a_torn_file_is_set_right_under_its_inode(vault: Path) -> None:
    note = vault / "wiki/work.md"
    (vault / "second name").hardlink_to(note)
    new = NOTE.replace(b"old", b"new " * 400)

    class Dying(Kernel):
        def truncate(self, descriptor: int, size: int) -> None:  # noqa: ARG002 - as in Kernel
            raise KeyboardInterrupt

        def unlink(self, path: str) -> None: ...

        def write(self, descriptor: int, data: bytes) -> None:
            super().write(descriptor, data[:512] if data == new else data)
            if data == new:
                raise KeyboardInterrupt

    descriptor = os.open(note, os.O_RDWR)
    undo = leftover_path(str(note), "undo")
    with pytest.raises(KeyboardInterrupt):
        write_in_place(Dying(), "wiki/work.md", descriptor, undo, new)
    os.close(descriptor)
    assert note.read_bytes() not in (NOTE, new)
    with open_store(vault) as store:
        store.recover()
        assert note.read_bytes() == NOTE
        assert note.samefile(vault / "second name")
        assert names(vault) == ["work.md"]


def test_an_undo_file_does_not_undo_what_a_person_wrote_since(vault: Path) -> None:
    head = b'{"before": 20, "after": 20}\n'
    before = NOTE[:20].ljust(20, b".")
    leave(vault, "undo", head + before + b"x" * 20)
    (vault / "wiki/work.md").write_bytes(b"## job\n\na person's\n")
    leave(vault, "undo", b'{"before": 20, "aft')
    with open_store(vault) as store:
        store.recover()
        assert (vault / "wiki/work.md").read_bytes() == b"## job\n\na person's\n"
        assert names(vault) == ["work.md"]
        (whole,) = store.history.versions("wiki/work.md:(whole file)").versions
        assert whole.content.encode() == before


def test_after_the_state_was_deleted_the_first_write_still_finds_leftovers(vault: Path) -> None:
    leave(vault, "old", b"## other\n\nlost?\n", "wiki/other.md")
    with open_store(vault) as store:
        store.add("work", "job", "new")
    assert names(vault) == ["other.md", "work.md"]


def test_what_another_process_was_killed_over_is_settled_by_the_next_write_of_one_that_lives_on(vault: Path) -> None:
    with open_store(vault) as store:
        store.add("work", "job", "new")
        (lock,) = (vault.parent / "state/locks").iterdir()
        lock.write_text("12345\n")  # the holder, who did not take it out again
        leave(vault, "old", b"## other\n\nlost?\n", "wiki/other.md")
        store.add("elsewhere", "first", "x")
        assert names(vault) == ["elsewhere.md", "other.md", "work.md"]
        assert lock.read_text() == ""


@pytest.mark.parametrize("name", ["a.md", "with space.md", "语言.md", "x" * 199, "x" * 200, "语" * 80])
@pytest.mark.parametrize("kind", ["tmp", "new", "old", "undo"])
def test_a_leftovers_name_says_whose_it_is(name: str, kind: str) -> None:
    folder, _, made = leftover_path(f"/vault/wiki/{name}", kind).rpartition("/")  # type: ignore[arg-type]
    assert belongs_to(made, name)
    assert not belongs_to(made, "y.md")
    found = read_leftover(folder, made)
    assert found is not None
    assert found.kind == kind
    assert found.target == (name if len(name.encode()) < 200 else None)
    assert len(made.encode(errors="surrogateescape")) <= 255
    assert not made.endswith(".md")
    assert made.startswith(".")


def test_a_displaced_file_of_a_process_that_ended_is_found_by_the_next_write_without_a_search(vault: Path) -> None:
    with open_store(vault, WithoutLeases(exchange=True)) as store:
        store.add("work", "job", "new")
    (left,) = (one for one in (vault / "wiki").iterdir() if one.name != "work.md")
    left.write_bytes(b"## job\n\nan editor's late save\n")
    with open_store(vault, AgedFiles()) as store:
        store.add("elsewhere", "first", "x")
        assert not left.exists()
        assert [one.content for one in store.versions("work:job").versions] == ["an editor's late save", "old"]


class OtherNumbers(WithoutLeases):
    """As overlayfs, where a file that was opened before it was copied up has another number than its name."""

    lying = False

    def fstat(self, descriptor: int) -> os.stat_result:
        found = super().fstat(descriptor)
        return os.stat_result([found[0], found[1] + self.lying, *found[2:]])


def test_a_displaced_file_that_cannot_be_recognised_is_left_to_the_next_process(vault: Path) -> None:
    kernel = OtherNumbers(exchange=True)
    with open_store(vault, kernel) as store:
        store.add("work", "job", "new")
        kernel.lying, kernel.now = True, kernel.now + 60
        store.tidy()
        assert len(names(vault)) == 2
    with open_store(vault, AgedFiles()) as store:
        store.add("elsewhere", "first", "x")
    assert names(vault) == ["elsewhere.md", "work.md"]
