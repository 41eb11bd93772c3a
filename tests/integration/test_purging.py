"""A secret that was written down and taken out again leaves every file of the vault and of the state."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from wikimem.config import Settings, load
from wikimem.store.manifest import FileEntry, GoneRow, Manifest
from wikimem.store.purging import purge_vault
from wikimem.store.stamps import Stamp
from wikimem.store.vault import MemoryStore

SECRET = "s3cret"  # noqa: S105 - what the test looks for


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "vault/wiki").mkdir(parents=True)
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    return load(str(tmp_path / "vault"), env=env, cwd=tmp_path)


def open_store(settings: Settings) -> MemoryStore:
    return MemoryStore(settings.path, layout=settings.layout, state_dir=settings.state_dir)


def see(store: MemoryStore, path: str, body: bytes) -> None:
    """Let the manifest hold a file as a daemon saw it."""
    entry = FileEntry(path, Stamp(1, 1, len(body), 1, 1), settled=True, hash=hashlib.sha256(body).digest(), ids=())
    Manifest(store.state).put([(entry, body)])


def purge_text(settings: Settings) -> int:
    return purge_vault(settings, address=None, containing=SECRET, everything=False).versions


def purge_address(settings: Settings) -> int:
    return purge_vault(settings, address="keys:mine", containing=None, everything=False).versions


def purge_all(settings: Settings) -> int:
    return purge_vault(settings, address=None, containing=None, everything=True).versions


@pytest.mark.parametrize("purge", [purge_text, purge_address, purge_all])
def test_a_removed_secret_is_in_no_file_any_more(purge: Callable[[Settings], int], settings: Settings) -> None:
    with open_store(settings) as store:
        store.add("keys", "mine", f"it is {SECRET}", idempotency_key="k")
        store.add("keys", "mine", "changed")
        see(store, "wiki/keys.md", f"## mine\n\nit is {SECRET}\n".encode())
        Manifest(store.state).put_gone([GoneRow("i", "wiki/keys.md", b"h", f'{{"content": "it is {SECRET}"}}')])
        see(store, "wiki/other.md", b"## stays\n\nx\n")
        (settings.path / "wiki/other.md").write_bytes(b"## stays\n\nx\n")
    assert purge(settings) == 1
    with open_store(settings) as store:
        assert store.versions("keys:mine").versions == ()
        assert store.get("keys", "mine") is not None
        assert list(Manifest(store.state).load()) == ["wiki/other.md"]
        assert Manifest(store.state).gone() == []
    root = settings.path.parent
    assert [path for path in root.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()] == []


def test_notes_that_still_hold_it_are_named_and_kept(settings: Settings) -> None:
    with open_store(settings) as store:
        store.add("keys", "mine", f"it is {SECRET}")
        store.add("keys", f"about {SECRET}", "x")
        before = (settings.path / "wiki/keys.md").read_bytes()
        see(store, "wiki/keys.md", before)
    purged = purge_vault(settings, address=None, containing=SECRET, everything=False)
    assert purged.still_in == ("wiki/keys.md", "journal.jsonl")
    assert (settings.path / "wiki/keys.md").read_bytes() == before
    with open_store(settings) as store:
        assert list(Manifest(store.state).load()) == ["wiki/keys.md"]


def test_a_vault_without_a_history_has_nothing_to_purge(settings: Settings) -> None:
    assert purge_text(settings) == 0
