"""What a model is shown: answers no longer than it can take, without what says nothing, and errors with its next step.

No SDK is imported here.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from wikimem.errors import AppendOnly, Conflict, InvalidInput, NotFound, WikimemError

MOST_TEXT: Final = 16_000
MOST_ANSWER: Final = 40_000
"""Characters of one text, and of all texts of an answer: clients refuse or cut what is longer by rules of their own."""

_PREVIEW: Final = 160
_TEXTS: Final = frozenset({"content", "theirs"})
_CUT: Final = "long texts are cut: `content_chars` is the whole length, and `get` with `offset` reads on"

# What is of use at a shell or to who speaks HTTP; a model has neither.
_FOR_OTHERS: Final = re.compile(r"GET /|--help|`wikimem (?:ls|status)|by hand")


def slim(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer without nulls and empty lists of complaints."""
    kept = {name: _slim_value(value) for name, value in answer.items() if value is not None}
    for name, usual in (("partial", False), ("degraded", []), ("dropped", []), ("unresolved_links", [])):
        if kept.get(name) == usual:
            del kept[name]
    return kept


def _slim_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _slim_value(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_slim_value(inner) for inner in value]
    return value


def without(answer: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return a slim answer without some of its parts."""
    return {name: value for name, value in slim(answer).items() if name not in names}


def preview(content: str) -> str:
    """Return the beginning of a text on one line."""
    flat = " ".join(content.split())
    return flat if len(flat) <= _PREVIEW else f"{flat[:_PREVIEW].rstrip()}…"


def bounded(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer whose texts are cut to what a model takes; what was cut says how long it is.

    The first ones have the room; of the others the beginning is left.
    """
    room = _Room()
    shown: dict[str, Any] = room.fit(answer)
    return {**shown, "cut": _CUT} if room.cut else shown


class _Room:
    def __init__(self) -> None:
        self._left = MOST_ANSWER
        self.cut = False

    def fit(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.fit(inner) for inner in value]
        if not isinstance(value, Mapping):
            return value
        shown = {}
        for name, inner in value.items():
            is_text = name in _TEXTS and isinstance(inner, str)
            shown[name] = self._text(inner) if is_text else self.fit(inner)
            if is_text and len(shown[name]) < len(inner):
                shown["content_chars"] = len(inner)
        return shown

    def _text(self, text: str) -> str:
        most = max(_PREVIEW, min(MOST_TEXT, self._left))
        self._left -= min(len(text), most)
        self.cut = self.cut or len(text) > most
        return text[:most]


def told(error: WikimemError | OSError, takes: str = "") -> str:
    """Return what a model is told: what happened, what to do, and of a conflict the text that is there now.

    `takes`: the arguments of the tool that was called.
    """
    if not isinstance(error, WikimemError):
        return f"{error.strerror or error}\ntry again; if it stays so, tell the user"
    lines = [error.message, _hint(error, takes)]
    if isinstance(error, Conflict):
        theirs = bounded({"current_hash": error.current_hash, "theirs": error.theirs})
        lines.append(json.dumps(theirs, ensure_ascii=False))
    return "\n".join(line for line in lines if line)


def _hint(error: WikimemError, takes: str) -> str:
    if error.hint and not _FOR_OTHERS.search(error.hint):
        return error.hint
    if isinstance(error, NotFound):
        return "`retrieve` finds the addresses that there are, and `list` with a category lists them"
    if isinstance(error, AppendOnly):
        return "write a new entry with `diary`, or ask the user to edit the day's file"
    if isinstance(error, InvalidInput):
        return takes and f"it takes: {takes}"
    return "try again; if it stays so, ask the user to run `wikimem status`"
