"""The pages about the service and macOS say what the units and the daemon really are."""

import os
import plistlib
import re

import pytest

from tests.docs.blocks import ROOT, blocks
from wikimem.cli.service import service
from wikimem.service_units import SANDBOX, SERVICE, SOCKET
from wikimem_daemon.__main__ import _arguments

SYSTEMD = (ROOT / "docs/systemd.md").read_text(encoding="utf-8")


def units() -> str:
    return "\n".join((ROOT / "systemd" / name).read_text(encoding="utf-8") for name in (SERVICE, SOCKET, SANDBOX))


def test_the_launchd_job_is_a_property_list_that_starts_the_daemon() -> None:
    [block] = [one for one in blocks(ROOT / "docs/macos.md") if one.language == "xml"]
    job = plistlib.loads(block.text.encode())
    python, *words = job["ProgramArguments"]
    assert os.path.isabs(python), "launchd searches no PATH"  # noqa: PTH117 - a path on another machine
    assert words[:3] == ["-P", "-m", "wikimem_daemon"]
    assert _arguments(words[3:]).vault == job["Label"].removeprefix("wikimem.")
    assert job["KeepAlive"] == {"SuccessfulExit": False}
    assert job["Umask"] == 0o077
    assert all(value.startswith("/") for value in job["EnvironmentVariables"].values())


@pytest.mark.parametrize("name", sorted(service.commands))
def test_every_command_of_the_service_is_described(name: str) -> None:
    assert f"`wikimem service {name}" in SYSTEMD


def test_every_option_of_the_service_is_described() -> None:
    parameters = [
        one for command in service.commands.values() for one in command.params if one.param_type_name == "option"
    ]
    assert [one.opts for one in parameters if not any(f"`{option}" in SYSTEMD for option in one.opts)] == []


def test_the_numbers_of_the_page_are_those_of_the_units() -> None:
    settings = dict(re.findall(r"^(\w+)=(\S+)", units(), re.MULTILINE))
    assert settings["StartLimitBurst"] == "30"
    assert settings["StartLimitIntervalSec"] == "5min"
    assert "**Thirty crashes in five minutes**" in SYSTEMD
    assert settings["WatchdogSec"] == "30"
    assert "After\n  thirty seconds of silence" in SYSTEMD
    hidden = re.findall(r"-%h/(\S+)", units())
    assert [place for place in hidden if f"`~/{place}`" not in SYSTEMD] == []
