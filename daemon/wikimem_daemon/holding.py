"""Being the only daemon of a vault, also when its folder is away at the start or replaced while it runs."""

from dataclasses import dataclass, field
from pathlib import Path

from wikimem.store.locks import VaultLock, vault_key


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
            lock = VaultLock(self.state_root, key, "daemon")
            lock.acquire()
            self._locks[key] = lock

    def release(self) -> None:
        """Let go of all of them."""
        for lock in self._locks.values():
            lock.release()
        self._locks.clear()
