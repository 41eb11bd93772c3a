"""Where merges and builds run: a port with two adapters.

A merge is a second of array work at the most, done in ranges of some milliseconds; in a worker thread with a pause
between two ranges it delays nobody. A build tokenises every text: Python code, which holds the interpreter's lock and
delayed queries by 426 ms from a thread, so it gets a child process.
"""

import logging
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from threading import Timer
from typing import Protocol

import numpy as np

from wikimem.search import merging
from wikimem.search.analyzer import Vocabulary
from wikimem.search.corpus import BuildJob, Built, Merged, MergeJob
from wikimem.search.segments import Postings
from wikimem.search.wire import (
    ChildFailed,
    Header,
    read_array,
    read_exactly,
    read_header,
    write_all,
    write_array,
    write_header,
)

# Lines of the vocabulary that are decoded and entered before other threads get a turn: about a millisecond.
_BLOB_SLICE = 1 << 16
_TEXT_SLICE = 500
_TURN_S = 0.0005

log = logging.getLogger(__name__)


class Builder(Protocol):
    """Does the heavy work on arrays. Both calls block; neither touches the index."""

    def merge(self, job: MergeJob) -> Merged:
        """Return the base that holds old and newer rows."""

    def build(self, job: BuildJob) -> Built:
        """Return the base of all texts with its vocabulary."""


class InlineBuilder:
    """Works right here, without a pause: for a program that does nothing else meanwhile."""

    def merge(self, job: MergeJob) -> Merged:
        """Return the base that holds old and newer rows."""
        return merging.merge(job)

    def build(self, job: BuildJob) -> Built:
        """Return the base of all texts with its vocabulary."""
        return merging.build(job)


class ChildBuilder:
    """Works for a worker thread beside an event loop: merges in slices, builds in a child process.

    A child that cannot be started, dies, or is of another version (an upgrade happened underneath) costs a warning:
    the build is then done in this thread, in slices. `least_rows`: a smaller build is not worth a process.
    """

    def __init__(
        self, command: Sequence[str] | None = None, *, least_rows: int = 2_000, timeout_s: float = 900.0
    ) -> None:
        self._command = list(command or (sys.executable, "-m", "wikimem.search.child"))
        self._least_rows = least_rows
        self._timeout_s = timeout_s

    def merge(self, job: MergeJob) -> Merged:
        """Return the base that holds old and newer rows."""
        return merging.merge(job, give_way)

    def build(self, job: BuildJob) -> Built:
        """Return the base of all texts with its vocabulary."""
        if len(job.texts) >= self._least_rows:
            try:
                return self._in_child(job)
            except (OSError, ChildFailed) as error:
                log.warning("the index is built in this process: %s", error)
        return merging.build(job, give_way)

    def _in_child(self, job: BuildJob) -> Built:
        with subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
            # A stopped child would hold this thread, and every later merge, for ever.
            limit = Timer(self._timeout_s, child.kill)
            limit.start()
            try:
                return _talk(child, job)
            except BaseException:
                child.kill()
                raise
            finally:
                limit.cancel()


def _talk(child: "subprocess.Popen[bytes]", job: BuildJob) -> Built:
    if child.stdin is None or child.stdout is None:
        raise ChildFailed("no pipes")
    write_header(child.stdin, Header.here(texts=len(job.texts), capacity=job.capacity))
    write_array(child.stdin, job.slots)
    for frame in _frames(job.texts):
        write_all(child.stdin, frame)
    child.stdin.close()
    header = read_header(child.stdout)
    if header.version != Header.here().version:
        raise ChildFailed(f"the child is version {header.version}, this process is {Header.here().version}")
    starts, slots, tfs, scores, lengths = (read_array(child.stdout) for _ in range(5))
    vocabulary = _vocabulary(read_exactly(child.stdout, header.blob))
    rows, total = header.rows, header.total
    if child.wait() != 0:
        raise ChildFailed(f"the child ended with status {child.returncode}")
    return Built(vocabulary, lengths, Merged(Postings(None, starts, slots, tfs), scores, rows, total, job.capacity))


def _frames(texts: Sequence[str]) -> Iterator[bytes]:
    """Encode the texts a few at a time: sizes, then bytes."""
    for start in range(0, len(texts), _TEXT_SLICE):
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts[start : start + _TEXT_SLICE]]
        yield np.array([len(encoded), *map(len, encoded)], np.uint32).tobytes()
        yield b"".join(encoded)
        give_way()


def _vocabulary(blob: bytes) -> Vocabulary:
    """Return the terms, one a line, numbered from 0."""
    vocabulary = Vocabulary()
    start = 0
    while start < len(blob):
        end = blob.find(b"\n", min(start + _BLOB_SLICE, len(blob)))
        end = len(blob) if end < 0 else end
        vocabulary.extend(blob[start:end].decode("utf-8", "surrogatepass").split("\n"))
        start = end + 1
        give_way()
    return vocabulary


def give_way() -> None:
    """Let the other threads run: a sleep gives the interpreter's lock away, which a long loop never does by itself."""
    time.sleep(_TURN_S)
