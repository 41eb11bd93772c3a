"""The schema of both configuration files: one row a key, and the values that come out of it.

Two files share it. The user's file may set every key below `[vaults.NAME]`; `wikimem.toml` inside a vault may set
only the rows that travel: a file that a sync tool brings must not choose where notes are sent, must not rewrite
notes by itself, and must not loosen a limit of this machine.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "path", "flag", "count", "number", "texts"]
Value = str | bool | int | float | tuple[str, ...] | None

CREDENTIAL = "embeddings-api-key"
"""The systemd credential that holds the endpoint's key: what a service is given and what the daemon reads."""


@dataclass(frozen=True, slots=True)
class Key:
    """One setting. `minimum` and `maximum` are inclusive; a None `default` means that the key may be absent."""

    name: str
    kind: Kind
    default: Value
    help: str
    travels: bool = False
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None


TABLES: dict[str, tuple[Key, ...]] = {
    "vault": (
        Key("wiki_dir", "path", "wiki", "folder of the wiki files, `.` for the whole vault", travels=True),
        Key("diary_dir", "path", "diary", "folder of the day files", travels=True),
        Key("preamble_items", "flag", default=False, help="serve prose above the first `##` as an item", travels=True),
        Key("ignore", "texts", (), "paths inside the vault that are not read, as globs", travels=True),
        Key("derived", "text", "vault", "where journal and vectors go", travels=True, choices=("vault", "state")),
    ),
    "links": (
        Key("style", "text", "keep", "how links in written content are stored", True, ("keep", "obsidian")),
        Key("auto_repair", "flag", default=False, help="rewrite inbound links after a rename, when all is quiet"),
    ),
    "retrieval": (
        Key("fusion", "text", "max", "how BM25 and cosine are joined", True, ("max", "ceiling", "min-max")),
        Key("fusion_weight", "number", 0.6, "share of BM25 in the fused score", True, minimum=0, maximum=1),
        Key("temperature_weight", "number", 0.0, "share of the temperature in the ranking", True, minimum=0, maximum=1),
        Key(
            "link_policy",
            "text",
            "all",
            "which links of a hit come with it",
            travels=True,
            choices=("all", "best-two", "merge"),
        ),
        Key("budget_tokens", "count", None, "budget of an answer when the caller names none", True, minimum=0),
    ),
    "embeddings": (
        Key("provider", "text", "none", "who makes vectors", choices=("none", "http", "local")),
        Key("base_url", "text", None, "an OpenAI-compatible endpoint, up to and with `/v1`"),
        Key("model", "text", None, "the model's name at that endpoint"),
        Key("api_key_file", "path", None, "a file that holds the key"),
        Key("api_key_env", "text", None, "an environment variable that holds the key"),
        Key("query_timeout_ms", "count", 800, "how long a query waits for its own vector", minimum=1, maximum=60_000),
    ),
    "watch": (
        Key(
            "mode",
            "text",
            "auto",
            "how changes on disk are noticed",
            choices=("auto", "inotify", "native", "polling"),
        ),
        Key("scan_interval_s", "count", 300, "seconds between two full comparisons", minimum=1, maximum=86_400),
    ),
    "limits": (Key("max_file_bytes", "count", 5_000_000, "larger notes are reported, not indexed", minimum=1_000),),
    "history": (
        Key("max_bytes", "count", 256_000_000, "prior texts kept, in bytes", minimum=0),
        Key("max_days", "count", 180, "prior texts kept, in days", minimum=0),
    ),
    "report": (Key("counts", "flag", default=True, help="let `wikimem report` say how often the vault was asked"),),
}


@dataclass(frozen=True, slots=True)
class LinksSettings:
    """`[links]`."""

    style: Literal["keep", "obsidian"] = "keep"
    auto_repair: bool = False


@dataclass(frozen=True, slots=True)
class RetrievalOptions:
    """`[retrieval]`: weights are 0 to 1, `budget_tokens` counts words or CJK characters."""

    fusion: str = "max"
    fusion_weight: float = 0.6
    temperature_weight: float = 0.0
    link_policy: str = "all"
    budget_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class EmbeddingsSettings:
    """`[embeddings]`: the key itself is never here, only where it is kept."""

    provider: Literal["none", "http", "local"] = "none"
    base_url: str | None = None
    model: str | None = None
    api_key_file: str | None = None
    api_key_env: str | None = None
    query_timeout_ms: int = 800


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """`[watch]`: `native` and `polling` name watchfiles' two ways, `auto` takes inotify where it works."""

    mode: Literal["auto", "inotify", "native", "polling"] = "auto"
    scan_interval_s: int = 300


@dataclass(frozen=True, slots=True)
class LimitsSettings:
    """`[limits]`."""

    max_file_bytes: int = 5_000_000


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """`[history]`: caps of the prior texts; the last version of a live item is always kept."""

    max_bytes: int = 256_000_000
    max_days: int = 180


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """`[report]`."""

    counts: bool = True
