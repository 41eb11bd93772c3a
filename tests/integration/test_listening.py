"""The socket's file: private at every moment, in a folder that is ours alone, and never somebody else's."""

import os
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from wikimem.errors import ConfigError, Locked
from wikimem.places import MAX_SOCKET_BYTES
from wikimem_daemon.listening import adopt, bind


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "v.sock"


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a short name: what pytest gives is too long for these paths."""
    folder = Path(f"/tmp/wm{os.getpid()}")
    yield folder
    for left in folder.iterdir() if folder.exists() else ():
        left.unlink()
    if folder.exists():
        folder.rmdir()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_folder_and_socket_are_made_for_us_alone_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        listener = bind(path)
    finally:
        os.umask(before)
    assert (mode(path.parent), mode(path)) == (0o700, 0o600)
    assert [one.name for one in path.parent.iterdir()] == ["v.sock"]
    listener.close()
    assert list(path.parent.iterdir()) == []


def test_the_socket_appears_private_and_listening_and_replaces_a_stale_one_without_a_gap(path: Path) -> None:
    """While binds go on, nobody ever sees an open mode under the name, nor no socket at all."""
    seen: set[int] = set()
    missing: list[str] = []
    stop = threading.Event()
    bind(path).sock.close()  # a daemon that was killed: its file stays

    def watch() -> None:
        while not stop.is_set():
            try:
                seen.add(mode(path))
            except FileNotFoundError:
                missing.append("absent")

    thread = threading.Thread(target=watch)
    thread.start()
    for _ in range(200):
        bind(path).sock.close()
    stop.set()
    thread.join()
    assert seen == {0o600}
    assert missing == []


def test_a_leftover_of_a_bind_that_was_cut_off_is_no_obstacle(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    leftover = path.with_name("v.sock.new")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(leftover))
    bind(path).close()
    assert not leftover.exists()


def test_a_dangling_symlink_in_its_place_is_replaced_and_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.symlink_to(tmp_path / "elsewhere")
    listener = bind(path)
    assert not path.is_symlink()
    assert not (tmp_path / "elsewhere").exists()
    listener.close()


@pytest.mark.parametrize("name", ["v.sock", "v.sock.new"])
def test_a_file_that_is_no_socket_is_never_replaced(path: Path, name: str) -> None:
    """`WIKIMEM_SOCKET=~/.bashrc` is one slip away."""
    path.parent.mkdir(mode=0o700)
    path.with_name(name).write_text("precious", encoding="utf-8")
    with pytest.raises(ConfigError, match="no socket"):
        bind(path)
    assert [one.read_text(encoding="utf-8") for one in path.parent.iterdir()] == ["precious"]


def test_a_socket_that_took_the_place_of_ours_stays_when_ours_is_closed(path: Path) -> None:
    first = bind(path)
    path.unlink()
    second = bind(path)
    first.close()
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(str(path))
    second.close()
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("open_mode", [0o755, 0o770, 0o701, 0o710])
def test_a_folder_that_others_can_look_into_is_refused(path: Path, open_mode: int) -> None:
    path.parent.mkdir()
    path.parent.chmod(open_mode)
    with pytest.raises(ConfigError, match="0700") as caught:
        bind(path)
    assert "chmod 700" in caught.value.hint
    assert list(path.parent.iterdir()) == []


def test_a_folder_that_is_a_symlink_is_refused(path: Path, tmp_path: Path) -> None:
    (tmp_path / "planted").mkdir(mode=0o700)
    path.parent.symlink_to(tmp_path / "planted")
    with pytest.raises(ConfigError, match="yours alone"):
        bind(path)
    assert list((tmp_path / "planted").iterdir()) == []


def test_a_folder_of_somebody_else_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.parent.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    with pytest.raises(ConfigError, match="yours alone"):
        bind(path)


def test_a_file_in_the_folders_place_is_refused(path: Path) -> None:
    path.parent.write_text("", encoding="utf-8")
    with pytest.raises(ConfigError):
        bind(path)


def test_a_path_that_the_kernel_cannot_hold_is_said_before_anything_is_made(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 120)
    with pytest.raises(ConfigError, match=str(MAX_SOCKET_BYTES)):
        bind(folder / "v.sock")
    assert not folder.exists()


@pytest.mark.parametrize("length", range(MAX_SOCKET_BYTES - 5, MAX_SOCKET_BYTES + 1))
def test_paths_up_to_the_kernels_length_work(short: Path, length: int) -> None:
    path = short / ("x" * (length - len(str(short)) - len("/.sock")) + ".sock")
    assert len(str(path)) == length
    listener = bind(path)
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(str(path))
    listener.close()
    assert list(short.iterdir()) == []


def test_a_socket_that_somebody_answers_on_is_not_taken(path: Path) -> None:
    first = bind(path)
    before = path.stat().st_ino
    with pytest.raises(Locked, match="already listens"):
        bind(path)
    assert path.stat().st_ino == before
    first.close()


def test_of_what_systemd_passed_the_named_stream_socket_is_taken_and_the_rest_closed() -> None:
    datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    other, wanted = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    listener = adopt([("notify", datagram), ("extra", other), ("api", wanted)])
    assert listener is not None
    assert listener.sock is wanted
    assert listener.path is None
    assert (datagram.fileno(), other.fileno()) == (-1, -1)
    listener.close()
    assert adopt([]) is None
