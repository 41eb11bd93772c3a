"""Every code block of the README and the docs does what it shows."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, RUN, SHOWN, Block, blocks, pages
from tests.transcript.session import Session
from wikimem.config import load
from wikimem.errors import ConfigError


def run_block(block: Block, session: Session) -> None:
    if block.language == "console":
        session.play(with_test_forms(block.text), block.line)
    elif block.language == "python":
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", "\n" * (block.line - 1) + block.text],
            cwd=session.folder,
            env=session.env,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0, f"{block.page.name}:{block.line}\n{done.stdout}{done.stderr}"
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "toml":
        load_settings(block, session)


def with_test_forms(text: str) -> str:
    """Return the script with `serve` as a daemon and `make` as a question."""
    lines = []
    for line in text.split("\n"):
        if line.startswith("$ wikimem serve --vault "):
            lines += [f"% daemon {line.rpartition(' ')[2]}", "$ true"]
        elif line.startswith("$ make "):
            lines += [f"$ make -n -C {ROOT} {line.removeprefix('$ make ')} >/dev/null"]
        else:
            lines.append(line)
    return "\n".join(lines)


def load_settings(block: Block, session: Session) -> None:
    """Put the settings where their first line says, and load them."""
    home = session.folder / f"toml-{block.page.stem}-{block.line}"
    vault = home / "memory"
    (vault / "wiki").mkdir(parents=True)
    first = block.text.split("\n", 1)[0]
    assert first.startswith("# ")
    if first.endswith("wikimem.toml"):
        (vault / "wikimem.toml").write_text(block.text, encoding="utf-8")
    else:
        assert first.endswith("config.toml"), f"{block.page.name}:{block.line}: the first line names the file"
        (home / ".config/wikimem").mkdir(parents=True)
        (home / ".config/wikimem/config.toml").write_text(block.text, encoding="utf-8")
    load(None, env={"HOME": str(home), "XDG_RUNTIME_DIR": str(session.runtime)}, cwd=vault)


@pytest.mark.timeout(180)  # a page can start some forty processes
@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_blocks_of_the_page_run(page: Path, tmp_path: Path) -> None:
    with Session(tmp_path) as session:
        for block in blocks(page):
            if block.not_run is None and block.language in RUN:
                run_block(block, session)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_block_is_run_or_says_why_not(page: Path) -> None:
    for block in blocks(page):
        known = block.language in RUN | SHOWN
        assert known or block.not_run, f"{page.name}:{block.line}: `{block.language}` is neither run nor shown"


def test_a_block_that_fails_is_noticed(tmp_path: Path) -> None:
    with Session(tmp_path) as session:
        for language, text in (("console", "$ false"), ("python", "raise SystemExit(1)"), ("json", "{")):
            with pytest.raises((AssertionError, ValueError)):
                run_block(Block(ROOT / "README.md", 1, language, text, None), session)


def test_settings_that_do_not_load_are_noticed(tmp_path: Path) -> None:
    block = Block(ROOT / "README.md", 1, "toml", "# wikimem.toml\n[linx]\n", None)
    with Session(tmp_path) as session, pytest.raises(ConfigError, match="unknown key"):
        run_block(block, session)


def test_the_commands_that_the_blocks_need_are_here() -> None:
    assert shutil.which("bash")
    assert shutil.which("curl")
