"""Editors that save a note one system call at a time, and a kernel that lets them in between our own calls.

An editor's `open()` of a leased file waits in the kernel; here it asks with `O_NONBLOCK` and comes back later with
the same inode, so that one thread can play both sides and every interleaving can be made.
"""

import contextlib
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wikimem.errors import Conflict, TryAgain
from wikimem.pages.layout import Layout
from wikimem.pages.wiki import read_wiki_page
from wikimem.store.kernel import Kernel
from wikimem.store.vault import MemoryStore

STYLES = ("in place", "rename", "unlink and create", "slow")
LAYOUT = Layout()
PATH = "wiki/notes.md"


class Between(Kernel):
    """The real kernel, with a look at `hook` before every call. Time stands still but for `pause`."""

    def __init__(self) -> None:
        self.hook: Callable[[str], None] = lambda _: None
        self.now = 0.0

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or name in ("hook", "now") or not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self.hook(name)
            return found(*args, **kwargs)

        return call

    def pause(self, seconds: float) -> None:
        self.now += seconds

    def monotonic(self) -> float:
        return self.now


class WithoutLeases(Between):
    """A file system as NFS: no leases; `exchange` may be missing too."""

    def __init__(self, *, exchange: bool, link: bool = True) -> None:
        super().__init__()
        self._exchange = exchange
        self._link = link

    def lease(self, descriptor: int, kind: str) -> None:  # noqa: ARG002 - as in Kernel
        raise OSError(22, "no leases here")

    def exchange(self, one: str, other: str) -> None:
        if not self._exchange:
            raise OSError(22, "no exchange here")
        super().exchange(one, other)

    def rename_new(self, source: str, target: str) -> None:
        if not self._exchange:
            raise OSError(22, "no flags here")
        super().rename_new(source, target)

    def link(self, source: str, target: str) -> None:
        if not self._link:
            raise PermissionError(1, "no links here")
        super().link(source, target)


def open_by_name(path: Path, found_it: Callable[[], None]) -> Iterator[int]:
    """Find the file, then open it for writing when its lease allows that, as one `open()` does in the kernel."""
    found = os.open(path, os.O_PATH)
    found_it()
    try:
        yield -1
        while True:
            try:
                descriptor = os.open(f"/proc/self/fd/{found}", os.O_WRONLY | os.O_NONBLOCK)
            except BlockingIOError:
                yield -1
                continue
            break
    finally:
        os.close(found)
    yield descriptor


def save(path: Path, text: bytes, style: str, chance: random.Random, named: Callable[[], None]) -> Iterator[None]:
    """Save `text`, giving the turn away between any two system calls; `named` is told when the name was used."""
    if style == "rename":
        temporary = path.with_name(f".editor-{chance.random()}~")
        temporary.write_bytes(text)
        yield
        temporary.replace(path)
        named()
        return
    if style == "unlink and create":
        path.unlink(missing_ok=True)
        yield
    descriptor = -1
    while descriptor < 0:
        try:
            for one in open_by_name(path, named):
                descriptor = one
                if one < 0:
                    yield
        except FileNotFoundError:
            with contextlib.suppress(BlockingIOError):
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK)
                named()
    os.ftruncate(descriptor, 0)
    try:
        cuts = sorted(chance.sample(range(1, len(text)), 6 if style == "slow" else 1))
        for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            yield
            os.write(descriptor, text[start:end])
        yield
    finally:
        os.close(descriptor)


@dataclass(slots=True)
class Outcome:
    """What one race left: texts in neither file nor history, and files that are nobody's whole text."""

    lost: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def start_text(round_: int) -> bytes:
    return (
        "---\naliases: [n]\n---\n# My notes\n\nprose above\n\n"
        f"## mine\n\nperson {round_} <<old{round_}>>\n\n## agent\n\nagent {round_} <<was{round_}>>\n\n"
        f"## last\n\nend\n"
    ).encode()


def race(folder: Path, kernel: Between, style: str, seed: int) -> Outcome:
    """Let one API write and one editor's save of the same file meet at a random moment.

    In every third race somebody else (a sync tool) saves by rename too. Of two saves the one that used the name last
    must live on: the other may be lost without any doing of ours.
    """
    chance = random.Random(seed)
    vault = folder / "vault"
    note = vault / PATH
    note.parent.mkdir(parents=True, exist_ok=True)
    for stray in note.parent.iterdir():
        stray.unlink()
    note.write_bytes(start_text(seed))
    store = MemoryStore(vault, layout=LAYOUT, state_dir=folder / "state" / "v", kernel=kernel)
    theirs = f"person {seed} <<new{seed}>> " + "t" * chance.randrange(200) + "."
    buffer = note.read_bytes().replace(f"person {seed} <<old{seed}>>".encode(), theirs.encode())
    synced = f"end <<sync{seed}>>."
    order: list[str] = []
    editor = save(note, buffer, style, chance, lambda: order.append(theirs))
    other = save(
        note, start_text(seed).replace(b"end\n", f"{synced}\n".encode()), "rename", chance, lambda: order.append(synced)
    )
    begin, speed = chance.randrange(60), chance.choice((1, 1, 2, 3, 8, 20, 40))
    other_begin = begin + chance.randrange(12) if seed % 3 == 0 else 1_000_000
    calls = 0

    def let_in(_name: str) -> None:
        nonlocal calls
        calls += 1
        if calls > begin and calls % speed == 0:
            next(editor, None)
        if calls > other_begin and seed % 3 == 0:
            next(other, None)

    kernel.hook = let_in
    target = chance.choice(("agent", "agent", "mine", "fresh"))
    ours = f"agent {seed} <<api{seed}>> " + "a" * chance.randrange(200) + "."
    wrote = _write(store, target, ours)
    kernel.hook = lambda _: None
    for _ in editor:
        pass
    if calls > other_begin:
        for _ in other:
            pass
    kernel.now += 60
    store.tidy()
    texts = {order[-1]: "last" if order[-1] == synced else "mine"}
    outcome = _judge(store, note, texts | ({ours: target} if wrote else {}), (theirs, ours, synced), seed)
    store.close()
    return outcome


def _write(store: MemoryStore, target: str, ours: str) -> bool:
    try:
        if target == "agent" and ours.endswith("aaa") and len(ours) % 3 == 0:
            store.remove("notes", "last")
            return False
        store.add("notes", target, ours)
    except (Conflict, TryAgain) as error:
        return isinstance(error, Conflict)
    return True


def _judge(store: MemoryStore, note: Path, texts: dict[str, str], written: tuple[str, ...], seed: int) -> Outcome:
    outcome = Outcome()
    data = note.read_bytes() if note.exists() else b""
    live = {item.name: item.content for item in read_wiki_page(PATH, data, LAYOUT).items}
    for text, name in texts.items():
        kept = [version.content for version in store.versions(f"notes:{name}").versions]
        if live.get(name) != text and text not in kept:
            outcome.lost.append(f"seed {seed}: {text[:30]!r} is not in {[one[:30] for one in live.values()]}")
    whole = {"mine": 2, "agent": 2, "fresh": 1, "last": 1}
    for name, content in live.items():
        known = (*written, f"person {seed} <<old{seed}>>", f"agent {seed} <<was{seed}>>", "end")
        if name not in whole or content not in known:
            outcome.torn.append(f"seed {seed}: {name!r} is {content[:50]!r}")
    if not data.startswith(b"---\naliases: [n]\n---\n# My notes\n\nprose above\n\n## mine\n"):
        outcome.torn.append(f"seed {seed}: the head is {data[:80]!r}")
    outcome.left = [one.name for one in note.parent.iterdir() if one.name != note.name]
    return outcome
