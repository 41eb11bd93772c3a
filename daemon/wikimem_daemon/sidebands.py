"""Sidebands: files beside the notes that somebody else of this process reads, such as `relations.jsonl`."""

from collections.abc import Callable, Mapping

from wikimem_daemon.disk import DiskView, Kind

Reader = Callable[[bytes | None], None]


class Sidebands:
    """Calls a file's reader with its bytes (None: no file) the first time and whenever they changed."""

    def __init__(self, disk: DiskView, readers: Mapping[str, Reader]) -> None:
        self._disk = disk
        self._readers = dict(readers)
        self._last: dict[str, bytes | None] = {}

    def take(self, path: str) -> bool:
        """Look at one file; say whether it is a sideband. One that cannot be read keeps what it was."""
        reader = self._readers.get(path)
        if reader is None:
            return False
        look = self._disk.look(path)
        if look.kind in (Kind.TEXT, Kind.MISSING):
            data = look.data if look.kind == Kind.TEXT else None
            if path not in self._last or self._last[path] != data:
                self._last[path] = data
                reader(data)
        return True

    def take_all(self) -> None:
        """Look at every one."""
        for path in self._readers:
            self.take(path)
