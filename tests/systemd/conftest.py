"""A systemd user manager and wikimem installed for its user, once a session; a vault's service, once a module."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.systemd.installation import Installation, build_wheel, install
from tests.systemd.private_manager import Manager, Unavailable, open_manager
from tests.systemd.served import Served


@pytest.fixture(scope="session")
def manager() -> Iterator[Manager]:
    try:
        opened = open_manager()
    except Unavailable as why:
        pytest.skip(str(why))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def installation(manager: Manager, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    folder = manager.home if manager.private else tmp_path_factory.mktemp("environment")
    try:
        return install(manager, folder, build_wheel(tmp_path_factory.mktemp("wheel")))
    except Unavailable as why:
        pytest.skip(str(why))


@pytest.fixture(scope="module")
def served(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A vault whose path needs every kind of quoting, installed by the shipped command."""
    manager = installation.manager
    if not manager.private and (manager.home / ".local/share/systemd/user/wikimem@.service").exists():
        pytest.skip("wikimem is installed for this user: the test would take its units away")
    home = manager.home if manager.private else tmp_path_factory.mktemp("home")
    # The own manager's user keeps their configuration: the service gets one of the test's.
    env = {} if manager.private else {"XDG_CONFIG_HOME": f"{home}/config", "XDG_STATE_HOME": f"{home}/state"}
    name = "notes" if manager.private else f"wmtest-{os.getpid()}"
    made = Served(installation, name, Path(home) / 'Meine Notizen é 日本 50% "x"', env)
    made.make_vault()
    told = made.wikimem("service", "install", name, str(made.vault))
    assert told.returncode == 0, told.stdout + told.stderr
    made.first_words = told.stdout + told.stderr
    made.start()  # else every test would wait for what does not come
    yield made
    made.wikimem("service", "uninstall", name, "--purge")
