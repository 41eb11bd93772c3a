"""What a process owes systemd, without a library: readiness, adopted sockets, the watchdog's interval.

Nothing here raises and nothing here blocks for long: a daemon must not fail because its supervisor is old, absent or
busy. The protocol is that of `sd_notify(3)` and `sd_listen_fds(3)`; measured against systemd 252.
"""

import contextlib
import os
import socket
import time
from collections.abc import MutableMapping

FIRST_FD = 3
"""systemd passes its descriptors from 3 upwards (SD_LISTEN_FDS_START)."""

_STATUS_CHARS = 1000
"""The manager reads at most 4096 bytes of a datagram (PIPE_BUF); a longer STATUS would take READY=1 down with it."""

_SEND_TIMEOUT_S = 0.3
"""A manager that does not read must not hold up the event loop: the next `WATCHDOG=1` will do."""


def notify(*lines: str, **fields: object) -> bool:
    """Send one datagram of assignments to the supervisor; True if it was sent.

    `notify("READY=1", STATUS="serving")`: lines go as they are, fields as `NAME=value`. False without a supervisor
    and after any failure: there is nothing the daemon could do about either.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    # Other forms (`vsock:`) are for virtual machines; a user manager never sets them.
    if not address.startswith(("/", "@")):
        return False
    assignments = [*lines, *(f"{name}={value}" for name, value in fields.items())]
    payload = "\n".join(_one_line(text) for text in assignments).encode("utf-8", "replace")
    # `@name` stands for an abstract socket, whose real address starts with a NUL byte.
    target = b"\0" + os.fsencode(address[1:]) if address.startswith("@") else os.fsencode(address)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)) as sender:
            sender.settimeout(_SEND_TIMEOUT_S)
            sender.sendto(payload, target)
    except (OSError, ValueError):
        return False
    return True


def ready(status: str = "") -> bool:
    """Say that requests are served from now on."""
    return notify("READY=1", *_status(status))


def status(text: str) -> bool:
    """Show one line in `systemctl status`."""
    return notify(*_status(text or " "))


def reloading() -> bool:
    """Announce a reload. `ready()` must follow, also when the new configuration was refused.

    The time stamp is what `Type=notify-reload` pairs the answer by; on 252 it is carried and ignored.
    """
    return notify("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")


def stopping(status: str = "stopping") -> bool:
    """Say that the process is on its way out: the first thing after SIGTERM."""
    return notify("STOPPING=1", *_status(status))


def listen_fds(environ: MutableMapping[str, str] | None = None) -> list[tuple[str, socket.socket]]:
    """Take over the sockets that systemd passed, as (name, socket) in its order; empty if there are none.

    The variables are removed, so that a child or a second call never claims them again. The name is what
    `FileDescriptorName=` says, else `unknown` as in `sd_listen_fds_with_names(3)`.
    """
    env = os.environ if environ is None else environ
    pid, count, names = (env.pop(name, "") for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"))
    # Another PID: the variables were inherited from a parent, and 3 is some other file of ours.
    if pid != str(os.getpid()) or not count.isdecimal():
        return []
    labels = names.split(":") if names else []
    taken = []
    for index in range(int(count)):
        with contextlib.suppress(OSError):
            # Not close-on-exec as systemd hands it over: a child would hold the socket open after we are gone.
            os.set_inheritable(FIRST_FD + index, False)
            name = labels[index] if index < len(labels) and labels[index] else "unknown"
            taken.append((name, socket.socket(fileno=FIRST_FD + index)))
    return taken


def watchdog_interval() -> float | None:
    """Seconds between two `WATCHDOG=1` (a third of the limit), or None where no watchdog waits for this process."""
    limit = watchdog_limit()
    return None if limit is None else limit / 3


def watchdog_limit() -> float | None:
    """Seconds of silence after which the supervisor sends SIGABRT, or None."""
    usec, pid = os.environ.get("WATCHDOG_USEC", ""), os.environ.get("WATCHDOG_PID", "")
    if not usec.isdecimal() or int(usec) == 0 or pid not in ("", str(os.getpid())):
        return None
    return int(usec) / 1e6


def _status(text: str) -> tuple[str, ...]:
    return (f"STATUS={text[:_STATUS_CHARS]}",) if text else ()


def _one_line(text: str) -> str:
    """Keep an assignment one assignment: a newline in a file name would start another one."""
    return text.replace("\n", " ").replace("\r", " ").replace("\0", " ")
