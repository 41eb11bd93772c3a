"""Play a session of shell commands in an empty home, and compare what it prints with what a file says.

The format, one block a command:

    $ wikimem show nowhere:nothing       a command for bash, in the session's own folder
    what it prints on standard output
    ! what it prints on standard error   (one `! ` a line)
    ? 1                                  its exit status, where it is not 0

`<*>` stands for any text within a line, a line of `<...>` for any number of lines. `-- ` starts a comment.
`% daemon DIR` runs a daemon for the rest of the session; `% unchanged DIR` says that the
next command must leave every byte and stamp below DIR alone.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

UNPRIVILEGED = """\
#!/bin/sh
[ "$(id -u)" -ne 0 ] && exec "$@"
exec setpriv --bounding-set -dac_override,-dac_read_search --inh-caps -dac_override,-dac_read_search "$@"
"""

COMMAND_S = 30
READY_S = 20


@dataclass(slots=True)
class Block:
    """One command of a script and what it must do."""

    command: str
    line: int
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)
    status: int = 0
    unchanged: list[str] = field(default_factory=list)
    daemons: list[str] = field(default_factory=list)


def parse(text: str, first_line: int = 1) -> list[Block]:
    """Return the blocks of a script."""
    blocks: list[Block] = []
    unchanged: list[str] = []
    daemons: list[str] = []
    for number, line in enumerate(text.split("\n"), first_line):
        if line.startswith("$ "):
            blocks.append(Block(line[2:], number, unchanged=unchanged, daemons=daemons))
            unchanged, daemons = [], []
        elif line.startswith("% unchanged "):
            unchanged.append(line.removeprefix("% unchanged "))
        elif line.startswith("% daemon "):
            daemons.append(line.removeprefix("% daemon "))
        elif not blocks or line.startswith("-- "):
            continue
        elif line.startswith("> ") and not blocks[-1].out and not blocks[-1].err:
            blocks[-1].command += "\n" + line[2:]
        elif line.startswith("! ") or line == "!":
            blocks[-1].err.append(line[2:])
        elif line.startswith("? "):
            blocks[-1].status = int(line[2:])
        else:
            blocks[-1].out.append(line)
    for block in blocks:
        while block.out and not block.out[-1]:
            block.out.pop()
    return blocks


class Session:
    """An empty home folder, and the commands and daemons that run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # A socket's path has at most 107 bytes, and pytest's own folders are deep.
        self.runtime = Path(tempfile.mkdtemp(prefix="wm-"))
        # `unprivileged COMMAND`: root may read and write everything, so a test of permissions must give that up.
        (self.runtime / "unprivileged").write_text(UNPRIVILEGED, encoding="utf-8")
        (self.runtime / "unprivileged").chmod(0o755)
        self.env = {
            "PATH": f"{self.runtime}:{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "XDG_CONFIG_HOME": str(folder / ".config"),
            "XDG_STATE_HOME": str(folder / ".local/state"),
            "XDG_DATA_HOME": str(folder / ".local/share"),
            "LANG": "C.UTF-8",
            "TZ": "Asia/Shanghai",
            "PYTHONDONTWRITEBYTECODE": "1",
            # Where a checkout is tested that is not the one installed.
            **{name: value for name, value in os.environ.items() if name == "PYTHONPATH"},
        }
        self.daemons: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            daemon.wait(timeout=READY_S)
        shutil.rmtree(self.runtime)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run one command with bash and return what it did."""
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )

    def start_daemon(self, vault: str) -> subprocess.Popen[bytes]:
        """Start a daemon and return when it has read its vault."""
        log = self.folder / f"daemon-{len(self.daemons)}.log"
        with log.open("wb") as stream:
            command = ["wikimem", "serve", "--vault", vault]
            daemon = subprocess.Popen(
                command, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
            )
        self.daemons.append(daemon)
        ready = self.run(f"wikimem status --wait {READY_S} --vault {vault}")
        assert ready.returncode in {0, 1}, f"no daemon: {ready.stderr}\n{log.read_text('utf-8', 'replace')}"
        return daemon

    def play(self, text: str, first_line: int = 1) -> None:
        """Play a script and compare every block."""
        for block in parse(text, first_line):
            for vault in block.daemons:
                self.start_daemon(vault)
            before = {name: fingerprint(self.folder / name) for name in block.unchanged}
            done = self.run(block.command)
            told = f"line {block.line}: $ {block.command}\n--- printed\n{done.stdout}--- on stderr\n{done.stderr}---"
            assert done.returncode == block.status, f"{told}\nexit status {done.returncode}, not {block.status}"
            assert matches(block.out, self.plain(done.stdout)), told
            assert matches(block.err, self.plain(done.stderr)), told
            for name, print_ in before.items():
                assert fingerprint(self.folder / name) == print_, f"{told}\n{name} was changed"

    def plain(self, text: str) -> list[str]:
        """Return the lines with this session's folder as `~`, and that of its sockets as `~run`."""
        lines = text.replace(str(self.folder), "~").replace(str(self.runtime), "~run").split("\n")
        while lines and not lines[-1]:
            lines.pop()
        return lines


def matches(expected: list[str], found: list[str]) -> bool:
    """Compare lines, `<*>` and `<...>` being wild."""
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if line == "<...>" else re.escape(line).replace(re.escape("<*>"), "[^\n]*") + "\n"
        for line in expected
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in found)) is not None


def fingerprint(place: Path) -> str:
    """Return a hash over every path, stamp and byte below `place`; `absent` when there is nothing."""
    if not os.path.lexists(place):
        return "absent"
    digest = hashlib.sha256()
    for file in sorted(_everything(place)):
        found = file.lstat()
        digest.update(
            f"{file}\0{found.st_mode}\0{found.st_ino}\0{found.st_mtime_ns}\0".encode("utf-8", "surrogateescape")
        )
        if file.is_file() and not file.is_symlink():
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _everything(place: Path) -> Iterator[Path]:
    yield place
    if place.is_dir() and not place.is_symlink():
        yield from place.rglob("*")
