"""The journal on disk: torn tails, copies that a sync tool made, and one order with what was seen on disk."""

import os
from pathlib import Path

import pytest

from wikimem.errors import StorageError
from wikimem.pages.changes import Change
from wikimem.pages.journal import JournalEntry, render_line
from wikimem.store import changes as changes_table
from wikimem.store.changes import ChangeTable, FeedRow
from wikimem.store.journal import Journal
from wikimem.store.merged import in_one_order, merged_journal
from wikimem.store.state import State


def entry(minute: int, item: str = "x", detail: str | None = None) -> JournalEntry:
    return JournalEntry(f"2026-07-21T10:{minute:02}:00+00:00", "add", file="a", item=item, detail=detail)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def test_a_torn_last_line_is_sealed_never_joined(journal: Journal) -> None:
    journal.append(entry(1))
    with journal.path.open("ab") as file:
        file.write(b'{"ts": "2026-07-21T10:02:00+00:00", "acti')
    journal.append(entry(3))
    lines = journal.path.read_bytes().split(b"\n")
    assert lines == [
        render_line(entry(1))[:-1],
        b'{"ts": "2026-07-21T10:02:00+00:00", "acti',
        render_line(entry(3))[:-1],
        b"",
    ]
    entries, problems = journal.entries()
    assert entries == [entry(1), entry(3)]
    assert [(problem.kind, problem.line) for problem in problems] == [("bad-line", 2)]


def test_a_missing_journal_is_an_empty_one(journal: Journal) -> None:
    assert journal.entries() == ([], [])
    assert journal.tail(5) == []
    assert not journal.holds_line(b"x\n", 0)


def test_the_tail_of_a_long_journal_is_read_from_its_end(journal: Journal) -> None:
    entries = [entry(number % 60, f"item {number}", "x" * 500) for number in range(2_000)]
    journal.path.write_bytes(b"".join(map(render_line, entries)))
    for count in (0, 1, 7, 500, 1_999, 2_000, 5_000):
        assert journal.tail(count) == (entries[-count:] if count else [])


def test_a_line_is_looked_for_from_where_it_was_to_be_written(journal: Journal) -> None:
    line = render_line(entry(1))
    journal.append_line(line)
    size = journal.prepare()
    assert journal.holds_line(line, 0)
    assert not journal.holds_line(line, size)
    journal.append_line(line)
    assert journal.holds_line(line, size)
    assert journal.holds_line(line, 10_000)


def test_journals_from_sync_conflicts_are_read_as_part_of_the_log(journal: Journal) -> None:
    shared = [entry(1, "shared"), entry(2, "shared twice"), entry(2, "shared twice")]
    mine, theirs = entry(3, "mine"), entry(4, "theirs")
    last = entry(5, "last")
    journal.path.write_bytes(b"".join(map(render_line, [*shared, mine, last])))
    copy = journal.path.with_name("journal.sync-conflict-20260721-100400-ABCDEFG.jsonl")
    copy.write_bytes(b"".join(map(render_line, [*shared, theirs])))
    other = journal.path.with_name("journal (conflicted copy 2026-07-21).jsonl")
    other.write_bytes(b"".join(map(render_line, [*shared, theirs])))
    before = copy.read_bytes()
    assert journal.entries()[0] == [*shared, mine, theirs, last]
    assert journal.tail(2) == [theirs, last]
    journal.append(entry(6))
    assert copy.read_bytes() == before


@pytest.mark.parametrize("gone", [False, True], ids=["replaced", "removed"])
def test_a_line_is_added_again_when_a_sync_tool_replaced_the_file_under_it(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, *, gone: bool
) -> None:
    journal.append(entry(1))
    fsync, moved = os.fsync, list[int]()

    def fsync_beside_a_tool(descriptor: int) -> None:
        fsync(descriptor)
        if not moved:
            moved.append(descriptor)
            other = journal.path.with_name(".syncing")
            other.write_bytes(render_line(entry(2)))
            other.replace(journal.path)
            if gone:
                journal.path.unlink()

    monkeypatch.setattr(os, "fsync", fsync_beside_a_tool)
    journal.append(entry(3))
    assert journal.entries()[0] == ([] if gone else [entry(2)]) + [entry(3)]


def test_the_tail_of_a_long_journal_with_copies_is_read_from_their_ends(journal: Journal) -> None:
    lines = [render_line(entry(number % 60, f"i{number}")) for number in range(3000)]
    journal.path.write_bytes(b"".join(sorted(lines)))
    copy = journal.path.with_name("journal.sync-conflict-20260721-100000-ABCDEFG.jsonl")
    copy.write_bytes(journal.path.read_bytes()[len(lines[0]) * 2000 :] + render_line(entry(59, "theirs")))
    everything = journal.entries()[0]
    assert len(everything) == 3001
    assert journal.tail(50) == everything[-50:]
    assert journal.tail(5000) == everything


def test_a_line_is_known_again_after_its_end_was_turned(journal: Journal) -> None:
    size = journal.prepare()
    journal.append(entry(1))
    journal.append(entry(2))
    journal.path.write_bytes(journal.path.read_bytes().replace(b"\n", b"\r\n"))
    assert journal.holds_line(render_line(entry(1)), size)
    assert journal.entries()[0] == [entry(1), entry(2)]


def test_nothing_is_written_through_a_link_or_into_a_pipe(journal: Journal, tmp_path: Path) -> None:
    outside = tmp_path / "a file of the user's"
    outside.write_text("mine\n")
    journal.path.symlink_to(outside)
    with pytest.raises(StorageError, match="symbolic link"):
        journal.append(entry(1))
    assert outside.read_text() == "mine\n"
    journal.path.unlink()
    os.mkfifo(journal.path)
    with pytest.raises(StorageError, match="no plain file"):
        journal.append(entry(1))
    with pytest.raises(StorageError, match="no plain file"):
        journal.tail(1)
    with pytest.raises(StorageError, match="no plain file"):
        journal.entries()


def test_two_logs_come_in_one_order_and_each_keeps_its_own() -> None:
    own = [entry(1), entry(5, "clock went back to 3 after this"), entry(3), entry(9)]
    seen = [entry(2, "seen"), entry(4, "seen"), entry(7, "seen")]
    assert in_one_order(own, seen) == [own[0], seen[0], seen[1], own[1], own[2], seen[2], own[3]]
    assert in_one_order([entry(1)], [entry(1, "seen")]) == [entry(1), entry(1, "seen")]


def test_what_was_seen_on_disk_stands_between_what_was_written(tmp_path: Path) -> None:
    with State(tmp_path / "s", changes_table.SCHEMA) as state:
        rows = [
            Change("i1", "update", "a:x", None, "h", "2026-07-21T10:02:00+00:00", "disk"),
            Change("i1", "rename", "a:y", "a:x", "h", "2026-07-21T10:03:00+00:00", "disk"),
            Change("i2", "add", "2026-07-21:14:30", None, "h", "2026-07-21T10:04:00+00:00", "offline"),
            Change("i3", "add", "a:z", None, "h", "2026-07-21T10:05:00+00:00", "api"),
        ]
        ChangeTable(state).append(FeedRow(number, change) for number, change in enumerate(rows, 1))
        merged = merged_journal([entry(1), entry(5, "z")], state, 10)
        assert [(one.action, one.file, one.item, one.date, one.time, one.detail) for one in merged] == [
            ("add", "a", "x", None, None, None),
            ("update", "a", "x", None, None, "seen on disk"),
            ("rename", "a", "y", None, None, "seen on disk; was a:x"),
            ("add", None, None, "2026-07-21", "14:30", "changed while no daemon ran"),
            ("add", "a", "z", None, None, None),
        ]
        assert merged_journal([entry(1), entry(5, "z")], state, 2) == merged[-2:]


def test_a_state_without_a_change_feed_adds_nothing(tmp_path: Path) -> None:
    with State(tmp_path / "s") as state:
        assert merged_journal([entry(1)], state, 5) == [entry(1)]
