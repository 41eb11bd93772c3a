"""Where the daemon of a vault is: its socket, who listens there, and the systemd unit that starts it."""

import os
import socket
import struct
from pathlib import Path
from typing import Final

from wikimem.errors import DeniedError, NotRunning
from wikimem.service_files import listens

_UCRED: Final = struct.Struct("3i")


def find_socket(vault: str | os.PathLike[str] | None) -> Path:
    """Return the socket of the vault that `vault`, the environment or the working directory names."""
    from wikimem import config  # noqa: PLC0415 - a caller that knows the socket's path pays for no configuration

    return config.load(None if vault is None else os.fspath(vault), require=False).socket_path


def peer_uid(connection: socket.socket) -> int | None:
    """Return the user id at the other end, None where the kernel does not tell (macOS has no SO_PEERCRED)."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    uid: int = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _UCRED.size))[1]
    return uid


def check_peer(connection: socket.socket, path: Path) -> None:
    """Refuse a socket that another user listens on: notes would be sent to them. Raises DeniedError.

    65534 is another user too: many services run as `nobody`, and a user namespace shows the own uid as what it is.
    """
    uid = peer_uid(connection)
    if uid not in {None, os.geteuid()}:
        raise DeniedError(
            f"User {uid} listens on {path}, not you.", hint="Remove that file, or point XDG_RUNTIME_DIR to your own."
        )


def start_unit(path: Path) -> bool:
    """Start the vault's socket unit if it is installed; return whether that was done.

    Raises `NotRunning`, with the reason and the way out, for a unit that systemd has given up on, and for one that
    listens elsewhere.
    """
    from wikimem import user_manager  # noqa: PLC0415 - a client whose daemon answers never needs systemd

    name = _unit_name(path)
    if name is None or not user_manager.start_socket(name):
        return False
    if listens(path):
        return True
    from wikimem.service_elsewhere import elsewhere  # noqa: PLC0415

    found = elsewhere(name, path)
    if found is not None:
        raise found
    # The unit may be active without its file: a person removed it, or ran `wikimem serve` meanwhile, which bound anew.
    return user_manager.restart_socket(name)


def not_running(path: Path) -> NotRunning | None:
    """Return what to say when nobody answers on the socket of a vault that has a service; None when it has none."""
    from wikimem import user_manager  # noqa: PLC0415 - see above
    from wikimem.service_elsewhere import elsewhere  # noqa: PLC0415

    name = _unit_name(path)
    return elsewhere(name, path) or user_manager.not_running(name) if name is not None else None


def _unit_name(path: Path) -> str | None:
    """Return the vault whose installed service listens at `path`, None when none does."""
    from wikimem import places, user_manager  # noqa: PLC0415 - see above

    name = path.name.removesuffix(".sock")
    if path.parent != places.runtime_folder(os.environ)[0] or not user_manager.is_installed(name, os.environ):
        return None
    return name
