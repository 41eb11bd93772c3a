"""The ways in which bytes reach a vault (obsidian.md 4.1), as functions that have finished when they return."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path


def in_place(path: Path, data: bytes) -> None:
    """Obsidian, VS Code, nano: truncate and write the same inode."""
    with path.open("wb") as file:
        file.write(data)


def in_steps(path: Path, data: bytes) -> None:
    """A slow writer: several writes before the close."""
    with path.open("wb", buffering=0) as file:
        for at in range(0, len(data), max(len(data) // 3, 1)):
            file.write(data[at : at + max(len(data) // 3, 1)])


def by_rename(path: Path, data: bytes) -> None:
    """Emacs, `sed -i`, Syncthing, most atomic writers: a temporary file takes the name."""
    temporary = path.with_name(f".{path.name}.{random.randrange(1 << 30)}.tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


def by_sync(path: Path, data: bytes) -> None:
    """Syncthing, Dropbox: as by rename, with the mtime of another machine, long ago."""
    temporary = path.with_name(f".syncthing.{path.name}.tmp")
    temporary.write_bytes(data)
    os.utime(temporary, (1_600_000_000, 1_600_000_000))
    temporary.replace(path)


def by_vim(path: Path, data: bytes) -> None:
    """Vim's default: the old file is renamed to a backup, a new one is made, the backup is removed."""
    backup = path.with_name(f"{path.name}~")
    existed = path.exists()
    if existed:
        path.rename(backup)
    path.write_bytes(data)
    if existed:
        backup.unlink()


def by_git(path: Path, data: bytes) -> None:
    """A checkout: unlink, then create."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def with_old_mtime(path: Path, data: bytes) -> None:
    """Obsidian Sync: in place, then the original times are set."""
    path.write_bytes(data)
    os.utime(path, (1_600_000_000, 1_600_000_000))


def same_size_same_mtime(path: Path, data: bytes) -> None:
    """Other bytes of the same length, with the very times that the file had."""
    if path.exists():
        before = path.stat()
        path.write_bytes(data)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        path.write_bytes(data)


def by_append(path: Path, data: bytes) -> None:
    """A logger: only the end is new where the start is the same."""
    old = path.read_bytes() if path.exists() else b""
    if data.startswith(old):
        with path.open("ab") as file:
            file.write(data[len(old) :])
    else:
        path.write_bytes(data)


SAVERS: tuple[Callable[[Path, bytes], None], ...] = (
    in_place,
    in_steps,
    by_rename,
    by_sync,
    by_vim,
    by_git,
    with_old_mtime,
    same_size_same_mtime,
    by_append,
)


class Gardener:
    """Does random things to the notes of a vault. `steps` counts what it did, by kind."""

    def __init__(self, root: Path, seed: int, *, notes: int = 12) -> None:
        self.root = root
        self.random = random.Random(seed)
        self.notes = notes
        self.steps: dict[str, int] = {}
        self._counter = 0

    def step(self) -> str:
        """Do one thing and return its name."""
        kinds = {
            self.save: 60,
            self.delete: 6,
            self.move: 8,
            self.copy_over: 3,
            self.folder_with_note: 5,
            self.move_folder: 3,
            self.remove_folder: 2,
            self.touch: 4,
            self.second_name: 3,
            self.day: 6,
        }
        action = self.random.choices(list(kinds), list(kinds.values()))[0]
        name = action()
        self.steps[name] = self.steps.get(name, 0) + 1
        return name

    def _folders(self) -> list[Path]:
        wiki = self.root / "wiki"
        return [wiki, *(path for path in sorted(wiki.rglob("*")) if path.is_dir())]

    def _notes(self) -> list[Path]:
        return sorted((self.root / "wiki").rglob("*.md"))

    def _some_path(self) -> Path:
        return self.random.choice(self._folders()) / f"note{self.random.randrange(self.notes)}.md"

    def text(self) -> bytes:
        """Return a note of a fixed size whose words occur nowhere else."""
        self._counter += 1
        items = self.random.randrange(1, 4)
        words = "".join(
            f"## item {number}\n\nword{self._counter:06d}x{number} in the text\n\n" for number in range(items)
        )
        return f"# note\n\n{words}".encode()

    def save(self) -> str:
        saver = self.random.choice(SAVERS)
        saver(self._some_path(), self.text())
        return saver.__name__

    def delete(self) -> str:
        notes = self._notes()
        if notes:
            self.random.choice(notes).unlink()
        return "delete"

    def move(self) -> str:
        notes = self._notes()
        if notes:
            self.random.choice(notes).replace(self._some_path())
        return "move"

    def copy_over(self) -> str:
        notes = self._notes()
        if notes:
            source, target = self.random.choice(notes), self._some_path()
            if not (target.exists() and target.samefile(source)):
                shutil.copy2(source, target)
        return "copy"

    def second_name(self) -> str:
        notes = self._notes()
        target = self._some_path()
        if notes and not target.exists():
            target.hardlink_to(self.random.choice(notes))
        return "hard-link"

    def folder_with_note(self) -> str:
        folder = self.random.choice(self._folders()) / f"folder{self.random.randrange(4)}"
        if len(folder.relative_to(self.root).parts) < 5:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "new.md").write_bytes(self.text())
        return "mkdir"

    def move_folder(self) -> str:
        folders = self._folders()[1:]
        if folders:
            source = self.random.choice(folders)
            target = self.root / "wiki" / f"folder{self.random.randrange(4, 9)}"
            if not target.exists() and not target.is_relative_to(source):
                source.rename(target)
        return "move-folder"

    def remove_folder(self) -> str:
        folders = self._folders()[1:]
        if folders:
            shutil.rmtree(self.random.choice(folders))
        return "rmtree"

    def touch(self) -> str:
        notes = self._notes()
        if notes:
            self.random.choice(notes).touch()
        return "touch"

    def day(self) -> str:
        day = self.root / "diary" / f"2026-07-{self.random.randrange(1, 29):02d}.md"
        self._counter += 1
        old = day.read_bytes() if day.exists() else b""
        by_append(day, old + f"## 10:{self._counter % 60:02d}\n\nword{self._counter:06d} of the day\n\n".encode())
        return "day"
