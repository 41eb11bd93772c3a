from pathlib import Path

from wikimem.store.files import DiskFiles, bytes_hash
from wikimem_daemon.ownwrites import REMOVED, AnnouncingFiles, OwnWrites


def test_our_bytes_are_known_once() -> None:
    own = OwnWrites()
    own.expect("a.md", "h1")
    assert own.claim("a.md", "h1")
    assert not own.claim("a.md", "h1")


def test_other_bytes_in_the_same_file_are_not_ours_however_soon_they_come() -> None:
    own = OwnWrites()
    own.expect("a.md", "h1")
    assert not own.claim("a.md", "h2")
    assert own.claim("a.md", "h1")


def test_a_second_write_of_ours_ends_the_first() -> None:
    own = OwnWrites()
    own.expect("a.md", "h1")
    own.expect("a.md", "h2")
    assert own.claim("a.md", "h2")
    assert not own.claim("a.md", "h1")


def test_what_is_remembered_is_bounded() -> None:
    own = OwnWrites()
    for number in range(20_001):
        own.expect(f"{number}.md", "h")
    assert not own.claim("0.md", "h")
    assert own.claim("20000.md", "h")


def test_a_write_is_announced_before_it_is_done(tmp_path: Path) -> None:
    own = OwnWrites()
    files = AnnouncingFiles(DiskFiles(tmp_path), own)
    (tmp_path / "a.md").write_bytes(b"old")
    files.write("a.md", b"new", based_on=bytes_hash(b"old"))
    assert own.claim("a.md", bytes_hash(b"new"))
    files.remove("a.md", based_on=bytes_hash(b"new"))
    assert own.claim("a.md", REMOVED)
    assert not (tmp_path / "a.md").exists()


def test_the_step_is_ours_when_our_writes_lead_from_what_was_known() -> None:
    own = OwnWrites()
    own.expect("a.md", "h1", "h0")
    own.expect("a.md", "h2", "h1")
    assert own.claim("a.md", "h2", "h0")
    own.expect("a.md", "h3", "h2")
    own.expect("a.md", REMOVED, "h3")
    own.expect("a.md", "h4", REMOVED)
    assert own.claim("a.md", "h4", "h2")


def test_the_step_is_not_ours_when_somebody_saved_before_our_write() -> None:
    own = OwnWrites()
    own.expect("a.md", "h1", "h0")
    own.expect("a.md", "h2", "an editor's")
    assert not own.claim("a.md", "h2", "h0")
    own.expect("a.md", REMOVED, "an editor's")
    assert not own.claim("a.md", REMOVED, "h2")


def test_a_write_that_was_tried_twice_is_ours() -> None:
    own = OwnWrites()
    own.expect("a.md", "h1", "h0")
    own.expect("a.md", "h2", "h0")
    assert own.claim("a.md", "h2", "h0")
