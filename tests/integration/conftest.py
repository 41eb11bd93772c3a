"""A store over real files, made anew for each test."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stores import SHANGHAI, Clock
from wikimem.pages.layout import Layout
from wikimem.store.vault import MemoryStore


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(tmp_path: Path, clock: Clock) -> Callable[..., MemoryStore]:
    def make_store(**options: object) -> MemoryStore:
        (tmp_path / "vault" / "wiki").mkdir(parents=True, exist_ok=True)
        settings: dict[str, object] = {
            "layout": Layout(),
            "state_dir": tmp_path / "state" / "v",
            "clock": clock,
            "timezone": lambda: SHANGHAI,
        }
        return MemoryStore(tmp_path / "vault", **(settings | options))  # type: ignore[arg-type]

    return make_store


@pytest.fixture
def store(make: Callable[..., MemoryStore]) -> MemoryStore:
    return make()
