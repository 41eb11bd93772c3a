from wikimem.store.manifest import FileEntry, GoneRow
from wikimem.store.stamps import Stamp
from wikimem_daemon.unsaved import Renamed, Unsaved

STAMP = Stamp(1, 2, 3, 4, 5)


def entry(path: str, digest: bytes = b"h") -> FileEntry:
    return FileEntry(path, STAMP, settled=True, hash=digest, ids=())


def test_nothing_is_nothing() -> None:
    assert not Unsaved()


def test_a_file_that_was_put_and_dropped_is_dropped() -> None:
    unsaved = Unsaved()
    unsaved.put(entry("a"), b"x")
    unsaved.drop("a")
    assert (unsaved.files, unsaved.dropped) == ({}, {"a"})
    unsaved.put(entry("a"), b"y")
    assert unsaved.dropped == set()


def test_a_new_stamp_keeps_the_bytes_that_wait() -> None:
    unsaved = Unsaved()
    unsaved.put(entry("a"), b"x")
    unsaved.restamp(entry("a", b"h2"))
    assert unsaved.files["a"] == (entry("a", b"h2"), b"x")


def test_a_batch_that_failed_goes_before_what_came_since() -> None:
    older, newer = Unsaved(), Unsaved()
    older.put(entry("a"), b"x")
    older.put(entry("b"), b"x")
    older.went(GoneRow("1", "c", b"", "{}"))
    older.history.append(Renamed("x", "y"))
    newer.drop("a")
    newer.restamp(entry("b", b"h2"))
    newer.came_back("1")
    newer.history.append(Renamed("y", "z"))
    joined = newer.behind(older)
    assert joined.dropped == {"a"}
    assert joined.files == {"b": (entry("b", b"h2"), b"x")}
    assert (joined.gone, joined.back) == ({}, {"1"})
    assert joined.history == [Renamed("x", "y"), Renamed("y", "z")]
