"""Where the daemon of a vault is: its socket, who listens there, and the systemd unit that starts it."""

import os
import socket
import struct
from pathlib import Path
from typing import Final

from wikimem.errors import DeniedError

_UCRED: Final = struct.Struct("3i")
OVERFLOW_UID: Final = 65_534
"""What the kernel shows for a user that the own user namespace does not know."""


def find_socket(vault: str | None) -> Path:
    """Return the socket of the vault that `vault`, the environment or the working directory names."""
    from wikimem import config  # noqa: PLC0415 - a caller that knows the socket's path pays for no configuration

    return config.load(vault, require=False).socket_path


def peer_uid(connection: socket.socket) -> int | None:
    """Return the user id at the other end, None where the kernel does not tell (macOS has no SO_PEERCRED)."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    uid: int = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _UCRED.size))[1]
    return uid


def check_peer(connection: socket.socket, path: Path) -> None:
    """Refuse a socket that another user listens on: notes would be sent to them. Raises DeniedError."""
    uid = peer_uid(connection)
    if uid not in {None, os.geteuid(), OVERFLOW_UID}:
        raise DeniedError(
            f"User {uid} listens on {path}, not you.", hint="Remove that file, or point XDG_RUNTIME_DIR to your own."
        )


def start_unit(path: Path) -> bool:
    """Start the vault's socket unit if it is installed; return whether that was done."""
    from wikimem import places, user_manager  # noqa: PLC0415 - a client whose daemon answers never needs systemd

    name = path.name.removesuffix(".sock")
    if path.parent != places.runtime_folder(os.environ)[0] or not user_manager.is_installed(name, os.environ):
        return False
    return user_manager.start_socket(name)
