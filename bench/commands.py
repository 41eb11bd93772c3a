"""How long a command takes as a whole process: the help, and a question through a running daemon.

Bars: `wikimem --help` 120 ms, `wikimem retrieve` through the daemon 150 ms.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 20
NOTES = 1_000


def milliseconds(command: list[str], env: dict[str, str]) -> list[float]:
    taken = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
        taken.append((time.perf_counter() - start) * 1_000)
    return sorted(taken)


def show(name: str, taken: list[float], bar: int) -> None:
    print(f"{name:40} p50 {statistics.median(taken):6.1f}  max {taken[-1]:6.1f} ms   (bar {bar})")


def main() -> None:
    wikimem = str(Path(sys.executable).with_name("wikimem"))
    home = Path(tempfile.mkdtemp(prefix="wm-bench-"))
    env = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": str(home), "XDG_STATE_HOME": str(home / "state")}
    try:
        show("wikimem --help", milliseconds([wikimem, "--help"], env), 120)
        wiki = home / "memory/wiki"
        wiki.mkdir(parents=True)
        for number in range(NOTES):
            text = f"# note{number}\n\n## item-{number}\n\nThe note with the number {number}, about sea and tide.\n"
            (wiki / f"note{number}.md").write_text(text, encoding="utf-8")
        vault = str(home / "memory")
        daemon = subprocess.Popen([wikimem, "serve", "--vault", vault], env=env, stdout=subprocess.DEVNULL)
        try:
            ready = [wikimem, "status", "--wait", "30", "--vault", vault]
            subprocess.run(ready, env=env, check=True, stdout=subprocess.DEVNULL)
            ask = [wikimem, "retrieve", "number 7", "--vault", vault]
            show(f"wikimem retrieve, {NOTES} items, daemon", milliseconds(ask, env), 150)
            show(f"wikimem retrieve --json, {NOTES} items", milliseconds([*ask, "--json"], env), 150)
        finally:
            daemon.terminate()
            daemon.wait()
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
