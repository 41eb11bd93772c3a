"""What a person installs: a wheel, built through the sdist as an index would have it."""

import configparser
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = """
import sys
from hatchling import build
print(getattr(build, sys.argv[1])(sys.argv[2]))
"""


def build(what: str, where: Path, goal: Path) -> Path:
    """Call the build backend in a process of its own: it changes the working directory and its own state."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD, what, str(goal)], cwd=where, capture_output=True, text=True, check=True
    )
    return goal / done.stdout.strip().rpartition("\n")[2]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("build_sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    place = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    (source,) = place.iterdir()
    return zipfile.ZipFile(build("build_wheel", source, tmp_path_factory.mktemp("wheel")))


def shipped_files(name: str) -> set[str]:
    return {file.relative_to(ROOT).as_posix() for file in (ROOT / name).rglob("*") if file.is_file()}


@pytest.mark.parametrize("name", ["vault_template", "systemd"])
def test_the_wheel_holds_every_shipped_file_byte_for_byte(wheel: zipfile.ZipFile, name: str) -> None:
    expected = shipped_files(name)
    inside = {path.removeprefix("wikimem/_shipped/") for path in wheel.namelist() if "/_shipped/" in path}
    assert {path for path in inside if path.startswith(f"{name}/")} == expected
    for path in expected:
        assert wheel.read(f"wikimem/_shipped/{path}") == (ROOT / path).read_bytes()


def test_the_template_in_the_wheel_has_obsidians_settings(wheel: zipfile.ZipFile) -> None:
    names = [path for path in wheel.namelist() if "/vault_template/.obsidian/" in path]
    assert "wikimem/_shipped/vault_template/.obsidian/daily-notes.json" in names


def test_the_wheel_holds_both_packages_and_both_commands(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    for package, folder in (("wikimem", ROOT / "wikimem"), ("wikimem_daemon", ROOT / "daemon/wikimem_daemon")):
        for file in (one for one in folder.rglob("*") if one.is_file() and one.suffix != ".pyc"):
            assert f"{package}/{file.relative_to(folder).as_posix()}" in names
    assert "wikimem/py.typed" in names
    (entry_points,) = [path for path in names if path.endswith("entry_points.txt")]
    parser = configparser.ConfigParser()
    parser.read_string(wheel.read(entry_points).decode())
    assert dict(parser["console_scripts"]) == {"wikimem": "wikimem.cli:main", "wikimemd": "wikimem.cli:daemon_main"}


def test_no_package_in_the_wheel_is_called_daemon_or_tests(wheel: zipfile.ZipFile) -> None:
    tops = {path.split("/")[0] for path in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"wikimem", "wikimem_daemon"}


def test_a_vault_made_by_the_unpacked_wheel_is_the_template(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "site")  # noqa: S202 - the wheel that was just built
    script = f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\nfrom wikimem.cli import main; main()"
    subprocess.run(
        [sys.executable, "-P", "-c", script, "init", str(tmp_path / "memory")],
        check=True,
        capture_output=True,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    made = {file.relative_to(tmp_path / "memory") for file in (tmp_path / "memory").rglob("*") if file.is_file()}
    assert made == {Path(path).relative_to("vault_template") for path in shipped_files("vault_template")}


def test_the_sdist_holds_what_is_needed_to_work_on_it(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {path.partition("/")[2] for path in archive.getnames()}
    for path in ("pyproject.toml", "Makefile", "README.md", "CHANGELOG.md", "LICENSE", ".ci/run", "tests", "docs"):
        assert any(name == path or name.startswith(f"{path}/") for name in names), path
