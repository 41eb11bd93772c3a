"""The kernel tells a lease's holder by a signal that somebody waits: no library user's process may die of it."""

import subprocess
import sys

import pytest

SCRIPT = """
import os, signal, sys, threading
from wikimem.store.kernel import Kernel

path = sys.argv[1]
kernel = Kernel()


def hold_and_be_asked():
    held = kernel.open(path, os.O_RDONLY)
    kernel.lease(held, "read")
    asked = threading.Thread(target=lambda: os.close(os.open(path, os.O_WRONLY)))
    asked.start()
    while kernel.lease_holds(held):
        pass
    kernel.release(held)
    asked.join()
    kernel.close(held)


if sys.argv[2] == "thread":
    worker = threading.Thread(target=hold_and_be_asked)
    worker.start()
    worker.join()
else:
    hold_and_be_asked()
assert signal.getsignal(signal.SIGIO) == signal.SIG_DFL, "the program's own handlers are not touched"
assert signal.getsignal(signal.SIGURG) == signal.SIG_DFL
print("alive")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="leases are Linux's")
@pytest.mark.parametrize("where", ["main", "thread"])
def test_a_program_that_never_heard_of_leases_outlives_a_broken_one(where: str, tmp_path: object) -> None:
    path = f"{tmp_path}/note.md"
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - a name for another process
        file.write("text")
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, path, where], check=False, capture_output=True, text=True, timeout=30
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "alive\n", "")
