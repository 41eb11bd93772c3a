"""Who may come in, and how many: the checks on a connection before anything of it is read."""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field

from wikimem.api.finding import peer_uid
from wikimem.api.problem_json import problem
from wikimem.api.protocol import Problem
from wikimem_daemon.limits import Limits


@dataclass(slots=True)
class Gate:
    """Counts what is open and says who is turned away. `uid_of` is the kernel's answer; tests give their own."""

    limits: Limits
    uid_of: Callable[[socket.socket], int | None] = peer_uid
    uid: int = field(default_factory=os.geteuid)
    refused: int = 0
    streams: int = 0
    stopping: bool = False

    def admit(self, sock: socket.socket, already_open: int) -> Problem | None:
        """Return why this connection is turned away, None when it may stay. `already_open` counts the others."""
        uid = self.uid_of(sock)
        if uid is not None and uid != self.uid:
            # Not "or root": in a sandbox of systemd's every foreign user shows as 65534, root too.
            self.refused += 1
            return problem(
                403, "denied", "This socket answers its own user only.", f"Run the client as user {self.uid}."
            )
        if already_open >= self.limits.connections:
            self.refused += 1
            return problem(
                503,
                "busy",
                f"The daemon has {self.limits.connections} connections, which is as many as it takes.",
                "Try again in a moment; close connections that you do not need.",
            )
        return None
