"""Where files go on a machine."""

import os
from pathlib import Path

import pytest

from wikimem import places
from wikimem.errors import ConfigError


def test_only_absolute_xdg_folders_count(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "relative", "XDG_STATE_HOME": str(tmp_path / "s")}
    assert places.config_home(env) == tmp_path / ".config/wikimem"
    assert places.state_home(env) == tmp_path / "s/wikimem"
    assert places.data_home(env) == tmp_path / ".local/share"


def test_without_home_the_password_database_says_where_it_is() -> None:
    assert places.home({}).is_absolute()
    assert places.home({"HOME": "relative"}) == places.home({})


def test_a_socket_lies_in_the_runtime_folder(tmp_path: Path) -> None:
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}
    assert places.socket_file("notes", env=env, cwd=tmp_path) == (tmp_path / "wikimem/notes.sock", "XDG_RUNTIME_DIR")


def test_the_variable_overrides_the_sockets_path(tmp_path: Path) -> None:
    env = {"XDG_RUNTIME_DIR": str(tmp_path), "WIKIMEM_SOCKET": "own.sock"}
    assert places.socket_file("notes", env=env, cwd=tmp_path) == (tmp_path / "own.sock", "WIKIMEM_SOCKET")


def test_a_socket_path_of_107_bytes_is_taken_and_one_more_is_not(tmp_path: Path) -> None:
    fits = "/" + "s" * 106
    assert places.socket_file("x", env={"WIKIMEM_SOCKET": fits}, cwd=tmp_path)[0] == Path(fits)
    with pytest.raises(ConfigError, match="108 bytes") as caught:
        places.socket_file("x", env={"WIKIMEM_SOCKET": fits + "s"}, cwd=tmp_path)
    assert "shorter" in caught.value.hint
    assert caught.value.exit_status == 78


def test_the_bytes_of_a_path_are_counted_not_its_characters(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="121 bytes"):
        places.socket_file("x", env={"WIKIMEM_SOCKET": "/" + "海" * 40}, cwd=tmp_path)


def test_a_shared_folder_is_used_only_when_it_is_ours_alone(tmp_path: Path) -> None:
    folder = tmp_path / "wikimem-0"
    places.check_private(folder)
    folder.mkdir(mode=0o700)
    places.check_private(folder)
    folder.chmod(0o755)
    with pytest.raises(ConfigError, match="yours alone"):
        places.check_private(folder)
    folder.rmdir()
    (tmp_path / "planted").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "planted")
    with pytest.raises(ConfigError, match="yours alone"):
        places.check_private(folder)


def test_a_vault_without_a_name_gets_one_that_a_file_can_have(tmp_path: Path) -> None:
    for name in ("日记", "My Vault é 50%", "-", "a" * 300):
        assert places.VAULT_NAME.fullmatch(places.name_of(tmp_path / name))


def test_paths_expand_from_home_and_base() -> None:
    env = {"HOME": "/home/ann"}
    assert places.expand("~", env=env, base=Path("/b")) == Path("/home/ann")
    assert places.expand("~/x", env=env, base=Path("/b")) == Path("/home/ann/x")
    assert places.expand("x/../y", env=env, base=Path("/b")) == Path("/b/y")
    assert places.expand("/x", env=env, base=Path("/b")) == Path("/x")


def test_the_fallback_folder_carries_the_users_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "is_own_folder", lambda _path: False)
    monkeypatch.setattr(places, "check_private", lambda _path: None)
    assert places.runtime_folder({})[0] == Path(f"/tmp/wikimem-{os.getuid()}")
