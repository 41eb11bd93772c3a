"""What `wikimem doctor` finds."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of one check.

    `error`: something does not work; `warning`: it will hurt; `note`: worth knowing; `ok`: looked at and right.
    `hint` is what to do next, empty only for `ok` and `note`.
    """

    level: Level
    check: str
    detail: str
    hint: str = ""


def verdict(findings: list[Finding]) -> int:
    """Return the exit status: 1 when something is to be done, else 0."""
    return int(any(finding.level in ("warning", "error") for finding in findings))
