"""Run a test's body as somebody who is not root: root may read and write everything, so nothing would fail."""

import os
import pickle
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

NOBODY = 65534

Result = TypeVar("Result")


def fork() -> int:
    """Fork, without Python 3.12's warning about threads: our children start none and end by `os._exit`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


@contextmanager
def folder_for_anybody() -> Iterator[Path]:
    """Give a folder that belongs to the user that `as_other_uid` runs as, and that it can reach."""
    folder = Path(tempfile.mkdtemp(prefix="wikimem-test-"))
    try:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def as_other_uid(body: Callable[[], Result]) -> Result:
    """Return what `body` returns in a forked child that has dropped root; as another user it just runs."""
    if os.geteuid() != 0:
        return body()
    reading, writing = os.pipe()
    child = fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            with os.fdopen(writing, "wb") as out:
                try:
                    pickle.dump((True, body()), out)
                except BaseException as error:  # noqa: BLE001 - the parent raises it
                    pickle.dump((False, f"{type(error).__name__}: {error}"), out)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        data = answer.read()
    os.waitpid(child, 0)
    good, result = pickle.loads(data)  # noqa: S301 - our own child wrote it
    assert good, result
    return result  # type: ignore[no-any-return]
