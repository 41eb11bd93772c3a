"""A child that writes to a vault until it is killed, and a judge of what it left."""

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fault.editors import LAYOUT, Between
from tests.fault.otheruid import fork
from wikimem.pages.journal import JournalEntry
from wikimem.store.vault import MemoryStore

Items = dict[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class Step:
    """One write: `content` None removes. A day as category appends to the diary."""

    category: str
    name: str
    content: str | None

    def run(self, store: MemoryStore) -> None:
        if self.category.startswith("2026"):
            store.diary.append(self.content or "", date=self.category, time=self.name)
        elif self.content is None:
            store.remove(self.category, self.name)
        else:
            store.add(self.category, self.name, self.content)


@dataclass(slots=True)
class Vault:
    """What should be there: items, diary entries, journal lines and replaced texts of all writes that happened."""

    items: Items = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)
    lines: list[tuple[str, str | None]] = field(default_factory=list)
    replaced: list[tuple[str, str]] = field(default_factory=list)

    def after(self, step: Step) -> "Vault":
        items, entries, lines, replaced = dict(self.items), [*self.entries], [*self.lines], [*self.replaced]
        key = (step.category, step.name)
        if step.category.startswith("2026"):
            entries.append(step.content or "")
            lines.append(("diary", step.category))
            return Vault(items, entries, lines, replaced)
        known = items.pop(key, None) if step.content is None else items.get(key)
        if known is not None:
            replaced.append((f"{step.category}:{step.name}", known))
        if step.content is not None:
            items[key] = step.content
        action = "remove" if step.content is None else "add" if known is None else "update"
        lines.append((action, step.name))
        return Vault(items, entries, lines, replaced)


def plan(chance: random.Random, vault: Vault, count: int, serial: int) -> list[Step]:
    steps = []
    for number in range(count):
        kind = chance.random()
        text = f"text {serial}-{number} " + "x" * chance.randrange(3000) + "."
        if kind < 0.2:
            step = Step("2026-07-21", "14:30", text)
        elif kind < 0.4 and vault.items:
            step = Step(*chance.choice(sorted(vault.items)), None)
        else:
            step = Step(f"c{chance.randrange(3)}", f"n{chance.randrange(4)}", text)
        steps.append(step)
        vault = vault.after(step)
    return steps


class Killing(Between):
    """Kills its own process at the given call."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.left = number
        self.hook = self._count

    def _count(self, _name: str) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def run_and_kill(folder: Path, steps: list[Step], *, at_call: int | None = None, after_s: float | None = None) -> int:
    """Fork a child that does the steps, kill it, and return how many it had finished."""
    reading, writing = os.pipe()
    child = fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            kernel = None if at_call is None else Killing(at_call)
            store = open_store(folder, kernel)
            for step in steps:
                step.run(store)
                os.write(writing, b".")
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    if after_s is not None:
        time.sleep(after_s)  # the random moment itself, not a wait for a state
        os.kill(child, signal.SIGKILL)
    done = b""
    while part := os.read(reading, 65_536):
        done += part
    os.close(reading)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child failed by itself"
    return len(done)


def open_store(folder: Path, kernel: Any = None) -> MemoryStore:
    return MemoryStore(folder / "vault", layout=LAYOUT, state_dir=folder / "state" / "v", kernel=kernel)


def judge(folder: Path, before: Vault, steps: list[Step], done: int) -> tuple[Vault, list[str]]:
    """Start again as a daemon does; return what happened and every disagreement."""
    for step in steps[:done]:
        before = before.after(step)
    candidates = [before] + ([before.after(steps[done])] if done < len(steps) else [])
    wrong: list[str] = []
    with open_store(folder) as store:
        store.recover()
        found = {(item.category, item.name): item.content for item in store.items()}
        days = [entry.content for day in store.diary.days() for entry in store.diary.window(day, day)]
        matching = [one for one in candidates if one.items == found and one.entries == days]
        if not matching:
            return candidates[0], [f"after {done} steps the files are those of no moment"]
        now = matching[0]
        wrong += _disagreements(store, now)
    names = [one.name for one in (folder / "vault").rglob(".*")]
    wrong += [f"left over: {name}" for name in names]
    return now, wrong


def _disagreements(store: MemoryStore, now: Vault) -> list[str]:
    wrong = []
    journal = store.journal
    assert journal is not None
    entries, problems = journal.entries()
    lines = [_line(entry) for entry in entries]
    if lines != now.lines:
        wrong.append(
            f"the journal has {len(lines)} lines, {len(now.lines)} writes happened: {lines[-3:]} {now.lines[-3:]}"
        )
    wrong += [f"journal: {problem.kind} in line {problem.line}" for problem in problems if problem.kind != "bad-line"]
    kept = [
        (version.address, version.content)
        for address in {address for address, _ in now.replaced} | {f"{c}:{n}" for c, n in now.items}
        for version in store.history.versions(address, 10_000).versions
    ]
    wrong += [f"not in the history: {text[:40]}" for text in now.replaced if text not in kept]
    extra = [one for one in kept if one not in now.replaced]
    return wrong + [f"in the history but never replaced: {one[0]} {one[1][:40]}" for one in extra]


def _line(entry: JournalEntry) -> tuple[str, str | None]:
    return entry.action, entry.date if entry.action == "diary" else entry.item


def rounds(
    folder: Path, count: int, seed: int, *, kill: Callable[[random.Random], dict[str, Any]], linked: bool = False
) -> list[str]:
    """Kill a writer again and again on one vault; return every disagreement, with its round."""
    (folder / "vault" / "wiki").mkdir(parents=True)
    if linked:  # written in place, because the file has a second name
        for category in ("c0", "c1", "c2"):
            note = folder / "vault" / "wiki" / f"{category}.md"
            note.write_text(f"# {category}\n\nprose that keeps the file\n")
            (folder / f"linked-{category}").hardlink_to(note)
    chance = random.Random(seed)
    vault = Vault()
    wrong: list[str] = []
    for number in range(count):
        steps = plan(chance, vault, 6, number)
        done = run_and_kill(folder, steps, **kill(chance))
        vault, found = judge(folder, vault, steps, done)
        wrong += [f"round {number}: {one}" for one in found]
        if found:
            break
    return wrong
