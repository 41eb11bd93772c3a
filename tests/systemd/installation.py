"""wikimem as a user would have it: a wheel that was built through the sdist, in a virtual environment of its own."""

import importlib.util
import os
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.systemd.private_manager import Manager, Unavailable

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Installation:
    """The environment's folder, as the user of the manager sees it, and the commands in it."""

    manager: Manager
    venv: Path
    wheel: Path

    @property
    def python(self) -> str:
        return str(self.venv / "bin/python")

    @property
    def wikimem(self) -> str:
        return str(self.venv / "bin/wikimem")

    def put(self, wheel: Path) -> None:
        """Install this wheel; dependencies come from the environment that runs the tests."""
        target = str(self.venv.parent / wheel.name)
        copy(self.manager, wheel, target)
        told = self.manager.run(
            *(sys.executable, "-m", "pip", "--python", self.python, "install", "-q", "--no-deps", "--no-index"),
            *("--force-reinstall", "--no-warn-script-location", "--disable-pip-version-check", target),
            timeout=55,
        )
        assert told.returncode == 0, told.stdout + told.stderr


def copy(manager: Manager, source: Path, target: str) -> None:
    """Bring a file's bytes to where the manager's user can read them."""
    coded = source.read_bytes().hex()
    program = "import sys; open(sys.argv[1], 'wb').write(bytes.fromhex(sys.stdin.read()))"
    manager.run("/usr/bin/env", sys.executable, "-c", program, target, given=coded, check=True)


def install(manager: Manager, folder: Path, wheel: Path) -> Installation:
    """Make an environment below `folder` and put the wheel into it. Raises `Unavailable` without pip."""
    if importlib.util.find_spec("pip") is None:
        raise Unavailable("the environment that runs the tests has no pip")
    venv = folder / "venv"
    base = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    python = str(base) if base.exists() else sys.executable
    manager.run(python, "-m", "venv", "--without-pip", str(venv), check=True)
    site = venv / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    # A plain line: what editable installs put beside the dependencies is not read, so the wheel is what runs.
    dependencies = "".join(f"{folder}\n" for folder in manager.packages)
    manager.run("tee", str(site / "dependencies.pth"), given=dependencies, check=True)
    made = Installation(manager, venv, wheel)
    made.put(wheel)
    return made


def build_wheel(folder: Path, *, version: str | None = None) -> Path:
    """Build the sdist from the checkout and the wheel from the sdist; `version` pretends to be a later release.

    Raises `Unavailable` where the build backend is not installed: nothing is downloaded for a test.
    """
    if importlib.util.find_spec("hatchling") is None:
        raise Unavailable("hatchling is not installed")
    _hatchling(REPOSITORY, folder, "sdist")
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    [source] = [entry for entry in folder.iterdir() if entry.is_dir()]
    if version is not None:
        file = source / "wikimem" / "__init__.py"
        lines = file.read_text().splitlines(keepends=True)
        lines = [f'__version__ = "{version}"\n' if line.startswith("__version__") else line for line in lines]
        file.write_text("".join(lines))
    _hatchling(source, folder, "wheel")
    [wheel] = folder.glob("*.whl")
    return wheel


def _hatchling(source: Path, target: Path, kind: str) -> None:
    # One time stamp for all: archives do not know a date before 1980.
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(int(time.time()))}
    told = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)],
        cwd=source,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
