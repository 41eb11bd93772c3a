"""An event stream ends with its client, whatever it is at."""

import asyncio
from typing import Any, cast

from wikimem.pages.changes import Change
from wikimem_daemon.feed import ChangesPage, Feed, Notice, Subscription
from wikimem_daemon.gate import Gate
from wikimem_daemon.limits import Limits
from wikimem_daemon.subscriptions import Streams

CHANGE = Change("i1", "update", "a:x", None, "h", "2026-07-21T10:02:00+00:00", "disk")


class OneReader:
    """A feed with one subscription that the test fills."""

    def __init__(self) -> None:
        self.subscription = Subscription()

    def since(self, _: str | None, __: int) -> ChangesPage:
        return ChangesPage("life-1", fresh_instance=False, changes=(), more=False)

    def subscribe(self) -> Subscription:
        return self.subscription

    def unsubscribe(self, _: Subscription) -> None: ...


class Client:
    """A client that reads the beginning and then nothing, until it is cut."""

    def __init__(self) -> None:
        self.cut, self.stuck, self._sent = asyncio.Event(), asyncio.Event(), 0

    async def receive(self) -> dict[str, Any]:
        await self.cut.wait()
        return {"type": "http.disconnect"}

    async def send(self, _: object) -> None:
        self._sent += 1
        if self._sent > 3:
            self.stuck.set()
            await self.cut.wait()  # from then on it returns at once, as uvicorn's does when nobody is there


def test_a_stream_of_a_client_that_is_cut_while_changes_wait_for_it_ends() -> None:
    async def follow() -> int:
        feed, gate, client = OneReader(), Gate(Limits()), Client()
        stream = await Streams(cast("Feed", feed), gate).open(None)
        running = asyncio.ensure_future(stream(client.receive, cast("Any", client.send)))
        for number in range(5):
            feed.subscription.offer(Notice(f"life-{number}", CHANGE))
        await client.stuck.wait()
        assert gate.streams == 1
        client.cut.set()
        async with asyncio.timeout(5):
            await running
        return gate.streams

    assert asyncio.run(follow()) == 0
