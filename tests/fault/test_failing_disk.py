"""Every system call of a write fails once, in every way that a disk fails."""

import contextlib
import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fault.editors import LAYOUT, Between
from wikimem.errors import StorageError
from wikimem.store.vault import MemoryStore

NOTE = b"---\ntags: [x]\n---\n# notes\n\n## mine\n\na person's text\n\n## last\n\nend\n"
ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EACCES": errno.EACCES}


class Failing(Between):
    """Fails the call with the given number, once or from there on, and notes which one that was."""

    def __init__(self, number: int, error: int, *, for_good: bool = False) -> None:
        super().__init__()
        self.left = number
        self.error = error
        self.for_good = for_good
        self.failed: str | None = None
        self.hook = self._fail

    def _fail(self, name: str) -> None:
        if name in ("monotonic", "pause", "close"):
            return
        self.left -= 1
        if self.left == 0 or (self.for_good and self.left < 0):
            self.failed = self.failed or name
            raise OSError(self.error, "injected")


def update(store: MemoryStore) -> None:
    store.add("notes", "mine", "an agent's text")


def add_file(store: MemoryStore) -> None:
    store.add("other", "fresh", "an agent's text")


def remove_item(store: MemoryStore) -> None:
    store.remove("notes", "mine")


def remove_file(store: MemoryStore) -> None:
    store.remove("single", "only")


def append_diary(store: MemoryStore) -> None:
    store.diary.append("what happened", date="2026-07-21", time="14:30")


ACTIONS: list[Callable[[MemoryStore], None]] = [update, add_file, remove_item, remove_file, append_diary]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("links", [1, 2])
@pytest.mark.parametrize("action", ACTIONS, ids=lambda one: one.__name__)
def test_a_failing_step_leaves_the_old_bytes_and_is_named(
    action: Callable[[MemoryStore], None], links: int, error: str, quick_path: Path
) -> None:
    number, calls = 0, 0
    while True:
        number += 1
        kernel = Failing(number, ERRORS[error])
        vault = quick_path / f"v{number}"
        before = _make(vault, links)
        store = MemoryStore(vault, layout=LAYOUT, state_dir=quick_path / "state" / f"v{number}", kernel=kernel)
        raised = _error_of(action, store)
        if raised is not None:
            assert raised.path, f"call {number} ({kernel.failed}) names no file"
            assert raised.step, f"call {number} ({kernel.failed}) names no step"
            assert raised.step in raised.message
            assert _files(vault) == before, f"call {number} ({kernel.failed}) left other bytes"
            assert not _journal(vault), f"call {number} ({kernel.failed}) was journalled"
        else:
            after = _files(vault)
            assert after != before, f"call {number} ({kernel.failed}) hid a failure"
            assert len(_journal(vault)) == 1
            calls += kernel.failed is not None
        kernel.hook = lambda _: None
        kernel.now += 60
        store.tidy()
        store.recover()
        assert _leftovers(vault) == [], f"call {number} ({kernel.failed})"
        if kernel.failed is None:
            break
        if _files(vault) == before:
            action(store)
        store.close()
        assert _files(vault) == _expected(action, quick_path, links)
    store.close()
    assert number > 10


@pytest.mark.parametrize("links", [1, 2])
@pytest.mark.parametrize("action", ACTIONS, ids=lambda one: one.__name__)
def test_after_a_disk_that_stays_broken_the_next_start_finds_the_old_or_the_new_file(
    action: Callable[[MemoryStore], None], links: int, quick_path: Path
) -> None:
    after = _expected(action, quick_path, links)
    number = 0
    while True:
        number += 1
        kernel = Failing(number, errno.EIO, for_good=True)
        vault, state = quick_path / f"v{number}", quick_path / "state" / f"v{number}"
        before = _make(vault, links)
        store = MemoryStore(vault, layout=LAYOUT, state_dir=state, kernel=kernel)
        with contextlib.suppress(StorageError):
            action(store)
        store.close()
        with MemoryStore(vault, layout=LAYOUT, state_dir=state) as again:
            again.recover()
            assert _files(vault) in (before, after), f"from call {number} ({kernel.failed})"
            assert len(_journal(vault)) == (_files(vault) == after), f"from call {number} ({kernel.failed})"
            assert _leftovers(vault) == [], f"from call {number} ({kernel.failed})"
        if kernel.failed is None:
            break
    assert number > 10


def _error_of(action: Callable[[MemoryStore], None], store: MemoryStore) -> StorageError | None:
    try:
        action(store)
    except StorageError as error:
        return error
    return None


def _expected(action: Callable[[MemoryStore], None], folder: Path, links: int) -> dict[str, bytes]:
    vault = folder / "expected"
    if not vault.exists():
        _make(vault, links)
        with MemoryStore(vault, layout=LAYOUT, state_dir=folder / "state" / "expected") as store:
            action(store)
    return _files(vault)


def _make(vault: Path, links: int) -> dict[str, bytes]:
    (vault / "wiki").mkdir(parents=True)
    (vault / "wiki" / "notes.md").write_bytes(NOTE)
    (vault / "wiki" / "single.md").write_bytes(b"# single\n\n## only\n\ntext\n")
    for number in range(1, links):
        (vault / f"hard{number}").hardlink_to(vault / "wiki" / "notes.md")
    return _files(vault)


def _files(vault: Path) -> dict[str, bytes]:
    found = (one for one in vault.rglob("*") if one.is_file() and one.name != "journal.jsonl")
    return {str(one.relative_to(vault)): one.read_bytes() for one in found if ".wikimem-" not in one.name}


def _leftovers(vault: Path) -> list[str]:
    return [one.name for one in vault.rglob(".*")]


def _journal(vault: Path) -> list[bytes]:
    path = vault / "journal.jsonl"
    return path.read_bytes().splitlines() if path.exists() else []
