"""Files of the user's that the service's commands read and replace (configuration, units), and its socket."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

_PROBE_S = 2.0


def read_bytes(file: Path) -> bytes:
    """Return the file's bytes, none for a file that is not there."""
    try:
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return b""


def replace_file(file: Path, data: bytes, *, new_mode: int) -> None:
    """Replace a file of the user's in one step; a link (dotfiles in a repository) stays a link."""
    target = Path(os.path.realpath(file))
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else new_mode
    with _temporary(target) as temporary:
        with temporary.open("xb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        temporary.chmod(mode)
        temporary.replace(target)


@contextlib.contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def listens(path: Path) -> bool:
    """Whether something accepts connections on the socket.

    A full backlog (EAGAIN) is a daemon at work. A missing file, a stale one and a regular file are none.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_S)
        try:
            probe.connect(os.fsencode(path))
        except (BlockingIOError, TimeoutError):
            return True
        except OSError:
            return False
    return True
