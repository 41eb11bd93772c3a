"""A write that finds its file changed between the look and the exchange: what it kept for that stays kept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from wikimem.errors import Conflict
from wikimem.pages.items import content_hash
from wikimem.store.files import Files
from wikimem.store.history import History, PriorText
from wikimem.store.manifest import Manifest
from wikimem.store.stamps import Stamp
from wikimem.store.vault import MemoryStore
from wikimem_daemon.ownwrites import AnnouncingFiles, OwnWrites
from wikimem_daemon.unsaved import Keeper, Unsaved

BEFORE = "## job\n\na person's text\n"


class Interrupted(AnnouncingFiles):
    """Files to which something happens just before the next write."""

    def __init__(self, files: Files) -> None:
        super().__init__(files, OwnWrites())
        self.first: Callable[[], None] | None = None

    def write(self, path: str, data: bytes, *, based_on: str | None) -> Stamp:
        first, self.first = self.first, None
        if first is not None:
            first()
        return super().write(path, data, based_on=based_on)


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    (tmp_path / "vault" / "wiki").mkdir(parents=True)
    (tmp_path / "vault" / "wiki" / "work.md").write_text(BEFORE)
    return MemoryStore(tmp_path / "vault", state_dir=tmp_path / "state", wrap_files=Interrupted)


def save_meanwhile(store: MemoryStore, text: str) -> None:
    """Let an editor save when the next write has noted what it replaces, and the daemon see it at once."""

    def happen() -> None:
        (store.root / "wiki" / "work.md").write_text(text)
        digest = content_hash("job", "a person's text")
        ended = PriorText("work:job", "job", "a person's text", digest, "2026-07-21T08:00:00+00:00", "disk", "update")
        keeper = Keeper(store.state, Manifest(store.state), History(store.state), lambda _: None, lambda _: None)
        keeper.keep(Unsaved(history=[ended]), [])

    assert isinstance(store.disk, Interrupted)
    store.disk.first = happen


def kept(store: MemoryStore) -> list[str]:
    return [version.content for version in store.history.versions("work:job").versions]


def test_a_text_that_the_daemon_found_kept_already_stays_when_the_write_is_refused(store: MemoryStore) -> None:
    save_meanwhile(store, "## job\n\nthe person's next text\n")
    with pytest.raises(Conflict):
        store.add("work", "job", "an agent's text")
    assert kept(store) == ["an agent's text", "a person's text"]


def test_a_redone_write_keeps_a_text_once(store: MemoryStore) -> None:
    save_meanwhile(store, f"{BEFORE}\n## other\n\nnew\n")
    store.add("work", "job", "an agent's text")
    assert kept(store) == ["a person's text"]
