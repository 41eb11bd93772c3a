"""Opening a store: where its state and its derived files go, which root it takes, how it can write there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fault.editors import Between, WithoutLeases
from wikimem.errors import VaultError
from wikimem.pages.layout import Layout
from wikimem.store.files import DiskFiles, Files
from wikimem.store.stamps import stamp_of
from wikimem.store.vault import MemoryStore


def test_derived_files_may_live_in_the_state_directory(make: Callable[..., MemoryStore], tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "wikimem.toml").write_text('[vault]\nderived = "state"\n')
    store = make()
    store.add("work", "job", "text")
    assert (tmp_path / "state/v/journal.jsonl").exists()
    assert sorted(path.name for path in (tmp_path / "vault").iterdir()) == ["wiki", "wikimem.toml"]


@pytest.mark.parametrize("derived", ["vault", "state"])
def test_the_users_own_setting_says_where_derived_files_go(
    derived: str, make: Callable[..., MemoryStore], tmp_path: Path
) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "wikimem.toml").write_text('[vault]\nderived = "state"\n')
    make(derived=derived).add("work", "job", "text")
    assert (tmp_path / "vault/journal.jsonl").exists() == (derived == "vault")
    assert (tmp_path / "state/v/journal.jsonl").exists() == (derived == "state")


def test_without_a_journal_nothing_is_logged(make: Callable[..., MemoryStore]) -> None:
    store = make(journal=False)
    store.add("work", "job", "text")
    assert store.journal is None
    assert sorted(path.name for path in store.root.iterdir()) == ["wiki"]


def test_reading_makes_no_state(make: Callable[..., MemoryStore], tmp_path: Path) -> None:
    store = make()
    (store.root / "wiki/work.md").write_text("## job\n\ntext\n")
    assert store.get("work", "job") is not None
    assert store.journal_tail(10) == []
    assert [page.category for page in store.pages()] == ["work"]
    assert not (tmp_path / "state").exists()


def test_the_default_state_lies_under_the_vaults_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "my notes" / "wiki").mkdir(parents=True)
    MemoryStore(tmp_path / "my notes").add("work", "job", "text")
    (folder,) = (one for one in (tmp_path / "state/wikimem").iterdir() if one.name != "locks")
    assert folder.name.startswith("my-notes-")
    assert {path.name for path in folder.iterdir()} >= {"state.sqlite3"}
    modes = {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}
    assert modes.pop(folder.name) == 0o700
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize("kind", ["missing", "a file"])
def test_a_root_that_is_no_folder_is_named(kind: str, tmp_path: Path) -> None:
    root = tmp_path / "vault"
    if kind == "a file":
        root.write_text("x")
    with pytest.raises(VaultError, match="cannot be read"):
        MemoryStore(root, layout=Layout())


def test_a_root_that_went_away_is_named_and_not_made_again(store: MemoryStore) -> None:
    (store.root / "wiki").rmdir()
    store.root.rmdir()
    with pytest.raises(VaultError, match="cannot be read"):
        store.add("work", "job", "x")
    assert not store.root.exists()


def test_files_may_be_watched_on_their_way_to_the_disk(make: Callable[..., MemoryStore]) -> None:
    seen: list[str] = []

    class Announcing:
        def __init__(self, files: Files) -> None:
            self._files = files

        def __getattr__(self, name: str) -> object:
            seen.append(name)
            return getattr(self._files, name)

    store = make(wrap_files=Announcing)
    store.add("work", "job", "text")
    assert "write" in seen


@pytest.mark.parametrize(
    ("kernel", "mode"), [(Between(), "lease"), (WithoutLeases(exchange=True), "basic")], ids=["leases", "no leases"]
)
def test_the_write_mode_is_known_without_a_write(kernel: Between, mode: str, make: Callable[..., MemoryStore]) -> None:
    store = make(kernel=kernel)
    (store.root / "wiki/work.md").write_text("x")
    before = stamp_of((store.root / "wiki/work.md").stat())
    assert store.probe() == store.write_mode == mode
    assert stamp_of((store.root / "wiki/work.md").stat()) == before


def test_the_disk_of_another_opener_serves_as_well(make: Callable[..., MemoryStore], tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    store = make(files=DiskFiles(tmp_path / "vault"))
    store.add("work", "job", "one")
    assert store.add("work", "job", "two").content == "two"
    assert [one.name for one in (store.root / "wiki").iterdir()] == ["work.md"]
