"""The shipped units as systemd's own checker reads them, with the drop-ins that the installer writes."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from wikimem.service_units import SANDBOX, SERVICE, SOCKET, Instance, instance_files
from wikimem.shipped import shipped

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")

NAME = "notes"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A unit folder as an installation leaves it, with a path that needs every kind of quoting."""
    folder = tmp_path / "units"
    write(folder, sandbox=True)
    return folder


def write(folder: Path, *, sandbox: bool) -> None:
    source = shipped("systemd")
    texts = {name: (source / name).read_text() for name in (SERVICE, SOCKET, SANDBOX)}
    made = Instance(
        NAME,
        Path('/home/me/Notizen "é" 日本 50% $x \\ y'),
        Path("/bin/sh"),  # some program that exists: this one may lie below /tmp, which costs the sandbox its own /tmp
        Path("/home/me/.local/state/wikimem"),
        key_file=Path("/home/me/my key 5%"),
    )
    for file in instance_files(made, texts, sandbox=sandbox):
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.path).write_text(file.text)


def analyze(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "SYSTEMD_COLORS": "0", "LC_ALL": "C.UTF-8"}
    return subprocess.run(["systemd-analyze", *words], env=env, capture_output=True, text=True, check=False)


def verify(folder: Path) -> "subprocess.CompletedProcess[str]":
    units = [str(folder / f"wikimem@{NAME}.{kind}") for kind in ("service", "socket")]
    return analyze(folder, "--user", "--recursive-errors=yes", "verify", *units)


def exposure(folder: Path) -> float:
    told = analyze(folder, "security", "--offline=true", str(folder / f"wikimem@{NAME}.service"))
    found = re.search(r"Overall exposure level for .*: ([0-9.]+) ", told.stdout)
    assert found, told.stdout + told.stderr
    return float(found[1])


def test_systemd_finds_nothing_to_complain_about(folder: Path) -> None:
    told = verify(folder)
    assert (told.returncode, told.stderr, told.stdout) == (0, "", "")


@pytest.mark.parametrize("file", [SERVICE, SANDBOX, f"wikimem@{NAME}.service.d/10-vault.conf", SOCKET])
def test_the_checker_does_read_every_file(folder: Path, file: str) -> None:
    section = "[Socket]" if file == SOCKET else "[Service]"
    text = (folder / file).read_text()
    (folder / file).write_text(text.replace(section, section + "\nNoSuchKey=1", 1))
    told = verify(folder)
    assert told.returncode != 0
    assert "NoSuchKey" in told.stderr


def test_the_sandboxed_service_is_exposed_at_most_one_and_a_half(folder: Path) -> None:
    assert exposure(folder) <= 1.5


def test_the_service_without_the_sandbox_is_exposed_at_most_six(tmp_path: Path) -> None:
    write(tmp_path, sandbox=False)
    assert exposure(tmp_path) <= 6.0


def test_nothing_of_the_units_is_known_to_fail_in_a_user_service() -> None:
    text = "\n".join((shipped("systemd") / name).read_text() for name in (SERVICE, SOCKET, SANDBOX))
    settings = [line.partition("=")[0] for line in text.splitlines() if not line.startswith("#")]
    # PrivateIPC fails every second reload, DynamicUser and User every start, a Condition loops with a waiting client,
    # StateDirectory is below ~/.config in systemd 252.
    for setting in ("PrivateIPC", "DynamicUser", "User", "StateDirectory", "Documentation"):
        assert setting not in settings
    assert not any(setting.startswith(("Condition", "Assert")) for setting in settings)
    # Where user namespaces are forbidden these end the start: only the drop-in may hold them.
    plain = (shipped("systemd") / SERVICE).read_text()
    for setting in ("PrivateUsers", "PrivateDevices", "ProtectClock", "ProtectKernel", "CapabilityBoundingSet"):
        assert not re.search(rf"^{setting}(?!Tunables)", plain, re.MULTILINE)
