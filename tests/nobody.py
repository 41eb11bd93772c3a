"""Running a test as somebody who may not do everything: root can read what nobody may read."""

import asyncio
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def folder_of_nobody() -> Iterator[Path]:
    """A folder that the other user owns and can reach (pytest's own is closed to others)."""
    path = Path(tempfile.mkdtemp(prefix="wikimem-test-"))
    try:
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        yield path
    finally:
        for folder, names, _ in os.walk(path):
            for name in names:
                if not Path(folder, name).is_symlink():
                    Path(folder, name).chmod(0o700)
        shutil.rmtree(path, ignore_errors=True)


def _import_all() -> None:
    """Load what is loaded late: the other user may not be able to read the interpreter's own files."""
    asyncio.run(asyncio.to_thread(int))
    if sys.platform == "linux":
        from wikimem_daemon.inotify import InotifyWatcher  # noqa: PLC0415 - Linux only

        watcher = InotifyWatcher(Path("/"))
        watcher.start()
        watcher.close()


def as_nobody(function: Callable[[], None]) -> None:
    """Run `function` in a forked child of another uid when this is root, else here. Fails as it does."""
    if os.geteuid() != 0:
        function()
        return
    _import_all()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        report = b""
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            function()
        except BaseException:  # noqa: BLE001 - the child must end here, whatever it was
            report = traceback.format_exc().encode()
        os.write(writer, report)
        os._exit(1 if report else 0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        report = pipe.read()
    os.waitpid(child, 0)
    assert not report, report.decode()
