"""Renames that wait for a quiet minute outlive the daemon that noticed them."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from wikimem.config import load
from wikimem_daemon.gate import Gate
from wikimem_daemon.limits import Limits
from wikimem_daemon.opened import OpenedVault, open_vault

NOTE = "## {}\n\nthe same body\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / "vault"
    (root / "wiki").mkdir(parents=True)
    (root / "wiki/a.md").write_text(NOTE.format("old"), encoding="utf-8")
    (root / "wiki/b.md").write_text("## b\n\n[[a#old]]\n", encoding="utf-8")
    return root


def live(root: Path, play: Callable[[OpenedVault], Awaitable[bool]], *, auto_repair: bool = True) -> bool:
    """Open the vault as a daemon does, let `play` have it, close it."""

    async def life() -> bool:
        settings = load(str(root), env=None, cwd=None)
        chosen = replace(settings, links=replace(settings.links, auto_repair=auto_repair))
        vault = open_vault(chosen, Gate(Limits()), None)
        await vault.start()
        try:
            await vault.reconciler.ensure_fresh(30)
            return await play(vault)
        finally:
            await vault.close()

    return asyncio.run(life())


async def rename_and_end(vault: OpenedVault) -> bool:
    (vault.settings.path / "wiki/a.md").write_text(NOTE.format("new"), encoding="utf-8")
    await vault.reconciler.ensure_fresh(30)
    await vault.auto_repair.keep_since()
    return await due(vault)


async def due(vault: OpenedVault) -> bool:
    return vault.auto_repair.due_in() is not None


def test_a_rename_of_a_daemons_last_minute_is_followed_by_the_next_one(root: Path) -> None:
    async def follow(vault: OpenedVault) -> bool:
        assert await due(vault)
        vault.auto_repair._last_change -= 61
        done = await vault.auto_repair.run_if_due()
        await vault.auto_repair.keep_since()
        return done is not None and done.links == 1

    assert live(root, rename_and_end)
    assert live(root, due)  # the minute was not over in this life either
    assert live(root, follow)
    assert (root / "wiki/b.md").read_text(encoding="utf-8") == "## b\n\n[[a#new]]\n"
    assert not live(root, due)


def test_who_turned_it_off_meanwhile_is_not_surprised_later(root: Path) -> None:
    assert live(root, rename_and_end)
    assert not live(root, due, auto_repair=False)
    assert not live(root, due)
