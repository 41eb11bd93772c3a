"""A vault whose folder was replaced behind systemd's sandbox. The sandbox itself is tried in tests/systemd."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from wikimem_daemon.sandbox import WritableRoot

SERVICE = {"INVOCATION_ID": "1", "NOTIFY_SOCKET": "/run/n"}


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))


def replace(vault: Path) -> None:
    # Kept beside it: an inode number that was freed is given out again.
    vault.rename(vault.with_name("old"))
    vault.mkdir()


@pytest.mark.usefixtures("read_only")
def test_a_replaced_folder_that_became_read_only_wants_a_restart(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    root = WritableRoot(vault, SERVICE)
    assert not root.lost(), "read-only from the start: a restart would not mend it"
    replace(vault)
    assert root.lost()


@pytest.mark.usefixtures("read_only")
def test_a_vault_that_appears_after_the_start_wants_a_restart(tmp_path: Path) -> None:
    root = WritableRoot(tmp_path / "vault", SERVICE)
    assert not root.lost(), "it is not there yet"
    (tmp_path / "vault").mkdir()
    assert root.lost()


@pytest.mark.usefixtures("read_only")
def test_without_systemd_nobody_would_start_it_again(tmp_path: Path) -> None:
    root = WritableRoot(tmp_path / "vault", {})
    (tmp_path / "vault").mkdir()
    assert not root.lost()


def test_a_replaced_folder_that_can_be_written_is_well(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    root = WritableRoot(vault, SERVICE)
    replace(vault)
    assert not root.lost()
