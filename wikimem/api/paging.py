"""Pages of a list: the opaque `after` token, and a cap on what one page weighs."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from wikimem.errors import InvalidCursor

T = TypeVar("T")

MAX_PAGE_BYTES: Final = 2_000_000
"""About; one entry is always given. Dumping more JSON than this at once would hold up every other caller."""


def page_of(
    entries: Sequence[T],
    *,
    key: Callable[[T], str],
    limit: int,
    after: str | None,
    weight: Callable[[T], int] = lambda _: 0,
) -> tuple[list[T], str | None]:
    """Return a page and the token of the next one (None: this was the last).

    The token names the last entry and its place. If the list has changed meanwhile the entry is looked for, so that
    nothing which stayed is skipped; if it is gone itself, its place is taken.
    """
    start = _start(entries, key, after) if after else 0
    end, weighed = start, 0
    while end < len(entries) and end - start < limit:
        weighed += weight(entries[end])
        if weighed > MAX_PAGE_BYTES and end > start:
            break
        end += 1
    following = _token(end, key(entries[end - 1])) if end < len(entries) else None
    return list(entries[start:end]), following


def _start(entries: Sequence[T], key: Callable[[T], str], after: str) -> int:
    place, name = _read(after)
    if 0 < place <= len(entries) and key(entries[place - 1]) == name:
        return place
    found = next((index for index, entry in enumerate(entries) if key(entry) == name), None)
    return min(place, len(entries)) if found is None else found + 1


def _token(place: int, name: str) -> str:
    text = json.dumps([place, name], ensure_ascii=True, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read(token: str) -> tuple[int, str]:
    try:
        place, name = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (binascii.Error, ValueError, TypeError) as error:
        raise _unknown() from error
    if not isinstance(place, int) or isinstance(place, bool) or not isinstance(name, str) or place < 0:
        raise _unknown()
    return place, name


def _unknown() -> InvalidCursor:
    return InvalidCursor("`after` is not the `next` of a page.", hint="Leave it out to begin at the first page.")
