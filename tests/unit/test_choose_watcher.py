from collections.abc import Mapping
from pathlib import Path

import pytest

from wikimem_daemon.choose import Makers, choose, fall_back, file_system
from wikimem_daemon.watcher import Mode, Observation, watches_exhausted

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:25 / /dev/shm rw - tmpfs tmpfs rw
40 22 0:40 / /home/ann/nas rw - nfs4 server:/export rw
41 40 0:41 / /home/ann/nas/local rw - xfs /dev/sdb1 rw
42 22 0:42 / /mnt/with\\040space rw - fuse.sshfs host: rw
43 22 0:43 / /mnt/c rw - 9p C: rw
44 22 254:1 / /srv rw - ext4 /dev/vdb rw
45 44 0:45 / /srv rw - cifs //box/share rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ann/notes", "ext4"),
        ("/home/ann/nas/notes", "nfs4"),
        ("/home/ann/nas/local/notes", "xfs"),
        ("/home/ann/nasty", "ext4"),
        ("/mnt/with space/notes", "fuse.sshfs"),
        ("/mnt/c/Users/ann", "9p"),
        ("/srv/notes", "cifs"),
        ("/dev/shm", "tmpfs"),
    ],
)
def test_the_file_system_of_a_path_is_that_of_the_mount_that_covers_it(path: str, kind: str) -> None:
    assert file_system(Path(path), MOUNTS) == kind


def test_a_mount_table_that_cannot_be_read_names_nothing() -> None:
    assert file_system(Path("/x"), "nonsense\n") == ""


class NamedWatcher:
    """A watcher of a mode that does nothing."""

    def __init__(self, mode: Mode) -> None:
        self.mode: Mode = mode
        self.exact = mode == "inotify"
        self.writing: Mapping[str, float] = {}
        self.watches = 0

    def start(self) -> None: ...
    def enter(self, folder: str) -> None: ...
    def follow(self, path: str, target: str) -> None: ...
    def watch_file(self, path: str) -> bool:
        del path
        return False

    def keep_only(self, folders: set[str]) -> None: ...
    def forget_writing(self, path: str) -> None: ...
    def drain(self) -> Observation:
        return Observation()

    def attach(self, loop: object, wake: object) -> None: ...
    def close(self) -> None: ...


MAKERS = Makers(
    inotify=lambda _root, _now: NamedWatcher("inotify"),
    polling=lambda _root, _poll_s: NamedWatcher("polling"),
    native=lambda _root: NamedWatcher("native"),
)


@pytest.mark.parametrize(
    ("mode", "kinds", "chosen"),
    [
        ("auto", {}, "inotify"),
        ("auto", {"wiki": "nfs4"}, "polling"),
        ("auto", {"": "fuse.sshfs"}, "polling"),
        ("auto", {"": ""}, "polling"),
        ("inotify", {"": "nfs4"}, "inotify"),
        ("native", {"": "nfs4"}, "inotify"),
        ("polling", {}, "polling"),
        ("poll", {}, "polling"),
    ],
)
def test_which_watcher_a_setting_and_a_file_system_give_on_linux(
    mode: str, kinds: dict[str, str], chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path.resolve()
    table = {real / name: kind for name, kind in kinds.items()}
    monkeypatch.setattr("wikimem_daemon.choose.file_system", lambda path: table.get(path, "ext4"))
    monkeypatch.setattr("wikimem_daemon.choose.sys.platform", "linux")
    choice = choose(real, ("wiki", "diary"), mode, poll_s=1, make=MAKERS)
    assert choice.watcher.mode == chosen
    assert bool(choice.reason) == (mode == "auto" and chosen == "polling")


@pytest.mark.parametrize(("mode", "chosen"), [("auto", "native"), ("native", "native"), ("polling", "polling")])
def test_elsewhere_watchfiles_is_native_unless_polling_is_asked_for(
    mode: str, chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikimem_daemon.choose.sys.platform", "darwin")
    assert choose(tmp_path, (), mode, poll_s=1, make=MAKERS).watcher.mode == chosen


def test_a_fallback_says_which_limit_to_raise(tmp_path: Path) -> None:
    error = watches_exhausted("fs.inotify.max_user_watches")
    choice = fall_back(tmp_path, error, poll_s=1, make=MAKERS)
    assert choice.watcher.mode == "polling"
    assert "fs.inotify.max_user_watches" in choice.reason
    assert "sysctl fs.inotify.max_user_watches=" in choice.hint
