"""A survey: what a comparison will ask of the disk, asked ahead in a thread.

Where inotify does not help, every fresh answer needs a comparison with the disk, and the disk may be a network that
hangs. So a thread asks, and the comparison then runs on the event loop without one system call.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from wikimem.store.manifest import FileEntry
from wikimem.store.stamps import Stamp
from wikimem.threads import in_own_thread
from wikimem_daemon.disk import DiskView, Kind, Listing, Look, Target
from wikimem_daemon.placing import Placing

_log = logging.getLogger("wikimem.reconcile")

_MAX_BYTES = 64_000_000

T = TypeVar("T")

Inode = tuple[int, int]


@dataclass(slots=True)
class Survey:
    """Answers by path; an `OSError` in the place of an answer is raised when it is asked for."""

    root: Inode | OSError | None = None
    places: dict[str, Inode | OSError | None] = field(default_factory=dict)
    listings: dict[str, Listing | OSError] = field(default_factory=dict)
    stamps: dict[str, Stamp | None] = field(default_factory=dict)
    looks: dict[tuple[str, bool], Look] = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=dict)
    size: int = 0


class SurveyedDisk:
    """A disk that answers from a survey as long as there is one, and else itself."""

    def __init__(self, disk: DiskView) -> None:
        self._disk = disk
        self._survey = Survey()
        self._forgotten: set[str] = set()

    def begin(self) -> None:
        """Begin to remember what is forgotten: a survey is about to be made."""
        self._forgotten = set()

    def fill(self, survey: Survey) -> None:
        """Answer from this from now on, but for what was forgotten while it was made."""
        self._survey = survey
        for path in tuple(self._forgotten):
            self.forget(path)

    def clear(self) -> None:
        """Answer from the disk again."""
        self._survey = Survey()

    def forget(self, path: str) -> None:
        """Ask the disk about this file: a survey may have passed it before it was written or looked at."""
        self._forgotten.add(path)
        self._survey.stamps.pop(path, None)
        for through_link in (False, True):
            self._survey.looks.pop((path, through_link), None)

    def identity(self, folder: str = "") -> Inode | None:
        """As in `DiskView`."""
        if folder in self._survey.places:
            return _answer(self._survey.places[folder])
        return self._disk.identity(folder)

    def list_folder(self, folder: str) -> Listing:
        """As in `DiskView`."""
        if folder in self._survey.listings:
            return _answer(self._survey.listings[folder])
        return self._disk.list_folder(folder)

    def look(self, path: str, trusted: Stamp | None = None, *, through_link: bool = False) -> Look:
        """As in `DiskView`."""
        found = self._survey.looks.pop((path, through_link), None)
        return self._disk.look(path, trusted, through_link=through_link) if found is None else found

    def stamp(self, path: str) -> Stamp | None:
        """As in `DiskView`."""
        if path in self._survey.stamps:
            return self._survey.stamps[path]
        return self._disk.stamp(path)

    def is_link(self, path: str) -> bool:
        """As in `DiskView`."""
        return self._disk.is_link(path)

    def target(self, path: str) -> Target:
        """As in `DiskView`."""
        found = self._survey.targets.get(path)
        return self._disk.target(path) if found is None else found


def _answer(found: T | OSError) -> T:
    if isinstance(found, OSError):
        raise found
    return found


@dataclass(frozen=True, slots=True)
class Surveyor:
    """Walks the tree. It only reads `entries`, which the event loop may change meanwhile."""

    disk: DiskView
    placing: Placing
    entries: Mapping[str, FileEntry]

    def walk(self) -> Survey:
        """Ask everything. Runs in a thread."""
        survey = Survey()
        for place in ("", *self.placing.tops):
            survey.places[place] = _try(partial(self.disk.identity, place))
        waiting, met = [""], set[Inode]()
        while waiting:
            folder = waiting.pop()
            listing = _try(partial(self.disk.list_folder, folder))
            survey.listings[folder] = listing
            if isinstance(listing, OSError) or (listing.dev, listing.ino) in met:
                continue
            met.add((listing.dev, listing.ino))
            for entry in listing.entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if self._is_folder(entry.kind, path, survey):
                    if self.placing.wants(path):
                        waiting.append(path)
                elif path in self.entries or self.placing.is_ours(path):
                    self._look(path, survey)
        return survey

    def _is_folder(self, kind: Kind, path: str, survey: Survey) -> bool:
        if kind != Kind.LINK:
            return kind == Kind.FOLDER
        target = self.disk.target(path)
        survey.targets[path] = target
        return target.kind == Kind.FOLDER and target.inside is not None and not target.loop

    def _look(self, path: str, survey: Survey) -> None:
        entry = self.entries.get(path)
        stamp = self.disk.stamp(path)
        survey.stamps[path] = stamp
        if entry is not None and entry.settled and stamp == entry.stamp:
            return
        if survey.size > _MAX_BYTES:
            return  # the comparison reads the rest itself
        look = self.disk.look(path)
        survey.looks[path, False] = look
        if look.kind == Kind.LINK and survey.targets[path].inside is not None:
            look = self.disk.look(path, through_link=True)
            survey.looks[path, True] = look
        survey.size += len(look.data)


class Surveys:
    """Runs surveys one after the other. `compare` uses the filled disk on the loop; it says whether it came to its end.

    Whoever asks while one runs needs the next: the running one may have passed what was written since.
    """

    def __init__(
        self, view: SurveyedDisk, surveyor: Callable[[], Surveyor], compare: Callable[[str], Awaitable[bool]]
    ) -> None:
        self._view = view
        self._surveyor = surveyor
        self._compare = compare
        self._next: asyncio.Task[bool] | None = None
        self._tasks: set[asyncio.Task[bool]] = set()
        self._lock = asyncio.Lock()

    def soon(self, why: str = "scan") -> "asyncio.Task[bool]":
        """Return the survey that begins next: it sees everything that was written before this call."""
        if self._next is None:
            self._next = asyncio.create_task(self._run_safely(why))
            self._tasks.add(self._next)
            self._next.add_done_callback(self._tasks.discard)
        return self._next

    @property
    def running(self) -> bool:
        """Whether a survey is made, or about to be."""
        return bool(self._tasks)

    async def close(self) -> None:
        """Stop. A thread that hangs in a dead mount is left behind."""
        for task in list(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self, why: str) -> bool:
        async with self._lock:
            self._next = None
            self._view.begin()
            self._view.fill(await in_own_thread(self._surveyor().walk, "wikimem-survey"))
            try:
                return await self._compare(why)
            finally:
                self._view.clear()

    async def _run_safely(self, why: str) -> bool:
        try:
            return await self._run(why)
        except Exception:  # noqa: BLE001 - an outermost loop: the next survey tries again, and nothing is called fresh
            _log.exception("the disk could not be compared")
            return False


def _try(ask: Callable[[], T]) -> T | OSError:
    try:
        return ask()
    except OSError as error:
        return error
