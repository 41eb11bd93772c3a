"""What a machine lets a user's services do, by what its commands say."""

import pytest

from tests.commands import Commands
from wikimem.service_machine import linger, sandbox_refusal
from wikimem.user_manager import Ran

SANDBOX = """# PrivateIPC=yes is left out
[Service]
PrivateUsers=yes
InaccessiblePaths=-%h/.ssh
ProtectProc=invisible
CapabilityBoundingSet=
"""


def test_the_probe_tries_the_namespace_then_the_whole_sandbox() -> None:
    commands = Commands({})
    assert sandbox_refusal(SANDBOX, run=commands) == ""
    assert commands.asked == [
        "systemd-run --user --wait --quiet -p PrivateUsers=yes true",
        "systemd-run --user --wait --quiet -p PrivateUsers=yes -p ProtectProc=invisible -p CapabilityBoundingSet= true",
    ]


@pytest.mark.parametrize("refused", ["-p PrivateUsers=yes true", "ProtectProc"])
def test_a_refused_probe_says_its_status(refused: str) -> None:
    commands = Commands({refused: Ran(217, "", "\nJob failed.\n")})
    assert sandbox_refusal(SANDBOX, run=commands) == "systemd-run ended with 217: Job failed."


@pytest.mark.parametrize(("told", "known"), [("yes\n", True), ("no\n", False)])
def test_lingering_is_what_logind_says(told: str, known: bool) -> None:
    assert linger({"USER": "me"}, run=Commands({"show-user me": Ran(0, told, "")})) is known
