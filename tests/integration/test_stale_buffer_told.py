"""The daemon's reconciler notices a stale editor buffer, says how to undo its save, and stops when that is done."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.reconciling import Life, living, new_vault
from wikimem.store.vault import MemoryStore
from wikimem.text.problems import Problem
from wikimem_daemon.ownwrites import AnnouncingFiles, OwnWrites

OLD = "## job\n\nold\n"


def store_of(life: Life, own: OwnWrites, later: timedelta = timedelta()) -> MemoryStore:
    return MemoryStore(
        life.root,
        layout=life.layout,
        state_dir=life.root.parent,
        state=life.state,
        wrap_files=partial(AnnouncingFiles, own=own),
        clock=lambda: datetime.now(UTC) + later,
    )


def told(life: Life) -> list[Problem]:
    return [problem for _, problem in life.reconciler.status().problems if problem.kind == "stale-buffer"]


@pytest.mark.parametrize(("name", "what"), [("fresh", "was removed by"), ("job", "was set back by")])
def test_a_save_of_an_old_buffer_is_told_with_its_command_until_the_text_is_back(
    name: str, what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        own = OwnWrites()
        async with living(new_vault(tmp_path), tmp_path / "state.db", own=own) as life:
            life.write("wiki/work.md", OLD)
            await life.fresh()
            store = store_of(life, own)
            item = store.add("work", name, "an agent's text")
            life.reconciler.note_write("wiki/work.md")
            life.write("wiki/work.md", OLD)
            await life.fresh()
            await life.after(3)
            await life.until(lambda: bool(told(life)), "the report")
            (problem,) = told(life)
            assert what in problem.message
            command, address, version = problem.hint.rsplit(" ", 2)
            assert (command, address) == ("wikimem restore", f"'{item.address}'")
            events = [one.getMessage() for one in caplog.records if getattr(one, "event", "") == "stale-buffer"]
            assert len(events) == 1
            assert problem.hint in events[0]
            store.restore(item.address, int(version))
            life.reconciler.note_write("wiki/work.md")
            assert (await life.texts())[item.address] == "an agent's text"
            assert told(life) == []

    caplog.set_level(logging.WARNING)
    asyncio.run(run())


def test_the_report_survives_a_restart_until_the_address_is_written_again(tmp_path: Path) -> None:
    async def run() -> None:
        vault, state, own = new_vault(tmp_path), tmp_path / "state.db", OwnWrites()
        async with living(vault, state, own=own) as life:
            life.write("wiki/work.md", OLD)
            await life.fresh()
            store_of(life, own).add("work", "fresh", "an agent's text")
            life.reconciler.note_write("wiki/work.md")
            life.write("wiki/work.md", OLD)
            await life.fresh()
            await life.after(3)
            await life.until(lambda: bool(told(life)), "the report")
            before = told(life)
        async with living(vault, state, own=own) as life:
            assert told(life) == before
            store_of(life, own, later=timedelta(minutes=1)).add("work", "fresh", "another text")
        async with living(vault, state, own=own) as life:
            await life.fresh()
            assert told(life) == []

    asyncio.run(run())


def test_a_person_who_edits_an_agents_text_is_not_told_of_a_stale_buffer(tmp_path: Path) -> None:
    async def run() -> None:
        own = OwnWrites()
        async with living(new_vault(tmp_path), tmp_path / "state.db", own=own) as life:
            life.write("wiki/work.md", OLD)
            await life.fresh()
            store_of(life, own).add("work", "job", "an agent's text")
            life.reconciler.note_write("wiki/work.md")
            life.write("wiki/work.md", "## job\n\na person's own words\n")
            await life.fresh()
            await life.after(3)
            await life.until(lambda: bool(life.history("work:job")), "the history")
            assert told(life) == []

    asyncio.run(run())
