"""Configuration: what holds for one vault, and where each value came from.

A value is the built-in default, unless the vault's `wikimem.toml` has it, unless the user's file has it. The folder
and the format of the daily notes come from `.obsidian/daily-notes.json` where neither file says otherwise.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from wikimem import places
from wikimem.config_endpoint import check_embeddings, embeddings_key
from wikimem.config_read import VAULT_FILE, Flat, read_plain, read_vault_tables
from wikimem.config_tables import (
    TABLES,
    EmbeddingsSettings,
    HistorySettings,
    LimitsSettings,
    LinksSettings,
    ReportSettings,
    RetrievalOptions,
    Value,
    WatchSettings,
)
from wikimem.config_vaults import Choice, choose, is_closed, is_vault, read_user_file, require_vault
from wikimem.errors import ConfigError
from wikimem.pages.layout import Layout, layout_from_obsidian, obsidian_problems
from wikimem.text.problems import Problem

__all__ = [
    "VAULT_FILE",
    "EmbeddingsSettings",
    "HistorySettings",
    "LimitsSettings",
    "LinksSettings",
    "ReportSettings",
    "RetrievalOptions",
    "Settings",
    "WatchSettings",
    "is_closed",
    "is_vault",
    "load",
    "require_vault",
    "vault_layout",
]

_DAILY_NOTES = ".obsidian/daily-notes.json"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that holds for one vault on this machine.

    `path` is absolute, links kept. `configured`: the user's file names this vault. `origins` says for each
    `table.key`, and for `path`, `socket_path` and `state_dir`, which file, variable or default it came from.
    """

    name: str
    path: Path
    layout: Layout
    socket_path: Path
    state_dir: Path
    config_file: Path
    configured: bool = False
    derived: Literal["vault", "state"] = "vault"
    retrieval: RetrievalOptions = field(default_factory=RetrievalOptions)
    embeddings: EmbeddingsSettings = field(default_factory=EmbeddingsSettings)
    watch: WatchSettings = field(default_factory=WatchSettings)
    limits: LimitsSettings = field(default_factory=LimitsSettings)
    history: HistorySettings = field(default_factory=HistorySettings)
    links: LinksSettings = field(default_factory=LinksSettings)
    report: ReportSettings = field(default_factory=ReportSettings)
    origins: Mapping[str, str] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """What `--vault` takes for this vault: the name of one that no file names is made up."""
        return self.name if self.configured else str(self.path)

    @property
    def state_root(self) -> Path:
        """The folder that holds every vault's state, and the locks that are keyed by device and inode."""
        return self.state_dir.parent


def load(
    vault: str | None = None,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    require: bool = True,
) -> Settings:
    """Return the settings of the vault that `vault` (a name or a path), the environment or `cwd` names.

    With `require` a folder that is missing, unreadable or no vault raises `VaultError`; without it the settings are
    those that a running daemon of that vault has (its disk may be away). Raises `ConfigError` for a wrong setting.
    """
    env = os.environ if env is None else env
    cwd = Path.cwd() if cwd is None else cwd
    user = read_user_file(env)
    choice = choose(vault, env=env, cwd=cwd, user=user)
    if require:
        require_vault(choice.path, configured=choice.configured, env=env)
    travelling = _travelling(choice.path, user.file)
    flat = {**travelling, **choice.flat}
    layout, layout_origins = _layout(choice.path, flat)
    socket_path, socket_origin = places.socket_file(choice.name, env=env, cwd=cwd)
    return _settings(
        choice,
        flat,
        layout=layout,
        socket_path=socket_path,
        state_root=places.state_home(env),
        config_file=user.file,
        origins={**_origins(choice, travelling, user.file, env), **layout_origins, "socket_path": socket_origin},
    )


def endpoint_key(settings: Settings, env: Mapping[str, str] = os.environ) -> str | None:
    """Return the key of a vault's embedding endpoint, as `embeddings_key` finds it. Raises `ConfigError`."""
    return embeddings_key(settings.embeddings, env=env, base=settings.config_file.parent)


def vault_layout(root: Path) -> Layout:
    """Return the layout that the vault's own files describe (`wikimem.toml`, `.obsidian/daily-notes.json`)."""
    return _layout(root, _travelling(root, None))[0]


def daily_note_problems(root: Path) -> list[tuple[str, Problem]]:
    """Return what in Obsidian's settings for daily notes the layout could not follow, by path."""
    return [(_DAILY_NOTES, problem) for problem in obsidian_problems(_daily_notes(root))]


def _travelling(root: Path, user_file: Path | None) -> Flat:
    if is_closed(root):
        # The folder is closed, not its settings: `require_vault` says so, and a running daemon goes on answering.
        return {}
    return read_vault_tables(root / VAULT_FILE, user_file)


def _origins(choice: Choice, travelling: Flat, user_file: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Return where each setting, and the vault itself, came from; the last of several holds."""
    return {
        **{f"{table}.{key.name}": "default" for table, keys in TABLES.items() for key in keys},
        **dict.fromkeys(travelling, str(choice.path / VAULT_FILE)),
        **dict.fromkeys(choice.flat, str(user_file)),
        "path": choice.origin,
        "name": str(user_file) if choice.configured else "the folder's name and a hash of its real path",
        "state_dir": "XDG_STATE_HOME" if env.get("XDG_STATE_HOME", "").startswith("/") else "default",
        "config_file": "there" if user_file.exists() else "not there; defaults hold",
    }


def _layout(root: Path, flat: Flat) -> tuple[Layout, dict[str, str]]:
    """Join the built-in layout, Obsidian's daily notes, and what the configuration says, the last one first."""
    given: dict[str, Any] = {
        key: flat[f"vault.{key}"]
        for key in ("wiki_dir", "diary_dir", "preamble_items", "ignore")
        if f"vault.{key}" in flat
    }
    for key in ("wiki_dir", "diary_dir"):
        if key in given:
            given[key] = _inside(str(given[key]), f"vault.{key}")
    if "links.style" in flat:
        given["link_style"] = flat["links.style"]
    if "limits.max_file_bytes" in flat:
        given["max_file_bytes"] = flat["limits.max_file_bytes"]
    base = Layout(**given)
    layout = layout_from_obsidian(_daily_notes(root), base)
    if "diary_dir" in given:  # also where it repeats the default: what is written down wins over Obsidian
        layout = replace(layout, diary_dir=given["diary_dir"])
    origins = {"vault.diary_format": "default"}
    for key in ("diary_dir", "diary_format", "ignore"):
        if getattr(layout, key) != getattr(base, key):
            origins[f"vault.{key}"] = str(root / _DAILY_NOTES)
    return layout, origins


def _daily_notes(root: Path) -> bytes | None:
    try:
        return read_plain(root / _DAILY_NOTES)
    except OSError:
        # Obsidian's own file: absent in most vaults, and none of ours to complain about.
        return None


def _inside(text: str, dotted: str) -> str:
    """Return a folder of the vault without `./` and a last `/`; refuse what leads out of it."""
    folder = os.path.normpath(text.strip())
    if folder.startswith(("/", "..", "~")) or "\0" in folder:
        raise ConfigError(f"`{dotted}` leads out of the vault: {text!r}", hint='name a folder inside it, as "wiki"')
    return folder.replace(os.sep, "/")


def _settings(
    choice: Choice,
    flat: Flat,
    *,
    layout: Layout,
    socket_path: Path,
    state_root: Path,
    config_file: Path,
    origins: Mapping[str, str],
) -> Settings:
    def table(name: str) -> dict[str, Any]:
        values: dict[str, Value] = {key.name: key.default for key in TABLES[name]}
        return values | {key: flat[f"{name}.{key}"] for key in values if f"{name}.{key}" in flat}

    embeddings = EmbeddingsSettings(**table("embeddings"))
    check_embeddings(embeddings, config_file)
    return Settings(
        name=choice.name,
        path=choice.path,
        layout=layout,
        socket_path=socket_path,
        state_dir=state_root / choice.name,
        config_file=config_file,
        configured=choice.configured,
        derived=table("vault")["derived"],
        retrieval=RetrievalOptions(**table("retrieval")),
        embeddings=embeddings,
        watch=WatchSettings(**table("watch")),
        limits=LimitsSettings(**table("limits")),
        history=HistorySettings(**table("history")),
        links=LinksSettings(**table("links")),
        report=ReportSettings(**table("report")),
        origins=origins,
    )
