"""Starting, stopping, being the only one, and starting when something is wrong."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import ROOT, Served, connect, http, read_reply, serving, wait_until
from wikimem.api.protocol import DegradedPart
from wikimem.cli.status import _rows as status_rows
from wikimem.config import load
from wikimem.errors import NotRunning, Unreachable
from wikimem_daemon.status import Process, connections_body, waiting_answer


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as one:
        one.write("wiki/notes.md", "## a\n\none\n")
        yield one


def run(served: Served, *arguments: str) -> tuple[int, str]:
    """Run a daemon that is expected to give up."""
    process = served.spawn(*arguments, stderr=subprocess.PIPE)
    _, errors = process.communicate(timeout=20)
    return process.returncode, errors.decode()


def test_a_daemon_that_is_told_to_stop_ends_with_status_0_and_takes_its_socket_along(served: Served) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        served.start()
        assert served.socket.exists()
        assert served.stop(number) == 0
        assert not served.socket.exists()
    assert "Traceback" not in served.log()


def test_a_second_daemon_is_refused_clearly_and_the_first_is_unharmed(served: Served) -> None:
    served.start()
    before = served.socket.stat().st_ino
    status, errors = run(served)
    assert status == 75
    assert "already serves this vault" in errors
    assert "Traceback" not in errors
    assert served.socket.stat().st_ino == before
    assert served.client().health()["state"] == "ok"


def test_a_second_daemon_by_another_name_of_the_same_folder_is_refused_too(served: Served, tmp_path: Path) -> None:
    served.start()
    (tmp_path / "other").symlink_to(served.vault)
    env = {**served.env, "WIKIMEM_SOCKET": str(tmp_path / "run" / "wikimem" / "w.sock")}
    done = subprocess.run(
        [sys.executable, "-m", "wikimem_daemon", "--vault", str(tmp_path / "other")],
        env=env, cwd=tmp_path, capture_output=True, timeout=20, check=False,
    )  # fmt: skip
    assert done.returncode == 75
    assert served.client().health()["state"] == "ok"


def test_a_lock_that_was_removed_under_a_daemon_comes_back_and_refuses_a_second_one(
    served: Served, tmp_path: Path
) -> None:
    """Whoever clears the state folder takes the locks along."""
    served.start()
    lock = next((served.base / "state" / "wikimem" / "locks").glob("*.daemon"))
    shutil.rmtree(lock.parent)
    lock.parent.write_text("in the way")
    wait_until(lambda: "the lock" in served.log(), "the daemon finds its lock gone, and its place taken")
    assert served.client().health()["state"] == "ok"
    lock.parent.unlink()
    assert served.process is not None
    holder = f"{served.process.pid}\n"
    wait_until(lambda: lock.exists() and lock.read_text() == holder, "the lock is made anew")
    (tmp_path / "other").symlink_to(served.vault)
    status, errors = run(served, "--vault", str(tmp_path / "other"))
    assert status == 75
    assert f"process {served.process.pid} already serves this vault" in errors
    assert served.client().health()["state"] == "ok"


def test_a_second_daemon_is_refused_after_the_folder_was_replaced_underneath_the_first(served: Served) -> None:
    served.start()
    served.vault.rename(served.base / "old")
    served.write("wiki/notes.md", "## a\n\nanew\n")
    wait_until(lambda: served.client().retrieve("anew")["items"], "the new folder is followed")
    status, errors = run(served)
    assert status == 75
    assert "listens" in errors or "serves" in errors
    assert served.client().health()["state"] == "ok"


def test_a_daemon_whose_new_folder_another_one_serves_gives_way(served: Served) -> None:
    served.start()
    served.write("../other/wiki/notes.md", "## b\n\ntwo\n")
    env = {**served.env, "WIKIMEM_SOCKET": str(served.base / "run" / "wikimem" / "w.sock")}
    with subprocess.Popen(
        [sys.executable, "-m", "wikimem_daemon", "--vault", str(served.base / "other")],
        env=env, cwd=served.base, stderr=subprocess.DEVNULL,
    ) as other:  # fmt: skip
        wait_until((served.base / "run/wikimem/w.sock").exists, "the other one serves")
        served.vault.rename(served.base / "old")
        (served.base / "other").rename(served.vault)
        assert served.process is not None
        assert served.process.wait(20) == 75
        served.process = None
        other.terminate()


def test_a_socket_that_was_removed_comes_back_and_costs_no_open_connection(served: Served) -> None:
    """Something that tidies `/tmp` or a runtime directory takes the file and leaves the daemon."""
    served.start()
    with connect(served.socket) as open_before:
        wait_until(lambda: served.client().health()["state"] == "ok", "it is in")
        shutil.rmtree(served.socket.parent)
        wait_until(served.socket.exists, "the socket is there again")
        assert served.client().health()["state"] == "ok"
        open_before.sendall(b"GET /v1/health HTTP/1.1\r\nHost: wikimem\r\n\r\n")
        assert read_reply(open_before).status == 200
    assert served.stop() == 0
    assert not served.socket.exists()


def test_after_kill_9_the_next_one_starts_in_one_try(served: Served) -> None:
    served.start()
    assert served.stop(signal.SIGKILL) == -signal.SIGKILL
    assert served.socket.exists(), "the stale file is what this is about"
    with pytest.raises(NotRunning):
        served.client().health()
    served.start()
    assert served.client().retrieve("one")["items"]


def test_status_is_answered_while_a_vault_is_read_and_says_partial(served: Served) -> None:
    for number in range(1_500):
        served.write(f"wiki/n{number}.md", "".join(f"## s{each}\n\nsome words here\n\n" for each in range(8)))
    served.start(wait=False)
    wait_until(served.socket.exists, "it listens")
    first = served.http("GET", "/v1/status").json()
    assert first["partial"] is True
    assert first["state"] == "starting"
    assert first["fresh"] is False
    wait_until(lambda: not served.http("GET", "/v1/status").json()["partial"], "it is read")
    last = served.http("GET", "/v1/status").json()
    assert (last["state"], last["items"]) == ("ok", 1_500 * 8 + 1)


def test_a_retrieve_during_the_start_is_partial_or_waits_as_asked(served: Served) -> None:
    for number in range(800):
        served.write(f"wiki/n{number}.md", "".join(f"## s{each}\n\nsome words here\n\n" for each in range(8)))
    served.start(wait=False)
    wait_until(served.socket.exists, "it listens")

    def asked(timeout_ms: int) -> object:
        sent = {"query": "words", "fresh_timeout_ms": timeout_ms}
        wait_until(lambda: served.http("GET", "/v1/status").json()["items"] > 0, "something is read")
        answer = served.http("POST", "/v1/retrieve", sent).json()
        return answer["partial"], answer["fresh"]

    assert asked(0) in ((True, False), (False, True))
    assert asked(60_000) == (False, True)


def test_the_status_of_a_daemon_that_is_still_starting_can_be_shown(served: Served) -> None:
    settings = load(str(served.vault), env=served.env, cwd=served.base)
    reason: DegradedPart = {"code": "starting", "detail": "The vault is about to be read.", "hint": "Ask again."}
    told = waiting_answer(settings, reason, starting=True, process=Process(), connections=connections_body(0, 0, 0))
    assert dict(status_rows(told, settings))["state"] == "starting, still reading"


def test_a_wrong_setting_ends_with_78_and_names_the_key(served: Served) -> None:
    (served.vault / "wikimem.toml").write_text("[retrieval]\nfuson = 1\n", encoding="utf-8")
    status, errors = run(served)
    assert status == 78
    assert "fuson" in errors
    assert "fusion" in errors


def with_endpoint(served: Served) -> Path:
    """Configure an endpoint where nobody listens; return its key file, which the configuration names by itself."""
    file = served.base / "config/wikimem/config.toml"
    file.parent.mkdir()
    file.write_text(
        f'[vaults.v]\npath = "{served.vault}"\n[vaults.v.embeddings]\nprovider = "http"\n'
        'base_url = "http://127.0.0.1:9/v1"\nmodel = "m"\napi_key_file = "key"\n',
        encoding="utf-8",
    )
    return file.with_name("key")


def test_a_key_file_that_is_missing_ends_with_78_before_anybody_is_served(served: Served) -> None:
    key = with_endpoint(served)
    status, errors = run(served)
    assert status == 78
    assert str(key) in errors
    assert "serving" not in errors


def test_a_log_level_that_there_is_none_of_ends_with_78_and_names_those_that_there_are(served: Served) -> None:
    status, errors = run(served, "--log-level", "loud")
    assert status == 78
    assert "'loud' is no log level" in errors
    assert "warning" in errors


@pytest.mark.parametrize("level", ["", "WARNING"])
def test_a_log_level_may_be_in_capitals_or_an_empty_variable(served: Served, level: str) -> None:
    key = with_endpoint(served)
    _, errors = run(served, "--log-level", level)
    assert str(key) in errors, "it gets as far as the key that is missing"
    assert "no log level" not in errors


def test_a_vault_that_goes_away_is_told_in_the_log_too_and_its_return(served: Served) -> None:
    served.start()
    away = served.vault.with_name("away")
    served.vault.rename(away)
    [part] = served.client().status()["degraded"]
    wait_until(lambda: f"warning {part['detail']}" in served.log(), "the log tells it")
    away.rename(served.vault)
    wait_until(lambda: f"info no more: {part['detail']}" in served.log(), "the log tells its end")


def test_a_vault_that_does_not_exist_ends_with_78(served: Served, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wikimem_daemon", "--vault", str(tmp_path / "nowhere")],
        env=served.env, cwd=tmp_path, capture_output=True, timeout=20, check=False,
    )  # fmt: skip
    assert done.returncode == 78


# --- under systemd's socket ---------------------------------------------------------------------------------------

ACTIVATE = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="api")
os.execv(sys.executable, [sys.executable, "-m", "wikimem_daemon", *sys.argv[2:]])
"""


def activated(served: Served, listening: socket.socket, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start a daemon the way systemd's socket unit does."""
    with (served.base / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-c", ACTIVATE, str(listening.fileno()), *arguments],
            env=served.env, cwd=served.base, stdin=subprocess.DEVNULL, stderr=log, pass_fds=[listening.fileno()],
        )  # fmt: skip


@pytest.fixture
def listening(served: Served) -> Iterator[socket.socket]:
    served.socket.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(served.socket))
        sock.listen(128)
        yield sock


def test_an_adopted_socket_is_served_and_left_in_place(served: Served, listening: socket.socket) -> None:
    with connect(served.socket) as waiting:
        waiting.sendall(b"GET /v1/health HTTP/1.1\r\nHost: wikimem\r\n\r\n")
        process = activated(served, listening, "--vault", str(served.vault))
        assert read_reply(waiting).status == 200
    process.terminate()
    assert process.wait(10) == 0
    assert served.socket.exists()


def test_clients_wait_in_the_backlog_over_a_restart_and_see_no_error(served: Served, listening: socket.socket) -> None:
    process = activated(served, listening, "--vault", str(served.vault))
    client = served.client()
    assert client.retrieve("one")["items"]
    process.terminate()
    assert process.wait(10) == 0
    results: list[object] = []
    asking = [
        threading.Thread(
            target=lambda: results.append(served.client(timeout=30).retrieve("one", fresh_timeout_ms=9000))
        )
        for _ in range(8)
    ]
    for thread in asking:
        thread.start()
    process = activated(served, listening, "--vault", str(served.vault))
    for thread in asking:
        thread.join(30)
    assert len(results) == 8
    process.terminate()
    assert process.wait(10) == 0


def test_waiting_clients_get_the_reason_when_the_configuration_is_wrong(
    served: Served, listening: socket.socket
) -> None:
    (served.vault / "wikimem.toml").write_text("[retrieval]\nfuson = 1\n", encoding="utf-8")
    crowd = [connect(served.socket) for _ in range(3)]
    for connection in crowd:
        connection.sendall(b"GET /v1/status HTTP/1.1\r\nHost: wikimem\r\n\r\n")
    process = activated(served, listening, "--vault", str(served.vault))
    for connection in crowd:
        reply = read_reply(connection)
        assert reply.status == 503
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.headers["wikimem-protocol"] == "1"
        assert reply.json()["code"] == "config"
        assert "fuson" in reply.json()["detail"]
        connection.close()
    assert process.wait(10) == 78


def test_waiting_clients_get_the_reason_when_the_vault_cannot_be_opened(
    served: Served, listening: socket.socket
) -> None:
    """A setting that shows to be wrong only when it is used: the key file is not there."""
    (served.base / "config" / "wikimem").mkdir()
    (served.base / "config" / "wikimem" / "config.toml").write_text(
        f'[vaults.keyed]\npath = "{served.vault}"\n[vaults.keyed.embeddings]\nprovider = "http"\n'
        f'base_url = "http://127.0.0.1:9/v1"\nmodel = "m"\napi_key_file = "{served.base}/nokey"\n',
        encoding="utf-8",
    )
    with connect(served.socket) as waiting:
        waiting.sendall(b"GET /v1/items HTTP/1.1\r\nHost: wikimem\r\n\r\n")
        process = activated(served, listening, "--vault", "keyed")
        reply = read_reply(waiting)
    assert reply.status == 503
    assert "nokey" in reply.json()["detail"]
    assert process.wait(10) == 78


def test_a_missing_vault_is_a_state_that_ends_when_it_appears(served: Served, listening: socket.socket) -> None:
    (served.base / "config" / "wikimem").mkdir()
    (served.base / "config" / "wikimem" / "config.toml").write_text(
        f'[vaults.later]\npath = "{served.base}/later"\n', encoding="utf-8"
    )
    process = activated(served, listening, "--vault", "later")
    status = http(served.socket, "GET", "/v1/status").json()
    assert status["state"] == "degraded"
    assert status["degraded"][0]["code"] == "missing-root"
    refused = http(served.socket, "POST", "/v1/retrieve", {"query": "x"})
    assert (refused.status, refused.json()["code"]) == (503, "vault")
    assert refused.json()["hint"]
    served.vault.rename(served.base / "later")
    wait_until(lambda: http(served.socket, "GET", "/v1/status").json()["state"] == "ok", "it goes on by itself")
    assert http(served.socket, "POST", "/v1/retrieve", {"query": "one"}).json()["items"]
    process.terminate()
    assert process.wait(10) == 0


# --- while it runs ------------------------------------------------------------------------------------------------


def test_a_reload_uses_what_can_be_used_and_names_what_needs_a_restart(served: Served) -> None:
    served.start()
    client = served.client()
    assert client.reload() == {"changed": [], "restart_needed": []}
    served.write("wiki/old/past.md", "## b\n\none\n")
    assert len(client.retrieve("one")["items"]) == 2
    (served.vault / "wikimem.toml").write_text(
        '[retrieval]\nbudget_tokens = 7\n[vault]\nignore = ["wiki/old/**"]\nderived = "state"\n', encoding="utf-8"
    )
    answer = client.reload()
    assert answer["changed"] == ["derived", "layout", "retrieval"]
    assert answer["restart_needed"] == ["derived"]
    found = client.retrieve("one")
    assert found["budget_tokens"] == 7
    assert [item["address"] for item in found["items"]] == ["notes:a"]


def test_a_reload_says_that_another_key_in_the_same_file_waits_for_a_restart(served: Served) -> None:
    key = with_endpoint(served)
    key.write_text("first\n", encoding="utf-8")
    served.start()
    assert served.client().reload() == {"changed": [], "restart_needed": []}
    key.write_text("second\n", encoding="utf-8")
    assert served.client().reload() == {"changed": ["embeddings"], "restart_needed": ["embeddings"]}


def test_a_reload_of_a_wrong_configuration_is_refused_and_the_old_one_stays(served: Served) -> None:
    (served.vault / "wikimem.toml").write_text("[retrieval]\nbudget_tokens = 7\n", encoding="utf-8")
    served.start()
    (served.vault / "wikimem.toml").write_text("[retrieval]\nbudget_tokens = -7\n", encoding="utf-8")
    reply = served.http("POST", "/v1/reload")
    assert (reply.status, reply.json()["code"]) == (503, "config")
    assert "budget_tokens" in reply.json()["detail"]
    assert served.client().retrieve("one")["budget_tokens"] == 7


def test_hangup_reloads_and_does_not_end_the_daemon(served: Served) -> None:
    served.start()
    (served.vault / "wikimem.toml").write_text("[retrieval]\nbudget_tokens = 5\n", encoding="utf-8")
    served.send(signal.SIGHUP)
    client = served.client()
    wait_until(lambda: client.retrieve("one")["budget_tokens"] == 5, "the new setting is in use")


def test_a_write_that_runs_when_the_daemon_is_stopped_is_finished_and_answered(served: Served) -> None:
    served.start()
    done: list[str] = []
    errors: list[Exception] = []

    def write() -> None:
        client = served.client(timeout=2)
        for number in range(10_000):
            try:
                client.put_item("notes", f"n{number}", "x")
            except (NotRunning, Unreachable):
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
                errors.append(error)
                return
            done.append(f"notes:n{number}")

    thread = threading.Thread(target=write)
    thread.start()
    wait_until(lambda: len(done) > 20, "writes run")
    assert served.stop() == 0
    thread.join(20)
    assert errors == []
    text = (served.vault / "wiki/notes.md").read_text(encoding="utf-8")
    for address in done:
        assert f"## {address.removeprefix('notes:')}\n" in text


def test_temperatures_and_pins_outlive_a_restart(served: Served) -> None:
    served.start()
    client = served.client()
    for _ in range(3):
        client.item("notes:a")
    client.pin("notes:a")
    warm = client.item("notes:a")["temperature"]
    served.stop()
    served.start()
    after = served.client().items()["items"][0]
    assert after["pinned"] is True
    assert warm is not None
    assert after["temperature"] is not None
    assert after["temperature"] > 0.9 * warm > 0.5


def test_a_second_version_installed_underneath_is_reported(tmp_path: Path) -> None:
    from wikimem_daemon.status import restart_needed  # noqa: PLC0415 - one function of the daemon, called alone

    package = tmp_path / "__init__.py"
    package.write_text('__version__ = "1.2.3"\n', encoding="utf-8")
    assert not restart_needed(package, "1.2.3")
    assert restart_needed(package, "1.2.2")
    package.unlink()
    assert restart_needed(package, "1.2.3")


def test_a_state_folder_that_cannot_be_written_costs_writes_and_no_reads(served: Served) -> None:
    served.start()
    state = json.loads(json.dumps(served.client().status()))["path"]
    assert state == str(served.vault)
    served.stop()
    found = [path for path in (served.base / "state" / "wikimem").iterdir() if path.name != "locks"]
    for file in found[0].iterdir():
        file.unlink()
    found[0].rmdir()
    found[0].write_text("no folder", encoding="utf-8")
    served.start()
    client = served.client()
    assert client.retrieve("one")["items"]
    status = client.status()
    assert status["state"] == "degraded"
    assert "history-unavailable" in [part["code"] for part in status["degraded"]]
    reply = served.http("PUT", "/v1/item", {"category": "notes", "name": "b", "content": "x"})
    assert (reply.status, reply.json()["code"]) == (507, "history_unavailable")


def test_the_daemon_can_be_imported_without_starting_anything() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wikimem_daemon", "--help"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:{ROOT / 'daemon'}"},
        capture_output=True, timeout=20, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert b"--vault" in done.stdout
