"""Writes that meet others: an editor that saves in between, another store, other threads, the same request again."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.fault.editors import Between
from tests.stores import Clock, lines
from wikimem.errors import Conflict
from wikimem.pages.items import content_hash
from wikimem.store.vault import MemoryStore


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


def test_a_file_in_the_middle_of_a_git_merge_is_not_written(store: MemoryStore) -> None:
    merge = "## job\n\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"
    (store.root / "wiki/work.md").write_text(merge)
    with pytest.raises(Conflict, match="unresolved git merge"):
        store.add("work", "job", "x")
    assert (store.root / "wiki/work.md").read_text() == merge


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
