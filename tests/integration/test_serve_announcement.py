"""What `wikimem serve` prints to paste: it works at once, in any terminal."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.serving import PATIENCE_S, WIKIMEM, Served, serving

LINES = 4


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path / "it's here") as one:
        one.write("wiki/preferences.md", "## tea\n\nI like green tea.\n")
        yield one


def serve(served: Served, stdout: int | IO[bytes]) -> "subprocess.Popen[bytes]":
    command = [*WIKIMEM, "serve", "--vault", "vault"]
    with (served.base / "log").open("ab") as log:
        return subprocess.Popen(
            command, env=served.env, cwd=served.base, stdin=subprocess.DEVNULL, stdout=stdout, stderr=log
        )


def pasted(line: str, served: Served) -> str:
    """Run a line as a terminal would that was opened elsewhere and knows no virtual environment."""
    env = {name: value for name, value in served.env.items() if name != "PYTHONPATH"} | {"PATH": os.defpath}
    done = subprocess.run(
        ["bash", "-c", line], env=env, cwd="/", capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_lines_that_serve_prints_work_the_moment_they_are_there(served: Served) -> None:
    served.process = serve(served, subprocess.PIPE)
    assert served.process.stdout is not None
    with served.process.stdout as told:
        assert f"serving the vault {served.vault} on " in told.readline().decode()
        assert served.client().health(), "the socket answers before anything is said"
        _, curl, retrieve = (told.readline().decode().strip() for _ in range(LINES - 1))
    assert "green tea" in pasted(curl, served)
    assert "preferences:tea" in pasted(retrieve, served)
    assert served.client().status()["pid"] == served.process.pid


def test_nothing_is_announced_by_a_daemon_that_is_refused(served: Served) -> None:
    served.start()
    served.extra = {"WIKIMEM_ANNOUNCE": "it serves"}
    for second in (served.spawn(stdout=subprocess.PIPE), serve(served, subprocess.PIPE)):
        assert second.communicate(timeout=PATIENCE_S)[0] == b""
        assert second.returncode == 75


def test_nothing_to_paste_is_written_into_a_journal(served: Served) -> None:
    reading, writing = os.pipe()
    journal = os.fstat(writing)
    served.extra = {"JOURNAL_STREAM": f"{journal.st_dev}:{journal.st_ino}"}
    served.process = serve(served, writing)
    os.close(writing)
    served.wait_ready()
    assert served.stop() == 0
    with os.fdopen(reading, "rb") as told:
        assert told.read() == b""


def test_a_reader_that_has_left_stops_no_daemon(served: Served) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    served.process = serve(served, writing)
    os.close(writing)
    served.wait_ready()
    assert served.stop() == 0
    assert "Traceback" not in served.log()
