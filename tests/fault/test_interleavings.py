"""An API writer and editors that save the same note, interleaved call by call. `bench/writing.py` runs 10,000."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fault.editors import STYLES, Between, WithoutLeases, race

RACES = 40

KERNELS: dict[str, Callable[[], Between]] = {
    "leases": Between,
    "no leases": lambda: WithoutLeases(exchange=True),
    "neither leases nor exchange": lambda: WithoutLeases(exchange=False),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("style", STYLES)
def test_no_text_is_lost_and_no_file_torn_beside_an_editor_that_saves(
    style: str, kernel: str, quick_path: Path
) -> None:
    seeds = range(STYLES.index(style) * RACES, STYLES.index(style) * RACES + RACES)
    outcomes = [race(quick_path, KERNELS[kernel](), style, seed) for seed in seeds]
    assert [text for outcome in outcomes for text in outcome.lost] == []
    assert [text for outcome in outcomes for text in outcome.torn] == []
    assert [name for outcome in outcomes for name in outcome.left] == []
