"""kill -9 during writes: files, history and journal agree at the next start. `bench/writing.py` runs 500 kills."""

import os
import random
from pathlib import Path

import pytest

from tests.fault.killing import rounds
from wikimem.store.inplace import is_torn

KILLS = 30

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the child is a fork")


@pytest.mark.parametrize("linked", [False, True], ids=["replaced", "in place"])
def test_a_writer_killed_at_any_of_its_calls_leaves_an_old_or_a_new_vault(linked: bool, quick_path: Path) -> None:
    assert rounds(quick_path, KILLS, 11, kill=lambda chance: {"at_call": chance.randrange(1, 250)}, linked=linked) == []


def test_a_writer_killed_at_any_moment_leaves_an_old_or_a_new_vault(quick_path: Path) -> None:
    assert rounds(quick_path, KILLS, 12, kill=lambda chance: {"after_s": chance.random() * 0.05}) == []


@pytest.mark.parametrize(("before", "after"), [(3_000, 5_000), (5_000, 3_000), (700, 700), (10, 0), (0, 2_000)])
def test_every_state_of_a_file_that_is_being_overwritten_is_known_as_torn(before: int, after: int) -> None:
    chance = random.Random(before)
    old, new = chance.randbytes(before), chance.randbytes(after)
    for written in range(0, after + 1, 512):
        found = new[:written] + old[written:]
        assert is_torn(found, old, new) == (found not in (old, new)), written
    assert not is_torn(new + b"a person's line\n", old, new)
    assert not is_torn(chance.randbytes(max(before, after)), old, new)
