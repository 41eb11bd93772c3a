"""A systemd user manager for the tests: this user's own where one runs, else a private one in namespaces.

Only the second changes anything outside: one cgroup, which `close` removes.
"""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

HERE = Path(__file__).parent
USER, UID = "wmtester", 4711

_PLAIN_PATH = "/usr/local/bin:/usr/bin:/bin"
_TOOLS = ("unshare", "nsenter", "setpriv", "systemctl", "systemd-run", "journalctl", "dbus-daemon", "findmnt")


class Unavailable(Exception):
    """No user manager can be had here."""


class Manager(Protocol):
    """A place in which `systemctl --user` works."""

    home: Path
    runtime: Path
    private: bool

    @property
    def packages(self) -> Sequence[str]:
        """Where the dependencies of the environment that runs the tests are, as the services see them."""
        ...

    def run(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        given: str | None = None,
        timeout: float = 40,
        check: bool = False,
    ) -> "subprocess.CompletedProcess[str]": ...

    def spawn(self, *command: str, env: Mapping[str, str] | None = None) -> "subprocess.Popen[str]": ...

    def close(self) -> None: ...


def eventually(told: Callable[[], object], what: str | Callable[[], str], *, within: float = 15.0) -> object:
    """Poll until `told()` is true, and return that; fail with `what` after `within` seconds."""
    deadline = time.monotonic() + within
    while True:
        found = told()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within} s: {what if isinstance(what, str) else what()}")
        time.sleep(0.02)


@dataclass
class OwnManager:
    """The manager of the user who runs the tests."""

    home: Path = field(default_factory=Path.home)
    runtime: Path = field(default_factory=lambda: Path(os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")))
    private: bool = False

    @property
    def packages(self) -> Sequence[str]:
        return package_folders()

    def run(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        given: str | None = None,
        timeout: float = 40,
        check: bool = False,
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command, env=self._env(env), input=given, capture_output=True, text=True, timeout=timeout, check=check
        )

    def spawn(self, *command: str, env: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            command, env=self._env(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def close(self) -> None:
        """Nothing was started."""

    def _env(self, env: Mapping[str, str] | None) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("HOME", "USER", "DBUS_SESSION_BUS_ADDRESS") if name in os.environ}
        return {"PATH": _PLAIN_PATH, "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": str(self.runtime), **kept, **(env or {})}


@dataclass
class PrivateManager:
    """A manager for a user who exists only inside its namespaces."""

    init: int
    keeper: "subprocess.Popen[str]"
    cgroup: Path
    home: Path = Path("/home") / USER
    runtime: Path = Path(f"/run/user/{UID}")
    private: bool = True

    @property
    def packages(self) -> Sequence[str]:
        return [f"/run/world/packages/{number}" for number in range(1, len(package_folders()) + 1)]

    def run(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        given: str | None = None,
        timeout: float = 40,
        check: bool = False,
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self._inside(command, env), input=given, capture_output=True, text=True, timeout=timeout, check=check
        )

    def spawn(self, *command: str, env: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        return subprocess.Popen(self._inside(command, env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def root(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command inside as root: mounting and unmounting what a person would."""
        return subprocess.run([*self._enter(), *command], capture_output=True, text=True, timeout=40, check=False)

    def close(self) -> None:
        self.run("systemctl", "--user", "exit")
        try:
            self.keeper.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.kill(self.init, signal.SIGKILL)
            self.keeper.communicate(timeout=10)
        for folder, _, _ in os.walk(self.cgroup, topdown=False):
            Path(folder).rmdir()

    def _inside(self, command: Sequence[str], env: Mapping[str, str] | None) -> list[str]:
        variables = {
            "HOME": str(self.home),
            "USER": USER,
            "LOGNAME": USER,
            "LANG": "C.UTF-8",
            "PATH": _PLAIN_PATH,
            "XDG_RUNTIME_DIR": str(self.runtime),
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.runtime}/bus",
            **(env or {}),
        }
        words = [f"{name}={value}" for name, value in variables.items()]
        user = ["setpriv", "--reuid", str(UID), "--regid", str(UID), "--clear-groups", "--no-new-privs"]
        return [*self._enter(), *user, "env", "-i", "-C", str(self.home), *words, *command]

    def _enter(self) -> list[str]:
        return ["nsenter", "-t", str(self.init), "--mount", "--pid", "--cgroup", "--uts", "--ipc", "--"]


def open_manager() -> Manager:
    """Return a manager that answers; raises `Unavailable` with the reason."""
    if sys.platform != "linux" or shutil.which("systemctl") is None:
        raise Unavailable("there is no systemd here")
    own = OwnManager()
    if os.getuid() != 0:
        if _answers(own):
            return own
        raise Unavailable("this user has no systemd manager, and a private one needs root")
    return _open_private()


def _open_private() -> PrivateManager:
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)}")
    found = subprocess.run(
        ["findmnt", "-rn", "-t", "cgroup2", "-o", "TARGET"], capture_output=True, text=True, check=False
    )
    if not found.stdout.strip():
        raise Unavailable("no cgroup2 is mounted")
    cgroup = Path(found.stdout.splitlines()[0]) / f"wikimem-tests-{os.getpid()}"
    try:
        cgroup.mkdir()
    except OSError as error:
        raise Unavailable(f"no cgroup can be made: {error}") from error
    keeper = _start_world(cgroup)
    try:
        return _wait_for_world(keeper, cgroup)
    except (Unavailable, AssertionError, OSError):
        keeper.kill()
        said = keeper.communicate(timeout=10)[0]
        _remove_when_empty(cgroup)
        raise Unavailable(f"the private manager did not start: {said[-2000:]}") from None


def _start_world(cgroup: Path) -> "subprocess.Popen[str]":
    shown, covered = shown_folders()
    env = {
        "PATH": "/usr/sbin:/sbin:" + _PLAIN_PATH,
        "WORLD_USER": USER,
        "WORLD_UID": str(UID),
        "WORLD_SHOW": "\n".join(shown),
        "WORLD_COVER": "\n".join(covered),
        "WORLD_PACKAGES": "\n".join(package_folders()),
    }
    # The shell moves itself into the cgroup before it becomes `unshare`: the cgroup namespace starts there.
    # A test run that is killed takes the world with it.
    namespaces = "unshare --pid --fork --kill-child --mount --cgroup --uts --ipc"
    step = f'echo $$ > "$0"/cgroup.procs && exec setpriv --pdeathsig KILL {namespaces} sh "$1"'
    return subprocess.Popen(
        ["sh", "-c", step, str(cgroup), str(HERE / "private_world.sh")],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _wait_for_world(keeper: "subprocess.Popen[str]", cgroup: Path) -> PrivateManager:
    children = Path(f"/proc/{keeper.pid}/task/{keeper.pid}/children")

    def ready() -> PrivateManager | None:
        if keeper.poll() is not None:
            raise Unavailable("its first process ended")
        inside = children.read_text().split()
        if not inside:
            return None
        manager = PrivateManager(int(inside[0]), keeper, cgroup)
        return manager if _answers(manager) else None

    found = eventually(ready, "the private manager answers")
    assert isinstance(found, PrivateManager)
    return found


def _answers(manager: Manager) -> bool:
    try:
        told = manager.run("systemctl", "--user", "is-system-running", timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return told.stdout.strip() in ("running", "degraded")


def package_folders() -> list[str]:
    """Return where this environment keeps its packages."""
    return sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})


def shown_folders() -> tuple[list[str], list[str]]:
    """Return which folders of this interpreter the throwaway user could not reach, and what closes them off."""
    wanted = {sys.base_prefix, sys.prefix}
    shown: list[str] = []
    covered: list[str] = []
    for folder in sorted(wanted):
        closed = [parent for parent in reversed(Path(folder).parents) if not parent.stat().st_mode & 0o001]
        if closed:
            covered.append(str(closed[0]))
            if not any(Path(folder).is_relative_to(other) for other in shown):
                shown.append(folder)
    return shown, sorted(set(covered))


def _remove_when_empty(cgroup: Path) -> None:
    def gone() -> bool:
        try:
            for folder, _, _ in os.walk(cgroup, topdown=False):
                Path(folder).rmdir()
        except OSError:
            return False
        return True

    eventually(gone, "the cgroup is empty")
