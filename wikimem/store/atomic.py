"""One durable write: a temporary file beside the target, fsync, replace, fsync of the folder."""

# ruff: noqa: PTH - names on disk need not be text that pathlib round-trips cheaply, and every call here is one step

import hashlib
import os
import secrets
from typing import Literal

from wikimem.errors import StorageError


class Replacer:
    """Writes and removes single files."""

    mode: Literal["lease", "basic"] = "basic"

    def write(self, path: str, target: str, data: bytes, based_on: str | None) -> os.stat_result:
        """Put `data` in the place of the bytes with the hash `based_on` (None: of no file)."""
        from wikimem.store.files import Stale  # noqa: PLC0415

        folder, name = os.path.split(target)
        temporary = f"{folder}/.{name}.wikimem-{secrets.token_hex(4)}"
        try:
            os.makedirs(folder, exist_ok=True)
            with open(temporary, "xb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            if _hash(target) != based_on:
                os.unlink(temporary)
                raise Stale(path)
            if based_on is not None:
                os.chmod(temporary, os.stat(target).st_mode & 0o7777)
            os.replace(temporary, target)
            return os.stat(target)
        except OSError as error:
            raise StorageError(f"{path}: write: {error.strerror}", path=path, step="write") from error

    def remove(self, path: str, target: str, based_on: str) -> None:
        """Remove the file that has the hash `based_on`."""
        from wikimem.store.files import Stale  # noqa: PLC0415

        try:
            if _hash(target) != based_on:
                raise Stale(path)
            os.unlink(target)
        except OSError as error:
            raise StorageError(f"{path}: remove: {error.strerror}", path=path, step="remove") from error


def _hash(target: str) -> str | None:
    try:
        with open(target, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except FileNotFoundError:
        return None
