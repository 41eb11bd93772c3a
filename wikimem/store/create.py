"""Make a folder a vault. Nothing that is there is ever overwritten."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wikimem.config_read import VAULT_FILE
from wikimem.errors import StorageError, VaultError

_HEAD = """\
# Settings that travel with this vault. What is about one machine (where embeddings are sent, limits, history)
# stands in that machine's own configuration: `wikimem config` prints both and says where each value came from.
"""

_WHOLE_VAULT = """\

[vault]
# The notes were here first: every note of this folder is read, and prose above the first `##` counts.
wiki_dir = "."
preamble_items = true
"""

_LINKS = """\

[links]
# Links that agents write as [[category:name]] are stored as [[category#name]], which Obsidian can follow.
style = "obsidian"
"""


@dataclass(frozen=True, slots=True)
class Created:
    """What `create_vault` did. `kind`: a new vault, notes that were there, or a vault that was one already."""

    root: Path
    kind: Literal["new", "adopted", "already"]
    written: tuple[str, ...]


def create_vault(root: Path, template: Path) -> Created:
    """Make `root` a vault: from the template when it holds nothing visible, else by adding `wikimem.toml` alone.

    Raises `VaultError` when `root` cannot be a folder, `StorageError` when a file cannot be written.
    """
    if os.path.lexists(root) and not root.is_dir():
        kind = "a link to nothing" if root.is_symlink() else "a file, not a folder"
        raise VaultError(f"{root} is {kind}", hint="name a folder: one that is there, or one to be made")
    try:
        names = os.listdir(root) if root.is_dir() else []  # noqa: PTH208 - only the names
    except OSError as error:
        hint = f"give yourself the right to read it: `chmod u+rx {root}`"
        raise VaultError(f"{root} cannot be read: {error.strerror}", hint=hint) from error
    if VAULT_FILE in names:
        return Created(root, "already", ())
    if all(name.startswith(".") for name in names):
        _make_folder(root)
        return Created(root, "new", tuple(_copy(template, root)))
    whole = "" if (root / "wiki").is_dir() else _WHOLE_VAULT
    _write_new(root / VAULT_FILE, (_HEAD + whole + _LINKS).encode())
    return Created(root, "adopted", (VAULT_FILE,))


def _copy(template: Path, root: Path) -> Iterator[str]:
    """Copy every file that is not there yet. `wikimem.toml` comes last: with it the folder counts as done."""
    files = sorted(file.relative_to(template) for file in template.rglob("*") if file.is_file())
    for relative in sorted(files, key=lambda file: file.name == VAULT_FILE):
        target = root / relative
        if os.path.lexists(target):
            continue
        _make_folder(target.parent)
        _write_new(target, (template / relative).read_bytes())
        yield relative.as_posix()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _failed(folder, "make the folder", error) from error


def _write_new(file: Path, data: bytes) -> None:
    """Write a file that must not exist: of two racing `init`, one stops here."""
    try:
        with file.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise _failed(file, "write the file", error) from error


def _failed(path: Path, step: str, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be made: {error.strerror}",
        path=str(path),
        step=step,
        hint="what was there is as it was; choose a folder that you can write to, then run it again",
    )
