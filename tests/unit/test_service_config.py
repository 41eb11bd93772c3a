"""`[vaults.NAME]` is added to the user's file and taken out again, as bytes."""

import tomllib

import pytest

from wikimem.errors import ConfigError
from wikimem.service_config import with_vault, without_vault

OLD = b'# mine\ndefault = "work"\n\n[vaults.work]   # keep\npath = "~/work"\n'


def test_the_first_vault_becomes_the_default() -> None:
    assert tomllib.loads(with_vault(b"", "notes", "/home/me/notes").decode()) == {
        "default": "notes",
        "vaults": {"notes": {"path": "/home/me/notes"}},
    }


@pytest.mark.parametrize(
    "old",
    [
        OLD,
        OLD.rstrip(b"\n"),
        OLD.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + OLD,
        b'vaults.work.path = "~/work"\n',
        b"[vaults]\nwork = {path = '~/work'}\n[other]\n",
        b"# only a comment\n",
    ],
)
def test_every_other_byte_stays(old: bytes) -> None:
    new = with_vault(old, "notes", "/home/me/notes")
    assert new.startswith(old)
    tables = tomllib.loads(new.decode("utf-8-sig"))
    assert tables["vaults"]["notes"] == {"path": "/home/me/notes"}
    if b"\r\n" in old:
        assert b"\n" not in new.replace(b"\r\n", b"")


@pytest.mark.parametrize("path", ['/n/say "hi"', "/n/back\\slash", "/n/My Notes é 日本", "/n/50%"])
def test_any_path_is_read_back_as_it_was(path: str) -> None:
    assert tomllib.loads(with_vault(OLD, "a.b", path).decode())["vaults"]["a.b"]["path"] == path


@pytest.mark.parametrize("old", [b'vaults = { work = { path = "~/work" } }\n', b"[[vaults]]\npath = '/a'\n"])
def test_a_file_that_cannot_take_a_table_is_left_to_the_person(old: bytes) -> None:
    with pytest.raises(ConfigError) as caught:
        with_vault(old, "notes", "/home/me/notes")
    assert '[vaults.notes]\npath = "/home/me/notes"' in caught.value.hint


@pytest.mark.parametrize("old", [b"", OLD, OLD.rstrip(b"\n"), OLD.replace(b"\n", b"\r\n")])
def test_taking_it_out_gives_the_old_file_back(old: bytes) -> None:
    rest = without_vault(with_vault(old, "notes", "/n"), "notes", "/n")
    assert rest == old or (rest is not None and rest.rstrip(b"\r\n") == old)


def test_the_default_that_came_with_the_first_vault_goes_with_it_and_the_second_stays() -> None:
    both = with_vault(with_vault(b"", "notes", "/n"), "work", "/w")
    rest = without_vault(both, "notes", "/n")
    assert rest is not None
    assert tomllib.loads(rest.decode()) == {"vaults": {"work": {"path": "/w"}}}
    assert without_vault(rest, "work", "/w") == b""


def test_what_a_person_wrote_after_it_stays() -> None:
    new = with_vault(OLD, "notes", "/n") + b"\n[vaults.more]\npath = '/m'\n"
    assert without_vault(new, "notes", "/n") == OLD + b"\n[vaults.more]\npath = '/m'\n"


@pytest.mark.parametrize(
    "built_on",
    [
        with_vault(OLD, "notes", "/n") + b'[vaults.notes.embeddings]\nprovider = "none"\n',
        with_vault(OLD, "notes", "/n").replace(b'default = "work"', b'default = "notes"'),
        OLD + b'[vaults.notes]\npath = "/n"\n',
        with_vault(b"", "notes", "/n").replace(b"\n\n", b"\n# mine\n", 1) + b'[vaults.other]\npath = "/o"\n',
    ],
)
def test_what_a_person_built_on_is_not_taken_out(built_on: bytes) -> None:
    assert without_vault(built_on, "notes", "/n") is None
