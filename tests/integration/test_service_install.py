"""`wikimem service install` and `uninstall` on real folders, with systemd's commands played by the test."""

import os
import socket
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from wikimem import service_install, service_plan, service_remove
from wikimem.errors import ConfigError, InvalidInput, Locked, NotFound, VaultError, WikimemError
from wikimem.places import name_of
from wikimem.service_drift import Drift, drift
from wikimem.store.locks import VaultLock, vault_key
from wikimem.user_manager import Ran, installed_names, is_installed


class Systemd:
    """Remembers what it was told; a unit is active once it was started."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.active: set[str] = set()
        self.refuses: dict[str, Ran] = {}
        self.looks_there = True
        self.listens = ""

    def __call__(self, command: Sequence[str]) -> Ran:
        words = [word for word in command if word not in ("systemctl", "--user", "--no-pager")]
        if words[0] == "journalctl":
            return Ran(0, '{"MESSAGE": "config.toml: unknown key `colour`"}\n', "")
        if words[0] == "show":
            state = "active" if words[1] in self.active else "inactive"
            dropins = f"/units/{words[1]}.d/10-vault.conf" if self.looks_there else ""
            return Ran(0, f"ActiveState={state}\nExecMainStatus=78\nDropInPaths={dropins}\nListen={self.listens}\n", "")
        self.told.append(" ".join(words))
        if words[0] in self.refuses:
            return self.refuses[words[0]]
        if words[0] in ("start", "restart"):
            self.active.update(words[1:])
        if words[0] == "disable":
            self.active.difference_update(words[2:])
        return Ran(0, "", "")


class Home:
    """A home with one vault, and the two flows over it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.vault = root / "Meine Notizen é 50%"
        (self.vault / "wiki").mkdir(parents=True)
        (root / "run").mkdir(mode=0o700)
        self.env = {"HOME": str(root), "XDG_RUNTIME_DIR": str(root / "run")}
        self.systemd = Systemd()
        self.said: list[str] = []
        self.units = root / ".local/share/systemd/user"
        self.config = root / ".config/wikimem/config.toml"

    def plan(self, name: str = "notes", path: str | None = None, *, sandbox: bool = True) -> service_plan.Plan:
        path = str(self.vault) if path is None else path
        return service_plan.plan_install(name, path or None, env=self.env, cwd=self.root, sandbox=sandbox)

    def install(self, name: str = "notes", path: str | None = None, *, sandbox: bool = True) -> None:
        plan = self.plan(name, path, sandbox=sandbox)
        service_install.install(plan, env=self.env, run=self.systemd, say=self.said.append)

    def uninstall(self, name: str = "notes", *, purge: bool = False) -> None:
        service_remove.uninstall(name, purge=purge, env=self.env, run=self.systemd, say=self.said.append)

    def files(self) -> dict[str, str]:
        found = [path for path in self.root.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.root)): path.read_text() for path in found}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_an_installation_writes_the_units_and_tells_systemd_in_order(home: Home) -> None:
    home.install()
    assert home.systemd.told == [
        "daemon-reload",
        "enable wikimem@notes.socket wikimem@notes.service",
        "reset-failed wikimem@notes.socket wikimem@notes.service",
        "start wikimem@notes.socket wikimem@notes.service",
    ]
    # Only because the test's own home lies below /tmp on most machines.
    shared_tmp = {".local/share/systemd/user/wikimem@notes.service.d/40-shared-tmp.conf"}
    assert set(home.files()) - shared_tmp == {
        ".config/wikimem/config.toml",
        ".local/share/systemd/user/wikimem@.service",
        ".local/share/systemd/user/wikimem@.socket",
        ".local/share/systemd/user/wikimem@.service.d/20-sandbox.conf",
        ".local/share/systemd/user/wikimem@notes.service.d/10-vault.conf",
    }
    assert sys.executable in home.files()[".local/share/systemd/user/wikimem@notes.service.d/10-vault.conf"]
    assert (home.root / ".local/state/wikimem/notes").is_dir(), "a folder made later is read-only in the sandbox"
    assert (home.root / ".local/state/wikimem").stat().st_mode & 0o077 == 0
    assert is_installed("notes", home.env)
    assert installed_names(home.env) == ["notes"]


def test_planning_and_printing_change_nothing(home: Home) -> None:
    before = sorted(home.root.rglob("*"))
    assert home.plan().commands == (
        ("daemon-reload",),
        ("enable", "wikimem@notes.socket", "wikimem@notes.service"),
        ("start", "wikimem@notes.socket", "wikimem@notes.service"),
    )
    assert sorted(home.root.rglob("*")) == before
    home.install()
    before = sorted(home.root.rglob("*"))
    service_remove.uninstall_steps("notes", purge=True, env=home.env)
    assert sorted(home.root.rglob("*")) == before


def test_uninstalling_leaves_nothing_but_the_vault(home: Home) -> None:
    before = sorted(home.root.rglob("*"))
    home.install()
    (home.root / "run/wikimem").mkdir()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(os.fsencode(home.root / "run/wikimem/notes.sock"))
    home.uninstall()
    left = [path for path in home.root.rglob("*") if path not in before]
    assert [
        path.relative_to(home.root) for path in left if path.name not in (".config", ".local", "share", "state")
    ] == []
    assert home.systemd.told[-3:] == [
        "disable --now wikimem@notes.socket wikimem@notes.service",
        "daemon-reload",
        "reset-failed wikimem@notes.socket wikimem@notes.service",
    ]


def test_what_uninstall_says_it_would_do_is_what_it_does(home: Home) -> None:
    home.install()
    steps = service_remove.uninstall_steps("notes", purge=False, env=home.env)
    removed = {line.removeprefix("# remove ") for line in steps if line.startswith("# remove ")}
    assert removed == {str(path) for path in home.units.rglob("*") if path.is_file()}


def test_the_history_stays_unless_it_is_asked_for(home: Home) -> None:
    home.install()
    history = home.root / ".local/state/wikimem/notes/state.sqlite"
    history.write_text("prior texts")
    home.uninstall()
    assert not history.exists(), "the vault has no name any more: its history is where one without a name finds it"
    assert (home.root / ".local/state/wikimem" / name_of(home.vault) / "state.sqlite").read_text() == "prior texts"
    assert any("--purge" in line for line in home.said)
    home.install()
    assert history.read_text() == "prior texts", "and it comes along when the vault is named again"
    locks = home.root / ".local/state/wikimem/locks"
    locks.mkdir()
    for kind in ("daemon", "write"):
        (locks / f"{vault_key(home.vault)}.{kind}").touch()
    home.uninstall(purge=True)
    assert not (home.root / ".local/state/wikimem").exists()


def test_a_lock_that_somebody_holds_is_not_pulled_away(home: Home) -> None:
    home.install()
    locks = home.root / ".local/state/wikimem"
    with VaultLock(locks, vault_key(home.vault), "write"):
        home.uninstall(purge=True)
        assert (locks / "locks" / f"{vault_key(home.vault)}.write").exists()


def test_the_second_vault_keeps_its_service_when_the_first_one_goes(home: Home) -> None:
    (home.root / "work/wiki").mkdir(parents=True)
    home.install()
    home.install("work", "work")
    assert installed_names(home.env) == ["notes", "work"]
    home.uninstall()
    assert installed_names(home.env) == ["work"]
    assert (home.units / "wikimem@.service").is_file()
    assert (home.units / "wikimem@.service.d/20-sandbox.conf").is_file()
    assert tomllib.loads(home.config.read_text()) == {"vaults": {"work": {"path": str(home.root / "work")}}}
    home.uninstall("work")
    assert not home.units.exists()
    assert not home.config.exists(), "the default that the first one wrote went with it"


def test_the_second_vault_keeps_its_service_also_when_a_shared_unit_was_deleted(home: Home) -> None:
    other = home.root / "other"
    (other / "wiki").mkdir(parents=True)
    home.install()
    home.install("other", str(other))
    (home.units / "wikimem@.socket").unlink()
    home.uninstall("other")
    assert (home.units / "wikimem@.service").is_file(), "the first vault's service still uses it"
    assert installed_names(home.env) == ["notes"]
    assert any("wikimem@.socket" in one.detail for one in drift("notes", env=home.env, cwd=home.root))
    home.install()
    assert (home.units / "wikimem@.socket").is_file()


def test_a_shell_that_looks_for_the_socket_elsewhere_than_systemd_is_told(home: Home) -> None:
    home.systemd.listens = f"{home.root}/run/wikimem/notes.sock (Stream)"
    home.install()
    assert not any("listens on" in line for line in home.said)
    home.systemd.listens = "/run/user/4242/wikimem/notes.sock (Stream)"
    home.install()
    told = home.said[-1]
    assert "wikimem@notes.socket listens on /run/user/4242/wikimem/notes.sock" in told
    assert "`export XDG_RUNTIME_DIR=/run/user/4242`" in told


def test_installing_again_restarts_once_and_writes_only_what_differs(home: Home) -> None:
    home.install()
    home.said.clear()
    home.systemd.told.clear()
    home.install(sandbox=False)
    assert home.systemd.told[-1] == "restart wikimem@notes.service"
    assert home.said == [
        f"removed {home.units / 'wikimem@.service.d/20-sandbox.conf'}",
        "wikimem@notes.service is ready",
    ]


def test_a_configured_vault_needs_no_path(home: Home) -> None:
    home.config.parent.mkdir(parents=True)
    text = f'[vaults.notes]\npath = "{home.vault}"\n'
    home.config.write_text(text)
    home.install(path="")
    assert home.config.read_text() == text
    home.uninstall()
    assert home.config.read_text() == text, "it was not ours"


def test_a_key_file_becomes_a_credential_and_a_missing_one_a_note(home: Home) -> None:
    home.config.parent.mkdir(parents=True)
    home.config.write_text(
        f'[vaults.notes]\npath = "{home.vault}"\n[vaults.notes.embeddings]\napi_key_file = "~/my key"\n'
    )
    assert any("my key is missing" in note for note in home.plan().notes)
    assert not any("api-key" in str(file.path) for file in home.plan().files)
    (home.root / "my key").write_text("k")
    files = {str(file.path): file.text for file in home.plan().files}
    key = files["wikimem@notes.service.d/30-api-key.conf"]
    assert key.endswith(f"LoadCredential=embeddings-api-key:{home.root}/my key\n")


def test_a_link_to_the_configuration_stays_a_link(home: Home) -> None:
    dotfiles = home.root / "dotfiles.toml"
    dotfiles.write_text("# in a repository\n")
    dotfiles.chmod(0o640)
    home.config.parent.mkdir(parents=True)
    home.config.symlink_to(dotfiles)
    home.install()
    assert home.config.is_symlink()
    assert dotfiles.read_text().startswith("# in a repository\n")
    assert dotfiles.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("name", "path", "error", "says"),
    [
        ("a/b", None, InvalidInput, "no name for a vault"),
        ("notes", "nowhere", VaultError, "does not exist"),
        ("notes", "run", VaultError, "is no vault"),
        ("unknown", "", ConfigError, "knows no vault unknown"),
        ("x" * 64, None, ConfigError, "the kernel takes 107"),
    ],
)
def test_what_cannot_be_a_service_is_refused_before_anything_is_written(
    home: Home, name: str, path: str | None, error: type[WikimemError], says: str
) -> None:
    home.env["XDG_RUNTIME_DIR"] = str(home.root / "run")
    before = sorted(home.root.rglob("*"))
    with pytest.raises(error, match=says) as caught:
        home.install(name, path)
    assert caught.value.hint
    assert sorted(home.root.rglob("*")) == before
    assert home.systemd.told == []


def test_a_name_that_means_another_folder_and_a_folder_with_another_name_are_refused(home: Home) -> None:
    home.install()
    (home.root / "other/wiki").mkdir(parents=True)
    with pytest.raises(ConfigError, match="is configured as"):
        home.install("notes", "other")
    with pytest.raises(ConfigError, match="is configured as the vault notes"):
        home.install("again")


@pytest.mark.parametrize("named", [True, False])
def test_a_daemon_that_was_started_by_hand_is_not_robbed_of_its_socket(home: Home, *, named: bool) -> None:
    folder = home.root / "run/wikimem"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.fsencode(folder / f"{'notes' if named else name_of(home.vault)}.sock"))
        listening.listen()
        with pytest.raises(Locked, match="systemd did not start"):
            home.install()
    assert not home.units.exists()
    home.install()


def test_a_daemon_that_does_not_start_is_reported_with_its_own_words(home: Home) -> None:
    home.systemd.refuses["start"] = Ran(1, "", "Job for wikimem@notes.service failed.\n")
    with pytest.raises(ConfigError, match=r"did not start: config\.toml: unknown key `colour`") as caught:
        home.install()
    assert "wikimem service logs notes" in caught.value.hint


def test_uninstalling_what_is_not_there_says_what_is(home: Home) -> None:
    home.install()
    with pytest.raises(NotFound, match="no service is installed for a vault work") as caught:
        home.uninstall("work")
    assert caught.value.hint == "installed here: notes"


def test_a_systemd_that_looks_elsewhere_is_told_of_and_nothing_is_left(home: Home) -> None:
    home.env["XDG_DATA_HOME"] = str(home.root / "data")
    home.systemd.looks_there = False
    before = sorted(home.root.rglob("*"))
    with pytest.raises(ConfigError, match="does not look into") as caught:
        home.install()
    assert "XDG_DATA_HOME" in caught.value.hint
    assert [path for path in home.root.rglob("*") if path not in before] == [home.root / "data"]
    assert home.systemd.told == ["daemon-reload"]


def test_what_systemd_cannot_disable_is_taken_out_all_the_same(home: Home) -> None:
    home.install()
    wants = home.root / ".config/systemd/user/default.target.wants"
    wants.mkdir(parents=True)
    (wants / "wikimem@notes.service").symlink_to(home.units / "wikimem@.service")
    home.systemd.refuses["disable"] = Ran(1, "", "Unit file wikimem@notes.socket does not exist.\n")
    home.systemd.active.clear()
    home.uninstall()
    assert not home.units.exists()
    assert not (home.root / ".config/systemd").exists()


def test_a_service_that_goes_on_running_is_said_and_can_be_uninstalled_again(home: Home) -> None:
    home.install()
    wants = home.root / ".config/systemd/user/sockets.target.wants"
    wants.mkdir(parents=True)
    (wants / "wikimem@notes.socket").symlink_to(home.units / "wikimem@.socket")
    home.systemd.refuses["disable"] = home.systemd.refuses["stop"] = Ran(1, "", "Connection timed out\n")
    with pytest.raises(WikimemError, match="could not be stopped: Connection timed out"):
        home.uninstall()
    home.systemd.refuses.clear()
    home.uninstall()
    assert not home.units.exists()


def test_no_client_starts_the_units_while_they_are_taken_out(home: Home) -> None:
    home.install()
    installed: list[bool] = []
    told = home.systemd

    def watched(command: Sequence[str]) -> Ran:
        installed.append(is_installed("notes", home.env))
        return told(command)

    service_remove.uninstall("notes", purge=False, env=home.env, run=watched, say=home.said.append)
    assert not any(installed)


def test_a_configuration_that_cannot_be_read_keeps_nothing_else_from_going(home: Home) -> None:
    home.install()
    home.config.write_text(home.config.read_text() + "broken = [\n")
    home.uninstall(purge=True)
    assert not home.units.exists()
    assert not (home.root / ".local/state/wikimem").exists()
    assert any(line.startswith("left: [vaults.notes]") and "not valid TOML" in line for line in home.said)


def test_a_purge_takes_the_locks_of_folders_that_are_gone_with_the_last_vault(home: Home) -> None:
    (home.root / "work/wiki").mkdir(parents=True)
    home.install()
    home.install("work", "work")
    locks = home.root / ".local/state/wikimem/locks"
    locks.mkdir()
    for name in ("absent-notes.daemon", "absent-work.daemon", "1-2.daemon"):
        (locks / name).touch()
    home.uninstall(purge=True)
    assert sorted(file.name for file in locks.iterdir()) == ["1-2.daemon", "absent-work.daemon"]
    home.uninstall("work", purge=True)
    assert not locks.parent.exists()


def test_what_the_person_edited_for_the_unit_is_left_and_named(home: Home) -> None:
    own = home.root / ".config/systemd/user/wikimem@notes.service.d"
    own.mkdir(parents=True)
    (own / "override.conf").write_text("[Service]\nNice=5\n")
    home.install()
    home.uninstall()
    assert (own / "override.conf").exists()
    assert any(str(own) in line for line in home.said)


MOUNTS = """21 1 253:0 / / rw - ext4 /dev/vda rw
22 21 0:19 / /tmp rw - tmpfs tmpfs rw
30 21 8:1 / /media/me/My\\040stick rw,nosuid - vfat /dev/sda1 rw
31 21 8:2 / /home rw - ext4 /dev/sdb1 rw
"""


@pytest.mark.parametrize(
    ("vault", "disk"),
    [
        ("/home/me/notes", None),
        ("/srv/notes", None),  # never all of `/`
        ("/media/me/My stick/notes", "/media/me/My stick"),
        ("/media/me/My stick", "/media/me/My stick"),
        ("/media/me/My sticky/notes", None),
    ],
)
def test_the_mount_point_of_a_vault_on_another_disk_is_found(vault: str, disk: str | None) -> None:
    found = service_plan.own_disk(Path(vault), home=Path("/home/me"), mounts=MOUNTS)
    assert found == (Path(disk) if disk else None)


# --- what grew apart since ------------------------------------------------------------------------------------------


def grown_apart(home: Home, name: str = "notes") -> list[Drift]:
    return drift(name, env=home.env, cwd=home.root)


def test_a_fresh_installation_has_not_grown_apart(home: Home) -> None:
    home.install()
    assert grown_apart(home) == []


def test_a_vault_that_was_moved_in_the_configuration_is_noticed(home: Home) -> None:
    home.install()
    other = home.root / "Elsewhere"
    (other / "wiki").mkdir(parents=True)
    home.config.write_text(home.config.read_text().replace(str(home.vault), str(other)))
    (found,) = grown_apart(home)
    assert found == Drift(f"it was installed for another folder than {other}")
    home.install(path="")
    assert grown_apart(home) == []


def test_what_no_installation_would_cure_comes_with_its_own_hint(home: Home) -> None:
    home.install()
    home.vault.rename(home.root / "away")
    (found,) = drift("notes", env=home.env, cwd=home.root)
    assert "does not exist" in found.detail
    assert "put it back" in found.hint


def test_an_environment_that_is_gone_is_noticed(home: Home) -> None:
    home.install()
    dropin = home.units / "wikimem@notes.service.d/10-vault.conf"
    dropin.write_text(dropin.read_text().replace(sys.executable, '/gone/with 50%%/$$5/"py'.replace('"', '\\"')))
    (found,) = grown_apart(home)
    assert found == Drift('the Python that it runs is gone: /gone/with 50%/$5/"py', fatal=True)


def test_a_unit_of_another_version_is_noticed_and_another_python_that_is_there_is_not(home: Home) -> None:
    home.install()
    unit, dropin = home.units / "wikimem@.service", home.units / "wikimem@notes.service.d/10-vault.conf"
    dropin.write_text(dropin.read_text().replace(sys.executable, "/bin/sh"))
    assert grown_apart(home) == []
    unit.write_text(unit.read_text().replace("WatchdogSec=30", "WatchdogSec=3"))
    (found,) = grown_apart(home)
    assert "wikimem@.service" in found.detail
    assert not found.fatal
