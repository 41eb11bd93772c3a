"""What this machine lets a user's services do: run in a sandbox, run without a login."""

import os
from collections.abc import Mapping
from pathlib import Path

from wikimem.user_manager import Run, first_line, run


def sandbox_refusal(dropin: str, *, run: Run = run) -> str:
    """Return why the sandbox cannot work here, `` when it can: tried with a unit that only runs `true`.

    Where user namespaces are forbidden `PrivateUsers=yes` ends with 217, and the daemon would never start. The
    drop-in's other lines are tried too: a container may allow the namespace and still refuse to mount `/proc`.
    """
    for settings in (["PrivateUsers=yes"], _plain_settings(dropin)):
        words = [word for setting in settings for word in ("-p", setting)]
        answer = run(["systemd-run", "--user", "--wait", "--quiet", *words, "true"])
        if answer.status != 0:
            said = first_line(answer.err)
            return f"systemd-run ended with {answer.status}" + (f": {said}" if said else "")
    return ""


def linger(env: Mapping[str, str], *, run: Run = run) -> bool | None:
    """Whether this user's services run without a login; None when nobody can tell."""
    user = env.get("USER") or env.get("LOGNAME") or str(os.getuid())
    answer = run(["loginctl", "show-user", user, "-p", "Linger", "--value"])
    if answer.status == 0 and answer.out.strip() in ("yes", "no"):
        return answer.out.strip() == "yes"
    # logind knows only users who are logged in; its own record is this folder.
    records = Path("/var/lib/systemd/linger")
    return (records / user).exists() if records.is_dir() else None


def _plain_settings(dropin: str) -> list[str]:
    """Return the settings of a drop-in that hold for a transient unit too: no paths, no `%`."""
    lines = [line.strip() for line in dropin.splitlines()]
    return [line for line in lines if "=" in line and not line.startswith("#") and "/" not in line and "%" not in line]
