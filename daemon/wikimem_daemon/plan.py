"""What to do about one path: the decision table of the reconcile, as data.

Two things are asked: what the disk shows now (`Sight`), and whether the file was known before. The table gives the
step. The same table serves a start, an event, an overflow, a burst, the timer, a resume and the root's return.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Sight(StrEnum):
    """What the disk shows at a path, as far as the decision depends on it."""

    UNCHANGED = "unchanged"  # a settled stamp is the same
    SAME_BYTES = "same-bytes"  # the stamp moved, the hash did not
    NEW_TEXT = "new-text"  # other bytes than before, or never read
    EMPTIED = "emptied"  # size 0 where there was text, not for long yet
    WRITING = "writing"  # somebody has it open for writing, or it changed under the read
    MARKERS = "git-markers"  # git has written a conflict into it
    TOO_LARGE = "too-large"
    UNREADABLE = "unreadable"
    ELSEWHERE = "elsewhere"  # a symlink that is not followed
    NOT_OURS = "not-ours"  # a folder, a FIFO, a name that the layout does not read
    MISSING = "missing"  # its folder is there and does not hold it
    PLACE_GONE = "place-gone"  # its root or top folder is missing, unmounted or unreadable


class Step(StrEnum):
    """What is done."""

    NOTHING = "nothing"
    RESTAMP = "restamp"  # remember the new stamp; no answer changes
    SERVE = "serve"  # take the text: search follows at once
    WAIT = "wait"  # keep the last good answers, mark them, look again soon
    HOLD = "hold"  # keep the last good answers, mark them, until the disk shows something else
    REPORT = "report"  # nothing to keep: list a problem, mark the answers
    DROP = "drop"  # its items leave the answers now; consequences wait


KNOWN, NEW = True, False

# One line a sight: (when the file was known, when it is new).
_ROWS: Mapping[Sight, tuple[Step, Step]] = {
    Sight.UNCHANGED: (Step.NOTHING, Step.SERVE),
    Sight.SAME_BYTES: (Step.RESTAMP, Step.SERVE),
    Sight.NEW_TEXT: (Step.SERVE, Step.SERVE),
    Sight.EMPTIED: (Step.WAIT, Step.WAIT),
    Sight.WRITING: (Step.WAIT, Step.WAIT),
    Sight.MARKERS: (Step.HOLD, Step.REPORT),
    Sight.TOO_LARGE: (Step.DROP, Step.NOTHING),
    Sight.UNREADABLE: (Step.HOLD, Step.REPORT),
    Sight.ELSEWHERE: (Step.DROP, Step.NOTHING),
    Sight.NOT_OURS: (Step.DROP, Step.NOTHING),
    Sight.MISSING: (Step.DROP, Step.NOTHING),
    Sight.PLACE_GONE: (Step.HOLD, Step.NOTHING),
}

DECISIONS: Mapping[tuple[Sight, bool], Step] = MappingProxyType(
    {(sight, known): row[0] if known else row[1] for sight, row in _ROWS.items() for known in (KNOWN, NEW)}
)


def decide(sight: Sight, *, known: bool) -> Step:
    """Return the step for what is seen at a path."""
    return DECISIONS[sight, known]


def is_withheld(sight: Sight) -> bool:
    """Say whether the text of a file is withheld from us, which is never taken for deleted."""
    return DECISIONS[sight, KNOWN] in (Step.WAIT, Step.HOLD)


# How long things are given, in seconds (obsidian.md 4.3 and concurrency.md give the ranges).
SETTLE_S = 0.15  # a fresh query waits for this much quiet after a file's last write
EMPTY_S = 2.0  # an empty file where a note was: many editors truncate, then write
NEW_EMPTY_S = 0.15  # a new note is empty until somebody types; nothing is lost by taking it
OPEN_QUIET_S = 2.0  # an open writer that is quiet for so long is read as it stands
OPEN_CAP_S = 3.0  # a writer that never pauses is read at least so often
GRACE_MISSING_S = 1.0  # vim and git take a name away and bring it back
GRACE_SHORTENED_S = 2.0  # cut here, about to be pasted there
GRACE_SHRUNK_S = 10.0  # a file that lost most of its items in one step
GRACE_MASS_S = 60.0  # the vault lost most of its files at once


@dataclass(frozen=True, slots=True)
class Loss:
    """How much went in one step: `of` items were in the file, `lost` are gone; `whole`: the file itself is."""

    lost: int
    of: int
    whole: bool


def is_shrunk(loss: Loss) -> bool:
    """Say whether a file lost most of its items at once, which is more often an accident than a wish."""
    return not loss.whole and loss.of >= 4 and loss.lost * 2 > loss.of


def is_mass_loss(files_gone: int, files_known: int) -> bool:
    """Say whether most of the vault went at once."""
    return files_gone >= 20 and files_gone * 2 > files_known


def grace(loss: Loss) -> float:
    """Return the seconds for which the consequences of a loss wait."""
    if loss.whole:
        return GRACE_MISSING_S
    return GRACE_SHRUNK_S if is_shrunk(loss) else GRACE_SHORTENED_S


TYPING_S = 30.0
_KEPT_SHARE = 0.8


def is_typing(age_s: float, before: str, after: str) -> bool:
    """Say whether `before` was but a moment of somebody's typing: it lived shortly and `after` still holds it.

    Obsidian saves every 2 s while someone types; a version of each would bury the ones that matter.
    """
    if age_s > TYPING_S:
        return False
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    return head + tail >= _KEPT_SHARE * len(before)


def _common(left: str, right: str) -> int:
    """Return how many characters two texts begin with alike; halving, because a loop over 5 MB stops everything."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low
