"""The table of prior texts on a real file: paging, purge, caps, renames."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from wikimem.errors import NotFound
from wikimem.pages.items import content_hash
from wikimem.store.history import ROW_OVERHEAD_BYTES, History, PriorText
from wikimem.store.state import State

NOW = datetime(2026, 7, 21, tzinfo=UTC)


def text(address: str, content: str, *, days_ago: float = 0.0) -> PriorText:
    name = address.partition(":")[2]
    ts = (NOW - timedelta(days=days_ago)).isoformat(timespec="seconds")
    return PriorText(address, name, content, content_hash(name, content), ts, "api", "update")


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path / "state.sqlite3")


@pytest.fixture
def history(state: State) -> History:
    return History(state)


def contents(history: History, address: str) -> list[str]:
    return [version.content for version in history.versions(address).versions]


def test_versions_come_newest_first_page_by_page(history: History) -> None:
    history.record_many([text("a:x", str(number)) for number in range(7)] + [text("a:y", "other")])
    seen, after = [], None
    while True:
        page = history.versions("a:x", 3, after)
        seen.append([version.content for version in page.versions])
        after = page.next
        if after is None:
            break
    assert seen == [["6", "5", "4"], ["3", "2", "1"], ["0"]]


def test_a_version_is_found_by_its_id(history: History) -> None:
    one = history.record("a:x", "x", "text", hash="h", ts="2026-07-21T00:00:00+00:00", cause="disk", action="remove")
    assert (history.get(one).content, history.get(one).cause, history.get(one).action) == ("text", "disk", "remove")
    assert history.find("a:x", "h") == one
    assert history.holds("a:x", "h")
    assert not history.holds("a:y", "h")
    with pytest.raises(NotFound, match="no version 99"):
        history.get(99)


def test_a_renamed_items_versions_are_found_under_every_name_that_it_had(history: History) -> None:
    history.record_many([text("a:x", "1"), text("a:x", "2")])
    history.rename("a:x", "b:y")
    history.record_many([text("b:y", "3")])
    history.rename("b:y", "c:z")
    assert contents(history, "a:x") == ["2", "1"]
    assert contents(history, "b:y") == contents(history, "c:z") == ["3", "2", "1"]
    page = history.versions("c:z", 2)
    assert [one.content for one in history.versions("c:z", 2, page.next).versions] == ["1"]


def test_a_name_that_is_used_again_does_not_pass_on_what_an_earlier_item_took_along(history: History) -> None:
    for number in range(3):
        history.record_many([text("a:new", str(number))])
        history.rename("a:new", f"a:{number}")
    assert contents(history, "a:new") == ["2", "1", "0"]
    assert [contents(history, f"a:{number}") for number in range(3)] == [["0"], ["1"], ["2"]]


def test_an_item_that_gets_its_old_name_back_takes_everything_to_the_next_one(history: History) -> None:
    history.record_many([text("a:x", "1")])
    for old, new in (("a:x", "a:y"), ("a:y", "a:x"), ("a:x", "a:z")):
        history.rename(old, new)
    assert contents(history, "a:x") == contents(history, "a:z") == ["1"]


def test_a_purge_takes_what_is_found_under_the_address_whatever_it_was_called(history: History) -> None:
    history.record_many([text("a:x", "1"), text("a:other", "2")])
    history.rename("a:x", "a:y")
    history.record_many([text("a:y", "3")])
    assert history.purge(address="a:y") == 2
    assert contents(history, "a:x") == contents(history, "a:y") == []
    assert contents(history, "a:other") == ["2"]


def test_a_purge_of_a_text_takes_names_that_were_given_later(history: History, state: State) -> None:
    history.record_many([text("a:x", "1")])
    history.rename("a:x", "a:s3cret")
    history.purge(containing="s3cret")
    assert not state.query("SELECT * FROM history_renamed")
    assert contents(history, "a:x") == ["1"]


def test_names_that_are_not_utf8_can_be_kept(history: History) -> None:
    history.record_many([text("caf\udce9:x", "te\udcffxt")])
    assert contents(history, "caf\udce9:x") == ["te\ufffdxt"]


@pytest.mark.parametrize(
    ("purge", "left"),
    [
        ({"address": "a:x"}, {"a:x": [], "a:y": ["harmless"], "b:z": ["s3cret again"]}),
        ({"containing": "s3cret"}, {"a:x": ["fine"], "a:y": ["harmless"], "b:z": []}),
        ({"everything": True}, {"a:x": [], "a:y": [], "b:z": []}),
        ({}, {"a:x": ["fine", "the s3cret"], "a:y": ["harmless"], "b:z": ["s3cret again"]}),
    ],
)
def test_a_purge_takes_what_it_was_asked_for(
    purge: dict[str, object], left: dict[str, list[str]], history: History
) -> None:
    rows = [text("a:x", "the s3cret"), text("a:x", "fine"), text("a:y", "harmless"), text("b:z", "s3cret again")]
    history.record_many(rows)
    gone = history.purge(**purge)  # type: ignore[arg-type]
    assert {address: contents(history, address) for address in left} == left
    assert gone == 4 - sum(map(len, left.values()))


def test_purged_bytes_leave_the_disk(history: History, tmp_path: Path) -> None:
    history.record_many([text("a:x", f"s3cret {number} " * 50) for number in range(200)] + [text("a:y", "stays")])
    history.purge(containing="s3cret")
    files = list(tmp_path.iterdir())
    assert files
    assert not any(b"s3cret" in path.read_bytes() for path in files)


def test_old_versions_go_but_never_the_last_of_a_live_item(history: History) -> None:
    rows = [("live", 400), ("live", 300), ("gone", 300), ("live", 10), ("old", 200)]
    history.record_many([text(f"a:{name}", f"{name} {days}", days_ago=days) for name, days in rows])
    dropped = history.enforce_caps(now=NOW, is_live=lambda address: address != "a:gone", max_days=180)
    assert dropped == 3
    assert contents(history, "a:live") == ["live 10"]
    assert contents(history, "a:old") == ["old 200"]
    assert contents(history, "a:gone") == []


def test_the_last_version_of_a_live_item_stays_whatever_it_was_called_then(history: History) -> None:
    history.record_many([text("a:old", str(days), days_ago=days) for days in (400, 300)])
    history.rename("a:old", "a:new")
    assert history.enforce_caps(now=NOW, is_live=lambda address: address == "a:new", max_days=180) == 1
    assert contents(history, "a:new") == ["300"]
    history.record_many([text("a:new", "200", days_ago=200)])
    assert history.enforce_caps(now=NOW, is_live=lambda address: address == "a:new", max_days=180) == 1
    assert contents(history, "a:new") == ["200"]


def test_the_oldest_go_when_there_are_too_many_bytes(history: History) -> None:
    rows = [text(f"a:{number % 2}", "x" * 800, days_ago=20 - number) for number in range(20)]
    history.record_many(rows)
    row = ROW_OVERHEAD_BYTES + 800
    assert history.size() == 20 * row
    history.enforce_caps(now=NOW, is_live=lambda _: True, max_bytes=5 * row)
    assert history.size() <= 5 * row
    assert len(contents(history, "a:0")) + len(contents(history, "a:1")) == 5
    history.enforce_caps(now=NOW, is_live=lambda _: True, max_bytes=0)
    assert [len(contents(history, address)) for address in ("a:0", "a:1")] == [1, 1]
    history.enforce_caps(now=NOW, is_live=lambda _: False, max_bytes=0)
    assert history.size() == 0


def test_within_the_caps_nothing_is_looked_up(history: History) -> None:
    history.record_many([text("a:x", "1", days_ago=3)])

    def is_live(_: str) -> bool:
        raise AssertionError("a vault is read for nothing")

    assert history.enforce_caps(now=NOW, is_live=is_live) == 0
