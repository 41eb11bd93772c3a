"""Which item is which after an edit: ids that survive renames and moves.

An item is the same when its key (name, and the ordinal among a minute's diary entries) is the same. What is left over
on both sides is paired: an equal body that is unique on both sides, then, inside one file, a body or a heading that
grew out of the other. What is not certain is not paired: a wrong pair would redirect links.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from wikimem.pages.items import RecallItem

SIMILAR = 0.6
_COMPARE_CHARS = 4000  # beyond this a body's head decides: the comparison is quadratic in the worst case
_MAX_CANDIDATES = 30

KeyOf = Callable[[str, bytes, RecallItem], object]


@dataclass(frozen=True, slots=True)
class Held:
    """An item with its id and the place it was in. `position` is its index among the file's items."""

    id: str
    path: str
    item: RecallItem
    position: int = 0
    file_hash: bytes = b""


@dataclass(frozen=True, slots=True)
class New:
    """An item that no id is known for yet."""

    path: str
    item: RecallItem
    position: int = 0
    file_hash: bytes = b""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file before and after: `kept` pairs an item with what it is now, under the same key."""

    kept: tuple[tuple[Held, RecallItem], ...]
    removed: tuple[Held, ...]
    added: tuple[New, ...]


def diff_file(path: str, before: Sequence[Held], after: Sequence[RecallItem], file_hash: bytes = b"") -> FileDiff:
    """Compare a file's items by key. An entry whose text moved to another ordinal of its minute is kept by text."""
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
    added = tuple(New(path, item, position, file_hash) for position, item in waiting)
    return FileDiff(tuple(kept), tuple(unclaimed), added)


def _same_all(item: RecallItem) -> object:
    return item.name, item.ordinal, item.content


def _same_text(item: RecallItem) -> object:
    return item.name, item.content


def _same_key(item: RecallItem) -> object:
    return item.name, item.ordinal


@dataclass(frozen=True, slots=True)
class Pairing:
    """`pairs` are one item each, before and after; the rest stays removed or added."""

    pairs: tuple[tuple[Held, New], ...]
    removed: tuple[Held, ...]
    added: tuple[New, ...]


def pair(removed: Iterable[Held], added: Iterable[New]) -> Pairing:
    """Pair what went with what came."""
    old, new = list(removed), list(added)
    pairs: list[tuple[Held, New]] = []
    for pairing in (_back_in_place, _whole_files, _unique_text, _unique_body, _grown):
        if not old or not new:
            break
        found = pairing(old, new)
        pairs += found
        gone = {held.id for held, _ in found}
        come = {id(one) for _, one in found}
        old = [held for held in old if held.id not in gone]
        new = [one for one in new if id(one) not in come]
    return Pairing(tuple(pairs), tuple(old), tuple(new))


def _back_in_place(old: Sequence[Held], new: Sequence[New]) -> list[tuple[Held, New]]:
    """Pair the same key in the same file: it was missing for a moment, as during vim's `:w`."""
    return _unique(old, new, lambda path, _digest, item: (path, item.name, item.ordinal))


def _whole_files(old: Sequence[Held], new: Sequence[New]) -> list[tuple[Held, New]]:
    """Pair the same bytes under another path: a file or a folder was moved."""
    return _unique(old, new, lambda _path, digest, item: (digest, item.name, item.ordinal) if digest else None)


def _unique_text(old: Sequence[Held], new: Sequence[New]) -> list[tuple[Held, New]]:
    """Pair the same name and body in another file: the item was moved."""
    return _unique(old, new, lambda _path, _digest, item: (item.name, item.content))


def _unique_body(old: Sequence[Held], new: Sequence[New]) -> list[tuple[Held, New]]:
    """Pair the same body under another name: a renamed heading. An empty body says nothing across files."""
    return _unique(old, new, lambda path, _digest, item: item.content or ("empty", path))


def _unique(old: Sequence[Held], new: Sequence[New], key: KeyOf) -> list[tuple[Held, New]]:
    olds: dict[object, list[Held]] = defaultdict(list)
    news: dict[object, list[New]] = defaultdict(list)
    for held in old:
        olds[key(held.path, held.file_hash, held.item)].append(held)
    for one in new:
        news[key(one.path, one.file_hash, one.item)].append(one)
    return [
        (helds[0], news[found][0])
        for found, helds in olds.items()
        if found is not None and len(helds) == 1 and len(news.get(found, ())) == 1
    ]


def _grown(old: Sequence[Held], new: Sequence[New]) -> list[tuple[Held, New]]:
    """Inside one file, a heading or a body that grew out of the other: the 2 s autosave of somebody who types."""
    olds: dict[str, list[Held]] = defaultdict(list)
    news: dict[str, list[New]] = defaultdict(list)
    for held in old:
        olds[held.path].append(held)
    for one in new:
        news[one.path].append(one)
    pairs: list[tuple[Held, New]] = []
    for path, helds in olds.items():
        if path in news and len(helds) <= _MAX_CANDIDATES and len(news[path]) <= _MAX_CANDIDATES:
            pairs += _grown_in_file(helds, news[path])
    return pairs


def _grown_in_file(helds: Sequence[Held], news: Sequence[New]) -> list[tuple[Held, New]]:
    scored = sorted(
        ((likeness(held, one), h, n) for h, held in enumerate(helds) for n, one in enumerate(news)),
        key=lambda entry: (-entry[0], entry[1], entry[2]),
    )
    pairs: list[tuple[Held, New]] = []
    used_old: set[int] = set()
    used_new: set[int] = set()
    for score, h, n in scored:
        if score < SIMILAR:
            break
        rivals = [s for s, rh, rn in scored if s == score and (rh == h) != (rn == n)]
        if h in used_old or n in used_new or rivals:
            continue
        pairs.append((helds[h], news[n]))
        used_old.add(h)
        used_new.add(n)
    return pairs


def likeness(held: Held, one: New) -> float:
    """Return 0 to 1: how likely it is that the one became the other.

    A half-typed heading is a prefix of the next one and has little body yet, so there the place decides.
    """
    before, after = held.item.content[:_COMPARE_CHARS], one.item.content[:_COMPARE_CHARS]
    same_place = held.position == one.position
    typed_on = one.item.name.startswith(held.item.name) or held.item.name.startswith(one.item.name)
    if typed_on and same_place and (after.startswith(before) or before.startswith(after)):
        return 0.95
    if not before or not after:
        return 0.7 if same_place and typed_on else 0.0
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.real_quick_ratio() < SIMILAR or matcher.quick_ratio() < SIMILAR:
        return 0.0
    return min(0.9, matcher.ratio()) + (0.05 if same_place else 0.0)
