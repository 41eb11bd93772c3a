"""The two clients beside a real daemon: threads, tasks, cancellation, starting the unit, full backlogs, strangers."""

import asyncio
import contextlib
import gc
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import Served, serving, wait_until
from wikimem import AsyncClient as PublicAsyncClient
from wikimem import Client as PublicClient
from wikimem.api import async_client, client, finding
from wikimem.api.async_client import AsyncClient
from wikimem.api.client import Client
from wikimem.api.exchange import MAX_IDLE
from wikimem.errors import Conflict, DeniedError, InvalidInput, NotFound, NotRunning, TryAgain, Unreachable


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("clients")) as one:
        one.write("wiki/notes.md", "## a\n\nThe sea.\n")
        yield one.start()


def ask_health(kind: str, path: Path, timeout: float) -> object:
    async def ask() -> object:
        async with AsyncClient(path, timeout=timeout) as one:
            return await one.health()

    return Client(path, timeout=timeout).health() if kind == "sync" else asyncio.run(ask())


def test_the_package_offers_both() -> None:
    assert PublicClient is Client
    assert PublicAsyncClient is AsyncClient is client.AsyncClient


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_vault_may_be_named_by_a_path_and_not_in_the_sockets_place(
    kind: type[Client | AsyncClient], served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in served.env.items():
        monkeypatch.setenv(name, value)
    assert kind(vault=served.vault).socket_path == served.socket
    with pytest.raises(NotRunning, match="is no socket") as caught:
        ask_health("sync" if kind is Client else "async", served.vault, 1.0)
    assert "`vault=`" in caught.value.hint


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_timeout_that_is_no_time_is_refused(kind: type[Client | AsyncClient], timeout: float) -> None:
    with pytest.raises(InvalidInput, match="timeout"):
        kind(Path("x.sock"), timeout=timeout)


def test_threads_may_share_a_client(served: Served) -> None:
    errors: list[BaseException] = []

    def ask(one: Client) -> None:
        try:
            for _ in range(40):
                assert one.retrieve("sea")["items"][0]["address"] == "notes:a"
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test shows it
            errors.append(error)

    with served.client() as one:
        threads = [threading.Thread(target=ask, args=(one,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert served.client().status()["connections"]["open"] <= MAX_IDLE + 1


def test_a_client_that_is_used_in_a_forked_process_connects_anew(served: Served) -> None:
    with served.client() as one:
        one.health()
        before = list(one._exchange.idle)
        one._pid = -1  # as after os.fork(): another process, with the same open connection
        one.health()
        assert one._exchange.idle != before


def test_a_client_that_is_dropped_gives_its_connection_back(served: Served) -> None:
    for _ in range(5):
        served.client().health()
    gc.collect()  # a socket that is still open would be a ResourceWarning, and so an error here
    wait_until(lambda: served.client().status()["connections"]["open"] <= 2, "the connections are gone")


def test_many_tasks_at_once_and_errors_as_their_classes(served: Served) -> None:
    async def work() -> None:
        async with AsyncClient(served.socket) as one:
            answers = await asyncio.gather(*(one.retrieve("sea") for _ in range(50)))
            assert {answer["items"][0]["address"] for answer in answers} == {"notes:a"}
            written = await one.put_item("tasks", "x", "1")
            with pytest.raises(Conflict) as conflict:
                await one.put_item("tasks", "x", "2", expected_hash="0" * 64)
            assert conflict.value.current_hash == written["hash"]
            with pytest.raises(NotFound):
                await one.item("tasks:y")

    asyncio.run(work())


def test_a_cancelled_call_costs_its_connection_and_nothing_else(served: Served) -> None:
    async def work() -> int:
        cancelled = 0
        async with AsyncClient(served.socket) as one:
            for _ in range(20):
                task = asyncio.create_task(one.status(verify=True))
                await asyncio.sleep(0)
                # On a busy machine the answer may be there before the task was ever suspended.
                cancelled += task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            assert (await one.retrieve("sea"))["items"]
        return cancelled

    assert asyncio.run(work()) > 0
    wait_until(lambda: served.client().status()["connections"]["open"] <= 2, "the connections are gone")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_an_installed_unit_is_started_once_when_nobody_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with serving(tmp_path) as one:
        started: list[Path] = []

        def start_unit(path: Path) -> bool:
            started.append(path)
            one.start(wait=False)
            return True

        if kind == "sync":
            monkeypatch.setattr(client, "start_unit", start_unit)
            assert one.client().status()["vault"]
        else:
            monkeypatch.setattr(async_client, "start_unit", start_unit)

            async def ask() -> str:
                async with AsyncClient(one.socket) as asking:
                    return (await asking.status())["vault"]

            assert asyncio.run(ask())
        assert started == [one.socket]


def test_no_unit_is_started_for_a_socket_in_another_place(tmp_path: Path) -> None:
    assert finding.start_unit(tmp_path / "notes.sock") is False


def test_somebody_elses_socket_is_not_spoken_to(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    for uid in (os.geteuid() + 1, 65_534):
        monkeypatch.setattr(finding, "peer_uid", lambda _, uid=uid: uid)
        with pytest.raises(DeniedError, match="not you"):
            served.client().health()
    monkeypatch.setattr(finding, "peer_uid", lambda _: os.geteuid())
    assert served.client().health()["state"] == "ok"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_full_backlog_is_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "full.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen(0)
        filling = []
        while True:
            one = socket.socket(socket.AF_UNIX)
            one.setblocking(False)
            filling.append(one)
            try:
                one.connect(str(path))
            except BlockingIOError:
                break
        with pytest.raises(TryAgain):
            ask_health(kind, path, 0.3)
        for one in filling:
            one.close()


def test_somebody_who_listens_and_never_answers_is_unreachable(tmp_path: Path) -> None:
    path = tmp_path / "deaf.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen(8)
        for kind in ("sync", "async"):
            with pytest.raises(Unreachable, match=r"within 0\.2 s"):
                ask_health(kind, path, 0.2)


def test_the_socket_is_found_as_the_commands_find_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config/wikimem").mkdir(parents=True)
    (tmp_path / "config/wikimem/config.toml").write_text(
        f'[vaults.notes]\npath = "{tmp_path}/notes"\n', encoding="utf-8"
    )
    for name in ("WIKIMEM_SOCKET", "WIKIMEM_VAULT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    assert Client(vault="notes").socket_path == tmp_path / "run/wikimem/notes.sock"
    assert AsyncClient(vault="notes").socket_path == tmp_path / "run/wikimem/notes.sock"
    monkeypatch.setenv("WIKIMEM_SOCKET", str(tmp_path / "other.sock"))
    assert Client(vault="notes").socket_path == tmp_path / "other.sock"
    with pytest.raises(NotRunning):
        Client(vault="notes").health()
