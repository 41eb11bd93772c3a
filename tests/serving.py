"""A real daemon process over a real socket, and plain HTTP to it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from wikimem.api.client import Client
from wikimem.api.http_wire import ResponseReader
from wikimem.errors import WikimemError

ROOT = Path(__file__).parents[1]
PATIENCE_S = 20.0
WIKIMEM = (sys.executable, "-c", "from wikimem.cli import main; main()")
"""The command, as the interpreter that runs the tests has it."""

JSON = {"Content-Type": "application/json"}


def wait_until(condition: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
    """Poll until the condition holds."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {patience_s:g} s: {what}"
        time.sleep(0.005)


@dataclass(slots=True)
class Reply:
    """One answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def read_reply(connection: socket.socket) -> Reply:
    """Read one answer; one that ends without being complete is an error."""
    reader = ResponseReader()
    while not reader.complete:
        chunk = connection.recv(65_536)
        assert chunk, "the connection ended before the answer did"
        reader.feed(chunk)
    return Reply(reader.status, reader.headers, bytes(reader.body))


def connect(path: Path, timeout_s: float = PATIENCE_S) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout_s)
    connection.connect(str(path))
    return connection


def raw(path: Path, data: bytes) -> Reply:
    """Send bytes as they are on a connection of their own, and read one answer."""
    with connect(path) as connection:
        connection.sendall(data)
        return read_reply(connection)


def http(path: Path, method: str, target: str, body: object = None, headers: Mapping[str, str] | None = None) -> Reply:
    """Send one request; `body` is dumped as JSON unless it is bytes."""
    payload = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Host": "wikimem", **({"Content-Length": str(len(payload))} if body is not None else {})}
    if body is not None:
        sent |= JSON
    sent |= headers or {}
    head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    return raw(path, head.encode("latin-1") + b"\r\n" + payload)


def ran(
    command: Sequence[str], env: Mapping[str, str], given: str = "", cwd: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, with `given` on its standard input."""
    return subprocess.run(
        command, env=env, cwd=cwd, input=given, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


@dataclass(slots=True)
class Served:
    """A vault and the daemon that serves it, in a world of its own below `base`."""

    base: Path
    extra: Mapping[str, str] = field(default_factory=dict)
    process: "subprocess.Popen[bytes] | None" = None

    def __post_init__(self) -> None:
        for name in ("vault/wiki", "run", "state", "config", "home"):
            (self.base / name).mkdir(parents=True, exist_ok=True)
        (self.base / "run").chmod(0o700)

    @property
    def vault(self) -> Path:
        return self.base / "vault"

    @property
    def socket(self) -> Path:
        return self.base / "run" / "wikimem" / "v.sock"

    @property
    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "PYTHONHASHSEED")}
        return {
            **kept,
            "HOME": str(self.base / "home"),
            "XDG_RUNTIME_DIR": str(self.base / "run"),
            "XDG_STATE_HOME": str(self.base / "state"),
            "XDG_CONFIG_HOME": str(self.base / "config"),
            "WIKIMEM_SOCKET": str(self.socket),
            "TZ": "UTC",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "daemon")]),
            **self.extra,
        }

    def write(self, path: str, text: str) -> Path:
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def spawn(self, *arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "wikimem_daemon", "--vault", str(self.vault), *arguments]
        with (self.base / "log").open("ab") as log:
            options.setdefault("stderr", log)
            return subprocess.Popen(command, env=self.env, cwd=self.base, stdin=subprocess.DEVNULL, **options)

    def start(self, *, wait: bool = True) -> Self:
        self.process = self.spawn()
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self) -> None:
        """Wait until the vault is read."""

        def ready() -> bool:
            assert self.process is None or self.process.poll() is None, self.log()
            try:
                return not self.client(timeout=2.0).status()["partial"]
            except WikimemError:
                return False

        wait_until(ready, "the daemon has read its vault")

    def client(self, timeout: float = 10.0) -> Client:
        return Client(self.socket, timeout=timeout)

    def http(self, method: str, target: str, body: object = None, headers: Mapping[str, str] | None = None) -> Reply:
        return http(self.socket, method, target, body, headers)

    def log(self) -> str:
        return (self.base / "log").read_text(encoding="utf-8", errors="replace")

    def send(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End the daemon; return its exit status."""
        assert self.process is not None
        if self.process.poll() is None:
            self.send(number)
        status = self.process.wait(PATIENCE_S)
        self.process = None
        return status

    def descriptors(self) -> int:
        assert self.process is not None
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))  # noqa: PTH208 - only the number


@contextmanager
def serving(base: Path, **extra: str) -> Iterator[Served]:
    """Serve an empty vault below `base`; write into `.vault` and call `.start()`."""
    served = Served(base, extra)
    try:
        yield served
    finally:
        if served.process is not None:
            served.stop(signal.SIGKILL)
