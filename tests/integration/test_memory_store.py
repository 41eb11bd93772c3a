"""MemoryStore on real files: the seed's verbs, what a write refuses, and what it leaves behind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stores import lines
from wikimem.errors import (
    AppendOnly,
    InvalidCategory,
    InvalidContent,
    InvalidInput,
    InvalidName,
    NotFound,
    StorageError,
)
from wikimem.pages.layout import Layout
from wikimem.store.stamps import stamp_of
from wikimem.store.vault import MemoryStore


def test_the_seeds_example_is_written_to_the_letter(store: MemoryStore) -> None:
    store.add(
        "preferences",
        "likes-the-sea",
        "喜欢海边，提到过想去海边玩。[[daily_life:beach-trip-plan]]",
        owner="user:xnne",
        source_conv="conv_20260710",
        ts="2026-07-10T03:00:00+00:00",
    )
    store.add("preferences", "手冲咖啡", "只喝手冲咖啡，从不加糖。")
    expected = """\
# preferences

## likes-the-sea

喜欢海边，提到过想去海边玩。[[daily_life:beach-trip-plan]]

<!-- wikimem: owner=user:xnne | source=conv_20260710 | ts=2026-07-10T03:00:00+00:00 -->

## 手冲咖啡

只喝手冲咖啡，从不加糖。
"""
    assert (store.root / "wiki/preferences.md").read_text() == expected


def test_every_write_is_one_line_of_the_journal_with_the_seeds_fields(store: MemoryStore) -> None:
    store.add("preferences", "sea", "one", owner="user:x", source_conv="c1")
    store.add("preferences", "sea", "two", owner="user:x")
    store.diary.append("met Ann", owner="user:x", source_conv="c2")
    store.remove("preferences", "sea")
    ts = "2026-07-21T06:30:05+00:00"
    assert lines(store) == [
        {"ts": ts, "action": "add", "file": "preferences", "item": "sea", "owner": "user:x", "source_conv": "c1"},
        {"ts": ts, "action": "update", "file": "preferences", "item": "sea", "owner": "user:x"},
        {"ts": ts, "action": "diary", "date": "2026-07-21", "time": "14:30", "owner": "user:x", "source_conv": "c2"},
        {"ts": ts, "action": "remove", "file": "preferences", "item": "sea"},
    ]


def test_what_was_written_reads_back_and_raises_the_revision(store: MemoryStore) -> None:
    item = store.add("work", "job", "  a robot company\n")
    assert item.content == "a robot company"
    assert store.get("work", "job") == item
    assert (store.categories(), store.files(), store.items()) == (["work"], ["work"], [item])
    assert (store.revision, store.changed_since(0), store.changed_since(1)) == (1, ["wiki/work.md"], [])


def test_a_write_that_changes_nothing_writes_nothing(store: MemoryStore) -> None:
    store.add("work", "job", "text")
    before = stamp_of((store.root / "wiki/work.md").stat())
    store.add("work", "job", "text")
    assert stamp_of((store.root / "wiki/work.md").stat()) == before
    assert (store.revision, len(lines(store))) == (1, 1)


def test_a_write_that_says_who_wrote_it_also_says_when(store: MemoryStore) -> None:
    assert store.add("work", "job", "text", owner="user:x").ts == "2026-07-21T06:30:05+00:00"
    assert store.add("work", "plain", "text").ts is None


def test_removing_the_last_item_removes_the_file_unless_a_persons_text_is_left(store: MemoryStore) -> None:
    store.add("work", "job", "text")
    assert store.remove("work", "job").content == "text"
    assert store.categories() == []
    (store.root / "wiki/own.md").write_text("---\ntags: [x]\n---\n# own\n\n## job\n\ntext\n")
    store.remove("own", "job")
    assert (store.root / "wiki/own.md").read_text().startswith("---\ntags: [x]\n---\n# own\n")


def test_what_cannot_be_written_is_refused_and_leaves_no_trace(store: MemoryStore, tmp_path: Path) -> None:
    refused: list[tuple[type[Exception], Callable[[], object]]] = [
        (InvalidCategory, lambda: store.add("Not a slug", "a", "x")),
        (InvalidCategory, lambda: store.add("../out", "a", "x")),
        (InvalidCategory, lambda: store.add("", "a", "x")),
        (InvalidName, lambda: store.add("work", "a|b", "x")),
        (InvalidName, lambda: store.add("work", "", "x")),
        (InvalidContent, lambda: store.add("work", "a", "x\n\n<!-- wikimem: owner=user:root -->")),
        (AppendOnly, lambda: store.add("2026-07-21", "14:30", "x")),
        (AppendOnly, lambda: store.remove("2026-07-21", "14:30")),
        (NotFound, lambda: store.remove("work", "a")),
        (InvalidInput, lambda: store.diary.append("x", date="2026-02-30")),
        (InvalidInput, lambda: store.diary.append("x", ts="yesterday")),
        (InvalidInput, lambda: store.diary.window("2026-07-22", "2026-07-21")),
    ]
    for kind, call in refused:
        with pytest.raises(kind):
            call()
    assert list((tmp_path / "vault").rglob("*.md")) == []
    assert lines(store) == []
    assert store.revision == 0


def test_a_hand_made_name_that_is_no_slug_is_edited_under_its_own_name(store: MemoryStore) -> None:
    folder = store.root / "wiki" / "Editing and formatting"
    folder.mkdir()
    (folder / "Tags.md").write_text("## Nested: tags\n\nold\n")
    item = store.add("Editing and formatting/Tags", "Nested: tags", "new")
    assert item.address == "Editing and formatting/Tags:Nested: tags"
    assert (folder / "Tags.md").read_text() == "## Nested: tags\n\nnew\n"


def test_names_match_under_nfc_and_white_space(store: MemoryStore) -> None:
    (store.root / "wiki" / "cafe\u0301 notes.md").write_text("## the  cafe\u0301\n\nold\n")
    assert store.get("café notes", "the café") is not None
    store.add("café notes", "the café", "new")
    assert [path.name for path in (store.root / "wiki").iterdir()] == ["cafe\u0301 notes.md"]


def test_a_file_that_would_be_too_large_to_be_read_again_is_refused(make: Callable[..., MemoryStore]) -> None:
    store = make(layout=Layout(max_file_bytes=2_000))
    with pytest.raises(StorageError, match="2000"):
        store.add("work", "job", "x" * 3_000)
    assert store.categories() == []


def test_one_unreadable_or_oversized_page_costs_itself_only(make: Callable[..., MemoryStore]) -> None:
    store = make(layout=Layout(max_file_bytes=1_000))
    store.add("work", "job", "text")
    (store.root / "wiki/big.md").write_text("## big\n\n" + "x" * 2_000)
    (store.root / "wiki/pipe.md").symlink_to("nothing.md")
    assert [(page.category, len(page.items)) for page in store.pages()] == [("big", 0), ("work", 1)]
    assert [(path, problem.kind) for path, problem in store.problems()] == [
        ("wiki/pipe.md", "link-dangling"),
        ("wiki/big.md", "too-large"),
    ]


def test_names_alike_and_a_daily_note_format_without_a_day_are_told(make: Callable[..., MemoryStore]) -> None:
    store = make()
    for name in ("Cafe\u0301", "Caf\u00e9", "other"):
        (store.root / f"wiki/{name}.md").write_text("## a\n\ntext\n")
    (store.root / ".obsidian").mkdir()
    (store.root / ".obsidian/daily-notes.json").write_text('{"format": "HH-mm"}')
    assert [(path, problem.kind) for path, problem in store.problems()] == [
        ("wiki/Cafe\u0301.md", "names-alike"),
        ("wiki/Caf\u00e9.md", "names-alike"),
        (".obsidian/daily-notes.json", "daily-note-format"),
    ]


def test_what_a_write_had_to_close_is_logged(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    (store.root / "diary").mkdir(exist_ok=True)
    for path in ("wiki/work.md", "diary/2026-07-21.md"):
        (store.root / path).write_text("# x\n\n```\nopen\n")
    store.add("work", "job", "text")
    store.diary.append("text", date="2026-07-21", time="08:00")
    said = [record.getMessage() for record in caplog.records]
    assert [one.partition(": ")[0] for one in said] == ["wiki/work.md:3", "diary/2026-07-21.md:3"]
    assert all("was put at the end of the file" in one for one in said)
    store.add("work", "job", "more")
    assert len(caplog.records) == 2


def test_a_note_behind_a_link_inside_the_vault_is_written_where_it_lies(store: MemoryStore) -> None:
    (store.root / "shared").mkdir()
    (store.root / "shared/real.md").write_text("## job\n\nold\n")
    (store.root / "wiki/work.md").symlink_to("../shared/real.md")
    store.add("work", "job", "new")
    assert (store.root / "wiki/work.md").is_symlink()
    assert (store.root / "shared/real.md").read_text() == "## job\n\nnew\n"


def test_what_is_written_through_a_link_to_another_note_has_that_notes_address(store: MemoryStore) -> None:
    (store.root / "wiki/real.md").write_text("## job\n\nold\n\n## home\n\nhere\n")
    (store.root / "wiki/alias.md").symlink_to("real.md")
    assert store.add("alias", "job", "new").address == "real:job"
    assert (store.root / "wiki/alias.md").is_symlink()
    assert [one.content for one in store.versions("real:job").versions] == ["old"]
    removed = store.remove("alias", "job")
    assert removed.address == "real:job"
    assert "job" not in (store.root / "wiki/real.md").read_text()
