"""The vigil: which watcher is on duty, and whether the vault's root is there at all.

A root that goes and comes back, and a kernel that runs out of watches, are states of a running daemon, not ends.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from wikimem_daemon.choose import Choice, fall_back
from wikimem_daemon.freshness import Degraded
from wikimem_daemon.watcher import CannotWatch, Watcher

_log = logging.getLogger("wikimem.watcher")

Inode = tuple[int, int]


class Vigil:
    """Holds the watcher on `root`. `new_watcher` chooses one, `wake` is called when it has something to drain."""

    def __init__(
        self,
        root: Path,
        *,
        new_watcher: Callable[[], Choice],
        poll_s: float,
        wake: Callable[[], None],
        is_hollow: Callable[[], bool],
    ) -> None:
        self._root = root
        self._new_watcher = new_watcher
        self._poll_s = poll_s
        self._wake = wake
        self._is_hollow = is_hollow
        self._loop: asyncio.AbstractEventLoop | None = None
        self._identity: Inode | None = None
        self.choice: Choice | None = None
        self.watcher: Watcher | None = None
        self.lost: Degraded | None = None

    @property
    def is_direct(self) -> bool:
        """Whether the disk is asked here and now: not where a comparison in a thread decides, as that disk may hang."""
        return self.watcher is None or self.watcher.exact

    def begin(self, loop: asyncio.AbstractEventLoop, identity: Inode | None) -> None:
        """Open the first watcher."""
        self._loop = loop
        self._open(identity)

    def check(self, identity: Inode | None, *, told: bool = False) -> Literal["there", "lost", "returned"]:
        """Compare the root with the one that is watched. `told`: the watcher said that it went.

        `returned`: another folder lies there now and is watched; everything is to be compared.
        """
        if identity is None:
            self.lose("there is no folder")
        elif self.lost is None and not told and identity == self._identity:
            return "there"
        elif self._is_hollow():
            self.lose("it is empty where there were notes; is it mounted?")
        else:
            what = self._what_happened(identity)
            self._open(identity)
            if self.lost is None:
                _log.warning("%s; comparing everything", what)
                return "returned"
        return "lost"

    def _what_happened(self, identity: Inode) -> str:
        if self.lost is not None:
            return f"the vault {self._root} is back"
        # Both happen without a moment in which we saw no folder there.
        moved = identity == self._identity
        return (
            f"the vault {self._root} was moved away and back" if moved else f"another folder lies at {self._root} now"
        )

    def lose(self, why: str) -> None:
        """Take the root for gone: what is known is kept."""
        hint = "put the folder back, or mount it; the daemon goes on by itself"
        self.lost = Degraded("missing-root", f"the vault {self._root} is gone: {why}", hint)

    def replace(self, error: CannotWatch) -> None:
        """Go on by polling."""
        self.close()
        self.choice = self._fall_back(error)
        self._go_on_duty()

    def watch_again(self, folders: Iterable[str]) -> bool:
        """Say whether the best watcher is back on duty, where the kernel had run out of watches and has some again.

        `folders` are all that is to be watched. After that everything is to be compared.
        """
        if self.lost is not None or self.choice is None or not self.choice.passing:
            return False
        choice = self._new_watcher()
        if not choice.watcher.exact:
            return False
        try:
            choice.watcher.start()
            for folder in folders:
                with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                    choice.watcher.enter(folder)
        except OSError:
            choice.watcher.close()
            return False
        self.close()
        self.choice, self.watcher = choice, choice.watcher
        if self._loop is not None:
            choice.watcher.attach(self._loop, self._wake)
        _log.warning("there are watches again: by %s from now on", choice.watcher.mode)
        return True

    def close(self) -> None:
        """Let go of the watcher."""
        watcher, self.watcher = self.watcher, None
        if watcher is not None:
            watcher.close()

    def _open(self, identity: Inode | None) -> None:
        self.close()
        self.choice = self._new_watcher()
        try:
            self._go_on_duty()
        except CannotWatch as error:
            self.choice = self._fall_back(error)
            self._go_on_duty()
        except OSError as error:
            self.lose(str(error.strerror or error))
            return
        self.lost = None
        self._identity = identity

    def _go_on_duty(self) -> None:
        if self.choice is None:
            return
        watcher = self.choice.watcher
        try:
            watcher.start()
        except OSError:
            watcher.close()
            raise
        self.watcher = watcher
        if self._loop is not None:
            watcher.attach(self._loop, self._wake)

    def _fall_back(self, error: CannotWatch) -> Choice:
        _log.warning("polling from now on: %s", error.reason)
        return fall_back(self._root, error, poll_s=self._poll_s)
