"""What one client may take: sizes, times and numbers. A client that goes beyond them costs itself only."""

import resource
from dataclasses import dataclass, replace
from typing import Final

DESCRIPTORS_KEPT: Final = 128
"""For the vault's files, SQLite, inotify, the embedding endpoint and the standard streams."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes, seconds and counts.

    `header_s`: from a request's first byte to the end of its headers. `body_s`: from there to the end of its body.
    `idle_s`: between two requests. `write_s`: for a client to take what waits for it. `linger_s`: how long what a
    refused client still sends is read and dropped, so that it can read why (closing on unread input resets the
    connection, and the reply is lost).
    """

    header_bytes: int = 32_768
    header_s: float = 10.0
    body_bytes: int = 8_000_000
    body_s: float = 30.0
    idle_s: float = 75.0
    write_s: float = 30.0
    linger_s: float = 1.0
    connections: int = 256
    refusals: int = 64
    streams: int = 64
    heartbeat_s: float = 15.0
    drain_s: float = 2.0


def within_descriptors(limits: Limits) -> Limits:
    """Raise the process's soft limit of open files to the hard one, and take no more connections than fit into it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections + limits.refusals + DESCRIPTORS_KEPT
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        except (OSError, ValueError):  # a sandbox may forbid it: live with what there is
            soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        fitting = max(8, soft - limits.refusals - DESCRIPTORS_KEPT)
        if fitting < limits.connections:
            return replace(limits, connections=fitting, streams=min(limits.streams, fitting // 2))
    return limits
