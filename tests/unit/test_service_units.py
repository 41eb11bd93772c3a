"""Unit files as text: systemd's quoting, and what belongs into which drop-in."""

import os
from pathlib import Path

import pytest

from wikimem.errors import InvalidInput
from wikimem.service_units import (
    SANDBOX,
    SERVICE,
    SOCKET,
    Instance,
    argument,
    check_name,
    instance_files,
    quoted,
    vault_dropin,
)

SHIPPED = {SERVICE: "service", SOCKET: "socket", SANDBOX: "sandbox"}


def instance(vault: str = "/home/me/notes", **more: object) -> Instance:
    given = {"name": "notes", "python": Path("/venv/bin/python"), "state": Path("/home/me/.local/state/wikimem")}
    return Instance(**{**given, "vault": Path(vault), **more})  # type: ignore[arg-type]


def written(made: Instance, *, sandbox: bool = True) -> dict[str, str]:
    return {str(file.path): file.text for file in instance_files(made, SHIPPED, sandbox=sandbox)}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("/home/me/notes", '"/home/me/notes"'),
        ("/home/me/My Notes é 日本", '"/home/me/My Notes é 日本"'),
        ("/n/50% done", '"/n/50%% done"'),
        ('/n/say "hi"', r'"/n/say \"hi\""'),
        ("/n/back\\slash", r'"/n/back\\slash"'),
        ("/n/$HOME;x", '"/n/$HOME;x"'),
    ],
)
def test_a_path_becomes_one_word_for_systemd(text: str, word: str) -> None:
    assert quoted(text) == word


def test_a_dollar_is_doubled_only_on_a_command_line() -> None:
    assert argument("cost $5 100%") == '"cost $$5 100%%"'


@pytest.mark.parametrize("text", ["/n/a\nExecStart=/bin/evil", "/n/a\tb", "/n/\x7f", os.fsdecode(b"/n/caf\xe9")])
def test_a_path_that_systemd_cannot_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="cannot stand in a unit file"):
        quoted(text)


@pytest.mark.parametrize("name", ["notes", "my-notes", "a.b", "N_1", "x" * 64])
def test_short_plain_names_are_taken(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "-v", "a/b", "a b", "é", "a@b", "a%b", "x" * 65, "a\n"])
def test_names_that_are_no_file_name_or_instance_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        check_name(name)


def test_the_vault_and_the_state_may_be_written_and_may_be_missing_at_start() -> None:
    text = vault_dropin(instance("/media/stick/My Notes"))
    assert 'ReadWritePaths="-/media/stick/My Notes" "-/home/me/.local/state/wikimem" -%t/wikimem\n' in text
    assert 'Environment="WIKIMEM_VAULT=/media/stick/My Notes"\n' in text


def test_a_vault_on_a_disk_of_its_own_does_not_keep_that_disk_mounted() -> None:
    text = vault_dropin(instance("/media/me/stick/notes", disk=Path("/media/me/stick")))
    assert 'ReadWritePaths="-/media/me/stick" ' in text


def test_the_interpreter_of_this_installation_runs_the_daemon_and_the_reload() -> None:
    lines = vault_dropin(instance()).splitlines()
    start = 'ExecStart="/venv/bin/python" -P -m wikimem_daemon --vault %i --log-level ${WIKIMEM_LOG_LEVEL}'
    assert lines[lines.index("ExecStart=") + 1] == start
    reload = lines[lines.index("ExecReload=") + 1]
    assert reload == 'ExecReload="/venv/bin/python" -P -c "from wikimem.cli import main; main()" service reload %i'


def test_what_the_shell_sets_is_set_for_the_daemon_too() -> None:
    text = vault_dropin(instance(variables={"XDG_STATE_HOME": "/data/my state"}))
    assert 'Environment="XDG_STATE_HOME=/data/my state"\n' in text


def test_the_variables_beside_the_configuration_are_read_where_the_shell_has_it_elsewhere() -> None:
    text = vault_dropin(instance(variables={"XDG_CONFIG_HOME": "/home/me/my 5% cfg"}))
    assert "EnvironmentFile=-/home/me/my 5%% cfg/wikimem/env\n" in text
    assert "EnvironmentFile=-/home/me/my 5%% cfg/wikimem/%i.env\n" in text
    assert "EnvironmentFile" not in vault_dropin(instance())


def test_the_sandbox_and_the_key_have_files_of_their_own() -> None:
    own = "wikimem@notes.service.d"
    assert set(written(instance(), sandbox=False)) == {SERVICE, SOCKET, f"{own}/10-vault.conf"}
    files = written(instance(key_file=Path("/home/me/my keys/100%")))
    assert set(files) == {SERVICE, SOCKET, SANDBOX, f"{own}/10-vault.conf", f"{own}/30-api-key.conf"}
    # systemd takes what follows the colon as it stands: quotes would be part of the path.
    assert files[f"{own}/30-api-key.conf"].endswith("LoadCredential=embeddings-api-key:/home/me/my keys/100%%\n")


@pytest.mark.parametrize("vault", ["/tmp/notes", "/var/tmp/a/b"])
def test_a_vault_below_tmp_is_not_hidden_by_a_private_tmp(vault: str) -> None:
    # Drop-ins of all folders are read in the order of their names: after 20-sandbox.conf.
    assert "PrivateTmp=no" in written(instance(vault))["wikimem@notes.service.d/40-shared-tmp.conf"]


def test_an_interpreter_below_tmp_is_not_hidden_either() -> None:
    made = instance(python=Path("/tmp/venv/bin/python"))
    assert "wikimem@notes.service.d/40-shared-tmp.conf" in written(made)
