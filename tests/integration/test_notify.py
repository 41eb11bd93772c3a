"""The notify protocol against a socket of our own: what systemd would receive."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from wikimem_daemon import systemd


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(str(tmp_path / "notify"))
        bound.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield bound


def test_fields_and_lines_travel_in_one_datagram(supervisor: socket.socket) -> None:
    assert systemd.notify("READY=1", STATUS="12 notes → served for 0 €")
    assert supervisor.recv(4096).decode() == "READY=1\nSTATUS=12 notes → served for 0 €"


def test_a_reload_carries_the_clock_that_systemd_pairs_it_by(supervisor: socket.socket) -> None:
    systemd.reloading()
    lines = supervisor.recv(4096).decode().split("\n")
    assert lines[0] == "RELOADING=1"
    assert lines[1].startswith("MONOTONIC_USEC=")
    assert int(lines[1].partition("=")[2]) > 0


def test_ready_status_and_stopping_are_said_in_systemds_words(supervisor: socket.socket) -> None:
    systemd.ready("serving")
    systemd.status("reading 20,000 notes")
    systemd.stopping()
    told = [supervisor.recv(4096).decode() for _ in range(3)]
    assert told == ["READY=1\nSTATUS=serving", "STATUS=reading 20,000 notes", "STOPPING=1\nSTATUS=stopping"]


def test_a_file_name_with_a_newline_cannot_add_an_assignment(supervisor: socket.socket) -> None:
    systemd.status("cannot read a\nMAINPID=1\nb")
    assert supervisor.recv(4096) == b"STATUS=cannot read a MAINPID=1 b"


def test_an_undecodable_file_name_does_not_lose_the_message(supervisor: socket.socket) -> None:
    systemd.ready("reading " + os.fsdecode(b"caf\xe9.md"))
    assert supervisor.recv(4096) == b"READY=1\nSTATUS=reading caf?.md"


def test_a_long_status_stays_within_what_the_manager_reads(supervisor: socket.socket) -> None:
    systemd.ready("語" * 5000)
    assert len(supervisor.recv(100_000)) < 4096


def test_an_abstract_address_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"wikimem-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind("\0" + name)
        bound.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", "@" + name)
        assert systemd.notify("READY=1")
        assert bound.recv(100) == b"READY=1"


@pytest.mark.parametrize("address", ["", "/nowhere/at/all", "vsock:2:1234", "relative"])
def test_without_a_supervisor_nothing_is_raised_and_nothing_is_sent(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    assert not systemd.notify("READY=1")


def test_a_supervisor_that_does_not_read_is_not_waited_for_long(
    supervisor: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systemd, "_SEND_TIMEOUT_S", 0.05)
    assert systemd.notify("READY=1")
    # The kernel queues a few datagrams (net.unix.max_dgram_qlen), then a sender would wait for ever.
    assert any(not systemd.notify("WATCHDOG=1") for _ in range(5000))


# --- sockets that were passed -------------------------------------------------------------------------------------


def _free_pair() -> int:
    """Return the first of two neighbouring descriptors that nobody has: `dup2` would close what is there."""

    def is_open(descriptor: int) -> bool:
        try:
            os.fstat(descriptor)
        except OSError:
            return False
        return True

    return next(one for one in range(600, 900, 2) if not is_open(one) and not is_open(one + 1))


@pytest.fixture
def passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Two listening sockets on neighbouring descriptors, with SD_LISTEN_FDS_START moved to the first of them."""
    listening = []
    for name in ("one", "two"):
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(tmp_path / name))
            bound.listen()
            listening.append(bound.detach())
    first = _free_pair()
    for offset, descriptor in enumerate(listening):
        os.dup2(descriptor, first + offset)
        os.close(descriptor)
    monkeypatch.setattr(systemd, "FIRST_FD", first)
    yield [first, first + 1]
    for descriptor in (first, first + 1):
        try:
            os.close(descriptor)
        except OSError:
            continue


def test_sockets_are_taken_over_with_their_names(passed: list[int]) -> None:
    env = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "2", "LISTEN_FDNAMES": "api:"}
    taken = systemd.listen_fds(env)
    try:
        assert [name for name, _ in taken] == ["api", "unknown"]
        assert [found.fileno() for _, found in taken] == passed
        assert all(found.family == socket.AF_UNIX for _, found in taken)
        assert not any(os.get_inheritable(found.fileno()) for _, found in taken)
        assert env == {}, "a child would claim them again"
    finally:
        for _, found in taken:
            found.close()


def test_variables_meant_for_another_process_claim_nothing() -> None:
    env = {"LISTEN_PID": str(os.getpid() + 1), "LISTEN_FDS": "1"}
    assert systemd.listen_fds(env) == []
    assert env == {}


@pytest.mark.parametrize("count", ["", "many", "-1", "0"])
def test_a_count_that_is_no_number_passes_nothing(count: str) -> None:
    assert systemd.listen_fds({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": count}) == []


def test_a_descriptor_that_is_not_open_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd, "FIRST_FD", 900)
    assert systemd.listen_fds({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}) == []


# --- the watchdog's interval --------------------------------------------------------------------------------------


def test_the_watchdog_is_fed_three_times_within_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "30000000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    assert systemd.watchdog_limit() == 30
    assert systemd.watchdog_interval() == 10


@pytest.mark.parametrize(("usec", "pid"), [("", ""), ("0", ""), ("soon", ""), ("30000000", "1")])
def test_no_watchdog_waits_for_this_process(usec: str, pid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", usec)
    monkeypatch.setenv("WATCHDOG_PID", pid)
    assert systemd.watchdog_interval() is None
