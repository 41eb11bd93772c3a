"""What `GET /v1/status` says, put together from the parts."""

import os
import re
import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import wikimem
from wikimem.api.protocol import (
    PROTOCOL,
    ConnectionsBody,
    DegradedPart,
    ProblemBody,
    ProcessBody,
    ReadStamp,
    StatusAnswer,
    TaskBody,
    WatchBody,
)
from wikimem.config import Settings, daily_note_problems
from wikimem.pages.layout import fold_alike
from wikimem.pages.relations import RELATIONS_FILE
from wikimem.search.index import MemoryIndex
from wikimem.store.vault import STATE_FILE
from wikimem.text.problems import Problem
from wikimem_daemon.freshness import Degraded, WatchStatus
from wikimem_daemon.opened import OpenedVault
from wikimem_daemon.vectors import NoVectors

PROBLEMS_SHOWN: Final = 100
_PACKAGE = Path(wikimem.__file__)
_VERSION = re.compile(r'^__version__ = "([^"]*)"', re.MULTILINE)


@dataclass(slots=True)
class Process:
    """What a process knows about itself."""

    started: float = field(default_factory=time.monotonic)

    def uptime_s(self) -> float:
        """Return seconds since the start."""
        return round(time.monotonic() - self.started, 3)


def rss_bytes() -> int:
    """Return the resident memory now (its peak where there is no /proc)."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")


def restart_needed(package: Path = _PACKAGE, running: str = wikimem.__version__) -> bool:
    """Whether another version was installed under this process: it still runs the code that it started with."""
    try:
        found = _VERSION.search(package.read_text(encoding="utf-8"))
    except OSError:
        return True
    return found is None or found[1] != running


@dataclass(slots=True)
class PageProblems:
    """What is wrong in the pages, put together anew only when one of them changed: for 20,000 it takes 30 ms."""

    _index: MemoryIndex | None = None
    _changes: int = -1
    _found: tuple[tuple[str, Problem], ...] = ()

    def of(self, index: MemoryIndex) -> tuple[tuple[str, Problem], ...]:
        """Return every page's problems, and those that lie between pages, by path."""
        if index is not self._index or index.page_changes != self._changes:
            self._index, self._changes = index, index.page_changes
            pages = index.pages.values()
            alike = fold_alike({page.path: page.category for page in pages if page.kind == "wiki"})
            self._found = (*((page.path, problem) for page in pages for problem in page.problems), *alike)
        return self._found


def status_answer(
    vault: OpenedVault,
    stamp: ReadStamp,
    *,
    on_pages: PageProblems,
    process: Process,
    rebuild: TaskBody,
    embed: TaskBody,
    connections: ConnectionsBody,
) -> StatusAnswer:
    """Return the status of an opened vault."""
    watch = vault.reconciler.status()
    degraded = _degraded(vault, watch, stamp)
    problems = _problems(vault, watch, on_pages.of(vault.index))
    links = vault.index.graph.counts()
    counters = vault.operations.counters
    answer: StatusAnswer = {
        **_common(vault.settings, process, rebuild, embed, connections),
        "state": "starting" if stamp["partial"] else "degraded" if degraded else "ok",
        "fresh": stamp["fresh"],
        "partial": stamp["partial"],
        "degraded": degraded,
        "cursor": stamp["cursor"],
        "items": vault.index.item_count,
        "files": watch.files,
        "watch": _watch(watch),
        "vectors": vault.vectors.body(),
        "links": {"unresolved": links.unresolved, "ambiguous": links.ambiguous},
        "retrieves": {"count": counters.retrieves, "embedding_used": counters.embedding_used},
        "problems": problems[:PROBLEMS_SHOWN],
        "problems_total": len(problems),
        "write_mode": vault.store.write_mode,
    }
    return answer


def waiting_answer(
    settings: Settings,
    reason: DegradedPart,
    *,
    starting: bool,
    process: Process,
    connections: ConnectionsBody,
) -> StatusAnswer:
    """Return the status while the vault is not opened: it is about to be, or its folder is not there."""
    idle: TaskBody = {"state": "idle", "started_at": None, "finished_at": None, "detail": ""}
    answer: StatusAnswer = {
        **_common(settings, process, idle, idle, connections),
        "state": "starting" if starting else "degraded",
        "fresh": False,
        "partial": True,
        "degraded": [reason],
        "cursor": "",
        "items": 0,
        "files": 0,
        "watch": {"mode": "none", "compared_at": None, "compared_by": None},
        "vectors": NoVectors().body(),
        "links": {"unresolved": 0, "ambiguous": 0},
        "retrieves": {"count": 0, "embedding_used": 0},
        "problems": [],
        "problems_total": 0,
        "write_mode": "none",
    }
    return answer


def _common(
    settings: Settings, process: Process, rebuild: TaskBody, embed: TaskBody, connections: ConnectionsBody
) -> ProcessBody:
    return {
        "vault": settings.name,
        "path": str(settings.path),
        "rebuild": rebuild,
        "embed": embed,
        "connections": connections,
        "restart_needed": restart_needed(),
        "report": {"counts": settings.report.counts},
        "pid": os.getpid(),
        "version": wikimem.__version__,
        "protocol": PROTOCOL,
        "uptime_s": process.uptime_s(),
        "rss_bytes": rss_bytes(),
    }


def _degraded(vault: OpenedVault, watch: WatchStatus, stamp: ReadStamp) -> list[DegradedPart]:
    parts = [*watch.degraded, *([vault.opened.degraded] if vault.opened.degraded else [])]
    parts += vault.vectors.degraded()
    fault = vault.store.writer.journal_fault
    if fault is not None:
        parts.append(Degraded("journal-behind", fault.message, fault.hint))
    found: dict[tuple[str, str], DegradedPart] = {(one["code"], one["detail"]): one for one in stamp["degraded"]}
    for part in parts:
        found.setdefault((part.code, part.detail), part.body())
    return list(found.values())


def _problems(vault: OpenedVault, watch: WatchStatus, on_pages: tuple[tuple[str, Problem], ...]) -> list[ProblemBody]:
    in_files = [*on_pages, *daily_note_problems(vault.settings.path)]
    in_files += [(RELATIONS_FILE, problem) for problem in vault.edges.problems]
    aside = vault.opened.state.set_aside
    if aside is not None:
        message = f"The history was damaged: it was moved to {aside}, and a new one begun."
        hint = f"nothing is missing in the notes; `sqlite3 {aside.name} .recover` may bring older texts back"
        in_files.append((STATE_FILE, Problem("state-damaged", 0, message, hint)))
    found: list[ProblemBody] = [
        {"path": path, "kind": one.kind, "line": one.line, "message": one.message, "hint": one.hint}
        for path, one in [*watch.problems, *sorted(in_files, key=lambda pair: (pair[0], pair[1].line))]
    ]
    return found + vault.vectors.problems(vault.store.layout)


def _watch(watch: WatchStatus) -> WatchBody:
    return {
        "mode": watch.mode,
        "compared_at": watch.compared_at,
        "compared_by": watch.compared_by,
        "fallback": watch.fallback,
        "hint": watch.hint,
        "watches": watch.watches,
        "pending": watch.pending,
        "comparisons": watch.comparisons,
        "comparisons_without_change": watch.comparisons_without_change,
        "removals_waiting": watch.removals_waiting,
    }


def connections_body(open_connections: int, streams: int, refused: int) -> ConnectionsBody:
    """Return the numbers of connections."""
    return {"open": open_connections, "streams": streams, "refused": refused}


def changed_settings(old: Settings, new: Settings) -> Mapping[str, bool]:
    """Return the names of settings that differ, and for each whether only a restart puts it into use."""
    live = {"layout", "retrieval", "report", "history", "links"}
    names = ("path", "layout", "derived", "retrieval", "embeddings", "watch", "limits", "history", "links", "report")
    return {name: name not in live for name in names if getattr(old, name) != getattr(new, name)}
