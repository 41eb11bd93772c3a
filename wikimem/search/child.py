"""The child that builds an index: `python -m wikimem.search.child`, texts on stdin, arrays on stdout."""

import os
import sys
from contextlib import suppress

import numpy as np

from wikimem.search.corpus import BuildJob
from wikimem.search.merging import build
from wikimem.search.wire import Header, read_array, read_exactly, read_header, write_all, write_array, write_header

_NICER = 5


def main() -> int:
    """Build what the parent asks for; end with a status that is not 0 when it goes away."""
    with suppress(OSError):  # a sandbox may answer EPERM
        os.nice(_NICER)
    source, target = sys.stdin.buffer, sys.stdout.buffer
    header = read_header(source)
    slots = read_array(source)
    built = build(BuildJob(_texts(header.texts), slots, header.capacity, ()))
    names = "\n".join(name or "" for name in built.vocabulary.names).encode("utf-8", "surrogatepass")
    merged = built.merged
    write_header(target, Header.here(rows=merged.documents, total=merged.total_length, blob=len(names)))
    for array in (merged.postings.starts, merged.postings.slots, merged.postings.tfs, merged.scores, built.lengths):
        write_array(target, array)
    write_all(target, names)
    target.flush()
    return 0


def _texts(count: int) -> list[str]:
    source = sys.stdin.buffer
    texts: list[str] = []
    while len(texts) < count:
        frame = int(np.frombuffer(read_exactly(source, 4), np.uint32)[0])
        sizes = np.frombuffer(read_exactly(source, 4 * frame), np.uint32)
        texts.extend(read_exactly(source, size).decode("utf-8", "surrogatepass") for size in sizes.tolist())
    return texts


if __name__ == "__main__":
    sys.exit(main())
