"""From the configuration to the store: the one place that knows which settings a vault's store follows."""

from collections.abc import Callable

from wikimem.config import Settings
from wikimem.store.files import Files
from wikimem.store.state import State
from wikimem.store.vault import MemoryStore


def open_store(
    settings: Settings, *, state: State | None = None, wrap_files: Callable[[Files], Files] | None = None
) -> MemoryStore:
    """Open a configured vault as the settings say. Raises `VaultError` without a folder that can be read."""
    return MemoryStore(
        settings.path,
        layout=settings.layout,
        state_dir=settings.state_dir,
        derived=settings.derived,
        history_settings=settings.history,
        state=state,
        wrap_files=wrap_files,
    )
