"""The names of files that a write needs beside its target, and how to know them again after a crash."""

import os
import re
import secrets
from dataclasses import dataclass
from typing import Literal

LONGEST_PART = 200  # bytes of the target's name that are kept: a name may have 255

# `tmp`: a new file that is being filled; `new`: one that is about to be put in place, later what it displaced; `old`:
# a file on its way out; `undo`: both texts of a file with several links, which is written in place.
LeftoverKind = Literal["tmp", "new", "old", "undo"]

_KINDS: dict[str, LeftoverKind] = {"tmp": "tmp", "new": "new", "old": "old", "undo": "undo"}
_NAME = re.compile(r"\.(?P<name>.+)\.wikimem-(?P<kind>tmp|new|old|undo)-[0-9a-f]{8}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Leftover:
    """A file of ours in `folder`. `target` is the name that it belongs to, None when that was too long to keep."""

    folder: str
    name: str
    kind: LeftoverKind
    target: str | None


def leftover_path(target: str, kind: LeftoverKind) -> str:
    """Return a fresh name beside the target: a dot-name that no reader takes for a note, and that sorts with it."""
    folder, name = os.path.split(target)
    return f"{folder}/.{_part(name)}.wikimem-{kind}-{secrets.token_hex(4)}"


def read_leftover(folder: str, name: str) -> Leftover | None:
    """Return what a name in a folder says, None when it is none of ours."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    part = match["name"]
    return Leftover(folder, name, _KINDS[match["kind"]], part if len(os.fsencode(part)) < LONGEST_PART else None)


def belongs_to(name: str, target_name: str) -> bool:
    """Say whether a name in a folder is a leftover of this target."""
    return name.startswith(f".{_part(target_name)}.wikimem-") and _NAME.fullmatch(name) is not None


def _part(name: str) -> str:
    return os.fsdecode(os.fsencode(name)[:LONGEST_PART])
