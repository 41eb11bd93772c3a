"""Which item is which after an edit: ids that survive renames and moves.

An item is the same when its key (name, and the ordinal among a minute's diary entries) is the same. What is left over
on both sides is paired: an equal text that is unique on both sides, then, inside one file, a body or a heading that
grew out of the other. What is not certain is not paired: a wrong pair would redirect links.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import add

from wikimem.pages.items import RecallItem

SIMILAR = 0.6
_COMPARE_CHARS = 4000  # beyond this a body's head decides
_LONGEST_WORDS = 20
_MAX_PAIRS = 400  # a file that was rewritten from end to end has no half-typed heading in it

Inode = tuple[int, int]
NO_INODE: Inode = (0, 0)


@dataclass(frozen=True, slots=True)
class Held:
    """An item that has an id. `position` is its index in its file, `file_hash` and `inode` are its file's."""

    id: str
    path: str
    item: RecallItem
    position: int = 0
    file_hash: bytes = b""
    inode: Inode = NO_INODE


@dataclass(frozen=True, slots=True)
class New:
    """An item that no id is known for yet."""

    path: str
    item: RecallItem
    position: int = 0
    file_hash: bytes = b""
    inode: Inode = NO_INODE


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file before and after: `kept` pairs an item with what it is now, under the same key."""

    kept: tuple[tuple[Held, RecallItem], ...]
    removed: tuple[Held, ...]
    added: tuple[New, ...]


def diff_file(
    path: str, before: Sequence[Held], after: Sequence[RecallItem], file_hash: bytes = b"", inode: Inode = NO_INODE
) -> FileDiff:
    """Compare a file's items by key. An entry whose text moved to another ordinal of its minute is kept by text."""
    if not before:
        come = (New(path, item, position, file_hash, inode) for position, item in enumerate(after))
        return FileDiff((), (), tuple(come))
    unclaimed = list(before)
    kept: list[tuple[Held, RecallItem]] = []
    waiting = list(enumerate(after))
    for same in (_same_all, _same_text, _same_key):
        by_key: dict[object, list[Held]] = defaultdict(list)
        for held in unclaimed:
            by_key[same(held.item)].append(held)
        rest: list[tuple[int, RecallItem]] = []
        for position, item in waiting:
            claims = by_key.get(same(item))
            if claims:
                kept.append((claims.pop(0), item))
            else:
                rest.append((position, item))
        waiting = rest
        claimed = {held.id for held, _ in kept}
        unclaimed = [held for held in unclaimed if held.id not in claimed]
    added = tuple(New(path, item, position, file_hash, inode) for position, item in waiting)
    return FileDiff(tuple(kept), tuple(unclaimed), added)


def _same_all(item: RecallItem) -> object:
    return item.name, item.ordinal, item.content


def _same_text(item: RecallItem) -> object:
    return item.name, item.content


def _same_key(item: RecallItem) -> object:
    return item.name, item.ordinal


# --------------------------------------------------------------------- pairing

KeyOf = Callable[[Held | New], object]


def _place(one: Held | New) -> object:
    """Give the same key in the same file: it was missing for a moment, as during vim's `:w`."""
    return one.path, one.item.name, one.item.ordinal


def _inode_and_bytes(one: Held | New) -> object:
    """Give the same inode with the same bytes: the file was moved. An inode alone may be a new file in an old bed."""
    known = one.file_hash and one.inode != NO_INODE
    return (one.inode, one.file_hash, one.item.name, one.item.ordinal) if known else None


def _bytes(one: Held | New) -> object:
    """Give the same bytes under another path: the file was moved by a copy, or by git."""
    return (one.file_hash, one.item.name, one.item.ordinal) if one.file_hash else None


def _text(one: Held | New) -> object:
    """Give the same name and body in another file: the item was moved."""
    return (one.item.name, one.item.content) if one.item.content else None


def _body(one: Held | New) -> object:
    """Give the same body under another name: the heading was renamed. An empty body says nothing across files."""
    return one.item.content or ("empty", one.path)


_KEYS: tuple[KeyOf, ...] = (_place, _inode_and_bytes, _bytes, _text, _body)


class Pool:
    """Items that left their place and may turn up again, found by every key that says "the same"."""

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}
        self._found: tuple[dict[object, dict[str, None]], ...] = tuple({} for _ in _KEYS)
        self._in_file: dict[object, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Held]:
        return iter(list(self._held.values()))

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._held

    def add(self, held: Held) -> None:
        """Take in an item that left."""
        self._held[held.id] = held
        for key_of, found in zip(_KEYS, self._found, strict=True):
            key = key_of(held)
            if key is not None:
                found.setdefault(key, {})[held.id] = None
        self._in_file.setdefault(held.path, {})[held.id] = None

    def take(self, item_id: str) -> Held:
        """Return an item and let it go."""
        held = self._held[item_id]
        self.discard(item_id)
        return held

    def discard(self, item_id: str) -> None:
        """Let an item go, if it is here."""
        held = self._held.pop(item_id, None)
        if held is None:
            return
        for key_of, found in zip(_KEYS, self._found, strict=True):
            _unlist(found, key_of(held), item_id)
        _unlist(self._in_file, held.path, item_id)

    def pair(self, added: Iterable[New]) -> tuple[list[tuple[Held, New]], list[New]]:
        """Take out the items that `added` are, with what each is now; return them and what is really new."""
        rest = list(added)
        pairs: list[tuple[Held, New]] = []
        for key_of, found in zip(_KEYS, self._found, strict=True):
            if rest and self._held:
                rest = self._pair_unique(key_of, found, rest, pairs)
        if rest and self._held:
            rest = self._pair_grown(rest, pairs)
        return pairs, rest

    def _pair_unique(
        self, key_of: KeyOf, found: dict[object, dict[str, None]], added: list[New], pairs: list[tuple[Held, New]]
    ) -> list[New]:
        keys = [key_of(one) for one in added]
        count = Counter(keys)
        rest: list[New] = []
        for key, one in zip(keys, added, strict=True):
            ids = found.get(key) if key is not None and count[key] == 1 else None
            if ids is None or len(ids) != 1:
                rest.append(one)
                continue
            held = self._held[next(iter(ids))]
            self.discard(held.id)
            pairs.append((held, one))
        return rest

    def _pair_grown(self, added: list[New], pairs: list[tuple[Held, New]]) -> list[New]:
        by_path: dict[str, list[New]] = defaultdict(list)
        for one in added:
            by_path[one.path].append(one)
        taken: set[int] = set()
        for path, news in by_path.items():
            helds = [self._held[item_id] for item_id in self._in_file.get(path, ())]
            if 0 < len(helds) * len(news) <= _MAX_PAIRS:
                for held, one in grown(helds, news):
                    self.discard(held.id)
                    pairs.append((held, one))
                    taken.add(id(one))
        return [one for one in added if id(one) not in taken]


def _unlist(found: dict[object, dict[str, None]], key: object, item_id: str) -> None:
    ids = found.get(key)
    if ids is not None:
        ids.pop(item_id, None)
        if not ids:
            del found[key]


def grown(helds: Sequence[Held], news: Sequence[New]) -> list[tuple[Held, New]]:
    """Pair items of one file whose heading or body grew out of the other: the 2 s autosave of somebody who types."""
    old, come = [_Text.of(held) for held in helds], [_Text.of(one) for one in news]
    scored = sorted(
        ((likeness(held, one), h, n) for h, held in enumerate(old) for n, one in enumerate(come)),
        key=lambda entry: (-entry[0], entry[1], entry[2]),
    )
    pairs: list[tuple[Held, New]] = []
    used_old: set[int] = set()
    used_new: set[int] = set()
    for score, h, n in scored:
        if score < SIMILAR:
            break
        # Two that are equally like it: which of them it is cannot be told.
        rival = any(s == score and (oh == h) != (on == n) for s, oh, on in scored)
        if h in used_old or n in used_new or rival:
            continue
        pairs.append((helds[h], news[n]))
        used_old.add(h)
        used_new.add(n)
    return pairs


@dataclass(frozen=True, slots=True)
class _Text:
    """What of an item is compared: the head of its body, and how often each word (or pair of characters) is in it."""

    name: str
    body: str
    position: int
    parts: Counter[str]

    @classmethod
    def of(cls, one: Held | New) -> "_Text":
        body = one.item.content[:_COMPARE_CHARS]
        words = body.split()
        # A script without spaces has few words and long ones.
        spaced = len(words) * _LONGEST_WORDS > len(body)
        return cls(one.item.name, body, one.position, Counter(words if spaced else map(add, body, body[1:])))


def likeness(before: _Text, after: _Text) -> float:
    """Return 0 to 1: how likely it is that the one became the other.

    A half-typed heading is the beginning of the next one and has little body yet, so there the place decides. Else
    the share of common words does (Dice's coefficient).
    """
    same_place = before.position == after.position
    typed_on = after.name.startswith(before.name) or before.name.startswith(after.name)
    if typed_on and same_place and (after.body.startswith(before.body) or before.body.startswith(after.body)):
        return 0.95
    total = before.parts.total() + after.parts.total()
    if not before.body or not after.body or not total:
        return 0.0
    share = 2 * (before.parts & after.parts).total() / total
    return min(0.9, share) + (0.05 if same_place else 0.0)
