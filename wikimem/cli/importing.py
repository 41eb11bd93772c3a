"""`wikimem import`: bring notes from elsewhere into the vault. First it says what it would do."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from wikimem.cli.connection import connect, settings_for
from wikimem.cli.options import json_option, vault_option
from wikimem.cli.output import print_json, print_text
from wikimem.errors import InvalidInput, NotFound, WikimemError
from wikimem.places import expand
from wikimem.store.files import DiskFiles
from wikimem.store.incoming import Found, Left, NewEntry, NewFile, NewItem, copy_files, read_source
from wikimem.text.names import is_day

if TYPE_CHECKING:
    from wikimem.cli.connection import MemoryClient

Act = Literal["copy", "add", "replace", "append", "same", "differs", "skipped", "failed"]
_TAKEN: tuple[Act, ...] = ("copy", "add", "replace", "append")


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the plan."""

    act: Act
    source: str
    target: str
    found: Found


@click.command("import")
@click.argument("source")
@click.option("--into", default="", metavar="FOLDER", help="Put loose notes into this folder below the wiki.")
@click.option("--replace", is_flag=True, help="Replace items of the vault whose text differs; the old goes to history.")
@click.option("--yes", is_flag=True, help="Do it. Without it only the plan is printed.")
@vault_option
@json_option
@click.pass_context
def import_(
    ctx: click.Context,
    source: str,
    *,
    into: str,
    replace: bool,
    yes: bool,
    vault: str | None,
    as_json: bool,
) -> None:
    """Bring SOURCE into the vault: markdown notes, a memory directory of wikimem, or records in JSON.

    Notes are copied byte for byte, with their folders and names. Where the vault has a file of that name, items and
    diary entries that it lacks are added; what differs is named and left. SOURCE itself is only read. A record is
    {"category", "name", "content"} or {"date", "time", "content"}, one a line or in a list.
    """
    settings = settings_for(vault)
    client = connect(settings)
    given = expand(source, env=os.environ, base=Path.cwd())
    _refuse_itself(given, settings.path)
    target = DiskFiles(settings.path)
    steps = [_step(client, found, replace=replace) for found in read_source(given, target, settings.layout, into)]
    if yes:
        steps = [*_copied(steps, settings.path, settings.state_root), *_written(client, steps)]
    _tell(steps, done=yes, as_json=as_json)
    ctx.exit(int(any(step.act == "failed" for step in steps)))


def _refuse_itself(source: Path, vault: Path) -> None:
    here, there = Path(os.path.realpath(source)), Path(os.path.realpath(vault))
    if source.exists() and (here == there or there in here.parents):
        raise InvalidInput(f"{source} lies in the vault", hint="what is in the vault is read already")


def _step(client: "MemoryClient", found: Found, *, replace: bool) -> Step:
    """Compare one piece with what the vault has."""
    if isinstance(found, Left):
        return Step(found.kind, found.source, found.reason, found)
    if isinstance(found, NewFile):
        return Step("copy", found.source, found.path, found)
    if isinstance(found, NewEntry):
        entry = found.entry
        there = client.diary(entry.date, entry.date, limit=1_000)["items"] if is_day(entry.date) else []
        same = any((one["time"], one["content"]) == (entry.time, entry.content.strip()) for one in there)
        return Step("same" if same else "append", found.source, f"{entry.date}:{entry.time}", found)
    address = f"{found.item.category}:{found.item.name}"
    try:
        item = client.item(address)
    except NotFound:
        return Step("add", found.source, address, found)
    except InvalidInput as error:
        return Step("skipped", found.source, error.message, found)
    if item["content"] == found.item.content.strip():
        return Step("same", found.source, address, found)
    return Step("replace" if replace else "differs", found.source, address, found)


def _copied(steps: list[Step], root: Path, state_root: Path) -> Iterator[Step]:
    files = {step.source: step for step in steps if isinstance(step.found, NewFile)}
    new = [step.found for step in files.values() if isinstance(step.found, NewFile)]
    for file, error in copy_files(new, root, state_root):
        yield files[file.source] if error is None else Step("failed", file.source, error.message, file)


def _written(client: "MemoryClient", steps: list[Step]) -> Iterator[Step]:
    for step in steps:
        if step.act == "copy":
            continue
        try:
            if step.act in _TAKEN:
                _write(client, step.found)
            yield step
        except WikimemError as error:
            yield Step("failed", step.source, f"{step.target}: {error.message}", step.found)


def _write(client: "MemoryClient", found: Found) -> None:
    if isinstance(found, NewItem):
        item = found.item
        client.put_item(
            item.category, item.name, item.content, owner=item.owner, source_conv=item.source_conv, ts=item.ts
        )
    elif isinstance(found, NewEntry):
        entry = found.entry
        client.diary_append(
            entry.content,
            ts=entry.ts,
            date=entry.date,
            time=entry.time,
            owner=entry.owner,
            source_conv=entry.source_conv,
        )


def _tell(steps: list[Step], *, done: bool, as_json: bool) -> None:
    counts = Counter(step.act for step in steps)
    if as_json:
        rows = [{"act": step.act, "source": step.source, "target": step.target} for step in steps]
        print_json({"done": done, "counts": counts, "steps": rows})
        return
    for step in steps:
        if step.act != "same":
            print_text(f"{step.act:8}{step.source} -> {step.target}")
    summary = ", ".join(f"{count} {act}" for act, count in counts.items()) or "nothing"
    print_text(f"{'done' if done else 'plan'}: {summary}")
    if not done and any(counts[act] for act in _TAKEN):
        print_text("nothing was written; to do it, run it again with --yes")
