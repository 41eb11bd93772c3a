"""Kill -9 while vectors are written: what is found then loads and is right, or is no cache."""

import os
import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.fault.otheruid import fork
from wikimem.cache.files import VectorFiles, key_line
from wikimem.cache.space import VectorSpace

DIM, ROWS, KILLS = 64, 3_000, 25


def vector(number: int) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    return np.random.default_rng(number).normal(size=DIM).astype(np.float32)


def write_for_ever(folder: Path, started: int, ready: int) -> None:
    """Write version after version, each with other rows in another order."""
    files, space, shuffle = VectorFiles(folder), VectorSpace("m"), random.Random(started)
    numbers = list(range(ROWS))
    space.put([str(number) for number in numbers], np.array([vector(number) for number in numbers]))
    os.write(ready, b".")
    while True:
        shuffle.shuffle(numbers)
        chosen = [str(number) for number in numbers[: ROWS - shuffle.randrange(9)]]
        lines = [key_line("file", name, name) for name in chosen]
        matrix, _ = files.write("m", DIM, lines, space.blocks(chosen))
        space.settle("wiki", chosen, matrix)


def check(folder: Path, hashes: Sequence[str], matrix: "np.ndarray[tuple[int, int], np.dtype[np.float32]]") -> None:
    for row in random.Random(7).sample(range(len(hashes)), 40):
        assert np.array_equal(matrix[row], vector(int(hashes[row]))), "a row of another text"


def test_a_cache_loads_after_every_kill_and_no_row_is_anothers(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    chance, loaded = random.Random(1), 0
    for number in range(KILLS):
        child = fork()
        if child == 0:
            try:
                write_for_ever(tmp_path, number, writing)
            finally:
                os._exit(1)
        os.read(reading, 1)
        time.sleep(chance.random() * 0.08)  # the moment of the kill
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        stored = VectorFiles(tmp_path).load()
        if stored is not None:
            loaded += 1
            check(tmp_path, stored.hashes, stored.matrix)
    os.close(reading)
    os.close(writing)
    assert loaded >= KILLS - 2, "only before the first version is there none"
    VectorFiles(tmp_path).write("m", DIM, [key_line("f", "1", "1")], [vector(1)[None]])
    left = sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("."))
    assert len(left) == 2, "what the kills left is swept"
