"""A vault with its service, and what a test asks of it."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.systemd.installation import Installation
from tests.systemd.private_manager import Manager, eventually

# Plain HTTP, a connection for each call, no retry: what `curl` would see.
ASK = """
import http.client, json, socket, sys
class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(sys.argv[1])
def ask(path):
    connection = Connection("wikimem")
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())
"""


@dataclass
class Served:
    installation: Installation
    name: str
    vault: Path
    env: dict[str, str] = field(default_factory=dict)
    first_words: str = ""

    @property
    def manager(self) -> Manager:
        return self.installation.manager

    @property
    def service(self) -> str:
        return f"wikimem@{self.name}.service"

    @property
    def socket(self) -> str:
        return f"wikimem@{self.name}.socket"

    @property
    def socket_file(self) -> Path:
        return self.manager.runtime / "wikimem" / f"{self.name}.sock"

    @property
    def config_file(self) -> str:
        return self.env.get("XDG_CONFIG_HOME", f"{self.manager.home}/.config") + "/wikimem/config.toml"

    def make_vault(self) -> None:
        self.manager.run("mkdir", "-p", str(self.vault / "wiki"), check=True)
        self.write("wiki/tea.md", f"# tea\n\n## green\n\nThe vault {self.name} likes gyokuro.\n")

    def write(self, path: str, text: str) -> None:
        self.manager.run("tee", str(self.vault / path), given=text, check=True)

    # --- commands -----------------------------------------------------------------------------------------------

    def wikimem(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return self.manager.run(self.installation.wikimem, *words, env=self.env)

    def systemctl(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return self.manager.run("systemctl", "--user", "--no-pager", *words)

    def show(self, setting: str, unit: str | None = None) -> str:
        return self.systemctl("show", unit or self.service, "-p", setting, "--value").stdout.strip()

    def pid(self) -> int:
        return int(self.show("MainPID"))

    def journal(self, *words: str) -> str:
        self.manager.run("journalctl", "--user", "--sync")
        return self.manager.run("journalctl", "--user", "-q", "--no-pager", "-o", "cat", *words).stdout

    def own_lines(self) -> str:
        return self.journal("-u", self.service)

    # --- calls --------------------------------------------------------------------------------------------------

    def ask(self, path: str = "/v1/status") -> tuple[int, dict[str, Any]]:
        """Ask once over a connection of its own; raises what the connection raises."""
        program = ASK + f"print(json.dumps(ask({path!r})))"
        told = self.manager.run(self.installation.python, "-c", program, str(self.socket_file))
        if told.returncode != 0:
            raise ConnectionError(told.stderr.strip().rpartition("\n")[2])
        status, body = json.loads(told.stdout)
        return status, body

    def finds(self, query: str) -> list[str]:
        told = self.wikimem("retrieve", "--vault", self.name, "--json", query)
        assert told.returncode == 0, told.stderr
        return [item["address"] for item in json.loads(told.stdout)["items"]]

    def is_well(self) -> bool:
        return bool(self.ask()[1]["state"] == "ok")

    # --- states -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Bring it back to where every test begins: both units up, the vault read."""
        self.systemctl("reset-failed", self.service, self.socket)
        told = self.systemctl("start", self.socket, self.service)
        assert told.returncode == 0, told.stderr + self.own_lines()[-3000:]
        eventually(self.is_well, lambda: f"the daemon is well: {self.ask()}\n{self.own_lines()[-3000:]}")

    @contextmanager
    def dropin(self, text: str) -> Iterator[None]:
        """Put settings of the user's own beside the installed ones, as `systemctl --user edit` would."""
        folder = self.manager.home / ".config/systemd/user" / f"{self.service}.d"
        self.manager.run("mkdir", "-p", str(folder), check=True)
        self.manager.run("tee", str(folder / "test.conf"), given=text, check=True)
        self.systemctl("daemon-reload")
        try:
            yield
        finally:
            self.manager.run("rm", "-r", str(folder), check=True)
            self.systemctl("daemon-reload")

    @contextmanager
    def config(self, added: str) -> Iterator[None]:
        """Add lines to the configuration for a while."""
        old = self.manager.run("cat", self.config_file, check=True).stdout
        self.manager.run("tee", self.config_file, given=old + added, check=True)
        try:
            yield
        finally:
            self.manager.run("tee", self.config_file, given=old, check=True)
