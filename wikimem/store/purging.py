"""`history --purge`: a secret that was written down leaves the history, and what still holds it is named."""

from dataclasses import dataclass

from wikimem.config import Settings
from wikimem.store.vault import MemoryStore
from wikimem.text.names import parse_address


@dataclass(frozen=True, slots=True)
class Purged:
    """How many kept texts went, and the vault's files that still hold the text that was searched for."""

    versions: int
    still_in: tuple[str, ...]


def purge_vault(settings: Settings, *, address: str | None, containing: str | None, everything: bool) -> Purged:
    """Purge the history of a vault, whether or not its daemon runs. Raises `HistoryUnavailable`, `InvalidAddress`.

    Live notes are never touched: with `containing`, those that hold the text are named.
    """
    if address is not None:
        address = str(parse_address(address))
    with MemoryStore(
        settings.path, layout=settings.layout, state_dir=settings.state_dir, derived=settings.derived
    ) as store:
        versions = store.purge_history(address=address, containing=containing, everything=everything)
        still_in = _holding(store, containing.encode()) if containing else ()
    return Purged(versions, tuple(still_in))


def _holding(store: MemoryStore, text: bytes) -> list[str]:
    paths = [path for suffix in (".md", ".jsonl") for path, _ in store.disk.walk(suffix=suffix, report=lambda _: None)]
    found = []
    for path in paths:
        try:
            if text in store.disk.read(path).data:
                found.append(path)
        except OSError:
            continue
    return found
