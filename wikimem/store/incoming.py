"""Notes that come from elsewhere: read a source into a plan, copy its files. The source is never written to.

Three kinds of source: a memory directory (it holds `wiki/` or `diary/`), a folder or file of markdown notes, and
records (JSON, or one JSON object a line).
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wikimem.config import is_vault, vault_layout
from wikimem.errors import InvalidInput, StorageError, WikimemError
from wikimem.pages.day import diary_items
from wikimem.pages.items import DiaryItem, RecallItem
from wikimem.pages.layout import PAGE_KINDS, Layout
from wikimem.pages.reading import read_page
from wikimem.store.files import DiskFiles, Files, Stale
from wikimem.store.locks import WRITE_TIMEOUT_S, VaultLock, vault_key
from wikimem.text.names import parse_address

_RECORD_ENDINGS = {".json", ".jsonl", ".ndjson"}
_NOTE_ENDINGS = {".md"}


@dataclass(frozen=True, slots=True)
class NewFile:
    """A note that the vault does not have: its bytes go to `path` as they are."""

    source: str
    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item for a category; the vault may have one of that name."""

    source: str
    item: RecallItem


@dataclass(frozen=True, slots=True)
class NewEntry:
    """A diary entry; the vault may have the very same."""

    source: str
    entry: DiaryItem


@dataclass(frozen=True, slots=True)
class Left:
    """Something that is not taken, and why. `same`: the vault has it already."""

    source: str
    kind: Literal["same", "differs", "skipped"]
    reason: str


Found = NewFile | NewItem | NewEntry | Left


def read_source(source: Path, target: Files, layout: Layout, into: str = "") -> Iterator[Found]:
    """Read a source and say, piece by piece, what it has for a vault of this layout.

    `into` is a folder below the wiki for loose notes. Raises `InvalidInput` when the source cannot be taken at all.
    """
    if source.is_file():
        if source.suffix.lower() in _RECORD_ENDINGS:
            yield from _records(source)
        elif source.suffix.lower() in _NOTE_ENDINGS:
            yield _file(source, source.name, _below_wiki(layout, into, source.name), target)
        else:
            hint = "a source is a folder of notes, a *.md file, or records in *.json or *.jsonl"
            raise InvalidInput(f"{source} is neither notes nor records", hint=hint)
    elif source.is_dir():
        if is_vault(source) or (source / "diary").is_dir():
            yield from _memory(source, target, layout)
        else:
            yield from _notes(source, target, layout, into)
    else:
        raise InvalidInput(f"{source} does not exist", hint="name a folder of notes, or a file")


def copy_files(files: list[NewFile], root: Path, state_root: Path) -> Iterator[tuple[NewFile, WikimemError | None]]:
    """Write new files under the vault's write lock, one by one. A file that appeared meanwhile is left alone."""
    disk = DiskFiles(root)
    lock = VaultLock(state_root, vault_key(root), "write")
    for file in files:
        lock.acquire(WRITE_TIMEOUT_S)
        try:
            disk.write(file.path, file.data, based_on=None)
        except Stale:
            yield file, StorageError(f"{file.path} is in the vault by now", path=file.path, hint="run the import again")
        except StorageError as error:
            yield file, error
        else:
            yield file, None
        finally:
            lock.release()


def _memory(source: Path, target: Files, layout: Layout) -> Iterator[Found]:
    """Take a memory directory: whole files where the vault has none, items and entries where it has one."""
    theirs = vault_layout(source)
    disk = DiskFiles(source)
    for path, _ in disk.walk():
        place = theirs.classify(path)
        if place.kind not in PAGE_KINDS:
            yield Left(path, "skipped", f"it is no note of that memory ({place.kind})")
            continue
        goal = layout.wiki_path(place.category) if place.kind == "wiki" else layout.diary_path(place.category)
        found = _file(source / path, path, goal, target)
        if isinstance(found, NewFile) or found.kind == "same":
            yield found
            continue
        page = read_page(path, disk.read(path).data, theirs)
        if place.kind == "wiki":
            yield from (NewItem(f"{path}:{item.line}", item) for item in page.items)
        else:
            yield from (NewEntry(f"{path}:{entry.time}", entry) for entry in diary_items(page))


def _notes(source: Path, target: Files, layout: Layout, into: str) -> Iterator[Found]:
    """Take loose notes with their folders and names."""
    other = 0
    for folder, names, files in os.walk(source):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            file = Path(folder) / name
            relative = file.relative_to(source).as_posix()
            goal = _below_wiki(layout, into, relative)
            if name.startswith("."):
                continue
            if file.suffix.lower() not in _NOTE_ENDINGS or file.is_symlink():
                other += 1
            elif layout.classify(goal).kind != "wiki":
                yield Left(relative, "skipped", f"the vault would not read it there ({layout.classify(goal).kind})")
            else:
                yield _file(file, relative, goal, target)
    if other:
        yield Left(str(source), "skipped", f"{other} other files (no markdown, or links): copy them yourself")


def _below_wiki(layout: Layout, into: str, relative: str) -> str:
    folder = os.path.normpath(into) if into else "."
    if folder.startswith(("/", "..")):
        raise InvalidInput(f"--into leads out of the wiki: {into}", hint="name a folder below the wiki, as `old-notes`")
    return os.path.normpath(f"{layout.wiki_dir}/{folder}/{relative}")


def _file(file: Path, shown: str, goal: str, target: Files) -> "NewFile | Left":
    try:
        data = file.read_bytes()
    except OSError as error:
        return Left(shown, "skipped", f"it cannot be read: {error.strerror}")
    try:
        there = target.read(goal).data
    except FileNotFoundError:
        return NewFile(shown, goal, data)
    except OSError as error:
        return Left(shown, "skipped", f"{goal} in the vault cannot be read: {error.strerror}")
    if there == data:
        return Left(shown, "same", goal)
    return Left(shown, "differs", f"{goal} is in the vault with another text")


def _records(file: Path) -> Iterator[Found]:
    """Take records: `{category, name, content, ...}`, `{date, time, content, ...}` or `{address, content, ...}`."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}", hint="records are UTF-8") from error
    for position, record in _parsed(file, text):
        place = f"{file.name}:{position}"
        yield record if isinstance(record, Left) else _record(place, record)


def _parsed(file: Path, text: str) -> Iterator[tuple[int, "Left | object"]]:
    """Yield each record with its line (or its number in a JSON list)."""
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and isinstance(whole.get("items"), list):
        whole = whole["items"]
    if isinstance(whole, list):
        yield from enumerate(whole, 1)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except ValueError as error:
            yield number, Left(f"{file.name}:{number}", "skipped", f"it is not JSON: {error}")


def _record(place: str, record: object) -> Found:
    if not isinstance(record, Mapping):
        return Left(place, "skipped", "it is no JSON object")
    content = record.get("content", record.get("text"))
    if not isinstance(content, str):
        return Left(place, "skipped", "it has no `content`")
    owner, conv, ts = _text(record, "owner"), _text(record, "source_conv", "source"), _text(record, "ts")
    category, name = _text(record, "category", "file"), _text(record, "name", "item")
    day, time = _text(record, "date"), _text(record, "time")
    address = _text(record, "address")
    if address is not None and not (category and name):
        try:
            parsed = parse_address(address)
        except InvalidInput as error:
            return Left(place, "skipped", error.message)
        category, name = parsed.category, parsed.name
    if category and name:
        return NewItem(place, RecallItem(category, name, content, owner=owner, source_conv=conv, ts=ts))
    if day and time:
        return NewEntry(place, DiaryItem(day, time, content, owner=owner, source_conv=conv, ts=ts))
    return Left(place, "skipped", "it has neither `category` and `name` nor `date` and `time`")


def _text(record: Mapping[object, object], *names: str) -> str | None:
    return next((value for name in names if isinstance(value := record.get(name), str) and value), None)
