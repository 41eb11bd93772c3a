"""The vault's pages as they are on disk now, and which file a category is."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from wikimem.errors import Conflict, InvalidCategory, StorageError, VaultError
from wikimem.pages.items import RecallItem
from wikimem.pages.layout import PAGE_KINDS, Layout
from wikimem.pages.page import Page
from wikimem.pages.reading import git_marker_line, read_page, too_large_page
from wikimem.pages.wiki import read_wiki_page
from wikimem.store.files import Files, WalkFault
from wikimem.text.names import fold_name, validate_category
from wikimem.text.problems import Problem

_FAULTS = {
    "unreadable": ("It cannot be read: {reason}.", "Make it readable for you: `chmod u+rX` on it."),
    "link-outside": ("It is a link that leads out of the vault; it is not read.", "Move the notes into the vault."),
    "link-loop": ("It is a link back to a folder that holds it; it is not followed.", "Remove the link."),
    "link-dangling": ("It is a link to nothing.", "Remove the link, or bring its target back."),
    "not-a-file": ("It is no regular file.", "Give it another name, or remove it."),
}


class VaultPages:
    """Reads pages through the files port; no cache, no lock."""

    def __init__(self, files: Files, layout: Layout) -> None:
        self.files = files
        self.layout = layout

    def paths(self, problems: list[tuple[str, Problem]] | None = None) -> list[str]:
        """Return the path of every wiki and diary page, in order; `problems` gets what could not be walked.

        Raises `OSError` when the vault, the wiki or the diary itself cannot be read: that is no empty memory. A
        folder inside them costs itself only.
        """
        whole = {"", *_with_parents(self.layout.wiki_dir), *_with_parents(self.layout.diary_dir)}

        def report(fault: WalkFault) -> None:
            if problems is not None:
                problems.append((fault.path, _fault_problem(fault)))
            elif fault.error is not None and fault.path in whole:
                raise fault.error

        walked = self.files.walk(report=report, is_read=self.layout.reads)
        return [path for path, _ in walked if self.layout.classify(path).kind in PAGE_KINDS]

    def read(self, path: str) -> Page | None:
        """Read one page; None when there is no such file. Raises `OSError` when it cannot be read."""
        try:
            size = self.files.stamp(path).size
            if size > self.layout.max_file_bytes:
                return too_large_page(path, size, self.layout)
            return read_page(path, self.files.read(path).data, self.layout)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def all(self) -> Iterator[Page]:
        """Read every page. One that cannot be read is a page with that problem and no items."""
        for path in self.paths():
            try:
                page = self.read(path)
            except OSError as error:
                page = self._unreadable(path, error)
            if page is not None:
                yield page

    def wiki_paths(self) -> dict[str, str]:
        """Return the path of every category."""
        return {category: path for path, category in self.wiki_categories(self.paths()).items()}

    def wiki_categories(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the category of every wiki file among `paths`, by its path."""
        placed = ((self.layout.classify(path), path) for path in paths)
        return {path: place.category for place, path in placed if place.kind == "wiki"}

    def find(self, category: str) -> str | None:
        """Return the path of an existing category: exact, else the one that is equal under NFC and white space."""
        try:
            path = self.layout.wiki_path(category)
        except InvalidCategory:
            path = None
        if path is not None and self._is_wiki_file(path):
            # A link to a note that is read under its own name is no category: its items have that note's addresses.
            target = self.files.target(path)
            return target if self.layout.classify(target).kind == "wiki" else path
        folded = fold_name(category)
        return next((path for key, path in self.wiki_paths().items() if fold_name(key) == folded), None)

    def new_path(self, category: str) -> str:
        """Return where a new category's file goes. Raises `InvalidCategory`."""
        validate_category(category)
        path = self.layout.wiki_path(category)
        if self.layout.classify(path).kind != "wiki":
            message = f"{category} would lie at {path}, which is not read as a wiki file"
            raise InvalidCategory(message, hint="choose another name, or change `ignore` in wikimem.toml")
        return path

    def item_in(self, path: str, data: bytes | None, name: str) -> RecallItem | None:
        """Return the item of that name in these bytes of a wiki file."""
        return None if data is None else item_named(read_wiki_page(path, data, self.layout), name)

    def _is_wiki_file(self, path: str) -> bool:
        if any(part in ("", ".", "..") for part in path.split("/")) or self.layout.classify(path).kind != "wiki":
            return False
        try:
            self.files.stamp(path)
        except OSError as error:
            return isinstance(error, PermissionError)
        return True

    def _unreadable(self, path: str, error: OSError) -> Page:
        place = self.layout.classify(path)
        problem = _fault_problem(WalkFault(path, "unreadable", error))
        return Page(path, "diary" if place.kind == "diary" else "wiki", place.category, problems=(problem,))


def _with_parents(folder: str) -> set[str]:
    parts = [part for part in folder.split("/") if part not in ("", ".")]
    return {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}


def item_named(page: Page, name: str) -> RecallItem | None:
    """Return the item of that name; the exact name wins over one that is equal under NFC and white space."""
    folded = fold_name(name)
    near = [item for item in page.items if fold_name(item.name) == folded]
    return next((item for item in near if item.name == name), near[-1] if near else None)


def check_root(root: Path) -> None:
    """Raise `VaultError` when `root` is no folder that can be read."""
    try:
        os.scandir(root).close()
    except OSError as error:
        hint = "make it with `wikimem init`, or name another with --vault"
        raise VaultError(f"the vault {root} cannot be read: {error.strerror}", hint=hint) from error


def check_mergeless(path: str, data: bytes | None, yours: str | None) -> None:
    """Raise `Conflict` when a git merge stands unresolved in the file: an edit could land in the part that loses."""
    line = git_marker_line(data) if data is not None else None
    if line is not None:
        raise Conflict(
            f"{path} holds an unresolved git merge (line {line}), so nothing is written into it",
            theirs=None,
            yours=yours,
            hint="resolve the merge in an editor, then write again",
        )


def check_size(path: str, data: bytes | None, layout: Layout) -> None:
    """Raise `StorageError` when the file would be too large to be read again."""
    if data is not None and len(data) > layout.max_file_bytes:
        raise StorageError(
            f"{path} would have {len(data)} bytes, and files over {layout.max_file_bytes} are not read",
            path=path,
            step="check the size",
            hint="write to another category, or raise `limits.max_file_bytes`",
        )


def _fault_problem(fault: WalkFault) -> Problem:
    message, hint = _FAULTS[fault.kind]
    reason = fault.error.strerror if fault.error is not None and fault.error.strerror else "unknown"
    return Problem(fault.kind, 0, message.format(reason=reason), hint)
