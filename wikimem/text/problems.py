"""A problem: something in a file that a person may want to mend. Reading never raises on content."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding in one file.

    `kind` is a stable slug such as `invalid-yaml` (documented in docs/format.md), `line` is 1-based (0: the whole
    file), `message` says what was seen, `hint` what to do about it.
    """

    kind: str
    line: int
    message: str
    hint: str = ""
