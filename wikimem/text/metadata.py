"""The provenance comment: `<!-- wikimem: owner=… | source=… | ts=… -->`, the last non-blank line of an item."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from wikimem.errors import InvalidInput
from wikimem.text.decoding import replace_improper

_COMMENT = re.compile(r"[ \t]*<!--[ \t]*wikimem:(?P<fields>[^\n\r]*?)-->[ \t]*\Z")
_KEYS = {"owner": "owner", "source": "source_conv", "ts": "ts"}


@dataclass(frozen=True, slots=True)
class Metadata:
    """Provenance of one item. `extra` holds keys that this program does not know, as written, in order."""

    owner: str | None = None
    source_conv: str | None = None
    ts: str | None = None
    extra: tuple[tuple[str, str], ...] = ()


def normalise_ts(value: str) -> str | None:
    """Return an ISO-8601 time as UTC with second precision, or None when it is none; without an offset it is UTC."""
    try:
        moment = datetime.fromisoformat(value.strip())
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(timespec="seconds")


def given_ts(value: str | None) -> str | None:
    """Return the time that a caller gave, as UTC; raise `InvalidInput` for one that cannot be read."""
    if not value:
        return None
    ts = normalise_ts(value)
    if ts is None:
        raise InvalidInput(f"{value!r} is no time", hint="write it as 2026-07-10T03:00:00+00:00")
    return ts


def looks_like_metadata(line: str) -> bool:
    """Tell whether a line was meant as the comment, well-formed or not (a malformed one is content)."""
    return line.lstrip(" \t").startswith(("<!-- wikimem:", "<!--wikimem:"))


def parse_metadata(line: str) -> Metadata | None:
    """Return the fields of one line, or None when it is no metadata comment (then it is content).

    Every field must be `key=value`. A repeated key counts once, the last time. A `ts` that is no time stays among
    the unknown keys, so that nothing of it is lost when the item is written again. A comment without fields is
    valid: the writer uses it where an item needs an end of its own.
    """
    found = _COMMENT.match(line)
    if found is None or "-->" in found["fields"]:
        return None
    known: dict[str, str | None] = {}
    extra: list[tuple[str, str]] = []
    fields = found["fields"].strip()
    for part in fields.split("|") if fields else ():
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key:
            return None
        if key not in _KEYS:
            extra.append((key, value))
        elif key != "ts":
            known[_KEYS[key]] = value or None
        elif (moment := normalise_ts(value)) is not None:
            known["ts"] = moment
        elif value:
            extra.append((key, value))
    return Metadata(known.get("owner"), known.get("source_conv"), known.get("ts"), tuple(extra))


def clean_value(value: str) -> str:
    """Return a value that can stand in the comment: `|` becomes `/`, white space one space, `-->` cannot close it."""
    flat = " ".join(replace_improper(value).split())
    return flat.replace("|", "/").replace("-->", "--/")


def render_metadata(m: Metadata) -> str | None:
    """Return the comment's line, or None when no field is set. Fields in the seed's order, unknown keys last."""
    pairs = [("owner", m.owner), ("source", m.source_conv), ("ts", m.ts), *m.extra]
    fields = [f"{key}={clean_value(value)}" for key, value in pairs if value is not None and clean_value(value)]
    return f"<!-- wikimem: {' | '.join(fields)} -->" if fields else None
