"""A reconciler over a real folder, with an index that is a dictionary: what the tests of the reconcile share."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wikimem.pages.changes import Change
from wikimem.pages.items import RecallItem
from wikimem.pages.layout import Layout
from wikimem.pages.page import Page
from wikimem.pages.reading import read_page
from wikimem.search.prepared import Prepared
from wikimem.store.history import History
from wikimem.store.state import State
from wikimem_daemon.clock import SystemClock
from wikimem_daemon.freshness import Freshness
from wikimem_daemon.reconcile import Reconciler

DEADLINE_S = 15.0


@dataclass
class PlainIndex:
    """Pages in a dictionary, with the calls that changed them."""

    pages: dict[str, Page] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)

    def replace_page(self, page: Page, prepared: Prepared | None = None) -> None:
        del prepared
        self.pages[page.path] = page
        self.calls.append(("replace", page.path))

    def remove_page(self, path: str) -> None:
        self.pages.pop(path, None)
        self.calls.append(("remove", path))

    def texts(self) -> dict[str, str]:
        return {item.address: item.content for page in self.pages.values() for item in page.items}

    def item(self, address: str) -> RecallItem | None:
        return next((i for page in self.pages.values() for i in page.items if i.address == address), None)


class ShiftedClock(SystemClock):
    """The real clock, moved on by the test: so that no test waits for a grace period."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.slept = 0.0
        self.stepped = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.passed

    def boottime(self) -> float:
        return super().boottime() + self.passed + self.slept

    def wall_ns(self) -> int:
        return super().wall_ns() + int((self.passed + self.slept + self.stepped) * 1e9)


@dataclass
class Life:
    """One running reconciler."""

    root: Path
    index: PlainIndex
    state: State
    reconciler: Reconciler
    layout: Layout
    clock: ShiftedClock

    async def after(self, seconds: float) -> None:
        """Let so much time pass, and do what is due then."""
        self.clock.passed += seconds
        self.reconciler.tick()
        await self.until(lambda: not self.reconciler.status().pending, "the work")
        self.reconciler.tick()  # what waited for the end of the work

    def write(self, path: str, text: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    async def fresh(self, timeout_s: float = DEADLINE_S) -> Freshness:
        return await self.reconciler.ensure_fresh(timeout_s)

    async def texts(self) -> dict[str, str]:
        """The items by address, after a look that must be fresh."""
        found = await self.fresh()
        assert found.fresh, found
        return self.index.texts()

    def changes(self, cursor: str) -> list[tuple[str, str, str | None]]:
        page = self.reconciler.changes_since(cursor)
        assert not page.fresh_instance
        return [(change.action, change.address, change.old_address) for change in page.changes]

    def change_values(self, cursor: str) -> tuple[Change, ...]:
        return self.reconciler.changes_since(cursor).changes

    def history(self, address: str) -> list[tuple[str, str, str]]:
        """The kept texts of an address as (action, name, content), newest first."""
        return [(v.action, v.name, v.content) for v in History(self.state).versions(address).versions]

    async def until(self, condition: Callable[[], bool], what: str = "the condition") -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, f"{what} did not come true; {self.reconciler.status()}"
            await asyncio.sleep(0.005)

    def on_disk(self) -> dict[str, str]:
        """What a fresh reading of the whole vault gives."""
        found: dict[str, str] = {}
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = os.path.relpath(f"{folder}/{name}", self.root)
                if self.layout.classify(path).kind in ("wiki", "diary"):
                    page = read_page(path, (self.root / path).read_bytes(), self.layout)
                    found |= {item.address: item.content for item in page.items}
        return found


@asynccontextmanager
async def living(
    root: Path, state: Path, *, layout: Layout | None = None, wait: bool = True, **options: Any
) -> AsyncIterator[Life]:
    """Run a reconciler; `wait`: until it has read everything."""
    layout = layout or Layout()
    with State(state) as opened:
        index = options.pop("index", None) or PlainIndex()
        clock = options.pop("clock", None) or ShiftedClock()
        reconciler = Reconciler(root, layout, index, opened, clock=clock, **options)
        life = Life(root, index, opened, reconciler, layout, clock)
        await reconciler.start()
        try:
            if wait:
                await life.until(lambda: not reconciler.partial, "the first reading")
            yield life
        finally:
            await reconciler.close()


def new_vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    (root / "wiki").mkdir(parents=True)
    (root / "diary").mkdir()
    return root


def codes(found: Freshness) -> set[str]:
    """Return what an answer says is withheld."""
    return {one.code for one in found.degraded}


async def two_notes(life: Life) -> None:
    """Let a life serve two notes, one of them in a folder of its own."""
    life.write("wiki/a.md", "## sea\n\nfirst\n")
    life.write("wiki/sub/b.md", "## hill\n\nsecond\n")
    assert await life.texts() == {"a:sea": "first", "sub/b:hill": "second"}
