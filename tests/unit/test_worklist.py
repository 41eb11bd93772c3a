import asyncio

from wikimem_daemon.worklist import ListFolder, LookAt, Marker, WorkList


def drained(work: WorkList) -> list[object]:
    found: list[object] = []
    while (one := work.take()) is not None:
        found.append(one)
    return found


def test_the_same_work_is_asked_for_once_until_it_is_taken() -> None:
    work = WorkList()
    work.add(LookAt("a"))
    work.add(LookAt("a"))
    assert work.take() == LookAt("a")
    work.add(LookAt("a"))
    assert drained(work) == [LookAt("a")]


def test_what_a_listing_brings_comes_before_what_was_asked_for_later() -> None:
    work = WorkList()
    work.add(ListFolder("x"))
    work.add(LookAt("later"))
    assert work.take() == ListFolder("x")
    work.expand([LookAt("x/1"), LookAt("x/2")])
    assert drained(work) == [LookAt("x/1"), LookAt("x/2"), LookAt("later")]


def test_a_marker_waits_for_all_before_it_and_for_nothing_after() -> None:
    async def run() -> list[bool]:
        work = WorkList()
        work.add(ListFolder("x"))
        done = work.mark(asyncio.get_running_loop())
        work.add(LookAt("later"))
        states = []
        while (one := work.take()) is not None:
            if one == ListFolder("x"):
                work.expand([LookAt("x/1")])
            if isinstance(one, Marker):
                one.reached(True)
            states.append(done.done())
        assert await done
        return states

    assert asyncio.run(run()) == [False, False, True, True]


def test_work_that_is_given_up_ends_every_wait_and_says_so() -> None:
    async def run() -> bool:
        work = WorkList()
        work.add(LookAt("a"))
        done = work.mark(asyncio.get_running_loop())
        work.give_up()
        assert not len(work)
        work.add(LookAt("a"))
        assert len(work) == 1
        return await done

    assert asyncio.run(run()) is False


def test_what_is_parked_holds_up_later_markers_and_nothing_else() -> None:
    async def run() -> None:
        work = WorkList()
        loop = asyncio.get_running_loop()
        work.add(LookAt("long"))
        after = work.mark(loop)
        work.add(LookAt("short"))
        assert work.take() == LookAt("long")
        work.park(LookAt("long"))
        assert work.take() == LookAt("short")
        assert work.take() is None
        assert not work.ready
        assert len(work) == 2
        work.unpark()
        assert work.take() == LookAt("long")
        marker = work.take()
        assert isinstance(marker, Marker)
        marker.reached(True)
        assert await after
        work.park(LookAt("long"))
        given_up = work.mark(loop)
        work.give_up()
        assert not await given_up
        assert len(work) == 0

    asyncio.run(run())
