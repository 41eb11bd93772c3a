"""From the configuration to the parts that make vectors."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wikimem.cache.files import DIARY_FOLDER, VectorFiles
from wikimem.cache.sync import VectorSync
from wikimem.config import Settings
from wikimem.errors import ConfigError

if TYPE_CHECKING:
    from wikimem.cache.http_embedder import HttpEmbedder


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The client of the endpoint, and the work on a vault's vectors."""

    client: "HttpEmbedder"
    sync: VectorSync


def cache_folder(settings: Settings) -> Path:
    """Return where the vectors lie: in the vault, or beside its state with `[vault] derived = "state"`."""
    return settings.state_dir if settings.derived == "state" else settings.path


def open_embeddings(
    settings: Settings,
    key: str | None,
    *,
    whole: Callable[[], bool] = lambda: True,
    stopped: Callable[[], bool] = lambda: False,
) -> Embeddings | None:
    """Return the parts, None when no embeddings are configured. Raises `ConfigError` for what cannot be had."""
    chosen = settings.embeddings
    if chosen.provider == "none":
        return None
    if chosen.provider == "local":
        hint = 'use `provider = "http"` with an endpoint of your own (Ollama, llama.cpp, TEI), or leave it out'
        raise ConfigError('`embeddings.provider = "local"` is not available in this version', hint=hint)
    # It brings httpx: 4 MB that a vault without embeddings has no use for. A daemon has imported it before.
    from wikimem.cache.http_embedder import HttpEmbedder  # noqa: PLC0415

    client = HttpEmbedder(
        chosen.base_url or "", chosen.model or "", key=key, query_timeout_s=chosen.query_timeout_ms / 1000
    )
    folder = cache_folder(settings)
    files = VectorFiles(folder), VectorFiles(folder / DIARY_FOLDER)
    return Embeddings(client, VectorSync(client, *files, whole=whole, stopped=stopped))
