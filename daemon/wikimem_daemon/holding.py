"""Being the only daemon of a vault, also when its folder is away at the start or replaced while it runs."""

from dataclasses import dataclass, field
from pathlib import Path

from wikimem.errors import Locked, StorageError
from wikimem.store.locks import VaultLock, vault_key
from wikimem_daemon import logs


@dataclass(slots=True)
class Hold:
    """The daemon's locks, for its life. They are keyed by the folder's inode, so another folder needs another one."""

    state_root: Path
    vault: Path
    name: str
    _locks: dict[str, VaultLock] = field(default_factory=dict)

    def take(self) -> None:
        """Hold the folder that is there now; without one, its name. Raises Locked when another daemon has it."""
        try:
            key = vault_key(self.vault)
        except OSError:
            if self._locks:
                return
            key = f"absent-{self.name}"
        if key not in self._locks:
            self._acquire(key)
        elif self._locks[key].is_lost():
            self._acquire_anew(key)

    def _acquire(self, key: str) -> None:
        lock = VaultLock(self.state_root, key, "daemon")
        lock.acquire()
        self._locks[key] = lock

    def _acquire_anew(self, key: str) -> None:
        """Put back a lock's file that was removed, as with the whole state folder.

        A place that cannot be written, or somebody who looks whether the lock is free, ends no daemon: it is tried
        again.
        """
        lost = self._locks[key]
        try:
            self._acquire(key)
        except (Locked, StorageError) as error:
            logs.problem("lock-lost", f"the lock {lost.path} is gone, and not ours yet: {error.message}")
            return
        lost.release()
        logs.problem("lock-anew", f"the lock {lost.path} was gone and is made anew")

    def release(self) -> None:
        """Let go of all of them."""
        for lock in self._locks.values():
            lock.release()
        self._locks.clear()
