"""What a write is based on: the hash of the bytes that it edited, and what is raised when they are gone."""

import hashlib


class Stale(Exception):
    """The file no longer holds the bytes that the write was based on; nothing was changed. Read it and redo."""


def bytes_hash(data: bytes) -> str:
    """Return the sha256 (hex) of a file's bytes."""
    return hashlib.sha256(data).hexdigest()
