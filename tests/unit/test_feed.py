import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from wikimem.errors import InvalidCursor
from wikimem.pages.changes import Action, Change
from wikimem.store.changes import RESERVE, FeedRow
from wikimem.store.state import State
from wikimem_daemon.feed import Feed, Notice, Subscription, coalesce


def change(item: str, action: Action, address: str, old: str | None = None, digest: str | None = "h") -> Change:
    return Change(
        item, action, address, old, None if action == "remove" else digest, "2026-07-21T00:00:00+00:00", "disk"
    )


def folded(*changes: Change, absorbs: dict[int, str] | None = None) -> list[tuple[str, str, str | None]]:
    rows = [FeedRow(seq, one, (absorbs or {}).get(seq)) for seq, one in enumerate(changes)]
    return [(one.action, one.address, one.old_address) for one in coalesce(rows)]


def test_two_renames_are_one() -> None:
    found = folded(change("1", "rename", "c:bea", "c:a"), change("1", "rename", "c:beach", "c:bea"))
    assert found == [("rename", "c:beach", "c:a")]


def test_a_rename_and_its_way_back_are_an_update_at_most() -> None:
    assert folded(change("1", "rename", "c:b", "c:a"), change("1", "rename", "c:a", "c:b")) == [("update", "c:a", None)]


def test_what_came_and_went_is_nothing() -> None:
    assert folded(change("1", "add", "c:a"), change("1", "update", "c:a"), change("1", "remove", "c:a")) == []


def test_a_new_item_that_was_renamed_is_an_add_under_its_last_name() -> None:
    found = folded(
        change("1", "add", "c:be"), change("1", "rename", "c:beach", "c:be"), change("1", "update", "c:beach")
    )
    assert found == [("add", "c:beach", None)]


def test_a_removal_names_the_address_that_the_caller_knows() -> None:
    assert folded(change("1", "rename", "c:b", "c:a"), change("1", "remove", "c:b")) == [("remove", "c:a", None)]


def test_an_edit_after_a_rename_stays_a_rename() -> None:
    assert folded(change("1", "rename", "c:b", "c:a"), change("1", "update", "c:b")) == [("rename", "c:b", "c:a")]


def test_an_add_that_turned_out_to_be_a_move_is_gone() -> None:
    found = folded(change("2", "add", "d:x"), change("1", "rename", "d:x", "c:x"), absorbs={1: "2"})
    assert found == [("rename", "d:x", "c:x")]


def test_an_address_is_left_before_it_is_taken() -> None:
    found = folded(
        change("1", "rename", "c:b", "c:a"),
        change("2", "add", "c:a"),
        change("1", "update", "c:b"),
        change("3", "rename", "c:d", "c:e"),
        change("4", "remove", "c:d"),
    )
    assert found == [("rename", "c:b", "c:a"), ("add", "c:a", None), ("remove", "c:d", None), ("rename", "c:d", "c:e")]


def test_a_chain_of_renames_is_told_from_its_end() -> None:
    chain = [change(str(n), "rename", f"c:{n + 1}", f"c:{n}") for n in range(5)]
    assert [one[1] for one in folded(*chain)] == ["c:5", "c:4", "c:3", "c:2", "c:1"]


def test_items_that_changed_places_are_both_told() -> None:
    found = folded(change("1", "rename", "c:b", "c:a"), change("2", "rename", "c:a", "c:b"))
    assert sorted(found) == [("rename", "c:a", "c:b"), ("rename", "c:b", "c:a")]


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State(tmp_path / "state.sqlite3") as opened:
        yield opened


def save(feed: Feed) -> None:
    feed.save(feed.take_unsaved())


def test_a_cursor_knows_what_came_after_it(state: State) -> None:
    feed = Feed(state)
    before = feed.cursor()
    feed.emit([(change("1", "add", "c:a"), None)])
    page = feed.since(before)
    assert [one.address for one in page.changes] == ["c:a"]
    assert page.cursor == feed.cursor()
    assert feed.since(page.cursor).changes == ()


def test_without_a_cursor_there_are_no_changes(state: State) -> None:
    feed = Feed(state)
    feed.emit([(change("1", "add", "c:a"), None)])
    page = feed.since(None)
    assert (page.changes, page.fresh_instance) == ((), False)


def test_cursors_survive_a_restart(state: State) -> None:
    feed = Feed(state)
    cursor = feed.cursor()
    feed.emit([(change("1", "add", "c:a"), None)])
    save(feed)
    page = Feed(state).since(cursor)
    assert [one.address for one in page.changes] == ["c:a"]
    assert not page.fresh_instance


def test_a_crash_never_lets_a_number_mean_something_else(state: State) -> None:
    feed = Feed(state)
    feed.emit([(change("1", "add", "c:a"), None)])
    handed_out = feed.cursor()  # and the process dies before the row is kept
    after = Feed(state)
    after.emit([(change("2", "add", "c:a"), None)])
    assert [one.id for one in after.since(handed_out).changes] == ["2"]


def test_numbers_go_on_beyond_the_reserve(state: State) -> None:
    feed = Feed(state)
    feed._last = RESERVE - 1
    feed.emit([(change(str(n), "add", f"c:{n}"), None) for n in range(5)])
    cursor = feed.cursor()
    other = Feed(state)
    other.emit([(change("x", "add", "c:x"), None)])
    assert [one.id for one in other.since(cursor).changes] == ["x"]


def test_a_cursor_of_another_state_is_of_another_life(state: State, tmp_path: Path) -> None:
    with State(tmp_path / "other.sqlite3") as other:
        cursor = Feed(other).cursor()
    feed = Feed(state)
    page = feed.since(cursor)
    assert page.fresh_instance
    assert page.cursor == feed.cursor()
    assert not feed.since(page.cursor).fresh_instance


def test_a_cursor_from_before_what_is_kept_is_of_another_life(state: State) -> None:
    feed = Feed(state, keep=10)
    cursor = feed.cursor()
    feed.emit([(change(str(n), "add", f"c:{n}"), None) for n in range(40)])
    save(feed)
    again = Feed(state, keep=10)
    assert again.since(cursor).fresh_instance


@pytest.mark.parametrize("text", ["", "x", "abc-", "-1", "abc-zz", "a\nb"])
def test_what_is_no_cursor_is_refused(state: State, text: str) -> None:
    with pytest.raises(InvalidCursor):
        Feed(state).since(text)


def test_pages_of_changes_join_to_the_whole(state: State) -> None:
    feed = Feed(state)
    cursor = feed.cursor()
    feed.emit([(change(str(n), "add", f"c:{n}"), None) for n in range(25)])
    save(feed)
    found: list[str] = []
    for _ in range(10):
        page = feed.since(cursor, 10)
        found += [one.address for one in page.changes]
        cursor = page.cursor
        if not page.more:
            break
    assert found == [f"c:{n}" for n in range(25)]


def test_rows_of_an_earlier_process_and_of_this_one_come_in_one_order(state: State) -> None:
    first = Feed(state)
    cursor = first.cursor()
    first.emit([(change("1", "add", "c:1"), None)])
    save(first)
    second = Feed(state)
    second.emit([(change("2", "add", "c:2"), None)])
    assert [one.address for one in second.since(cursor).changes] == ["c:1", "c:2"]


def test_a_slow_subscriber_gets_a_resync_in_place_of_what_it_missed() -> None:
    async def run() -> list[tuple[str | None, bool]]:
        subscription = Subscription(limit=3)
        feed_notices = [change(str(n), "add", f"c:{n}") for n in range(5)]
        for number, one in enumerate(feed_notices):
            subscription.offer(Notice(f"x-{number}", one))
        subscription.close()
        found: list[tuple[str | None, bool]] = []
        while (notice := await subscription.next()) is not None:
            found.append((notice.cursor, notice.resync))
        return found

    assert asyncio.run(run()) == [("x-4", True)]


def test_a_subscriber_waits_for_what_comes(state: State) -> None:
    async def run() -> str | None:
        feed = Feed(state)
        subscription = feed.subscribe()
        waiting = asyncio.create_task(subscription.next())
        await asyncio.sleep(0)
        feed.emit([(change("1", "add", "c:a"), None)])
        notice = await waiting
        feed.unsubscribe(subscription)
        assert await subscription.next() is None
        return notice.change.address if notice and notice.change else None

    assert asyncio.run(run()) == "c:a"
