"""What is known of each row besides its words: columns that filters and windows select by, before any ranking."""

import sys
import zlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fnmatch import translate
from re import compile as compile_pattern
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from wikimem.pages.items import RecallItem
from wikimem.search.bm25 import BoolArray, IntArray
from wikimem.search.tokens import estimate_tokens
from wikimem.text.names import fold_name
from wikimem.text.tags import tag_matches

Value = TypeVar("Value", bound=Hashable)

_FIRST_CAPACITY = 256
_FEW_VALUES = 256
# In `vector_rows`: the item's vector was not looked up yet, or not found; the slot holds no item.
UNKNOWN, FREE = -1, -2
# How many recent filter values are remembered with what they let through.
_REMEMBERED = 16
_NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Filters:
    """Which items may be candidates. `category` is a glob, `tag` covers the tags nested below it.

    `since` and `until` are inclusive, in seconds since 1970 UTC; items without a `ts` fail them.
    """

    category: str | None = None
    owner: str | None = None
    tag: str | None = None
    since: int | None = None
    until: int | None = None

    def __bool__(self) -> bool:
        """Whether anything is filtered at all."""
        return any(part is not None for part in (self.category, self.owner, self.tag, self.since, self.until))


class Column(Generic[Value]):
    """One value a row, kept as a small number: a filter looks at each distinct value once."""

    def __init__(self) -> None:
        self._codes: dict[Value, int] = {}
        self._values: list[Value] = []
        self._passes: dict[str, list[bool]] = {}
        self._rows: IntArray = np.zeros(_FIRST_CAPACITY, np.int32)
        self._most = _FEW_VALUES

    def put(self, slot: int, value: Value) -> None:
        """Set a row's value."""
        if slot >= len(self._rows):
            self._rows = grown(self._rows, slot)
        code = self._codes.get(value)
        if code is None:
            if len(self._values) >= self._most:
                self._forget_unused()
            code = self._codes[value] = len(self._values)
            self._values.append(value)
        self._rows[slot] = code

    def _forget_unused(self) -> None:
        """Forget the values that no row has: tags come and go for as long as a daemon runs."""
        used, rows = np.unique(self._rows, return_inverse=True)
        self._rows = rows.astype(np.int32)
        self._values = [self._values[code] for code in used.tolist()]
        self._codes = {value: code for code, value in enumerate(self._values)}
        self._passes.clear()
        self._most = 2 * len(self._values) + _FEW_VALUES

    def where(self, asked: str, test: Callable[[Value], bool], top: int) -> BoolArray:
        """Return for each of the first `top` rows whether its value passes; `asked` names the test for next time."""
        passes = self._passes.pop(asked, [])
        passes.extend(map(test, self._values[len(passes) :]))
        self._passes[asked] = passes
        if len(self._passes) > _REMEMBERED:
            del self._passes[next(iter(self._passes))]
        if not passes:
            return np.zeros(top, np.bool_)
        return np.array(passes, np.bool_)[self._rows[:top]]


class Rows:
    """The items by slot, and their columns. A slot that is free holds no item and old values: mask by what lives.

    `days` are proleptic ordinals of diary entries, `vector_rows` the rows of the items' vectors (`search.likeness`).
    """

    def __init__(self) -> None:
        self.items: list[RecallItem | None] = []
        self.ties: npt.NDArray[np.uint32] = np.zeros(_FIRST_CAPACITY, np.uint32)
        self.days: IntArray = np.zeros(_FIRST_CAPACITY, np.int32)
        self.vector_rows: npt.NDArray[np.int64] = np.full(_FIRST_CAPACITY, FREE, np.int64)
        self._times: npt.NDArray[np.int64] = np.full(_FIRST_CAPACITY, _NO_TIME, np.int64)
        self._categories: Column[str] = Column()
        self._owners: Column[str | None] = Column()
        self._tags: Column[tuple[str, ...]] = Column()
        self._sizes: list[int] = []
        self._hashes: dict[int, str] = {}

    def put(self, slot: int, item: RecallItem, *, day: date | None = None) -> None:
        """Set a row's item; `day` is a diary entry's."""
        while len(self.items) <= slot:
            self.items.append(None)
            self._sizes.append(-1)
        if slot >= len(self.ties):
            self.ties, self.days = grown(self.ties, slot), grown(self.days, slot)
            self._times, self.vector_rows = grown(self._times, slot), grown(self.vector_rows, slot, FREE)
        self.items[slot] = item
        self._sizes[slot] = -1
        self._hashes.pop(slot, None)
        self.vector_rows[slot] = UNKNOWN
        # Equal scores are put in an order that does not depend on how the index came about.
        self.ties[slot] = zlib.crc32(item.address.encode("utf-8", "surrogatepass"))
        self.days[slot] = day.toordinal() if day is not None else 0
        self._times[slot] = _seconds(item.ts)
        self._categories.put(slot, fold_name(item.category))
        self._owners.put(slot, item.owner)
        self._tags.put(slot, item.tags)

    def moved(self, slot: int, item: RecallItem) -> None:
        """Set a row's item that differs from the one before in its line only: that is most of an edited file."""
        self.items[slot] = item

    def clear(self, slot: int) -> None:
        """Forget a row's item."""
        self.items[slot] = None
        self.vector_rows[slot] = FREE
        self._hashes.pop(slot, None)

    def hash(self, slot: int) -> str:
        """Return the content hash of a row's item, kept because vectors are looked up by it.

        Interned, as in the cache: with vectors there is one string of each hash, not three.
        """
        known = self._hashes.get(slot)
        if known is None:
            known = self._hashes[slot] = sys.intern(self.item(slot).hash)
        return known

    def item(self, slot: int) -> RecallItem:
        """Return a row's item; the row lives."""
        item = self.items[slot]
        if item is None:
            raise LookupError(f"slot {slot} is free")
        return item

    def size(self, slot: int) -> int:
        """Return the estimated tokens of a row's content."""
        size = self._sizes[slot]
        if size < 0:
            size = self._sizes[slot] = estimate_tokens(self.item(slot).content)
        return size

    def mask(self, filters: Filters, top: int) -> BoolArray:
        """Return for each of the first `top` rows whether it passes."""
        passed = np.ones(top, np.bool_)
        if filters.category is not None:
            glob = fold_name(filters.category)
            matches = compile_pattern(translate(glob)).match
            passed &= self._categories.where(glob, lambda category: matches(category) is not None, top)
        if filters.owner is not None:
            passed &= self._owners.where(filters.owner, lambda owner: owner == filters.owner, top)
        if filters.tag is not None:
            wanted = filters.tag
            passed &= self._tags.where(wanted, lambda tags: tag_matches(tags, wanted), top)
        if filters.since is not None or filters.until is not None:
            times = self._times[:top]
            passed &= times != _NO_TIME
            if filters.since is not None:
                passed &= times >= filters.since
            if filters.until is not None:
                passed &= times <= filters.until
        return passed


Kind = TypeVar("Kind", bound=np.generic)


def grown(rows: npt.NDArray[Kind], slot: int, filling: int = 0) -> npt.NDArray[Kind]:
    """Return a column with room for `slot` and half as much again."""
    more = np.full(max(slot + 1, len(rows) * 3 // 2), filling, rows.dtype)
    more[: len(rows)] = rows
    return more


def _seconds(ts: str | None) -> int:
    """Return a metadata time in seconds since 1970; a person may have written anything there."""
    if ts is None:
        return _NO_TIME
    try:
        moment = datetime.fromisoformat(ts)
    except ValueError:
        return _NO_TIME
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp())
