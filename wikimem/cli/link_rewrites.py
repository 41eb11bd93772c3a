"""What `wikimem links --repair` and `--to` do: read the vault in this process, plan, show a diff, write."""

import difflib
from typing import Literal

from wikimem.api.link_repairs import FOLLOW_DETAIL, plan_following, read_sources
from wikimem.cli.connection import answers, daemon_client
from wikimem.cli.output import note, print_json, print_text
from wikimem.config import Settings, require_vault
from wikimem.pages.changes import Change
from wikimem.pages.repair import RepairPlan, apply_fixes
from wikimem.search.repairs import Renamed, Source, known_ends, plan_style
from wikimem.store.opening import open_store
from wikimem.store.renames import follow_renames, saved_changes
from wikimem.store.repairs import Repaired, apply_plan
from wikimem.store.upkeep import STATE_FILE
from wikimem.store.vault import MemoryStore

Style = Literal["obsidian", "native"]


def renamed_ends(settings: Settings) -> dict[tuple[str, int, str], Renamed]:
    """Return what the ends of each broken link are called now, by the link's file, line and target as written.

    The vault is read only if the change feed knows of any rename.
    """
    renames = _known_renames(settings)
    if not renames:
        return {}
    with _store(settings) as store:
        return known_ends(plan_following(store, _sources(store), renames))


def rewrite(settings: Settings, style: Style | None, *, yes: bool, as_json: bool) -> None:
    """Show the edits that follow renames (`style` None) or change the style, and make them with `yes`."""
    with _store(settings) as store:
        sources = _sources(store)
        plan = _plan(settings, store, sources, style)
        if not as_json:
            _print_plan(sources, plan)
        detail = FOLLOW_DETAIL if style is None else f"links to {style} style"
        done = apply_plan(store, plan, detail=detail) if yes else None
    if as_json:
        print_json(_plan_body(plan, done))
    elif done is not None and (plan.fixes or plan.relations):
        print_text(f"rewrote {done.links} links in {len(done.paths)} files, and {done.relations} relations")
    elif plan.fixes or plan.relations:
        note("nothing was changed; with --yes these edits are made")
    for path, reason in done.refused if done is not None else ():
        note(f"{path}: left alone: {reason}")


def _store(settings: Settings) -> MemoryStore:
    require_vault(settings.path, configured=settings.configured)
    return open_store(settings)


def _sources(store: MemoryStore) -> list[Source]:
    return read_sources(store, lambda path, error: note(f"{path} cannot be read: {error.strerror}"))


def _plan(settings: Settings, store: MemoryStore, sources: list[Source], style: Style | None) -> RepairPlan:
    if style is not None:
        return plan_style(sources, style)
    return plan_following(store, sources, _known_renames(settings))


def _known_renames(settings: Settings) -> dict[str, str]:
    """Return what the change feed knows: the rows that are saved, and those that a running daemon has not saved yet."""
    changes, cursor = saved_changes(settings.state_dir / STATE_FILE)
    client = daemon_client(settings) if cursor is not None and answers(settings) else None
    while client is not None:
        page = client.changes(cursor)
        changes += (Change(**body) for body in page["changes"])
        if page["fresh_instance"] or not page["more"]:
            break
        cursor = page["cursor"]
    return follow_renames(changes)


def _print_plan(sources: list[Source], plan: RepairPlan) -> None:
    data = {source.page.path: source.data for source in sources}
    for path, fixes in plan.by_path().items():
        before, after = _lines(data[path]), _lines(apply_fixes(data[path], fixes))
        for line in difflib.unified_diff(before, after, f"a/{path}", f"b/{path}", n=0, lineterm=""):
            print_text(line)
    for old, new in plan.relations:
        print_text(f"relations.jsonl: {old.source} → {old.target} becomes {new.source} → {new.target}")
    for left in plan.left:
        hint = f" ({left.suggestion})" if left.suggestion else ""
        note(f"{left.path}:{left.line}: {left.target} stays: {left.reason}{hint}")
    if not plan.fixes and not plan.relations:
        print_text("no link is to be rewritten")


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _plan_body(plan: RepairPlan, done: Repaired | None) -> dict[str, object]:
    fixes = [
        {
            "file": one.path,
            "line": one.line,
            "target": one.target,
            "new": one.new.decode("utf-8", "replace"),
            "goal": one.goal,
        }
        for one in plan.fixes
    ]
    left = [
        {"file": one.path, "line": one.line, "target": one.target, "reason": one.reason, "suggestion": one.suggestion}
        for one in plan.left
    ]
    relations = [
        {"source": old.source, "target": old.target, "new_source": new.source, "new_target": new.target}
        for old, new in plan.relations
    ]
    refused = [{"file": path, "reason": reason} for path, reason in (done.refused if done is not None else ())]
    return {"fixes": fixes, "relations": relations, "left": left, "applied": done is not None, "refused": refused}
