"""MemoryStore on real files: the seed's verbs, what a write refuses, and what it leaves behind."""

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests.fault.editors import Between, WithoutLeases
from wikimem.config_tables import HistorySettings
from wikimem.errors import (
    AppendOnly,
    Conflict,
    InvalidCategory,
    InvalidContent,
    InvalidInput,
    InvalidName,
    NotFound,
    StorageError,
    VaultError,
)
from wikimem.pages.items import content_hash
from wikimem.pages.layout import Layout
from wikimem.store.files import DiskFiles, Files, stamp_of
from wikimem.store.vault import MemoryStore

NOW = datetime(2026, 7, 21, 6, 30, 5, tzinfo=UTC)
SHANGHAI = timezone(timedelta(hours=8))


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(tmp_path: Path, clock: Clock) -> Callable[..., MemoryStore]:
    def make_store(**options: object) -> MemoryStore:
        (tmp_path / "vault" / "wiki").mkdir(parents=True, exist_ok=True)
        settings: dict[str, object] = {
            "layout": Layout(),
            "state_dir": tmp_path / "state" / "v",
            "clock": clock,
            "timezone": lambda: SHANGHAI,
        }
        return MemoryStore(tmp_path / "vault", **(settings | options))  # type: ignore[arg-type]

    return make_store


@pytest.fixture
def store(make: Callable[..., MemoryStore]) -> MemoryStore:
    return make()


def lines(store: MemoryStore) -> list[dict[str, str]]:
    assert store.journal is not None
    path = store.journal.path
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


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


def test_the_history_of_a_name_is_found_however_it_is_spelled(store: MemoryStore) -> None:
    (store.root / "wiki" / "cafe\u0301.md").write_text("## the  cafe\u0301\n\nold\n")
    store.add("café", "the café", "new")
    (version,) = store.versions("café:the café").versions
    assert version.content == "old"
    assert store.restore("café:the café", version.id).content == "old"


def test_prior_texts_are_in_the_history_with_their_provenance(store: MemoryStore) -> None:
    store.add("work", "job", "one", owner="user:x", ts="2026-01-01T00:00:00+00:00")
    store.add("work", "job", "two")
    store.remove("work", "job")
    (last, first) = store.versions("work:job").versions
    assert (last.content, last.action, last.cause) == ("two", "remove", "api")
    assert (first.content, first.action, first.owner, first.item_ts) == (
        "one",
        "update",
        "user:x",
        "2026-01-01T00:00:00+00:00",
    )


def test_collapsed_duplicates_go_to_the_history_first(store: MemoryStore) -> None:
    (store.root / "wiki/work.md").write_text("## job\n\nfirst\n\n## other\n\nx\n\n## job\n\nsecond\n")
    store.add("work", "job", "new")
    assert {version.content for version in store.versions("work:job").versions} == {"first", "second"}
    assert (store.root / "wiki/work.md").read_text() == "## other\n\nx\n\n## job\n\nnew\n"


def test_a_replaced_text_that_is_not_utf8_is_kept_with_its_bytes(store: MemoryStore) -> None:
    data = b"## job\n\ncaf\xe9\n"
    (store.root / "wiki/work.md").write_bytes(data)
    store.add("work", "job", "new")
    (version,) = store.versions("work:job").versions
    assert (version.content, version.raw) == ("caf\ufffd", data)


@pytest.mark.parametrize("give_back", ["update", "removed item"])
def test_restore_is_a_new_write_that_is_journalled(store: MemoryStore, give_back: str) -> None:
    store.add("work", "job", "one", owner="user:x", ts="2026-01-01T00:00:00+00:00")
    if give_back == "update":
        store.add("work", "job", "two")
    else:
        store.remove("work", "job")
    (version,) = store.versions("work:job").versions
    restored = store.restore("work:job", version.id)
    assert (restored.content, restored.owner, restored.ts) == ("one", "user:x", "2026-01-01T00:00:00+00:00")
    assert lines(store)[-1]["detail"] == f"restore of version {version.id}"
    if give_back == "update":
        assert store.versions("work:job").versions[0].content == "two"


def test_restoring_a_diary_entry_appends_it(store: MemoryStore) -> None:
    store.diary.append("one", date="2026-07-21", time="10:00")
    version = store.history.record(
        "2026-07-21:10:00", "10:00", "lost", hash="h", ts="2026-07-21T08:00:00+00:00", cause="disk", action="remove"
    )
    store.restore("2026-07-21:10:00", version)
    assert [entry.content for entry in store.diary.window("2026-07-21", "2026-07-21")] == ["one", "lost"]


def test_a_version_is_restored_only_under_its_own_address(store: MemoryStore) -> None:
    store.add("work", "job", "one")
    store.add("work", "job", "two")
    (version,) = store.versions("work:job").versions
    with pytest.raises(NotFound, match="is of work:job"):
        store.restore("work:other", version.id)
    with pytest.raises(NotFound):
        store.restore("work:job", 999)


def test_a_purge_of_a_renamed_item_takes_what_was_noted_under_its_old_name(store: MemoryStore) -> None:
    item = store.add("work", "job", "s3cret")
    (store.root / "wiki/work.md").write_text("## post\n\nnothing\n")  # a person renamed it, then took the text out
    store.history.record("work:job", "job", "s3cret", hash=item.hash, ts=item.ts or "", cause="disk", action="rename")
    store.history.rename("work:job", "work:post")
    assert store.purge_history(address="work:post") == 1
    assert store.versions("work:job").versions == ()


def test_a_version_of_a_renamed_item_is_restored_under_the_name_that_is_asked_for(store: MemoryStore) -> None:
    store.add("work", "job", "one")
    store.add("work", "Post", "two")
    store.history.record(
        "work:job", "job", "one", hash="h", ts="2026-07-21T08:00:00+00:00", cause="disk", action="rename"
    )
    store.history.rename("work:job", "work:Post")
    (version,) = store.versions("work:Post").versions
    assert store.restore("work:Post", version.id).address == "work:Post"
    assert store.restore("work:job", version.id).address == "work:job"


def test_an_expected_hash_that_no_longer_holds_is_a_conflict_and_both_texts_are_recoverable(
    store: MemoryStore,
) -> None:
    item = store.add("work", "job", "one")
    (store.root / "wiki/work.md").write_text("# work\n\n## job\n\na person's text\n")
    with pytest.raises(Conflict) as raised:
        store.add("work", "job", "mine", expected_hash=item.hash)
    conflict = raised.value
    assert (conflict.theirs, conflict.yours) == ("a person's text", "mine")
    assert conflict.current_hash == content_hash("job", "a person's text")
    assert [version.content for version in store.versions("work:job").versions if version.action == "refused"] == [
        "mine"
    ]
    assert store.add("work", "job", "merged", expected_hash=conflict.current_hash).content == "merged"
    for empty in ("job", "unknown"):  # an empty hash is one that a caller lost, and no leave to overwrite
        with pytest.raises(Conflict):
            store.add("work", empty, "blind", expected_hash="")
    with pytest.raises(Conflict, match="was changed meanwhile, so it was not removed") as raised:
        store.remove("work", "job", expected_hash=item.hash)
    assert "your text" not in raised.value.hint
    with pytest.raises(Conflict, match=r"is not there \(any more\), so it was not written"):
        store.add("work", "unknown", "x", expected_hash=item.hash)
    assert len(lines(store)) == 2


@pytest.mark.parametrize(
    ("saved", "expected"),
    [
        (b"# work\n\n## job\n\na person's text\n", "conflict"),
        (b"# work\n\n## other\n\nperson\n\n## job\n\none\n", b"# work\n\n## other\n\nperson\n\n## job\n\nmine\n"),
        (b"# work\n\n## other\n\nperson\n", "conflict"),
    ],
    ids=["the same item", "another item", "the item removed"],
)
def test_an_editor_that_saves_in_between_makes_the_write_start_over_on_its_bytes(
    saved: bytes, expected: bytes | str, make: Callable[..., MemoryStore]
) -> None:
    kernel = Between()
    store = make(kernel=kernel)
    store.add("work", "job", "one")
    note = store.root / "wiki/work.md"

    def save_once(name: str) -> None:
        if name == "exchange":
            kernel.hook = lambda _: None
            (note.parent / "editor~").write_bytes(saved)
            (note.parent / "editor~").replace(note)

    kernel.hook = save_once
    if expected == "conflict":
        with pytest.raises(Conflict):
            store.add("work", "job", "mine")
        assert note.read_bytes() == saved
        assert len(lines(store)) == 1
    else:
        store.add("work", "job", "mine")
        assert note.read_bytes() == expected
        assert len(lines(store)) == 2
    kernel.now += 5  # until then somebody may be writing to the file that was taken back
    store.tidy()
    assert [one.name for one in note.parent.iterdir()] == ["work.md"]


def test_the_caps_hold_and_spare_the_last_version_of_what_lives(make: Callable[..., MemoryStore], clock: Clock) -> None:
    store = make(history_settings=HistorySettings(max_days=30))
    for number in range(3):
        store.add("work", "job", f"job {number}")
        store.diary.append(f"entry {number}", date="2026-07-21", time="10:00")
    store.add("work", "gone", "gone")
    store.remove("work", "gone")
    store.history.record(
        "2026-07-21:10:00#2", "10:00", "was", hash="h", ts="2026-07-21T00:00:00+00:00", cause="disk", action="update"
    )
    clock.now += timedelta(days=40)
    store.close()
    store.tidy()
    kept = {
        address: [version.content for version in store.versions(address).versions]
        for address in ("work:job", "work:gone", "2026-07-21:10:00#2")
    }
    assert kept == {"work:job": ["job 1"], "work:gone": [], "2026-07-21:10:00#2": ["was"]}


def test_a_file_in_the_middle_of_a_git_merge_is_not_written(store: MemoryStore) -> None:
    merge = "## job\n\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"
    (store.root / "wiki/work.md").write_text(merge)
    with pytest.raises(Conflict, match="unresolved git merge"):
        store.add("work", "job", "x")
    assert (store.root / "wiki/work.md").read_text() == merge


def test_a_file_that_would_be_too_large_to_be_read_again_is_refused(make: Callable[..., MemoryStore]) -> None:
    store = make(layout=Layout(max_file_bytes=2_000))
    with pytest.raises(StorageError, match="2000"):
        store.add("work", "job", "x" * 3_000)
    assert store.categories() == []


def test_two_stores_of_one_vault_write_one_after_the_other(make: Callable[..., MemoryStore]) -> None:
    stores = [make() for _ in range(4)]

    def write(number: int) -> None:
        for step in range(10):
            stores[number].add("work", f"n{number}", f"text {step}")
            stores[number].diary.append(f"{number}/{step}", date="2026-07-21", time="10:00")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {item.name: item.content for item in stores[0].items()} == {f"n{n}": "text 9" for n in range(4)}
    entries = stores[0].diary.window("2026-07-21", "2026-07-21")
    assert sorted(entry.content for entry in entries) == sorted(f"{n}/{s}" for n in range(4) for s in range(10))
    assert len(lines(stores[0])) == 80


def test_one_store_may_be_used_from_many_threads(store: MemoryStore) -> None:
    def write(number: int) -> None:
        for step in range(5):
            store.add("work", f"n{number}", f"text {step}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {item.name: item.content for item in store.items()} == {f"n{n}": "text 4" for n in range(6)}
    assert store.revision == 30


def test_a_repeated_idempotency_key_writes_once(store: MemoryStore, clock: Clock) -> None:
    first = store.diary.append("met Ann", time="14:30", date="2026-07-21", idempotency_key="k1")
    again = store.diary.append("met Ann", time="14:30", date="2026-07-21", idempotency_key="k1")
    assert again == first
    assert len(store.diary.window("2026-07-21", "2026-07-21")) == 1
    store.add("work", "job", "one", owner="user:x", idempotency_key="k2")
    clock.now += timedelta(seconds=9)
    store.add("work", "job", "one", owner="user:x", idempotency_key="k2")
    assert len(lines(store)) == 2
    clock.now += timedelta(minutes=11)
    store.diary.append("met Ann", time="14:30", date="2026-07-21", idempotency_key="k1")
    assert len(store.diary.window("2026-07-21", "2026-07-21")) == 2


def test_derived_files_may_live_in_the_state_directory(make: Callable[..., MemoryStore], tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "wikimem.toml").write_text('[vault]\nderived = "state"\n')
    store = make()
    store.add("work", "job", "text")
    assert (tmp_path / "state/v/journal.jsonl").exists()
    assert sorted(path.name for path in (tmp_path / "vault").iterdir()) == ["wiki", "wikimem.toml"]


@pytest.mark.parametrize("derived", ["vault", "state"])
def test_the_users_own_setting_says_where_derived_files_go(
    derived: str, make: Callable[..., MemoryStore], tmp_path: Path
) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "wikimem.toml").write_text('[vault]\nderived = "state"\n')
    make(derived=derived).add("work", "job", "text")
    assert (tmp_path / "vault/journal.jsonl").exists() == (derived == "vault")
    assert (tmp_path / "state/v/journal.jsonl").exists() == (derived == "state")


def test_without_a_journal_nothing_is_logged(make: Callable[..., MemoryStore]) -> None:
    store = make(journal=False)
    store.add("work", "job", "text")
    assert store.journal is None
    assert sorted(path.name for path in store.root.iterdir()) == ["wiki"]


def test_reading_makes_no_state(make: Callable[..., MemoryStore], tmp_path: Path) -> None:
    store = make()
    (store.root / "wiki/work.md").write_text("## job\n\ntext\n")
    assert store.get("work", "job") is not None
    assert store.journal_tail(10) == []
    assert [page.category for page in store.pages()] == ["work"]
    assert not (tmp_path / "state").exists()


def test_the_default_state_lies_under_the_vaults_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "my notes" / "wiki").mkdir(parents=True)
    MemoryStore(tmp_path / "my notes").add("work", "job", "text")
    (folder,) = (one for one in (tmp_path / "state/wikimem").iterdir() if one.name != "locks")
    assert folder.name.startswith("my-notes-")
    assert {path.name for path in folder.iterdir()} >= {"state.sqlite3"}
    modes = {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}
    assert modes.pop(folder.name) == 0o700
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize("kind", ["missing", "a file"])
def test_a_root_that_is_no_folder_is_named(kind: str, tmp_path: Path) -> None:
    root = tmp_path / "vault"
    if kind == "a file":
        root.write_text("x")
    with pytest.raises(VaultError, match="cannot be read"):
        MemoryStore(root, layout=Layout())


def test_a_root_that_went_away_is_named_and_not_made_again(store: MemoryStore) -> None:
    (store.root / "wiki").rmdir()
    store.root.rmdir()
    with pytest.raises(VaultError, match="cannot be read"):
        store.add("work", "job", "x")
    assert not store.root.exists()


def test_files_may_be_watched_on_their_way_to_the_disk(make: Callable[..., MemoryStore]) -> None:
    seen: list[str] = []

    class Announcing:
        def __init__(self, files: Files) -> None:
            self._files = files

        def __getattr__(self, name: str) -> object:
            seen.append(name)
            return getattr(self._files, name)

    store = make(wrap_files=Announcing)
    store.add("work", "job", "text")
    assert "write" in seen


def test_one_unreadable_or_oversized_page_costs_itself_only(make: Callable[..., MemoryStore]) -> None:
    store = make(layout=Layout(max_file_bytes=1_000))
    store.add("work", "job", "text")
    (store.root / "wiki/big.md").write_text("## big\n\n" + "x" * 2_000)
    (store.root / "wiki/pipe.md").symlink_to("nothing.md")
    assert [(page.category, len(page.items)) for page in store.pages()] == [("big", 0), ("work", 1)]
    assert [(path, problem.kind) for path, problem in store.problems()] == [
        ("wiki/pipe.md", "dangling"),
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


@pytest.mark.parametrize(
    ("kernel", "mode"), [(Between(), "lease"), (WithoutLeases(exchange=True), "basic")], ids=["leases", "no leases"]
)
def test_the_write_mode_is_known_without_a_write(kernel: Between, mode: str, make: Callable[..., MemoryStore]) -> None:
    store = make(kernel=kernel)
    (store.root / "wiki/work.md").write_text("x")
    before = stamp_of((store.root / "wiki/work.md").stat())
    assert store.probe() == store.write_mode == mode
    assert stamp_of((store.root / "wiki/work.md").stat()) == before


def test_the_disk_of_another_opener_serves_as_well(make: Callable[..., MemoryStore], tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    store = make(files=DiskFiles(tmp_path / "vault"))
    store.add("work", "job", "one")
    assert store.add("work", "job", "two").content == "two"
    assert [one.name for one in (store.root / "wiki").iterdir()] == ["work.md"]
