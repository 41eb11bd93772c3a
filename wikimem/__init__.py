"""An Obsidian-compatible vault sync daemon for agent memory.

    from wikimem import MemoryStore, MemoryIndex

    store = MemoryStore("memory")
    store.add("preferences", "likes-the-sea", "Likes the sea. [[daily_life:beach-trip-plan]]")
    MemoryIndex(store).retrieve("sea", limit=5).items

Names are imported when they are first used: `import wikimem` brings neither numpy nor any other dependency.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wikimem.api.client import AsyncClient, Client
    from wikimem.errors import (
        AppendOnly,
        Busy,
        ConfigError,
        Conflict,
        DeniedError,
        HistoryUnavailable,
        InvalidAddress,
        InvalidCategory,
        InvalidContent,
        InvalidCursor,
        InvalidInput,
        InvalidName,
        Locked,
        NotFound,
        NotRunning,
        ProtocolMismatch,
        StorageError,
        TryAgain,
        Unreachable,
        UsageError,
        VaultError,
        WikimemError,
    )
    from wikimem.host import MemoryHost
    from wikimem.pages.items import DiaryItem, RecallItem
    from wikimem.search.index import MemoryIndex
    from wikimem.search.results import RetrievalResult, RetrievedItem
    from wikimem.store.vault import MemoryStore
    from wikimem.text.links import Link, WikiLink, parse_wiki_links
    from wikimem.text.names import sanitize_item_name
    from wikimem.text.problems import Problem

__version__ = "0.1.0"

_HOME = {
    "wikimem.api.client": ("AsyncClient", "Client"),
    "wikimem.errors": (
        "AppendOnly",
        "Busy",
        "ConfigError",
        "Conflict",
        "DeniedError",
        "HistoryUnavailable",
        "InvalidAddress",
        "InvalidCategory",
        "InvalidContent",
        "InvalidCursor",
        "InvalidInput",
        "InvalidName",
        "Locked",
        "NotFound",
        "NotRunning",
        "ProtocolMismatch",
        "StorageError",
        "TryAgain",
        "Unreachable",
        "UsageError",
        "VaultError",
        "WikimemError",
    ),
    "wikimem.host": ("MemoryHost",),
    "wikimem.pages.items": ("DiaryItem", "RecallItem"),
    "wikimem.search.index": ("MemoryIndex",),
    "wikimem.search.results": ("RetrievalResult", "RetrievedItem"),
    "wikimem.store.vault": ("MemoryStore",),
    "wikimem.text.links": ("Link", "WikiLink", "parse_wiki_links"),
    "wikimem.text.names": ("sanitize_item_name",),
    "wikimem.text.problems": ("Problem",),
}

_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "AppendOnly",
    "AsyncClient",
    "Busy",
    "Client",
    "ConfigError",
    "Conflict",
    "DeniedError",
    "DiaryItem",
    "HistoryUnavailable",
    "InvalidAddress",
    "InvalidCategory",
    "InvalidContent",
    "InvalidCursor",
    "InvalidInput",
    "InvalidName",
    "Link",
    "Locked",
    "MemoryHost",
    "MemoryIndex",
    "MemoryStore",
    "NotFound",
    "NotRunning",
    "Problem",
    "ProtocolMismatch",
    "RecallItem",
    "RetrievalResult",
    "RetrievedItem",
    "StorageError",
    "TryAgain",
    "Unreachable",
    "UsageError",
    "VaultError",
    "WikiLink",
    "WikimemError",
    "__version__",
    "parse_wiki_links",
    "sanitize_item_name",
]


def __getattr__(name: str) -> object:
    """Import the module that a public name lives in, on first use (PEP 562)."""
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'wikimem' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
