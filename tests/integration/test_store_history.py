"""What the store keeps of texts that were replaced or removed, and how they come back."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.stores import Clock, lines
from wikimem.config_tables import HistorySettings
from wikimem.errors import NotFound
from wikimem.store.vault import MemoryStore


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
