"""A write of one wiki item as a plan: what it makes of the bytes it finds, and when it must not be made."""

from collections.abc import Callable
from dataclasses import dataclass

from wikimem.errors import Conflict, HistoryUnavailable, NotFound
from wikimem.pages.items import RecallItem, content_hash
from wikimem.pages.journal import JournalEntry
from wikimem.pages.wiki import put_item, remove_item
from wikimem.store.diary import written_text
from wikimem.store.displaced import prior_texts
from wikimem.store.history import History, PriorText
from wikimem.store.vaultpages import VaultPages, check_mergeless, check_size
from wikimem.store.writing import Planned
from wikimem.text.names import fold_name


class Guard:
    """Says whether the item is still the one that the caller means: by `expected_hash`, then by what was first seen."""

    def __init__(self, address: tuple[str, str], *, yours: str | None, expected_hash: str | None) -> None:
        self._category, self._name = address
        self._yours = yours
        self._expected: tuple[str | None] | None = None if expected_hash is None else (expected_hash,)

    def check(self, found: RecallItem | None) -> RecallItem | None:
        """Return `found`, or raise `Conflict`."""
        current = found.hash if found else None
        if self._expected is None:
            self._expected = (current,)
        if self._expected == (current,):
            return found
        what = "was changed meanwhile" if found else "is not there (any more)"
        done, hint = (
            "written",
            "read it again, merge, and write with the new `expected_hash`; your text is in its history",
        )
        if self._yours is None:
            done, hint = "removed", "read it again; to remove it as it is now, give the hash that it has now"
        raise Conflict(
            f"{self._category}:{self._name} {what}, so it was not {done}",
            theirs=found.content if found else None,
            yours=self._yours,
            current_hash=current,
            hint=hint,
        )


@dataclass(frozen=True, slots=True)
class ItemEdit:
    """One item to be put into a file or taken out of it; `item.category` is the file's key, `now` ISO-8601 UTC.

    `put` and `take` are plans: they may be called again with other bytes.
    """

    pages: VaultPages
    path: str
    item: RecallItem
    now: str
    guard: Guard
    detail: str | None = None

    def put(self, data: bytes | None) -> Planned:
        """Plan the file with the item added, or in the place of the one of its name."""
        item, layout = self.item, self.pages.layout
        check_mergeless(self.path, data, item.content)
        known = self.guard.check(self.pages.item_in(self.path, data, item.name))
        edit = put_item(data, item.category, item, link_style=layout.link_style, preamble_items=layout.preamble_items)
        check_size(self.path, edit.data, layout)
        written = edit.item or item
        line = JournalEntry(
            ts=self.now,
            action="update" if known else "add",
            file=item.category,
            item=written.name,
            owner=item.owner,
            source_conv=item.source_conv,
            detail=self.detail,
        )
        prior = prior_texts(edit.replaced, self.now, "update", data=data)
        before = known.hash if known else None
        return Planned(edit.data, prior, line, written.address, written_text(written), before, edit.problems)

    def take(self, data: bytes | None) -> Planned:
        """Plan the file without the item. Raises `NotFound`."""
        item = self.item
        check_mergeless(self.path, data, None)
        known = self.guard.check(self.pages.item_in(self.path, data, item.name))
        if data is None or known is None:
            raise NotFound(f"there is no item {item.address} any more", hint="somebody removed it meanwhile")
        edit = remove_item(data, item.category, item.name, preamble_items=self.pages.layout.preamble_items)
        line = JournalEntry(ts=self.now, action="remove", file=item.category, item=item.name, detail=self.detail)
        prior = prior_texts(edit.replaced, self.now, "remove", data=data)
        return Planned(edit.data, prior, line, item.address, None, known.hash)


def keep_refused(history: Callable[[], History], item: RecallItem, now: str) -> None:
    """Put the text that a conflict kept from being written into the history, under the item that it was meant for."""
    address, digest = f"{item.category}:{fold_name(item.name)}", content_hash(item.name, item.content)
    try:
        if not history().holds(address, digest):
            history().record_many([PriorText(address, item.name, item.content, digest, now, "api", "refused")])
    except HistoryUnavailable:
        return  # the caller has the text in the error
