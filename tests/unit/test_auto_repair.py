"""When links follow a rename by themselves, on a clock that the test turns."""

import asyncio
from collections.abc import Mapping

from wikimem.errors import TryAgain
from wikimem.pages.changes import Action, Change
from wikimem.store.repairs import Repaired
from wikimem_daemon.auto_repair import AutoRepair


class Turned:
    """A repairer that notes what it was asked, beside a clock."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.asked: list[Mapping[str, str]] = []
        self.fails = False
        self.auto = AutoRepair(self.repair, lambda: self.now)

    async def repair(self, renames: Mapping[str, str]) -> Repaired:
        self.asked.append(renames)
        if self.fails:
            raise TryAgain("somebody else writes")
        return Repaired(1, 0, ("wiki/a.md",), ())

    def see(self, action: Action, address: str, old: str | None = None) -> None:
        self.auto.follow(Change("id", action, address, old, None, "2026-07-21T06:30:00+00:00", "disk"))

    def look(self) -> None:
        asyncio.run(self.auto.run_if_due())


def test_a_rename_is_followed_after_a_quiet_minute_and_once() -> None:
    turned = Turned()
    turned.see("rename", "a:new", "a:old")
    assert turned.auto.due_in() == 60.0
    turned.now += 59.9
    turned.look()
    assert turned.asked == []
    turned.now += 0.2
    turned.look()
    turned.look()
    assert turned.asked == [{"a:old": "a:new"}]
    assert turned.auto.due_in() is None


def test_any_change_starts_the_minute_again() -> None:
    turned = Turned()
    turned.see("rename", "a:new", "a:old")
    turned.now += 50
    turned.see("update", "b:other")
    turned.now += 50
    turned.look()
    assert turned.asked == []
    turned.now += 11
    turned.look()
    assert turned.asked == [{"a:old": "a:new"}]


def test_a_heading_that_is_being_typed_is_followed_when_it_is_whole() -> None:
    turned = Turned()
    for before, after in (("old", "be"), ("be", "beach-tr"), ("beach-tr", "beach-trip")):
        turned.see("rename", f"a:{after}", f"a:{before}")
        turned.now += 2
        turned.look()
    turned.now += 60
    turned.look()
    assert turned.asked == [{"a:old": "a:beach-trip", "a:be": "a:beach-trip", "a:beach-tr": "a:beach-trip"}]


def test_a_name_that_was_given_to_a_new_item_is_not_followed() -> None:
    turned = Turned()
    turned.see("rename", "a:new", "a:old")
    turned.see("add", "a:old")
    turned.now += 61
    turned.look()
    assert turned.asked == []


def test_other_changes_alone_are_never_due() -> None:
    turned = Turned()
    turned.see("add", "a:x")
    turned.see("remove", "a:y")
    assert turned.auto.due_in() is None


def test_a_failure_is_survived() -> None:
    turned = Turned()
    turned.fails = True
    turned.see("rename", "a:new", "a:old")
    turned.now += 61
    turned.look()
    assert len(turned.asked) == 1
    assert turned.auto.due_in() is None


def test_the_loop_waits_without_waking_and_follows_in_time() -> None:
    async def play() -> list[Mapping[str, str]]:
        asked: list[Mapping[str, str]] = []
        done = asyncio.Event()

        async def repair(renames: Mapping[str, str]) -> Repaired:
            asked.append(renames)
            done.set()
            return Repaired(0, 0, (), ())

        auto = AutoRepair(repair, asyncio.get_running_loop().time, quiet_s=0.01)
        task = asyncio.create_task(auto.run())
        await asyncio.sleep(0)
        auto.follow(Change("id", "rename", "a:new", "a:old", None, "2026-07-21T06:30:00+00:00", "disk"))
        await asyncio.wait_for(done.wait(), 10)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return asked

    assert asyncio.run(play()) == [{"a:old": "a:new"}]
