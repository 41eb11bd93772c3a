"""An editor that had a note open before an agent wrote to it, and saves its old buffer over the agent's text."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.fault.editors import LAYOUT
from tests.stores import Clock
from wikimem.pages.items import content_hash
from wikimem.store.stale_buffers import Gone, StaleBuffer, find_stale_buffer
from wikimem.store.vault import MemoryStore
from wikimem.store.writelog import WriteLog

OLD = b"# work\n\n## job\n\nold\n"


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> MemoryStore:
    (tmp_path / "vault/wiki").mkdir(parents=True)
    (tmp_path / "vault/wiki/work.md").write_bytes(OLD)
    return MemoryStore(tmp_path / "vault", layout=LAYOUT, state_dir=tmp_path / "state" / "v", clock=clock)


def report_of(store: MemoryStore, gone: Gone) -> StaleBuffer | None:
    return find_stale_buffer(gone, WriteLog(store.state), store.history, now=store.writer.now())


def save_old_buffer(store: MemoryStore) -> None:
    (store.root / "wiki/work.md").write_bytes(OLD)


@pytest.mark.parametrize(
    ("name", "now_hash", "what"),
    [("fresh", None, "was removed by"), ("job", content_hash("job", "old"), "was set back by")],
)
def test_a_text_that_a_stale_buffer_took_is_reported_with_the_command_that_restores_it(
    name: str, now_hash: str | None, what: str, store: MemoryStore
) -> None:
    item = store.add("work", name, "an agent's text", owner="agent:a")
    save_old_buffer(store)
    report = report_of(store, Gone(item.address, item.hash, now_hash))
    assert report is not None
    assert what in report.message
    assert report.command == f"wikimem restore 'work:{name}' {report.version}"
    restored = store.restore(item.address, report.version)
    assert (restored.content, restored.owner) == ("an agent's text", "agent:a")


def test_reporting_twice_keeps_the_text_once(store: MemoryStore) -> None:
    item = store.add("work", "fresh", "an agent's text")
    save_old_buffer(store)
    gone = Gone(item.address, item.hash, None)
    first = report_of(store, gone)
    assert first is not None
    assert report_of(store, gone) == first
    assert len(store.versions("work:fresh").versions) == 1


def nothing(_: Clock) -> None: ...


def an_hour(clock: Clock) -> None:
    clock.now += timedelta(hours=1, seconds=1)


@pytest.mark.parametrize(
    ("gone", "wait"),
    [
        (Gone("work:fresh", "another text's hash", None), nothing),
        (Gone("work:fresh", content_hash("fresh", "an agent's text"), "a person's new text"), nothing),
        (Gone("work:unknown", content_hash("fresh", "an agent's text"), None), nothing),
        (Gone("work:fresh", content_hash("fresh", "an agent's text"), None), an_hour),
    ],
    ids=["changed since", "edited", "another item", "long ago"],
)
def test_what_a_person_did_on_purpose_is_not_reported(
    gone: Gone, wait: Callable[[Clock], None], store: MemoryStore, clock: Clock
) -> None:
    store.add("work", "fresh", "an agent's text")
    wait(clock)
    assert report_of(store, gone) is None


def test_an_erased_text_is_in_the_history_when_somebody_asks_for_it(store: MemoryStore) -> None:
    store.add("work", "fresh", "an agent's text")
    save_old_buffer(store)
    (version,) = store.versions("work:fresh").versions
    assert (version.content, version.action, version.cause) == ("an agent's text", "displaced", "disk")
    assert len(store.versions("work:fresh").versions) == 1


def test_a_text_whose_whole_note_was_removed_is_in_the_history_when_somebody_asks_for_it(
    store: MemoryStore, clock: Clock
) -> None:
    """As by another program while no daemon runs: nobody has seen the note but the write itself."""
    store.add("fresh", "item", "an agent's text")
    store.add("fresh", "other", "that stays")
    (store.root / "wiki/fresh.md").rename(store.root / "wiki/elsewhere.md")
    later = MemoryStore(store.root, layout=LAYOUT, state_dir=store.state_dir, clock=clock)
    [version] = later.versions("fresh:item").versions
    assert version.content == "an agent's text"
    assert later.restore("fresh:item", version.id).content == "an agent's text"
    assert later.versions("nowhere:item").versions == ()


def test_an_erased_text_is_in_the_history_before_the_next_write_to_the_file(store: MemoryStore) -> None:
    store.add("work", "fresh", "first")
    save_old_buffer(store)
    store.add("work", "fresh", "second")
    save_old_buffer(store)
    store.add("work", "other", "x")
    assert [version.content for version in store.versions("work:fresh").versions] == ["second", "first"]


def test_the_text_of_the_write_just_before_is_among_them(store: MemoryStore) -> None:
    store.add("work", "fresh", "first")
    save_old_buffer(store)
    store.add("work", "other", "x")
    assert [one.content for one in store.history.versions("work:fresh").versions] == ["first"]


@pytest.mark.parametrize("saved", [OLD, OLD + b"\na person's line\n"], ids=["old buffer", "edited old buffer"])
def test_the_text_of_a_process_that_ended_without_a_word_is_among_them(
    saved: bytes, store: MemoryStore, clock: Clock
) -> None:
    store.add("work", "job", "an agent's text")
    (store.root / "wiki/work.md").write_bytes(saved)
    with MemoryStore(store.root, layout=LAYOUT, state_dir=store.state_dir, clock=clock) as later:
        later.add("elsewhere", "first", "x")
        assert "an agent's text" in [one.content for one in later.versions("work:job").versions]
        assert "old" in [one.content for one in later.versions("work:job").versions]


def test_an_erased_diary_entry_is_kept_too(store: MemoryStore) -> None:
    store.diary.append("one", date="2026-07-21", time="10:00")
    store.diary.append("two", date="2026-07-21", time="10:00")
    (store.root / "diary/2026-07-21.md").write_text("# 2026-07-21\n\n## 10:00\n\none\n")
    (version,) = store.versions("2026-07-21:10:00#2").versions
    assert version.content == "two"
    assert store.versions("2026-07-21:10:00").versions == ()


def test_a_text_that_only_moved_inside_its_file_is_not_erased(store: MemoryStore) -> None:
    store.add("work", "fresh", "an agent's text")
    (store.root / "wiki/work.md").write_text("## fresh\n\nan agent's text\n\n## job\n\nold\n")
    assert store.versions("work:fresh").versions == ()


def test_a_purge_takes_the_text_of_a_recent_write_along(store: MemoryStore, tmp_path: Path) -> None:
    store.add("work", "fresh", "the s3cret")
    save_old_buffer(store)
    store.purge_history(containing="s3cret")
    assert store.versions("work:fresh").versions == ()
    store.close()
    assert not any(b"s3cret" in path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())


def test_a_text_that_a_save_took_is_kept_although_nobody_asks_or_writes_there_for_days(
    store: MemoryStore, clock: Clock
) -> None:
    item = store.add("work", "fresh", "an agent's text")
    save_old_buffer(store)
    clock.now += timedelta(days=3)
    store.add("other", "thing", "a text elsewhere")
    assert store.history.holds(item.address, item.hash)


def test_a_write_of_days_ago_stays_noted_while_its_file_cannot_be_read(store: MemoryStore, clock: Clock) -> None:
    item = store.add("work", "fresh", "an agent's text")
    note = store.root / "wiki/work.md"
    note.rename(note.with_suffix(".away"))
    note.mkdir()
    clock.now += timedelta(days=3)
    store.add("other", "thing", "a text elsewhere")
    note.rmdir()
    save_old_buffer(store)
    assert [version.content for version in store.versions(item.address).versions] == ["an agent's text"]
