"""Configuration: which vault, which value, which complaint."""

import dataclasses
import os
from pathlib import Path

import pytest

from tests.nobody import as_nobody, folder_of_nobody
from wikimem import config_tables
from wikimem.config import Settings, load, require_vault, vault_layout
from wikimem.config_endpoint import embeddings_key, shown_address
from wikimem.config_tables import TABLES, EmbeddingsSettings
from wikimem.errors import ConfigError, VaultError


class World:
    """A home, a vault in it, and the two configuration files."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.env = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run")}
        self.vault = self.make_vault("notes")

    def make_vault(self, name: str) -> Path:
        folder = self.home / name
        (folder / "wiki").mkdir(parents=True)
        return folder

    def user(self, text: str) -> None:
        file = self.home / ".config/wikimem/config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def travelling(self, text: str) -> None:
        (self.vault / "wikimem.toml").write_text(text, encoding="utf-8")

    def load(self, vault: str | None = None, cwd: Path | None = None, **env: str) -> Settings:
        return load(vault, env={**self.env, **env}, cwd=cwd or self.home)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


# Which vault


def test_a_configured_name_comes_before_a_path(world: World) -> None:
    other = world.make_vault("other")
    world.user(f'[vaults.notes]\npath = "{other}"\n')
    assert world.load("notes").path == other


def test_a_path_is_relative_to_the_working_directory_and_may_start_with_a_tilde(world: World) -> None:
    assert world.load("notes").path == world.vault
    assert world.load("~/notes", cwd=Path("/")).path == world.vault
    assert world.load("../notes", cwd=world.vault).path == world.vault


def test_the_path_of_a_configured_vault_has_its_name_and_socket(world: World) -> None:
    world.user('[vaults.mine]\npath = "~/notes"\n')
    (world.home / "link").symlink_to(world.vault)
    for way in ("mine", "notes", str(world.vault), "link"):
        settings = world.load(way)
        assert (settings.name, settings.socket_path.name) == ("mine", "mine.sock")


def test_the_option_comes_before_the_variable_and_that_before_the_surroundings(world: World) -> None:
    a, b = world.make_vault("a"), world.make_vault("b")
    assert world.load("../a", cwd=world.vault, WIKIMEM_VAULT="b").path == a
    assert world.load(cwd=world.vault, WIKIMEM_VAULT="~/b").path == b
    assert world.load(cwd=world.vault / "wiki").path == world.vault


def test_the_default_is_taken_last(world: World) -> None:
    other = world.make_vault("other")
    world.user('default = "other"\n[vaults.other]\npath = "~/other"\n')
    assert world.load(cwd=world.home).path == other
    assert world.load(cwd=world.vault).path == world.vault
    assert world.load(cwd=world.home).origins["path"].startswith("default in ")


def test_a_configured_folder_around_the_working_directory_needs_no_wiki(world: World) -> None:
    (world.home / "plain/deep").mkdir(parents=True)
    world.user('[vaults.plain]\npath = "~/plain"\n')
    assert world.load(cwd=world.home / "plain/deep").name == "plain"


def test_a_relative_path_in_the_configuration_starts_at_its_file(world: World) -> None:
    world.user('[vaults.mine]\npath = "../../notes"\n')
    assert world.load("mine").path == world.vault


def test_an_unnamed_vault_is_called_by_its_folder_and_a_hash_of_its_real_path(world: World) -> None:
    (world.home / "link").symlink_to(world.vault)
    name = world.load("notes").name
    assert name.startswith("notes-")
    assert world.load("link").name == name
    twin = world.make_vault("deep/notes")
    assert world.load(str(twin)).name != name


def test_without_any_vault_the_next_step_is_named(world: World) -> None:
    with pytest.raises(VaultError, match="no vault is named") as caught:
        world.load(cwd=Path("/"))
    assert "wikimem init" in caught.value.hint


def test_a_name_that_is_nearly_one_is_suggested(world: World) -> None:
    world.user('[vaults.journal]\npath = "~/notes"\n')
    with pytest.raises(VaultError) as caught:
        world.load("jornal")
    assert caught.value.hint == "did you mean `journal`?"


# Paths that are no vault


def test_a_path_that_is_missing_a_file_or_no_vault_is_refused(world: World) -> None:
    (world.home / "file").write_text("x")
    (world.home / "plain").mkdir()
    for way, word in (("./gone", "does not exist"), ("./file", "is a file"), ("./plain", "is no vault")):
        with pytest.raises(VaultError, match=word) as caught:
            world.load(way)
        assert caught.value.exit_status == 78
        assert caught.value.hint


def test_a_dangling_link_is_named_as_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    with pytest.raises(VaultError, match="link to nothing"):
        require_vault(tmp_path / "link", configured=True)


def test_a_daemon_of_a_missing_folder_can_still_be_found(world: World) -> None:
    settings = load("./gone", env=world.env, cwd=world.home, require=False)
    assert settings.name.startswith("gone-")


def test_a_vault_that_is_away_is_found_by_its_name_and_not_made_anew(world: World) -> None:
    was = world.load("notes")
    state = world.home / ".local/state/wikimem" / was.name
    state.mkdir(parents=True)
    world.vault.rename(world.home / "away")
    assert load("notes", env=world.env, cwd=world.home, require=False).socket_path == was.socket_path
    with pytest.raises(VaultError, match="does not exist") as caught:
        world.load("notes")
    assert "put it back, or mount its disk" in caught.value.hint
    world.vault.mkdir()
    with pytest.raises(VaultError, match="is no vault") as caught:
        world.load("notes")
    assert "it was one" in caught.value.hint


# Values


def test_the_users_file_wins_over_the_vaults_and_that_over_the_default(world: World) -> None:
    world.travelling('[links]\nstyle = "obsidian"\n[retrieval]\nbudget_tokens = 800\nfusion_weight = 0.4\n')
    world.user('[vaults.mine]\npath = "~/notes"\n[vaults.mine.retrieval]\nbudget_tokens = 400\n')
    settings = world.load("mine")
    assert settings.retrieval.budget_tokens == 400
    assert settings.retrieval.fusion_weight == 0.4
    assert settings.layout.link_style == settings.links.style == "obsidian"
    assert settings.origins["retrieval.budget_tokens"].endswith("config.toml")
    assert settings.origins["retrieval.fusion_weight"].endswith("notes/wikimem.toml")
    assert settings.origins["retrieval.fusion"] == "default"


def test_every_setting_has_an_origin(world: World) -> None:
    origins = world.load("notes").origins
    assert {f"{table}.{key.name}" for table, keys in TABLES.items() for key in keys} <= set(origins)


def test_limits_reach_the_layout(world: World) -> None:
    world.user('[vaults.mine]\npath = "~/notes"\n[vaults.mine.limits]\nmax_file_bytes = 1000\n')
    assert world.load("mine").layout.max_file_bytes == 1000


def test_obsidians_daily_notes_are_followed_unless_the_vault_says_otherwise(world: World) -> None:
    (world.vault / ".obsidian").mkdir()
    (world.vault / ".obsidian/daily-notes.json").write_text('{"folder": "Journal", "format": "YYYY/MM/YYYY-MM-DD"}')
    layout = vault_layout(world.vault)
    assert (layout.diary_dir, layout.diary_format) == ("Journal", "YYYY/MM/YYYY-MM-DD")
    assert world.load("notes").origins["vault.diary_dir"].endswith(".obsidian/daily-notes.json")
    world.travelling('[vault]\ndiary_dir = "diary"\n')
    assert vault_layout(world.vault).diary_dir == "diary"
    assert world.load("notes").origins["vault.diary_dir"].endswith("wikimem.toml")


def test_a_bom_and_crlf_in_a_configuration_file_are_fine(world: World) -> None:
    (world.vault / "wikimem.toml").write_bytes(b'\xef\xbb\xbf[links]\r\nstyle = "obsidian"\r\n')
    assert world.load("notes").links.style == "obsidian"


def test_the_values_have_a_field_for_every_key_and_the_same_default() -> None:
    for table, keys in TABLES.items():
        if table == "vault":
            continue
        kind = next(
            value
            for name, value in vars(config_tables).items()
            if name.lower() in {f"{table}settings", f"{table}options"}
        )
        assert {field.name: field.default for field in dataclasses.fields(kind)} == {
            key.name: key.default for key in keys
        }


# Complaints


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[retrieval]\nfussion = 1\n", "unknown key `retrieval.fussion`", "did you mean `fusion`?"),
        ("[retreival]\nfusion = 1\n", "unknown key `retreival`", "did you mean `retrieval`?"),
        ('[links]\nstyle = "obsidan"\n', '`links.style` is "obsidan"', "did you mean `obsidian`?"),
        ("[vault]\npreamble_items = 1\n", "`vault.preamble_items` is a whole number", "true or false"),
        ('[vault]\nignore = "x"\n', "`vault.ignore` is a text", "a list of texts"),
        ("[retrieval]\nfusion_weight = 2\n", "`retrieval.fusion_weight` is 2", "from 0 to 1"),
        ("[retrieval]\nfusion_weight = nan\n", "`retrieval.fusion_weight` is a number", "from 0 to 1"),
        ("[retrieval]\nbudget_tokens = true\n", "`retrieval.budget_tokens` is true or false", "a whole number"),
        ("links = 1\n", "links is no table", "[links]"),
        ("[links\n", "is not valid TOML", "in quotes"),
        ('[vault]\nwiki_dir = "../elsewhere"\n', "leads out of the vault", "inside it"),
        ('[vault]\nwiki_dir = "/etc"\n', "leads out of the vault", "inside it"),
    ],
)
def test_a_wrong_setting_is_named_with_what_to_write(world: World, text: str, message: str, hint: str) -> None:
    world.travelling(text)
    with pytest.raises(ConfigError) as caught:
        world.load("notes")
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.exit_status == 78


@pytest.mark.parametrize(
    "text",
    [
        '[embeddings]\nbase_url = "http://evil"\n',
        "[links]\nauto_repair = true\n",
        "[limits]\nmax_file_bytes = 1000000000\n",
        "[history]\nmax_days = 0\n",
        '[watch]\nmode = "polling"\n',
        "[report]\ncounts = false\n",
    ],
)
def test_what_does_not_travel_is_refused_in_the_vault_and_said_where_it_goes(world: World, text: str) -> None:
    world.travelling(text)
    with pytest.raises(ConfigError, match="cannot be set by a file that travels") as caught:
        world.load("notes")
    assert "[vaults.NAME." in caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('defalt = "x"\n', "unknown key `defalt`"),
        ('default = "gone"\n', "`default` names no vault: 'gone'"),
        ("[vaults.notes]\n", "`vaults.notes.path` is missing"),
        ("[vaults.notes]\npath = 3\n", "`vaults.notes.path` is no path"),
        ('[vaults.notes]\nPath = "~/notes"\n', "unknown key `vaults.notes.Path`"),
        ('[vaults."a b"]\npath = "x"\n', "is no name for a vault"),
        ('[vaults.locks]\npath = "x"\n', "is no name for a vault"),
        ('[vaults.notes]\npath = "x"\n[vaults.notes.linkz]\n', "unknown key `vaults.notes.linkz`"),
        ('[vaults.notes]\npath = "x"\n[vaults.notes.watch]\nmode = "magic"\n', '`vaults.notes.watch.mode` is "magic"'),
        ("vaults = 3\n", "`vaults` is no table"),
        ("[vaults]\nnotes = 3\n", "`vaults.notes` is no table"),
    ],
)
def test_a_wrong_users_file_is_named(world: World, text: str, message: str) -> None:
    world.user(text)
    with pytest.raises(ConfigError) as caught:
        world.load("./notes")
    assert message in caught.value.message
    assert "config.toml" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('provider = "http"\nmodel = "m"\n', "needs `base_url`"),
        ('provider = "http"\nbase_url = "http://x/v1"\n', "needs `model`"),
        ('provider = "http"\nmodel = "m"\nbase_url = "ftp://x"\n', "is no web address"),
        ('provider = "http"\nmodel = "m"\nbase_url = "http:///v1"\n', "is no web address"),
        ('provider = "http"\nmodel = "m"\nbase_url = "http://x:99999/v1"\n', "is no web address"),
        ('provider = "http"\nmodel = "m"\nbase_url = "http://a b/v1"\n', "is no web address"),
        ('provider = "http"\nmodel = "m"\nbase_url = "http://u:secret-value@[x/v1"\n', "is no web address"),
        ('provider = "http"\nmodel = "m"\nbase_url = "http://x/v1?version=3"\n', "has a `?`"),
        ('provider = "magic"\n', '`vaults.mine.embeddings.provider` is "magic"'),
        ('api_key = "secret-value"\n', "unknown key `vaults.mine.embeddings.api_key`"),
    ],
)
def test_embeddings_that_cannot_work_are_refused(world: World, table: str, message: str) -> None:
    world.user(f'[vaults.mine]\npath = "~/notes"\n[vaults.mine.embeddings]\n{table}')
    with pytest.raises(ConfigError) as caught:
        world.load("mine")
    assert message in caught.value.message
    assert "secret-value" not in caught.value.message + caught.value.hint


# The key of the endpoint


def test_the_key_comes_from_the_credential_then_the_file_then_the_variable(tmp_path: Path) -> None:
    (tmp_path / "embeddings-api-key").write_text("from-systemd\n")
    (tmp_path / "key").write_text("from-file\n")
    both = EmbeddingsSettings(api_key_file="key", api_key_env="KEY")
    env = {"HOME": str(tmp_path), "KEY": "from-env"}
    assert embeddings_key(both, env={**env, "CREDENTIALS_DIRECTORY": str(tmp_path)}, base=tmp_path) == "from-systemd"
    assert embeddings_key(both, env=env, base=tmp_path) == "from-file"
    (tmp_path / "embeddings-api-key").write_text("\n")
    stand_in = {**env, "CREDENTIALS_DIRECTORY": str(tmp_path)}
    assert embeddings_key(both, env=stand_in, base=tmp_path) == "from-file", "systemd found no file at the start"
    assert embeddings_key(EmbeddingsSettings(api_key_env="KEY"), env=env, base=tmp_path) == "from-env"
    assert embeddings_key(EmbeddingsSettings(), env=env, base=tmp_path) is None


@pytest.mark.parametrize(
    "data", [b"sk-\xc3\xa4", b"sk-\xff", b"sk-one\nsk-two", b"sk-\x01", b"sk one", b"x" * 9_000, "sk-x\ufeff".encode()]
)
def test_what_no_header_can_carry_is_no_key_and_is_not_shown(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "key").write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        embeddings_key(EmbeddingsSettings(api_key_file="key"), env={"HOME": str(tmp_path)}, base=tmp_path)
    assert "sk" not in str(caught.value)
    assert "xx" not in str(caught.value)


def test_a_key_file_of_windows_is_read(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"\xef\xbb\xbfsk-one\r\n")
    settings = EmbeddingsSettings(api_key_file="key")
    assert embeddings_key(settings, env={"HOME": str(tmp_path)}, base=tmp_path) == "sk-one"


def test_an_address_is_shown_without_its_password_and_its_query() -> None:
    assert shown_address("http://u:p/a@s@host:1/v1") == "http://host:1/v1"
    assert shown_address("http://host/v1") == "http://host/v1"
    assert shown_address("http://host/v1?token=secret") == "http://host/v1?…"
    assert shown_address("http://u:p?q@host/v1") == "http://host/v1"
    assert shown_address("u:p@host") == "host"


def test_a_key_that_is_not_where_it_should_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    for settings in (
        EmbeddingsSettings(api_key_file="gone"),
        EmbeddingsSettings(api_key_file="empty"),
        EmbeddingsSettings(api_key_env="NOT_SET"),
    ):
        with pytest.raises(ConfigError):
            embeddings_key(settings, env={"HOME": str(tmp_path)}, base=tmp_path)


def test_a_vault_in_a_folder_that_nobody_lets_one_into_is_closed_and_no_fault() -> None:
    with folder_of_nobody() as base:
        vault = base / "locked/vault"

        def look() -> None:
            (vault / "wiki").mkdir(parents=True)
            (base / "locked").chmod(0)
            env = {"HOME": str(base), "XDG_RUNTIME_DIR": str(base)}
            assert load(str(vault), env=env, cwd=base, require=False).path == vault
            with pytest.raises(VaultError, match="Permission denied"):
                load(str(vault), env=env, cwd=base)

        as_nobody(look)


def test_a_pipe_in_the_place_of_a_file_of_the_vault_holds_nobody_up(world: World) -> None:
    (world.vault / ".obsidian").mkdir()
    os.mkfifo(world.vault / ".obsidian/daily-notes.json")
    assert world.load(str(world.vault)).layout.diary_dir == "diary"
    os.mkfifo(world.vault / "wikimem.toml")
    with pytest.raises(ConfigError, match="no plain file"):
        world.load(str(world.vault))


def test_a_configuration_of_megabytes_is_none(world: World) -> None:
    world.travelling("# long\n" * 200_000)
    with pytest.raises(ConfigError, match="larger than a megabyte"):
        world.load(str(world.vault))
