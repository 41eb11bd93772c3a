"""The locks between processes: keyed by the folder itself, gone with their holder, naming it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from wikimem.errors import Locked, StorageError
from wikimem.store.locks import VaultLock, vault_key

HOLD = """
import sys
from pathlib import Path
from wikimem.store.locks import VaultLock
with VaultLock(Path(sys.argv[1]), sys.argv[2], sys.argv[3]):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(root: Path, key: str, kind: str) -> "subprocess.Popen[str]":
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(root), key, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def end(child: "subprocess.Popen[str]", how: signal.Signals = signal.SIGTERM) -> None:
    child.send_signal(how)
    child.communicate()


def test_every_path_to_a_folder_gives_one_key(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "link").symlink_to("vault")
    (tmp_path / "other").mkdir()
    assert (
        vault_key(tmp_path / "vault") == vault_key(tmp_path / "link") == vault_key(tmp_path / "vault" / ".." / "vault")
    )
    assert vault_key(tmp_path / "vault") != vault_key(tmp_path / "other")


@pytest.mark.parametrize("kind", ["daemon", "write"])
def test_a_second_process_is_told_who_holds_it(kind: str, tmp_path: Path) -> None:
    child = hold(tmp_path, "k", kind)
    try:
        with pytest.raises(Locked, match=f"process {child.pid} "):
            VaultLock(tmp_path, "k", kind).acquire(0.05)  # type: ignore[arg-type]
        VaultLock(tmp_path, "another", kind).acquire()  # type: ignore[arg-type]
        VaultLock(tmp_path, "k", "daemon" if kind == "write" else "write").acquire()
    finally:
        end(child)


def test_one_may_ask_whether_a_lock_is_held_and_stands_in_nobodys_way(tmp_path: Path) -> None:
    lock = VaultLock(tmp_path, "k", "daemon")
    assert not lock.is_held()
    child = hold(tmp_path, "k", "daemon")
    assert lock.is_held()
    end(child)
    assert not lock.is_held()
    lock.acquire()


def test_a_holder_that_is_killed_holds_nothing(tmp_path: Path) -> None:
    child = hold(tmp_path, "k", "daemon")
    end(child, signal.SIGKILL)
    with VaultLock(tmp_path, "k", "daemon") as lock:
        assert lock.holder() == os.getpid()


def test_a_waiting_writer_gets_its_turn(tmp_path: Path) -> None:
    child = hold(tmp_path, "k", "write")
    assert child.stdin is not None
    child.stdin.close()
    VaultLock(tmp_path, "k", "write").acquire(10)
    child.wait()
    assert child.stdout is not None
    child.stdout.close()


def test_a_lock_that_was_let_go_can_be_taken_again(tmp_path: Path) -> None:
    for _ in range(3):
        with VaultLock(tmp_path, "k", "write"):
            pass


def test_a_state_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError) as raised:
        VaultLock(tmp_path / "file", "k", "write").acquire()
    assert raised.value.step == "open the lock"
    assert "state directory" in raised.value.hint
