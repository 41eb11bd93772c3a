"""Short forms of the loads in `bench/load.py`: fuzzing, kill -9 under load, crowds, clients that die, another user."""

import os
import pwd
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.load import crowd, fill, fuzz, restarts
from tests.serving import Served, connect, read_reply, serving, wait_until

HEALTH = b"GET /v1/health HTTP/1.1\r\nHost: wikimem\r\n\r\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("attacked")) as one:
        fill(one, 100)
        one.write("diary/2026-07-21.md", "## 12:00\n\nfirst\n")
        yield one.start()


def test_fuzzed_requests_are_refused_without_a_crash_a_leak_or_a_500(served: Served) -> None:
    before = served.descriptors()
    found = fuzz(served.socket, 400_000, seed=11)
    assert found.failures == []
    assert found.requests > 100
    assert found.statuses[200] > 0, "some of it was valid, or the fuzzing is blind"
    assert served.client().health()["state"] == "ok"
    wait_until(lambda: served.descriptors() <= before + 2, "descriptors are flat")
    assert "Traceback" not in served.log()


def test_nothing_outside_the_vault_was_made_or_touched_by_it(served: Served) -> None:
    fuzz(served.socket, 100_000, seed=12)
    assert {path.name for path in served.base.iterdir()} == {
        *("vault", "run", "state", "config", "home", "log"),
    }
    assert {path.name for path in served.vault.iterdir()} <= {"wiki", "diary", "journal.jsonl", "relations.jsonl"}


def test_no_line_of_the_log_was_made_by_a_client(served: Served) -> None:
    served.http(
        "PUT", "/v1/item", {"category": "x\n2026-01-01T00:00:00+00:00 error forged", "name": "a", "content": "b"}
    )
    served.http("GET", "/v1/item?address=%0aforged:%0aforged")
    assert "forged" not in served.log()


def test_many_clients_at_once_see_no_error(served: Served) -> None:
    found = crowd(served.socket, 64, 1.5)
    assert found.errors == {}
    assert found.calls > 64


def test_a_client_that_opens_fifty_connections_and_dies_costs_nothing(served: Served) -> None:
    program = """
import os, socket, sys
crowd = []
for number in range(50):
    one = socket.socket(socket.AF_UNIX)
    one.connect(sys.argv[1])
    one.sendall([b"", b"GET /v1/ev", b"GET /v1/events HTTP/1.1\\r\\nHost: wikimem\\r\\n\\r\\n",
                 b"POST /v1/retrieve HTTP/1.1\\r\\nHost: wikimem\\r\\nContent-Length: 9\\r\\n\\r\\n{"][number % 4])
    crowd.append(one)
print("in", flush=True)
sys.stdin.read()
"""
    before = served.descriptors()
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", program, str(served.socket)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"in\n"
            wait_until(lambda: served.descriptors() >= before + 50, "they are in")
            child.send_signal(signal.SIGKILL)
        wait_until(lambda: served.descriptors() <= before + 2, "descriptors are flat")
    assert served.client().status()["connections"]["streams"] == 0


def test_killed_again_and_again_under_load_it_starts_in_one_try_and_no_write_is_lost_or_doubled(
    served: Served,
) -> None:
    found = restarts(served, 4, clients=3)
    assert found.errors == {}
    assert found.rounds == 4
    assert len(found.appended) > 0
    assert found.miswritten(served) == {}


def test_stopped_again_and_again_under_load_no_client_sees_an_error(served: Served) -> None:
    found = restarts(served, 3, kill=signal.SIGTERM, clients=3)
    assert found.errors == {}
    assert found.miswritten(served) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("door", ["closed", "open"])
def test_another_user_is_refused(served: Served, door: str) -> None:
    """By the mode of the folder, and where somebody has opened it, by the uid that the kernel tells."""
    opened: list[Path] = []
    if door == "open":
        opened = [served.socket, *served.socket.parents]
        opened = [path for path in opened if path.stat().st_mode & 0o007 != 0o007 and path != Path("/")]
    modes = [(path, path.stat().st_mode & 0o7777) for path in opened]
    for path, mode in modes:
        path.chmod(mode | 0o077)
    program = """
import os, socket, sys
os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
one = socket.socket(socket.AF_UNIX)
try:
    one.connect(sys.argv[1])
except PermissionError:
    print("closed")
    raise SystemExit
one.sendall(b"GET /v1/status HTTP/1.1\\r\\nHost: wikimem\\r\\n\\r\\n")
received = b""
while chunk := one.recv(65536):
    received += chunk
print(received.decode())
"""
    nobody = pwd.getpwnam("nobody").pw_uid
    try:
        done = subprocess.run(
            [sys.executable, "-c", program, str(served.socket), str(nobody)],
            capture_output=True, timeout=20, check=True, text=True,
        )  # fmt: skip
    finally:
        for path, mode in modes:
            path.chmod(mode)
    if door == "closed":
        assert done.stdout == "closed\n"
    else:
        assert "403 Forbidden" in done.stdout
        assert '"code": "denied"' in done.stdout
        assert str(served.vault) not in done.stdout


def test_a_json_bomb_is_refused_before_it_is_parsed(served: Served) -> None:
    for bomb in (b"[" * 4_000_000, b'{"a":' * 1_000_000, b'{"query":"' + b"\\u0041" * 1_000_000 + b'"}'):
        reply = served.http("POST", "/v1/retrieve", bomb)
        assert (reply.status, reply.json()["code"]) == (400, "invalid_input")


def test_the_daemon_is_reachable_while_a_crowd_holds_every_place_but_one(served: Served) -> None:
    crowd_of_idle = []
    for number in range(200):
        crowd_of_idle.append(connect(served.socket))
        if number % 50 == 0:  # not faster than they are taken out of the backlog
            served.client().health()
    with connect(served.socket) as one:
        one.sendall(HEALTH)
        assert read_reply(one).status == 200
    for idle in crowd_of_idle:
        idle.shutdown(socket.SHUT_RDWR)
        idle.close()
