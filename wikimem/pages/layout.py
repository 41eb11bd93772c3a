"""Where things lie in a vault: which path is a wiki file, which a day, which is to be left alone."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Literal

from wikimem.errors import InvalidAddress
from wikimem.pages.day_format import DayFormat, parse_day_format
from wikimem.pages.skipped import is_conflict_copy, is_ignored, is_temporary
from wikimem.text.names import category_of, fold_name, is_day, path_stem_of
from wikimem.text.problems import Problem

PlaceKind = Literal["wiki", "diary", "conflict-copy", "ignored", "other"]
PAGE_KINDS: tuple[PlaceKind, ...] = ("wiki", "diary")
"""Files that are read as pages."""
OWN_KINDS: tuple[PlaceKind, ...] = (*PAGE_KINDS, "conflict-copy")
"""Files that are read, or reported."""
DEFAULT_DIARY, DEFAULT_FORMAT = "diary", "YYYY-MM-DD"


@dataclass(frozen=True, slots=True)
class Place:
    """What a path is. `category` is the category key or the day; "" for files that are no memory."""

    kind: PlaceKind
    category: str = ""


_IGNORED, _OTHER = Place("ignored"), Place("other")
_PROBE = "wikimem-probe.md"


@dataclass(frozen=True, slots=True)
class Layout:
    """The settings that say where a vault keeps what. Folders are vault-relative; `"."` is the vault itself."""

    wiki_dir: str = "wiki"
    diary_dir: str = DEFAULT_DIARY
    diary_format: str = DEFAULT_FORMAT
    preamble_items: bool = False
    ignore: tuple[str, ...] = ()
    link_style: Literal["keep", "obsidian"] = "keep"
    max_file_bytes: int = 5_000_000

    def classify(self, path: str) -> Place:
        """Say what a vault-relative path is, from its spelling alone."""
        parts = path.split("/")
        if any(is_temporary(part) for part in parts) or is_ignored(path, self.ignore) or self._is_template(path):
            return _IGNORED
        if not path.endswith(".md"):
            return _OTHER
        day = self._day_of(path)
        below_wiki = _below(path, self.wiki_dir)
        if is_conflict_copy(path) and (below_wiki is not None or _below(path, self.diary_dir) is not None):
            return Place("conflict-copy")
        if day is not None:
            return Place("diary", day.isoformat())
        if below_wiki is None:
            return _OTHER
        return Place("wiki", category_of(below_wiki.removesuffix(".md")))

    @property
    def tops(self) -> tuple[str, ...]:
        """The folders that hold notes, as plain paths; "" is the vault itself."""
        return tuple(dict.fromkeys(_folder(one) for one in (self.wiki_dir, self.diary_dir)))

    def reads(self, path: str, is_folder: bool) -> bool:
        """Say whether what lies at this path is read under its own name, so that no link to it is followed."""
        return self.wants(path) if is_folder else self.classify(path).kind in OWN_KINDS

    def wants(self, folder: str) -> bool:
        """Say whether a folder is to be listed: it lies in a top folder, or on the way to one."""
        tops = self.tops
        if folder == "" or any(top == folder or top.startswith(f"{folder}/") for top in tops):
            return True
        return self.is_below_top(folder) and self.classify(f"{folder}/{_PROBE}").kind != "ignored"

    def is_below_top(self, path: str) -> bool:
        """Say whether a path lies in one of the folders that hold notes."""
        return any(top == "" or path.startswith(f"{top}/") for top in self.tops)

    def wiki_path(self, category: str) -> str:
        """Return the path of a category's file; raise `InvalidCategory` for a key that no file can have."""
        return _join(self.wiki_dir, f"{path_stem_of(category)}.md")

    def diary_path(self, day: str) -> str:
        """Return the path of a day's file (`day` is `YYYY-MM-DD`); raise `InvalidAddress` when it is no day."""
        if not is_day(day):
            raise InvalidAddress(f"{day!r} is no day", hint="write it as YYYY-MM-DD")
        return _join(self.diary_dir, f"{_format(self.diary_format).path(date.fromisoformat(day))}.md")

    def _day_of(self, path: str) -> date | None:
        below = _below(path, self.diary_dir)
        return None if below is None else _format(self.diary_format).day(below.removesuffix(".md"))

    def _is_template(self, path: str) -> bool:
        """Tell whether a path lies in `templates/` of the vault, the wiki or the diary (obsidian.md, section 3)."""
        for folder in (".", self.wiki_dir, self.diary_dir):
            below = _below(path, folder)
            if below is not None and below.split("/", 1)[0].casefold() == "templates":
                return True
        return False


@lru_cache(maxsize=16)
def _format(text: str) -> DayFormat:
    """Return the format; one that names no day stands for the default (`layout_problems` says so)."""
    parsed = parse_day_format(text) or parse_day_format(DEFAULT_FORMAT)
    assert parsed is not None  # noqa: S101 - the default names a day
    return parsed


def _below(path: str, folder: str) -> str | None:
    folder = _folder(folder)
    if not folder:
        return path
    return path[len(folder) + 1 :] if path.startswith(f"{folder}/") else None


def _join(folder: str, path: str) -> str:
    folder = _folder(folder)
    return f"{folder}/{path}" if folder else path


def _folder(folder: str) -> str:
    return "/".join(part for part in folder.split("/") if part not in ("", "."))


def _daily_notes(daily_notes_json: bytes | None) -> tuple[dict[str, object], Problem | None]:
    if daily_notes_json is None:
        return {}, None
    try:
        settings = json.loads(daily_notes_json.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        problem = Problem(
            "daily-note-settings",
            0,
            "Obsidian's daily-notes.json is no JSON object; days are looked for where wikimem keeps them",
            "open Obsidian's settings for daily notes and save them again",
        )
        return {}, problem
    return settings, None


def layout_from_obsidian(daily_notes_json: bytes | None, layout: Layout) -> Layout:
    """Return `layout` with the folder and format of Obsidian's daily notes.

    What `layout` sets itself wins over Obsidian's setting. A format that names no day, or a folder that cannot be
    one, leaves the default; `obsidian_problems` reports it.
    """
    settings, _ = _daily_notes(daily_notes_json)
    folder, pattern, template = settings.get("folder"), settings.get("format"), settings.get("template")
    if isinstance(folder, str) and folder and layout.diary_dir == DEFAULT_DIARY and _is_folder(folder):
        layout = replace(layout, diary_dir=_folder(folder) or ".")
    if isinstance(pattern, str) and layout.diary_format == DEFAULT_FORMAT and parse_day_format(pattern):
        layout = replace(layout, diary_format=pattern)
    if isinstance(template, str) and template.strip("/"):
        path = template.strip("/").removesuffix(".md") + ".md"
        if layout.classify(path).kind in PAGE_KINDS:
            layout = replace(layout, ignore=(*layout.ignore, f"/{_literal(path)}"))
    return layout


def obsidian_problems(daily_notes_json: bytes | None) -> tuple[Problem, ...]:
    """Return what in Obsidian's daily-note settings cannot be followed."""
    settings, problem = _daily_notes(daily_notes_json)
    if problem is not None:
        return (problem,)
    found: list[Problem] = []
    folder, pattern = settings.get("folder"), settings.get("format")
    if isinstance(folder, str) and folder and not _is_folder(folder):
        found.append(
            Problem(
                "daily-note-folder",
                0,
                f"the daily-note folder {folder!r} is hidden or outside the vault; {DEFAULT_DIARY} is used",
                "choose a folder of the vault whose name does not start with a dot",
            )
        )
    if isinstance(pattern, str) and pattern and parse_day_format(pattern) is None:
        found.append(
            Problem(
                "daily-note-format",
                0,
                f"the daily-note format {pattern!r} does not say which day a note is; {DEFAULT_FORMAT} is used",
                "choose a format with year, month and day, or leave it empty",
            )
        )
    return tuple(found)


def _is_folder(folder: str) -> bool:
    return all(part != ".." and not part.startswith(".") for part in folder.split("/") if part not in ("", "."))


def _literal(path: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in path)


def fold_alike(categories: Mapping[str, str]) -> list[tuple[str, Problem]]:
    """Return a problem for every wiki file whose category matches another's under NFC and collapsed white space.

    `categories` has the category key of every wiki file by its path.
    """
    groups: dict[str, list[str]] = {}
    for path, category in categories.items():
        groups.setdefault(fold_name(category), []).append(path)
    found: list[tuple[str, Problem]] = []
    for same in groups.values():
        for path in same if len(same) > 1 else ():
            others = ", ".join(other for other in same if other != path)
            message = f"the name matches that of {others}; a link to it is ambiguous unless it is spelled exactly"
            found.append((path, Problem("names-alike", 0, message, "rename one of the files")))
    return found
