"""A systemd user manager, once a session."""

from collections.abc import Iterator

import pytest

from tests.systemd.private_manager import Manager, Unavailable, open_manager


@pytest.fixture(scope="session")
def manager() -> Iterator[Manager]:
    try:
        opened = open_manager()
    except Unavailable as why:
        pytest.skip(str(why))
    yield opened
    opened.close()
