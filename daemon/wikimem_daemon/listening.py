"""The socket's file: made without a moment in which anybody else could open it, or taken over from systemd."""

import contextlib
import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wikimem.errors import ConfigError, Locked
from wikimem.places import MAX_SOCKET_BYTES, check_socket_length

BACKLOG: Final = 128
SOCKET_NAME: Final = "api"
"""`FileDescriptorName=` in the socket unit."""


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening socket. `path` is set when the file is ours to remove, None when systemd made it.

    `inode`: the file that we made. Somebody may have removed it, and the daemon of another vault listen there now.
    """

    sock: socket.socket
    path: Path | None
    inode: int = 0

    def is_lost(self) -> bool:
        """Whether the file that we made is no longer there: nobody finds us any more."""
        if self.path is None:
            return False
        try:
            return self.path.lstat().st_ino != self.inode
        except OSError:
            return True

    def close(self) -> None:
        """Close it, and remove the file if it is ours and still the one that we made."""
        if self.path is not None and not self.is_lost():
            with contextlib.suppress(OSError):
                self.path.unlink()
        self.sock.close()


def bind(path: Path) -> Listener:
    """Listen on `path`, replacing what a daemon that was killed has left there.

    The file appears under its name only when it is private and listening: bound as `name.new`, made 0600, listened
    on, renamed. Between bind and chmod it is guarded by its directory, which is 0700. The caller holds the daemon
    lock. Raises ConfigError when the directory is not safely ours, a file that is no socket stands there or the path is
    too long for the kernel, Locked when somebody answers there all the same: a vault whose folder was replaced has
    another lock, and the same socket.
    """
    check_socket_length(path)
    _refuse_second(path)
    temporary = path.with_name(path.name + ".new")
    if len(os.fsencode(temporary)) > MAX_SOCKET_BYTES:
        temporary = path.with_name(path.name[:-4] + ".new")
    make_private(path.parent)
    for place in (path, temporary):
        _refuse_file(place)
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(os.fsencode(temporary))
        temporary.chmod(0o600)
        sock.listen(BACKLOG)
        sock.setblocking(False)
        inode = temporary.lstat().st_ino
        temporary.rename(path)
    except OSError as error:
        sock.close()
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise ConfigError(
            f"The socket {path} cannot be made: {error.strerror}.",
            hint="Set WIKIMEM_SOCKET to a path in a folder of your own.",
        ) from error
    return Listener(sock, path, inode)


def _refuse_second(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(os.fsencode(path))
        except BlockingIOError:
            pass  # its backlog is full: somebody is there
        except OSError:
            return
    raise Locked(f"Another daemon already listens on {path}.", hint="Use it, or stop it first: `wikimem status`.")


def _refuse_file(path: Path) -> None:
    """Refuse a place where something else than a socket is: `rename` would replace a note in silence."""
    try:
        found = path.lstat()
    except OSError:
        return
    if not (stat.S_ISSOCK(found.st_mode) or stat.S_ISLNK(found.st_mode)):
        raise ConfigError(
            f"{path} is there already, and is no socket; it is left alone.",
            hint="Set WIKIMEM_SOCKET to a path of its own, or move that file away.",
        )


def adopt(passed: list[tuple[str, socket.socket]]) -> Listener | None:
    """Take the stream socket that systemd passed; None when it passed none. Others are closed."""
    fitting = [
        (name, sock) for name, sock in passed if sock.family == socket.AF_UNIX and sock.type == socket.SOCK_STREAM
    ]
    chosen = next((sock for name, sock in fitting if name == SOCKET_NAME), fitting[0][1] if fitting else None)
    for _, sock in passed:
        if sock is not chosen:
            sock.close()
    if chosen is None:
        return None
    chosen.setblocking(False)
    return Listener(chosen, None)


def make_private(folder: Path) -> None:
    """Make the socket's folder 0700, or make sure that the one which is there is ours alone. Raises ConfigError.

    `lstat`, because a link that another user planted leads into a folder of theirs.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
    except OSError as error:
        raise ConfigError(
            f"The socket's folder {folder} cannot be made: {error.strerror}.",
            hint="Set WIKIMEM_SOCKET or XDG_RUNTIME_DIR to a folder of your own.",
        ) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise ConfigError(
            f"{folder} is not a folder that is yours alone (mode 0700); the socket would not be safe in it.",
            hint=f"If it is yours: `chmod 700 {folder}`. Else set WIKIMEM_SOCKET to a path in a folder of your own.",
        )
