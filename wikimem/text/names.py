r"""Categories, item names and addresses: what may be written, what can be read, how names are matched.

A category key is the file's path below `wiki/` without `.md`, as UTF-8 text in which these are percent-encoded:
`:` (it ends the category in an address), control characters and line separators, bytes that are not UTF-8, a `%`
that stands before two hex digits, and the first digit of a path that reads as a day (days belong to the diary). So
every file has exactly one key and no two files share one.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from urllib.parse import unquote_to_bytes

from wikimem.errors import InvalidAddress, InvalidCategory, InvalidName

_SLUG = re.compile(r"[a-z0-9_][a-z0-9_-]*\Z")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_ENTRY = re.compile(r"((?:[01][0-9]|2[0-3]):[0-5][0-9])(?:#([1-9][0-9]{0,8}))?\Z")
_ESCAPED = re.compile("[\x00-\x1f\x7f-\x9f:\u2028\u2029\udc80-\udcff]|%(?=[0-9A-Fa-f]{2})")
_WEIGHT_SUFFIX = re.compile(r";\s*w\s*=\s*\S*\Z")
_UNWRITABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
# The characters that Obsidian turns into a space when it compares a link's `#` part with a heading.
_ANCHOR_BLANKS = re.compile(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\r\n\s]+")
RESERVED = ("[[", "]]", ":", "|", "#")
MAX_SLUG_BYTES = 200
MAX_NAME_CHARS = 1_000
"""Percent-encoded, two addresses of that length fit into the header of a request: what was written can be read."""


def collapse(text: str) -> str:
    """Return `text` with every run of white space as one space, and none at the ends."""
    return " ".join(text.split())


def fold_name(name: str) -> str:
    """Return the form under which item and category names match: NFC and collapsed white space, case kept."""
    if name.isascii():
        return " ".join(name.split())
    return " ".join(unicodedata.normalize("NFC", name).split())


def fold_heading(text: str) -> str:
    """Return the form in which Obsidian compares a heading with the `#` part of a link (obsidian.md, 1.5)."""
    return _ANCHOR_BLANKS.sub(" ", unicodedata.normalize("NFC", text)).strip().lower()


def is_day(category: str) -> bool:
    """Tell whether a category key is a day of the calendar, `YYYY-MM-DD`, and so belongs to the diary."""
    if not _DAY.match(category):
        return False
    try:
        date.fromisoformat(category)
    except ValueError:
        return False
    return True


def sanitize_item_name(name: str) -> str:
    """Return the name with white space collapsed; raise `InvalidName` for one that cannot be a heading and a link."""
    clean = collapse(name)
    if not clean:
        raise InvalidName("the item's name is empty", hint="give it a name; it becomes the `##` heading")
    if len(clean) > MAX_NAME_CHARS:
        raise InvalidName(
            f"the name is longer than {MAX_NAME_CHARS:,} characters", hint="put the text into the content"
        )
    for mark in RESERVED:
        if mark in clean:
            raise InvalidName(
                f"the name {clean!r} holds {mark!r}, which ends a name in a link",
                hint="leave out [[ ]] : | and #",
            )
    if _UNWRITABLE.search(clean):
        raise InvalidName(f"the name {clean!r} holds a control character or half of a surrogate pair")
    if _WEIGHT_SUFFIX.search(clean):
        raise InvalidName(f"the name {clean!r} ends like a link's weight", hint="leave out `; w=…`")
    return clean


def validate_category(category: str) -> str:
    """Return a category that a new file may get; raise `InvalidCategory` unless it is a slug and no day."""
    if not _SLUG.match(category):
        raise InvalidCategory(
            f"the category {category!r} is no slug",
            hint="use lower-case ASCII letters, digits, `_` and `-`, not starting with `-`",
        )
    if is_day(category):
        raise InvalidCategory(f"the category {category!r} is a day", hint="days belong to the diary")
    if len(category) > MAX_SLUG_BYTES:
        raise InvalidCategory(f"the category is longer than {MAX_SLUG_BYTES} characters", hint="choose a shorter one")
    return category


def category_of(path_stem: str) -> str:
    """Return the category key of a path below the wiki folder, without `.md`."""
    key = _ESCAPED.sub(_escape, path_stem)
    if is_day(key):
        key = f"%{ord(key[0]):02X}{key[1:]}"
    return key


def _escape(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogateescape"))


def path_stem_of(category: str) -> str:
    """Return the path below the wiki folder, without `.md`, of a category key; the inverse of `category_of`."""
    try:
        stem = unquote_to_bytes(category).decode("utf-8", "surrogateescape")
        canonical = category_of(stem)
    except UnicodeError:
        canonical = None
    if canonical is None or canonical != category:
        raise InvalidCategory(
            f"the category {category!r} is not written as categories are",
            hint="take it as `wikimem ls` prints it",
        )
    return stem


@dataclass(frozen=True, slots=True)
class Address:
    """What names one item: `category:name`, or `YYYY-MM-DD:HH:MM` with `#2`, `#3` for more entries at a minute."""

    category: str
    name: str
    ordinal: int = 1

    def __str__(self) -> str:
        suffix = f"#{self.ordinal}" if self.ordinal > 1 else ""
        return f"{self.category}:{self.name}{suffix}"


def parse_address(text: str) -> Address:
    """Return the address that `text` spells (split at the first colon); raise `InvalidAddress` when it is none."""
    category, colon, rest = text.partition(":")
    name = collapse(rest)
    if not colon or not category.strip() or not name:
        raise InvalidAddress(f"{text!r} is no address", hint="write `category:name`, or `YYYY-MM-DD:HH:MM`")
    if not is_day(category):
        return Address(category, name)
    entry = _ENTRY.match(name)
    if entry is None:
        raise InvalidAddress(
            f"{text!r} names a day, but no time of it",
            hint="write `YYYY-MM-DD:HH:MM`, with `#2` for the second entry at that minute",
        )
    return Address(category, entry[1], int(entry[2] or 1))
