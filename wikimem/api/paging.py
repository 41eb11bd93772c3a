"""Pages of a list: the opaque `after` token, and a cap on what a page or an answer weighs."""

import base64
import binascii
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final, TypeVar

from wikimem.errors import InvalidCursor

T = TypeVar("T")

MAX_PAGE_BYTES: Final = 2_000_000
"""About; one entry is always given. Dumping more JSON than this at once would hold up every other caller."""

MAX_ANSWER_BYTES: Final = 2 * MAX_PAGE_BYTES
"""Of an answer that has no pages, or pages of its own."""

_LIST_DIGITS: Final = 8


def page_of(
    entries: Iterable[T],
    *,
    key: Callable[[T], str],
    limit: int,
    after: str | None,
    of: tuple[object, ...] = (),
    weight: Callable[[T], int] = lambda _: 0,
) -> tuple[list[T], str | None]:
    """Return a page and the token of the next one (None: this was the last). No more is taken than is needed.

    `of` says which list it is, with what it was filtered by: a token of another list is refused, because the place
    that it names is a wrong one here.

    The token names the last entry and its place. If the list has changed meanwhile the entry is looked for, so that
    nothing which stayed is skipped; if it is gone itself, its place is taken.
    """
    listed = hashlib.sha256(repr(of).encode("utf-8", "surrogatepass")).hexdigest()[:_LIST_DIGITS]
    rest, start = _from(entries, key, after, listed) if after else (iter(entries), 0)
    page: list[T] = []
    weighed = 0
    for entry in rest:
        weighed += weight(entry)
        if len(page) == limit or (page and weighed > MAX_PAGE_BYTES):
            return page, _token(start + len(page), key(page[-1]), listed)
        page.append(entry)
    return page, None


def fitting(entries: Iterable[T], weight: Callable[[T], int]) -> list[T]:
    """Return as many of the first entries as weigh no more than `MAX_ANSWER_BYTES`; one is always given."""
    kept: list[T] = []
    weighed = 0
    for entry in entries:
        weighed += weight(entry)
        if kept and weighed > MAX_ANSWER_BYTES:
            break
        kept.append(entry)
    return kept


def _from(entries: Iterable[T], key: Callable[[T], str], after: str, listed: str) -> tuple[Iterator[T], int]:
    """Return the entries behind the one that a token names, and how many lie before them."""
    place, name, of = _read(after)
    if of != listed:
        raise InvalidCursor(
            "`after` is the `next` of another list.",
            hint="Ask with the same filter as the page before, or leave `after` out to begin at the first page.",
        )
    rest = iter(entries)
    ahead = list(islice(rest, place))
    if len(ahead) == place > 0 and key(ahead[-1]) == name:
        return rest, place
    everything = [*ahead, *rest]
    found = next((index for index, entry in enumerate(everything) if key(entry) == name), None)
    start = min(place, len(everything)) if found is None else found + 1
    return iter(everything[start:]), start


def _token(place: int, name: str, listed: str) -> str:
    text = json.dumps([place, name, listed], ensure_ascii=True, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read(token: str) -> tuple[int, str, str]:
    try:
        place, name, listed = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (binascii.Error, ValueError, TypeError, RecursionError) as error:
        raise _unknown() from error
    # A place beyond what an iterator can count is no place either.
    if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place <= sys.maxsize:
        raise _unknown()
    if not isinstance(name, str) or not isinstance(listed, str):
        raise _unknown()
    return place, name, listed


def _unknown() -> InvalidCursor:
    return InvalidCursor("`after` is not the `next` of a page.", hint="Leave it out to begin at the first page.")
