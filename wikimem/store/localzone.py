"""The host's time zone as a `tzinfo` that knows daylight saving, which `datetime.astimezone()` alone forgets."""

import os
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_HOST_ZONE = Path("/etc/localtime")


def local_zone() -> tzinfo:
    """Return the zone of `$TZ`, else of the host, else today's fixed offset."""
    name = os.environ.get("TZ", "").removeprefix(":")
    try:
        if name.startswith("/"):
            return _from_file(Path(name))
        if name:
            return ZoneInfo(name)
        return _from_file(_HOST_ZONE)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # A POSIX rule such as `CET-1CEST` has no name in the database: the C library knows today's offset of it.
        return datetime.now().astimezone().tzinfo or UTC


def _from_file(path: Path) -> ZoneInfo:
    with path.open("rb") as file:
        return ZoneInfo.from_file(file, key=str(path))
