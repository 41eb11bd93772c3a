"""Make the fixes of a plan: item by item, each journalled and its prior text kept, nothing but the links' bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wikimem.errors import Conflict
from wikimem.pages.items import RecallItem
from wikimem.pages.journal import JournalEntry
from wikimem.pages.page import Page
from wikimem.pages.reading import read_page
from wikimem.pages.repair import Fix, RepairPlan, apply_fixes, hash_of
from wikimem.store.diary import written_text
from wikimem.store.displaced import prior_texts
from wikimem.store.relations import RelationsFile
from wikimem.store.vault import MemoryStore
from wikimem.store.writing import Plan, Planned
from wikimem.text.names import is_day


@dataclass(frozen=True, slots=True)
class Repaired:
    """What was done: how many links and relations, in which files; `refused` says why for the files that were not."""

    links: int
    relations: int
    paths: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]


def apply_plan(store: MemoryStore, plan: RepairPlan, *, detail: str = "links rewritten") -> Repaired:
    """Write the plan. A file that is no longer the one that was planned for is left as it is, and named."""
    links = 0
    paths: list[str] = []
    refused: list[tuple[str, str]] = []
    with store.writer.locked():
        for path, fixes in plan.by_path().items():
            try:
                _apply_file(store, path, fixes, detail)
            except Conflict as error:
                refused.append((path, error.message))
            else:
                links += len(fixes)
                paths.append(path)
        if plan.relations:
            RelationsFile(store).rewrite(plan.relations)
    return Repaired(links, len(plan.relations), tuple(paths), tuple(refused))


def _apply_file(store: MemoryStore, path: str, fixes: Sequence[Fix], detail: str) -> None:
    """Fix one file from its end to its start, so that the places of the fixes that are still to come stay right."""
    expected = fixes[0].based_on
    for batch in _batches(fixes):
        plan = _plan_of(store, path, batch, expected, detail)
        expected = hash_of(store.writer.apply(path, plan).data or b"")


def _batches(fixes: Sequence[Fix]) -> Iterator[list[Fix]]:
    """Yield the fixes that stand in one item together, the last ones of the file first."""
    batch: list[Fix] = []
    for fix in sorted(fixes, key=lambda fix: fix.start, reverse=True):
        if batch and batch[0].source != fix.source:
            yield batch
            batch = []
        batch.append(fix)
    yield batch


def _plan_of(store: MemoryStore, path: str, batch: Sequence[Fix], expected: str, detail: str) -> Plan:
    """Return the write that makes the fixes of one item, or of what is in no item (journalled by no line)."""
    now = store.writer.now().isoformat()

    def plan(data: bytes | None) -> Planned:
        if data is None or hash_of(data) != expected:
            raise Conflict(f"{path} was changed meanwhile", theirs=None, yours=None, hint="plan the repair again")
        store.check_writable(path, data, None)
        changed = apply_fixes(data, batch)
        before, after = (_item_at(read_page(path, each, store.layout), batch[0].source) for each in (data, changed))
        if before is None or after is None:
            return Planned(changed, address=path)
        prior = prior_texts((before,), now, "update", data=data)
        return Planned(changed, prior, _line(after, now, detail), after.address, written_text(after), before.hash)

    return plan


def _item_at(page: Page, address: str | None) -> RecallItem | None:
    return next((item for item in page.items if item.address == address), None)


def _line(item: RecallItem, now: str, detail: str) -> JournalEntry:
    if is_day(item.category):
        return JournalEntry(ts=now, action="update", date=item.category, time=item.name, detail=detail)
    return JournalEntry(ts=now, action="update", file=item.category, item=item.name, detail=detail)
