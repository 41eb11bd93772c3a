"""A write with an idempotency key whose process is killed before it can answer, and the caller's retry of it."""

import os
import shutil
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.fault.editors import LAYOUT, Between, WithoutLeases
from tests.fault.otheruid import fork
from wikimem.pages.relations import Relation
from wikimem.store.relations import RelationsFile
from wikimem.store.vault import MemoryStore

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the child is a fork")

KEY = "the same request"
Act = Callable[[MemoryStore], object]


def unrelate(store: MemoryStore) -> Relation:
    relations = RelationsFile(store)
    return relations.removed_under(KEY) or relations.remove("p:q", "r:s", idempotency_key=KEY)


ACTS: dict[str, Act] = {
    "add": lambda store: store.add("c", "n", "new text", idempotency_key=KEY),
    "remove": lambda store: store.remove("c", "n", idempotency_key=KEY),
    "diary": lambda store: store.diary.append("entry", date="2026-07-21", time="08:00", idempotency_key=KEY),
    "restore": lambda store: store.restore("c:n", 1, idempotency_key=KEY),
    "relate": lambda store: RelationsFile(store).add(Relation("p:q", "r:s", 2.0), idempotency_key=KEY),
    "unrelate": unrelate,
}


def opened(folder: Path, kernel: Between | None = None) -> MemoryStore:
    clock = datetime(2026, 7, 21, 6, 30, tzinfo=UTC)
    vault, state_dir = folder / "vault", folder / "state" / "v"
    return MemoryStore(vault, layout=LAYOUT, state_dir=state_dir, kernel=kernel, clock=lambda: clock)


def a_vault(folder: Path) -> Path:
    (folder / "vault" / "wiki").mkdir(parents=True)
    with opened(folder) as store:
        store.add("c", "n", "first text")
        store.add("c", "n", "old text")
        store.diary.append("earlier", date="2026-07-21", time="07:00")
        RelationsFile(store).add(Relation("p:q", "r:s", 3.0))
    return folder


def kill_in(folder: Path, act: Act, kernel: Between, at_call: int) -> None:
    """Do the write in a child that is killed at a call, at the latest when it is done."""
    child = fork()
    if child == 0:
        left = at_call

        def count(_name: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            kernel.hook = count
            act(opened(folder, kernel))
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the child failed by itself"


def left_by(store: MemoryStore) -> object:
    assert store.journal is not None
    entries, problems = store.journal.entries()
    assert [one for one in problems if one.kind != "bad-line"] == []
    return (
        [(item.address, item.content) for item in store.items()],
        [entry.content for entry in store.diary.window("2026-07-21", "2026-07-21")],
        RelationsFile(store).read(),
        [entry for entry in entries if entry.file != "other"],
        [one.content for one in store.history.versions("c:n", 100).versions],
        [one.content for one in store.history.versions("relations.jsonl:p:q -> r:s", 100).versions],
    )


KERNELS: dict[str, Callable[[], Between]] = {
    "leases": Between,
    "no leases": lambda: WithoutLeases(exchange=True),
}


@pytest.mark.parametrize("reader", ["a new process", "a process that has written before"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("act", ACTS)
def test_a_retry_after_a_kill_gets_the_answer_of_the_first_and_writes_nothing_twice(
    act: str, kernel: str, reader: str, quick_path: Path
) -> None:
    made = a_vault(quick_path / "made")
    with opened(shutil.copytree(made, quick_path / "wanted")) as store:
        answer = ACTS[act](store)
        wanted = left_by(store)
    for at_call in (1, 9, 14, 19, 1000):
        folder = shutil.copytree(made, quick_path / str(at_call))
        store = opened(folder)
        if reader == "a process that has written before":
            store.add("other", "n", "text")
            store.remove("other", "n")
        kill_in(folder, ACTS[act], KERNELS[kernel](), at_call)
        assert ACTS[act](store) == answer, at_call
        assert ACTS[act](store) == answer, at_call
        assert left_by(store) == wanted, at_call
        store.close()
