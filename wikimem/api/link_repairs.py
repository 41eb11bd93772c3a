"""Links that follow renames, over a whole vault: read it, plan, write. For the command line and for the daemon."""

from collections.abc import Callable, Mapping

from wikimem.pages.reading import read_page
from wikimem.pages.repair import RepairPlan
from wikimem.search.repairs import Source, plan_repairs
from wikimem.store.relations import RelationsFile
from wikimem.store.repairs import Repaired, apply_plan
from wikimem.store.vault import MemoryStore

FOLLOW_DETAIL = "links follow a rename"


def read_sources(store: MemoryStore, unreadable: Callable[[str, OSError], None]) -> list[Source]:
    """Read every page with its bytes; a file that cannot be read is told and left out."""
    sources = []
    for path in store.page_paths():
        try:
            data = store.disk.read(path).data
        except OSError as error:
            unreadable(path, error)
            continue
        sources.append(Source(read_page(path, data, store.layout), data))
    return sources


def plan_following(store: MemoryStore, sources: list[Source], renames: Mapping[str, str]) -> RepairPlan:
    """Plan the links and relations that `renames` left behind."""
    relations = RelationsFile(store).read()
    return plan_repairs(sources, renames, relations, path_of=store.layout.wiki_path)


def follow_renames_now(store: MemoryStore, renames: Mapping[str, str]) -> Repaired:
    """Rewrite what `renames` left behind, in one go. Raises as writes do."""
    sources = read_sources(store, lambda _path, _error: None)
    return apply_plan(store, plan_following(store, sources, renames), detail=FOLLOW_DETAIL)
