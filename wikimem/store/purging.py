"""`history --purge`: a secret that was written down leaves the history, and what still holds it is named."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from wikimem.config import Settings
from wikimem.store.manifest import Manifest
from wikimem.store.opening import open_store
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
    with open_store(settings) as store:
        _forget_what_was_seen(store, address, containing, everything=everything)
        versions = store.purge_history(address=address, containing=containing, everything=everything)
        still_in = _holding(store, containing.encode()) if containing else ()
    return Purged(versions, tuple(still_in))


def _forget_what_was_seen(store: MemoryStore, address: str | None, containing: str | None, *, everything: bool) -> None:
    """Drop what the manifest still has of texts that are gone from the notes.

    It holds each note as a daemon last saw it. The next start would find the text gone, and put it into the history
    that was just purged.
    """
    manifest = Manifest(store.state)
    path = store.path_of(address) if address is not None else None
    stale = []
    for each in manifest.load():
        body = manifest.body(each) or b""
        meant = everything or each == path or (containing is not None and containing.encode() in body)
        if meant and _now(store, each) != body:
            stale.append(each)
    manifest.drop(stale)
    gone = [
        row.item_id
        for row in manifest.gone()
        if everything or row.path == path or (containing is not None and containing in _words(row.item))
    ]
    manifest.drop_gone(gone)


def _words(item: str) -> str:
    values = json.loads(item)
    return "\n".join(str(value) for value in values.values()) if isinstance(values, dict) else item


def _now(store: MemoryStore, path: str) -> bytes | None:
    try:
        return store.disk.read(path).data
    except OSError:
        return None


def _holding(store: MemoryStore, text: bytes) -> Iterator[str]:
    for suffix in (".md", ".jsonl"):
        for path, _ in store.disk.walk(suffix=suffix, report=lambda _: None):
            if text in (_now(store, path) or b""):
                yield path
