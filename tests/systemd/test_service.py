"""The shipped units, installed by the shipped command from a built wheel, under a real user manager."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.systemd.installation import build_wheel
from tests.systemd.private_manager import PrivateManager, eventually
from tests.systemd.served import ASK, Served

pytestmark = pytest.mark.timeout(90)


@pytest.fixture
def running(served: Served) -> Served:
    served.start()
    return served


# --- installing ---------------------------------------------------------------------------------------------------


def test_the_installed_service_runs_and_answers(running: Served) -> None:
    assert f"{running.service} is ready" in running.first_words
    assert "loginctl enable-linger" in running.first_words or "lingering is on" in running.first_words
    assert running.show("ActiveState") == "active"
    assert running.show("UnitFileState") == "enabled"
    assert running.show("UnitFileState", running.socket) == "enabled"
    _, status = running.ask()
    assert status["vault"] == running.name
    assert status["path"] == str(running.vault)
    assert running.finds("gyokuro") == ["tea:green"]


def test_the_socket_and_its_folder_are_the_users_alone(running: Served) -> None:
    told = running.manager.run("stat", "-c", "%a", str(running.socket_file), str(running.socket_file.parent))
    assert told.stdout.split() == ["600", "700"]


def test_an_agent_can_write_into_the_vault_through_the_sandbox(running: Served) -> None:
    assert running.wikimem("add", "--vault", running.name, "tea", "black", "Assam at four.").returncode == 0
    assert running.finds("Assam") == ["tea:black"]
    assert "Assam at four." in running.manager.run("cat", str(running.vault / "wiki/tea.md")).stdout


def test_an_edit_on_disk_is_seen_through_the_sandbox(running: Served) -> None:
    running.write("wiki/coffee.md", "## filter\n\nBloom for thirty seconds.\n")
    assert running.finds("bloom") == ["coffee:filter"]


def test_the_sandbox_hides_keys_and_keeps_the_home_read_only(running: Served) -> None:
    manager = running.manager
    if not isinstance(manager, PrivateManager):
        pytest.skip("looking into the service's mounts needs root")
    if running.show("PrivateUsers") != "yes":
        pytest.skip("no sandbox here")
    manager.run("mkdir", "-p", str(manager.home / ".ssh"), check=True)
    running.systemctl("restart", running.service)
    root = f"/proc/{running.pid()}/root"
    assert manager.root("ls", f"{root}{manager.home}/.ssh").returncode == 0, "root sees an empty folder in its place"
    mounts = manager.root("cat", f"/proc/{running.pid()}/mountinfo").stdout
    seen = {line.split()[4]: line.split()[5].split(",") for line in mounts.splitlines()}
    assert f"{manager.home}/.ssh" in seen
    assert "ro" in seen["/home"]
    writable = [place for place, options in seen.items() if "rw" in options and place.startswith(str(manager.home))]
    escaped = str(running.vault).replace(" ", "\\040")
    assert sorted(writable) == sorted([escaped, f"{manager.home}/.local/state/wikimem"])


def test_what_is_logged_can_be_asked_for_by_event_and_vault(running: Served) -> None:
    told = running.journal("-o", "json", "WIKIMEM_EVENT=daemon.serving", f"WIKIMEM_VAULT={running.name}")
    entry = json.loads(told.splitlines()[-1])
    assert entry["_SYSTEMD_USER_UNIT"] == running.service
    assert entry["SYSLOG_IDENTIFIER"] == "wikimem"
    assert entry["PRIORITY"] == "6"
    assert not entry["MESSAGE"].startswith(("<", "20")), "neither a prefix nor a second time stamp"


def test_the_logs_command_shows_the_journal(running: Served) -> None:
    told = running.wikimem("service", "logs", running.name, "-n", "200")
    assert told.returncode == 0, told.stderr
    assert "serving the vault" in told.stdout


def test_a_key_reaches_the_daemon_as_a_credential_and_nothing_else_shows_it(running: Served) -> None:
    key = running.vault.parent / "my key 5%"
    running.manager.run("tee", str(key), given="Zx81-not-to-be-seen", check=True)
    table = f"""[vaults.{running.name}.embeddings]
provider = "http"
base_url = "http://127.0.0.1:9/v1"
model = "none"
api_key_file = "{key}"
"""
    try:
        with running.config(table):
            told = running.wikimem("service", "install", running.name)
            assert told.returncode == 0, told.stdout + told.stderr
            # Asked of the kernel: what every process of this user could read.
            environ = variables(running)
            assert not any("Zx81" in one for one in environ.values())
            assert "Zx81" not in running.systemctl("show", running.service).stdout
            assert "Zx81" not in running.own_lines()
            # Removed later: every start goes without it, and says why.
            running.manager.run("mv", str(key), f"{key}.away", check=True)
            assert running.systemctl("restart", running.service).returncode != 0
            assert running.show("ExecMainStatus") == "78"
            status, body = running.ask()
            assert (status, body["code"]) == (503, "config")
            assert str(key) in body["detail"]
            running.manager.run("mv", f"{key}.away", str(key), check=True)
            eventually(lambda: running.show("ActiveState") in ("failed", "inactive"), "the daemon has given up")
            assert running.systemctl("start", running.service).returncode == 0
            environ = variables(running)
            if isinstance(running.manager, PrivateManager):
                file = f"/proc/{running.pid()}/root{environ['CREDENTIALS_DIRECTORY']}/embeddings-api-key"
                assert running.manager.root("cat", file).stdout == "Zx81-not-to-be-seen"
    finally:
        running.wikimem("service", "install", running.name)
    assert "CREDENTIALS_DIRECTORY" not in variables(running), "without a key the drop-in is taken away"


def variables(served: Served) -> dict[str, str]:
    """Return the environment of the daemon's process, asked as root where its sandbox hides it from the user."""
    ask = served.manager.root if isinstance(served.manager, PrivateManager) else served.manager.run
    told = ask("cat", f"/proc/{served.pid()}/environ").stdout
    if not told:
        pytest.skip("the sandboxed process does not show its environment")
    return dict(one.split("=", 1) for one in told.split("\0") if "=" in one)


def test_the_log_level_is_taken_from_the_vaults_own_variables(running: Served) -> None:
    if not running.manager.private:
        pytest.skip("the person's own configuration folder is left alone")
    file = f"{running.manager.home}/.config/wikimem/{running.name}.env"
    running.manager.run("tee", file, given="WIKIMEM_LOG_LEVEL=debug\n", check=True)
    running.systemctl("restart", running.service)
    command = running.show("ExecMainPID")
    told = running.manager.run("cat", f"/proc/{command}/cmdline").stdout.split("\0")
    running.manager.run("rm", file, check=True)
    running.systemctl("restart", running.service)
    assert told[told.index("--log-level") + 1] == "debug"


def test_without_the_sandbox_it_runs_too(running: Served) -> None:
    sandboxed = running.show("PrivateUsers")
    told = running.wikimem("service", "install", running.name, "--no-sandbox")
    assert told.returncode == 0, told.stdout + told.stderr
    assert running.show("PrivateUsers") == "no"
    assert running.show("NoNewPrivileges") == "yes"
    assert running.finds("gyokuro") == ["tea:green"]
    assert running.wikimem("service", "install", running.name).returncode == 0
    assert running.show("PrivateUsers") == sandboxed


# --- its life -----------------------------------------------------------------------------------------------------


def test_the_first_client_starts_the_daemon(running: Served) -> None:
    running.systemctl("stop", running.service)
    assert running.show("ActiveState") == "inactive"
    assert running.finds("gyokuro") == ["tea:green"]
    assert running.show("ActiveState") == "active"


def test_a_client_starts_the_socket_unit_when_even_that_is_down(running: Served) -> None:
    running.systemctl("stop", running.socket, running.service)
    assert running.finds("gyokuro") == ["tea:green"]
    assert running.show("ActiveState", running.socket) == "active"


def test_a_reload_returns_when_the_new_configuration_is_in_use(running: Served) -> None:
    before = running.pid()
    with running.config(f"[vaults.{running.name}.retrieval]\nbudget_tokens = 1\n"):
        told = running.systemctl("reload", running.service)
        assert told.returncode == 0, told.stderr + running.own_lines()[-2000:]
        assert running.show("StatusText") == "configuration read again"
        answer = json.loads(running.wikimem("retrieve", "--vault", running.name, "--json", "gyokuro").stdout)
        assert answer["budget_tokens"] == 1
    # Every second one fails 226/NAMESPACE where a sandbox has an IPC namespace of its own.
    for _ in range(4):
        assert running.systemctl("reload", running.service).returncode == 0
    assert running.pid() == before


def test_a_wrong_configuration_is_refused_by_the_reload_and_the_old_one_stays(running: Served) -> None:
    before = running.pid()
    with running.config(f"[vaults.{running.name}.retrieval]\nbudget_tokenz = 1\n"):
        assert running.systemctl("reload", running.service).returncode != 0
        assert running.show("ActiveState") == "active"
        assert running.pid() == before
        assert running.ask()[0] == 200
        assert running.show("StatusText").startswith("reload failed: ")
        assert "budget_tokenz" in running.show("StatusText")
        assert "did you mean `budget_tokens`?" in running.own_lines()
    assert running.systemctl("reload", running.service).returncode == 0
    assert running.show("StatusText") == "configuration read again"


def test_after_kill_9_the_next_client_is_answered_by_a_new_process(running: Served) -> None:
    before = running.pid()
    running.systemctl("kill", "--signal=KILL", running.service)
    status, body = running.ask()
    assert status == 200
    assert body["pid"] not in (0, before)
    assert running.finds("gyokuro") == ["tea:green"]


SITE = """
import signal, time
def stand_still(number, frame):
    time.sleep(3600)
signal.signal(signal.SIGUSR2, stand_still)
"""


def test_a_hanging_loop_is_ended_by_the_watchdog_and_leaves_its_traceback(running: Served) -> None:
    folder = running.manager.home / "site" if running.manager.private else running.vault.parent / "site"
    running.manager.run("mkdir", "-p", str(folder), check=True)
    running.manager.run("tee", str(folder / "sitecustomize.py"), given=SITE, check=True)
    # The daemon is the shipped one; what hangs it is put into its interpreter.
    with running.dropin(f'[Service]\nWatchdogSec=1\nEnvironment="PYTHONPATH={folder}"\n'):
        running.systemctl("restart", running.service)
        running.start()
        before = running.pid()
        running.systemctl("kill", "--signal=USR2", "--kill-whom=main", running.service)
        # Waits in the backlog meanwhile.
        _, body = running.ask()
        assert body["pid"] not in (0, before)
        lines = running.own_lines()
        assert "Watchdog timeout (limit 1s)!" in lines
        assert "Fatal Python error: Aborted" in lines
        assert "in stand_still" in lines
    running.systemctl("restart", running.service)


def test_a_stopped_service_leaves_the_socket_and_a_stopped_socket_no_file(running: Served) -> None:
    running.systemctl("stop", running.service)
    assert "STOPPING" not in running.show("StatusText")
    assert running.show("Result") == "success"
    assert running.show("ActiveState", running.socket) == "active"
    running.systemctl("stop", running.socket)
    assert running.manager.run("ls", str(running.socket_file)).returncode != 0


def test_a_socket_file_that_was_removed_is_made_anew_for_the_next_client(running: Served) -> None:
    running.start()
    running.manager.run("rm", str(running.socket_file), check=True)
    told = running.wikimem("status", "--vault", running.name)
    assert told.returncode == 3
    assert f"systemctl --user restart {running.socket} {running.service}" in told.stderr
    assert running.finds("gyokuro") == ["tea:green"]


LOAD = (
    ASK
    + """
import threading, time
from pathlib import Path
from wikimem.api.client import Client
stop, calls, errors, pids = Path(sys.argv[2]), [], [], set()
def plain():
    while not stop.exists():
        try:
            status, body = ask("/v1/status")
            pids.add(body["pid"])
            calls.append(status)
        except Exception as error:
            errors.append(repr(error))
def kept():
    client = Client(sys.argv[1])
    while not stop.exists():
        try:
            calls.append(len(client.retrieve("gyokuro")["items"]))
        except Exception as error:
            errors.append(repr(error))
threads = [threading.Thread(target=one) for one in (plain, plain, plain, kept, kept)]
for thread in threads: thread.start()
while len(calls) < 20 and not stop.exists(): time.sleep(0.01)
print("loaded", flush=True)
for thread in threads: thread.join()
print(json.dumps({"calls": len(calls), "errors": errors, "pids": sorted(pids)}))
"""
)


@contextmanager
def load(served: Served) -> Iterator[dict[str, Any]]:
    """Call the daemon from five threads meanwhile; the yielded dict has the outcome afterwards."""
    stop = str(served.vault.parent / "stop-the-load")
    outcome: dict[str, Any] = {}
    client = served.manager.spawn(served.installation.python, "-c", LOAD, str(served.socket_file), stop, env=served.env)
    try:
        assert client.stdout is not None
        assert client.stdout.readline() == "loaded\n"
        yield outcome
    finally:
        served.manager.run("touch", stop)
        said = client.communicate(timeout=30)[0]
        served.manager.run("rm", stop)
    outcome.update(json.loads(said.strip().rpartition("\n")[2]))


def test_restarts_under_load_show_no_client_an_error(running: Served) -> None:
    pids = set()
    with load(running) as outcome:
        for _ in range(3):
            assert running.systemctl("restart", running.service).returncode == 0
            pids.add(running.pid())
            seen = running.ask()[1]["pid"]
            assert seen in pids
    assert outcome["errors"] == []
    assert len(outcome["pids"]) >= 3
    assert outcome["calls"] > 50


def test_an_upgrade_under_the_running_daemon_is_said_and_a_restart_picks_it_up(running: Served, tmp_path: Path) -> None:
    old = running.ask()[1]["version"]
    assert not running.ask()[1]["restart_needed"]
    try:
        running.installation.put(build_wheel(tmp_path, version="99.1.0"))
        with load(running) as outcome:
            told = running.wikimem("service", "status", running.name)
            assert told.returncode == 0, told.stderr
            assert "another version is installed" in told.stdout
            assert f"systemctl --user restart {running.service}" in told.stdout
            assert running.ask()[1]["version"] == old
            assert running.systemctl("restart", running.service).returncode == 0
            eventually(lambda: running.ask()[1]["version"] == "99.1.0", "the new version answers")
        assert outcome["errors"] == []
    finally:
        running.installation.put(running.installation.wheel)
        running.systemctl("restart", running.service)


# --- when it cannot run -------------------------------------------------------------------------------------------


def test_a_wrong_configuration_at_start_is_told_to_every_client_and_the_socket_stays(running: Served) -> None:
    with running.config(f"[vaults.{running.name}.retrieval]\nbudget_tokenz = 1\n"):
        assert running.systemctl("restart", running.service).returncode != 0
        assert running.show("ExecMainStatus") == "78"
        for _ in range(5):
            eventually(lambda: running.show("ActiveState") in ("failed", "inactive"), "the daemon has given up")
            status, body = running.ask()
            assert (status, body["code"]) == (503, "config")
            assert "budget_tokenz" in body["detail"]
            assert "budget_tokens" in body["hint"]
            assert running.show("ActiveState", running.socket) == "active"
        eventually(lambda: running.show("ActiveState") in ("failed", "inactive"), "the daemon has given up")
    # Mended: nothing has to be reset.
    assert running.finds("gyokuro") == ["tea:green"]


def test_a_service_that_systemd_gave_up_on_is_explained_to_the_client(running: Served) -> None:
    with running.dropin("[Unit]\nStartLimitBurst=2\n[Service]\nEnvironment=PYTHONHOME=/nowhere\n"):
        running.systemctl("restart", running.service)
        eventually(lambda: running.show("ActiveState", running.service) == "failed", "systemd gives up on the service")
        with pytest.raises(ConnectionError):
            running.ask()
        eventually(lambda: running.show("ActiveState", running.socket) == "failed", "the socket is closed")
        for command in (("retrieve", "gyokuro"), ("status",)):
            told = running.wikimem(*command, "--vault", running.name)
            assert told.returncode == 3
            assert f"{running.service} has failed" in told.stderr
            assert f"systemctl --user reset-failed {running.service} {running.socket}" in told.stderr
        told = running.wikimem("service", "status", running.name)
        assert told.returncode == 3
        assert "reset-failed" in told.stdout
    running.start()


def test_a_second_daemon_for_the_vault_is_refused_and_the_first_is_unharmed(running: Served) -> None:
    told = running.wikimem("serve", "--vault", str(running.vault))
    assert told.returncode == 75
    assert running.ask()[0] == 200


# --- what happens to the vault ------------------------------------------------------------------------------------


def test_a_vault_that_was_removed_and_made_again_can_be_written_again(running: Served) -> None:
    """`ReadWritePaths=` holds on to the folder that was there at the start; the new one is read-only."""
    if running.show("PrivateUsers") != "yes":
        pytest.skip("no sandbox here")
    before = running.pid()
    running.manager.run("mv", str(running.vault), f"{running.vault}.gone", check=True)
    eventually(lambda: running.ask()[1]["state"] == "degraded", "the missing folder is said")
    running.make_vault()
    try:
        # Nobody calls it meanwhile: it comes back by itself, not because a client waits.
        eventually(lambda: running.pid() not in (0, before), "a new process runs")
        told = running.wikimem("add", "--vault", running.name, "tea", "white", "Silver needle.")
        assert told.returncode == 0, told.stderr
        assert running.finds("needle") == ["tea:white"]
    finally:
        running.manager.run("rm", "-r", str(running.vault), check=True)
        running.manager.run("mv", f"{running.vault}.gone", str(running.vault), check=True)
        running.systemctl("restart", running.service)


def test_two_vaults_are_served_at_once_and_one_goes_without_the_other(running: Served) -> None:
    other = Served(running.installation, f"{running.name}-2", running.vault.parent / "Zweiter Tresor", running.env)
    other.make_vault()
    told = other.wikimem("service", "install", other.name, str(other.vault))
    assert told.returncode == 0, told.stdout + told.stderr
    assert other.pid() != running.pid()
    assert other.ask()[1]["path"] == str(other.vault)
    assert running.ask()[1]["path"] == str(running.vault)
    told = other.wikimem("service", "status", "--json")
    assert {one["name"] for one in json.loads(told.stdout)["services"]} >= {running.name, other.name}
    told = other.wikimem("service", "uninstall", other.name, "--purge")
    assert told.returncode == 0, told.stdout + told.stderr
    assert running.ask()[0] == 200
    assert not other.manager.run("ls", str(other.socket_file)).stdout


def test_a_disk_with_a_vault_can_be_unmounted_and_comes_back(running: Served) -> None:
    manager = running.manager
    if not isinstance(manager, PrivateManager):
        pytest.skip("mounting needs root")
    disk, files = manager.home / "stick", manager.home / ".stick-files"
    manager.run("mkdir", "-p", str(disk), str(files), check=True)

    def mount() -> None:
        # What the disk holds stays where it is between two mounts, as on a real one.
        assert manager.root("mount", "--bind", str(files), str(disk)).returncode == 0

    mount()
    stick = Served(running.installation, "stick", disk / "vault", running.env)
    stick.make_vault()
    told = stick.wikimem("service", "install", "stick", str(stick.vault))
    try:
        assert told.returncode == 0, told.stdout + told.stderr
        assert stick.finds("gyokuro") == ["tea:green"]
        told = manager.root("umount", str(disk))
        assert told.returncode == 0, told.stderr
        eventually(lambda: stick.ask()[1]["state"] == "degraded", "the disk that is away is said")
        assert not manager.run("ls", str(disk)).stdout, "nothing was written into the empty mount point"
        mount()
        eventually(lambda: stick.ask()[1]["state"] == "ok", "the vault is back")
        assert stick.wikimem("add", "--vault", "stick", "tea", "red", "Rooibos.").returncode == 0
        assert "Rooibos" in manager.run("cat", str(files / "vault/wiki/tea.md")).stdout
    finally:
        stick.wikimem("service", "uninstall", "stick", "--purge")
        manager.root("umount", str(disk))


# --- and away -----------------------------------------------------------------------------------------------------


def test_uninstalling_leaves_the_vault_and_nothing_else(running: Served) -> None:
    one = Served(running.installation, "short", running.vault.parent / "short lived", running.env)
    one.make_vault()
    before = listing(one)
    told = one.wikimem("service", "install", one.name, str(one.vault))
    assert told.returncode == 0, told.stdout + told.stderr
    assert one.wikimem("add", "--vault", one.name, "tea", "oolong", "Milky.").returncode == 0
    assert listing(one) != before
    told = one.wikimem("service", "uninstall", one.name, "--purge")
    assert told.returncode == 0, told.stdout + told.stderr
    assert listing(one) == before
    for unit in (one.service, one.socket):
        assert one.show("ActiveState", unit) == "inactive"
        assert one.show("UnitFileState", unit) == "disabled", "the template stays for the other vault"
        assert one.show("DropInPaths", unit).count("short") == 0
    assert one.systemctl("list-units", "--all", "--no-legend", "wikimem@short*").stdout == ""


def listing(served: Served) -> list[str]:
    """Everything in the home but the vault (the agent wrote to it), the environment, and the other service's state."""
    told = served.manager.run("find", str(served.vault.parent), "-printf", "%p %s\n")
    skipped = (str(served.vault), str(served.installation.venv), "state.sqlite3", "state/wikimem/notes")
    lines = [line for line in told.stdout.splitlines() if not any(one in line for one in skipped)]
    config = served.manager.run("cat", served.config_file).stdout
    return sorted([*lines, config])
