"""How long an agent waits: `wikimem retrieve` and `wikimem hook` as processes, `wikimem mcp` to its first answer.

Bars: 150 ms through a running daemon for the first two; 1.5 s from the start of the process to the answer to
`initialize`, with the daemon up and with none. Processor time beside it: on a busy machine it says more.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

NOTES = 1_000
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}


def measured(runs: int, once: Callable[[], None]) -> tuple[list[float], float]:
    """Return the times of the runs in milliseconds, and the processor time of one."""
    taken = []
    before = children_s()
    for _ in range(runs):
        start = time.perf_counter()
        once()
        taken.append((time.perf_counter() - start) * 1_000)
    return sorted(taken), (children_s() - before) * 1_000 / runs


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def show(name: str, measured_: tuple[list[float], float], bar: int) -> None:
    taken, used = measured_
    median = statistics.median(taken)
    print(f"{name:44} p50 {median:7.1f}  min {taken[0]:7.1f}  max {taken[-1]:7.1f}  cpu {used:6.1f} ms  (bar {bar})")


def ran(command: list[str], env: dict[str, str], sent: str = "") -> Callable[[], None]:
    def once() -> None:
        subprocess.run(command, env=env, input=sent, check=True, text=True, stdout=subprocess.DEVNULL)

    return once


def greeted(command: list[str], env: dict[str, str]) -> Callable[[], None]:
    def once() -> None:
        with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(HELLO) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "wikimem"
            process.kill()

    return once


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    wikimem = str(Path(sys.executable).with_name("wikimem"))
    home = Path(tempfile.mkdtemp(prefix="wm-bench-"))
    env = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(home), "XDG_STATE_HOME": str(home / "state")}
    vault = ["--vault", str(home / "memory")]
    prompt = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "1", "prompt": "what has number 7?"})
    try:
        wiki = home / "memory/wiki"
        wiki.mkdir(parents=True)
        for number in range(NOTES):
            text = f"# note{number}\n\n## item-{number}\n\nThe note with the number {number}, about sea and tide.\n"
            (wiki / f"note{number}.md").write_text(text, encoding="utf-8")
        mcp = greeted([wikimem, "mcp", *vault], env)
        show("wikimem mcp: initialize, no daemon", measured(max(3, runs // 4), mcp), 1_500)
        daemon = subprocess.Popen([wikimem, "serve", *vault], env=env, stdout=subprocess.DEVNULL)
        try:
            subprocess.run([wikimem, "status", "--wait", "30", *vault], env=env, check=True, stdout=subprocess.DEVNULL)
            show("wikimem retrieve", measured(runs, ran([wikimem, "retrieve", "number 7", *vault], env)), 150)
            show("wikimem hook, a prompt", measured(runs, ran([wikimem, "hook", *vault], env, prompt)), 150)
            show("wikimem mcp: initialize", measured(max(3, runs // 4), mcp), 1_500)
        finally:
            daemon.terminate()
            daemon.wait()
        show("wikimem hook, no daemon", measured(runs, ran([wikimem, "hook", *vault], env, prompt)), 150)
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
