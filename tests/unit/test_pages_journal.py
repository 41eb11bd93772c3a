"""Journal lines: the seed's, to the byte, and what is made of broken ones."""

from wikimem.pages.journal import JournalEntry, read_lines, render_line

# `seeds/001`, "journal.jsonl".
SEED = (
    b'{"ts": "2026-07-10T03:00:00+00:00", "action": "add", "file": "preferences", "item": "likes-the-sea", '
    b'"owner": "user:xnne", "source_conv": "conv_20260710"}\n'
    b'{"ts": "2026-07-10T03:05:12+00:00", "action": "update", "file": "preferences", "item": "likes-the-sea", '
    b'"owner": "user:xnne"}\n'
    b'{"ts": "2026-07-21T06:30:05+00:00", "action": "diary", "date": "2026-07-21", "time": "14:30", '
    b'"owner": "user:xnne", "source_conv": "conv_20260721"}\n'
    b'{"ts": "2026-07-10T04:11:40+00:00", "action": "remove", "file": "daily_life", "item": "beach-trip-plan"}\n'
)


def test_the_seeds_lines_read_and_write_back() -> None:
    entries, problems = read_lines(SEED)
    assert not problems
    assert [one.action for one in entries] == ["add", "update", "diary", "remove"]
    assert b"".join(map(render_line, entries)) == SEED


def test_other_scripts_stand_raw_and_no_text_breaks_a_line() -> None:
    line = render_line(JournalEntry("t", "add", "海", "a\nb\u2028c\ud800"))
    assert "海".encode() in line
    assert line.count(b"\n") == 1
    assert read_lines(line)[0][0].item == "a\nb\u2028c\ufffd"


def test_a_torn_last_line_is_told_from_a_bad_one() -> None:
    entries, problems = read_lines(b'nonsense\n{"ts": "t", "action": "add"}\n[1]\n\n{"ts": "t", "acti')
    assert len(entries) == 1
    assert [(one.kind, one.line) for one in problems] == [("bad-line", 1), ("bad-line", 3), ("torn-line", 5)]


def test_unknown_fields_are_ignored_and_wrong_types_are_bad() -> None:
    entries, problems = read_lines(b'{"ts": "t", "action": "x", "more": 1}\n{"ts": 1, "action": "x"}\n{"ts": "t"}\n')
    assert [one.action for one in entries] == ["x"]
    assert [one.line for one in problems] == [2, 3]


def test_a_line_without_its_end_counts_when_it_is_whole() -> None:
    entries, problems = read_lines(b'{"ts": "t", "action": "add"}')
    assert len(entries) == 1
    assert not problems
