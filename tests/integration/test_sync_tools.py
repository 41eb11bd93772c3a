"""The documentation's promises beside sync tools, acted out: what the tools do to files, before a real daemon."""

import fnmatch
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks
from tests.serving import Served, serving, wait_until
from wikimem.store.leftovers import leftover_path

LONG_AGO = (1_600_000_000, 1_600_000_000)
NOTE = "# tea\n\n## green\n\nGyokuro, shaded.\n"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as made:
        made.write("wiki/tea.md", NOTE)
        yield made.start()


def finds(served: Served, query: str) -> list[str]:
    with served.client() as client:
        answer = client.retrieve(query, fresh_timeout_ms=8_000)  # of a busy machine
    assert answer["fresh"], answer["degraded"]
    return [item["address"] for item in answer["items"]]


def problems(served: Served) -> list[tuple[str, str]]:
    with served.client() as client:
        return [(one["path"], one["kind"]) for one in client.status()["problems"]]


def has_problem(served: Served, path: str) -> bool:
    return any(found == path for found, _ in problems(served))


def an_agents_day(served: Served) -> None:
    """Everything that a daemon writes into a vault by itself or for an agent."""
    with served.client() as client:
        client.put_item("tea", "black", "Assam, malty.")
        client.put_item("coffee", "filter", "Bloom first.")
        client.diary_append("Drank tea.", date="2026-07-21", time="09:00")
        client.relate("tea:black", "coffee:filter")
        client.remove_item("tea:black")


def ignore_lines(page: str, first: str) -> list[str]:
    """Return the lines of the page's block that begins with this comment."""
    [block] = [one for one in blocks(ROOT / "docs" / page) if one.text.split("\n", 1)[0] == first]
    return [line for line in block.text.split("\n")[1:] if line]


def files_of(vault: Path) -> list[str]:
    return sorted(str(path.relative_to(vault)) for path in vault.rglob("*") if path.is_file())


def machine_files(vault: Path) -> list[str]:
    """Put what only embeddings or a crash leave into the vault; return all that is each machine's own."""
    leftovers = [leftover_path("wiki/tea.md", kind) for kind in ("new", "old", "undo")]
    own = ["vectors-000003.npy", "vectors.keys.jsonl", "diary-vectors/vectors-000001.npy", *leftovers]
    own.append(".obsidian/workspace.json")
    for name in own:
        (vault / name).parent.mkdir(exist_ok=True)
        (vault / name).write_bytes(b"x")
    return [*own, "journal.jsonl"]


# --- Syncthing ----------------------------------------------------------------------------------------------------


def by_syncthing(path: Path, text: str) -> None:
    temporary = path.with_name(f".syncthing.{path.name}.tmp")
    temporary.write_text(text, encoding="utf-8")
    os.utime(temporary, LONG_AGO)
    temporary.rename(path)


def test_what_syncthing_brings_is_found_at_once_whatever_its_time_stamp_says(served: Served) -> None:
    os.utime(served.vault / "wiki/tea.md", LONG_AGO)
    assert finds(served, "gyokuro") == ["tea:green"]
    # Of the same size and the same time.
    by_syncthing(served.vault / "wiki/tea.md", NOTE.replace("Gyokuro", "Sencha!"))
    assert finds(served, "sencha") == ["tea:green"]
    assert finds(served, "gyokuro") == []


def test_a_conflict_copy_of_syncthing_is_listed_and_not_served(served: Served) -> None:
    copy = "wiki/tea.sync-conflict-20260721-101500-K4QPLQZ.md"
    by_syncthing(served.vault / copy, NOTE.replace("Gyokuro", "Matcha"))
    assert finds(served, "matcha") == []
    assert finds(served, "gyokuro") == ["tea:green"]
    wait_until(lambda: has_problem(served, copy), "the copy is listed")
    (served.vault / copy).unlink()
    wait_until(lambda: not has_problem(served, copy), "the copy is listed no more")


def test_what_syncthing_moves_to_its_versions_is_gone(served: Served) -> None:
    versions = served.vault / ".stversions/wiki"
    versions.mkdir(parents=True)
    (served.vault / "wiki/tea.md").rename(versions / "tea~20260721-101500.md")
    assert finds(served, "gyokuro") == []


def test_a_folder_that_syncthing_brings_is_read_whole(served: Served) -> None:
    for number in range(200):
        by_syncthing(_made(served.vault / f"wiki/trip/day{number}.md"), f"## plan\n\nvisit place{number}\n")
    assert finds(served, "place137")[0] == "trip/day137:plan"


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def stignore_matches(pattern: str, path: str) -> bool:
    """Syncthing's rules for the patterns that the page uses (docs.syncthing.net/users/ignoring.html).

    `/` first: only at the top; else at any depth. `*` stays within one part. A folder takes its files along.
    """
    pattern = pattern.removeprefix("(?d)")
    anchored = pattern.startswith("/")
    wanted = pattern.strip("/").split("/")
    parts = path.split("/")
    starts = [0] if anchored else range(len(parts))
    return any(
        len(parts) >= start + len(wanted)
        and all(fnmatch.fnmatchcase(part, one) for part, one in zip(parts[start:], wanted, strict=False))
        for start in starts
    )


def test_the_lines_for_stignore_leave_out_each_machines_own_files_and_no_note(served: Served) -> None:
    an_agents_day(served)
    own = machine_files(served.vault)
    (served.vault / "wikimem.toml").write_text("[links]\n")
    lines = ignore_lines("sync-syncthing.md", "// .stignore")
    ignored = [path for path in files_of(served.vault) if any(stignore_matches(line, path) for line in lines)]
    assert ignored == sorted(own)
    kept = set(files_of(served.vault)) - set(ignored)
    assert kept == {"relations.jsonl", "wikimem.toml", "wiki/coffee.md", "wiki/tea.md", "diary/2026-07-21.md"}


# --- git ----------------------------------------------------------------------------------------------------------

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(vault: Path, *words: str, check: bool = True) -> str:
    settings = ["-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "init.defaultBranch=main"]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *settings, *words], cwd=vault, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout


def repository(served: Served) -> Path:
    vault = served.vault
    for first in ("# .gitignore", "# .gitattributes"):
        lines = ignore_lines("sync-obsidian-git.md", first)
        (vault / first.removeprefix("# ")).write_text("\n".join(lines) + "\n")
    git(vault, "init", "-q")
    git(vault, "add", "-A")
    git(vault, "commit", "-qm", "vault backup: 2026-07-21 10:00:00")
    return vault


@needs_git
def test_the_lines_for_gitignore_show_only_what_is_worth_a_commit(served: Served) -> None:
    vault = repository(served)
    an_agents_day(served)
    machine_files(vault)
    changed = [line[3:] for line in git(vault, "status", "--porcelain", "-uall").splitlines()]
    # `tea:black` was added and removed again: the note has its old bytes.
    assert sorted(changed) == ["diary/2026-07-21.md", "relations.jsonl", "wiki/coffee.md"]


@needs_git
def test_a_daemon_alone_leaves_a_clean_repository_clean(served: Served) -> None:
    vault = repository(served)
    assert finds(served, "gyokuro") == ["tea:green"]
    with served.client() as client:
        client.status(verify=True)
    assert git(vault, "status", "--porcelain", "-uall") == ""


@needs_git
def test_conflict_markers_keep_the_last_good_text_until_they_are_gone(served: Served) -> None:
    vault = repository(served)
    git(vault, "checkout", "-qb", "phone")
    (vault / "wiki/tea.md").write_text(NOTE.replace("Gyokuro", "Matcha"))
    git(vault, "commit", "-qam", "phone")
    git(vault, "checkout", "-q", "main")
    (vault / "wiki/tea.md").write_text(NOTE.replace("Gyokuro", "Sencha"))
    git(vault, "commit", "-qam", "desk")
    assert finds(served, "sencha") == ["tea:green"]

    git(vault, "merge", "-q", "phone", check=False)
    assert b"<<<<<<<" in (vault / "wiki/tea.md").read_bytes()
    with served.client() as client:
        answer = client.retrieve("sencha")
    assert [item["content"] for item in answer["items"]] == ["Sencha, shaded."], answer
    assert not answer["fresh"]
    assert any("wiki/tea.md" in part["detail"] for part in answer["degraded"])

    (vault / "wiki/tea.md").write_text(NOTE.replace("Gyokuro", "Both"))
    assert finds(served, "both") == ["tea:green"]


@needs_git
def test_a_switch_of_branches_is_followed_in_one_go(served: Served) -> None:
    vault = repository(served)
    git(vault, "checkout", "-qb", "trip")
    for number in range(300):
        served.write(f"wiki/trip/day{number}.md", f"## plan\n\nvisit place{number}\n")
    git(vault, "add", "-A")
    git(vault, "commit", "-qm", "trip")
    assert finds(served, "place299")[0] == "trip/day299:plan"
    git(vault, "checkout", "-q", "main")
    assert finds(served, "place299") == []
    git(vault, "checkout", "-q", "trip")
    assert finds(served, "place7")[0] == "trip/day7:plan"


@needs_git
def test_a_pull_that_changes_notes_tells_of_no_note_that_was_removed(served: Served) -> None:
    for number in range(40):
        served.write(f"wiki/trip/day{number}.md", f"## plan\n\nvisit place{number}\n")
    vault = repository(served)
    git(vault, "checkout", "-qb", "desk")
    for number in range(40):
        served.write(f"wiki/trip/day{number}.md", f"## plan\n\nvisit town{number}\n")
    git(vault, "commit", "-qam", "desk")
    assert finds(served, "town7")[0] == "trip/day7:plan"
    since = served.client().changes()["cursor"]
    for _ in range(3):
        git(vault, "checkout", "-q", "main")
        git(vault, "checkout", "-q", "desk")
        # Asked in the middle of it, too.
        served.client().retrieve("visit", fresh_timeout_ms=0)
    assert finds(served, "town7")[0] == "trip/day7:plan"
    changes = served.client().changes(since=since, limit=1000)["changes"]
    assert {change["action"] for change in changes} <= {"update"}


@needs_git
def test_edges_that_two_branches_added_are_both_kept(served: Served) -> None:
    vault = repository(served)
    served.write("wiki/coffee.md", "## filter\n\nBloom.\n")
    with served.client() as client:
        client.relate("tea:green", "coffee:filter")
        git(vault, "add", "-A")
        git(vault, "commit", "-qm", "base")
        git(vault, "checkout", "-qb", "phone")
        client.relate("tea:green", "somewhere:far")
        git(vault, "commit", "-qam", "phone")
        git(vault, "checkout", "-q", "main")
        client.relate("coffee:filter", "tea:green")
        git(vault, "commit", "-qam", "desk")
        git(vault, "merge", "-q", "--no-edit", "phone")
        links = client.links()["links"]
    manual = {(link["source"], link["target"]) for link in links if link["origin"] == "manual"}
    assert manual == {
        ("tea:green", "coffee:filter"),
        ("tea:green", "somewhere:far"),
        ("coffee:filter", "tea:green"),
    }


def test_the_page_that_obsidian_git_makes_for_conflicts_is_no_memory(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        # A vault without `wiki/`: every note of it is read, and that page lies at the top.
        (served.vault / "wiki").rmdir()
        served.write("wikimem.toml", '[vault]\nwiki_dir = "."\n')
        served.write("tea.md", NOTE)
        served.write("conflict-files-obsidian-git.md", "## Conflicts\n\nGyokuro is in conflict.\n")
        served.start()
        assert finds(served, "gyokuro") == ["tea:green"]


# --- Obsidian Sync ------------------------------------------------------------------------------------------------


def by_obsidian_sync(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
    os.utime(path, LONG_AGO)


def test_what_obsidian_sync_writes_in_place_is_found_whatever_its_time_stamp_says(served: Served) -> None:
    os.utime(served.vault / "wiki/tea.md", LONG_AGO)
    assert finds(served, "gyokuro") == ["tea:green"]
    by_obsidian_sync(served.vault / "wiki/tea.md", NOTE.replace("Gyokuro", "Sencha!"))
    assert finds(served, "sencha") == ["tea:green"]


def test_a_conflicted_copy_of_obsidian_sync_is_listed_and_not_served(served: Served) -> None:
    copy = "wiki/tea (Conflicted copy MacBook 202607211015).md"
    by_obsidian_sync(served.vault / copy, NOTE.replace("Gyokuro", "Matcha"))
    assert finds(served, "matcha") == []
    wait_until(lambda: has_problem(served, copy), "the copy is listed")


def test_what_obsidian_moves_to_its_trash_is_gone(served: Served) -> None:
    (served.vault / ".trash").mkdir()
    (served.vault / "wiki/tea.md").rename(served.vault / ".trash/tea.md")
    assert finds(served, "gyokuro") == []


def test_obsidian_sync_takes_notes_and_nothing_that_is_a_machines_own(served: Served) -> None:
    an_agents_day(served)
    own = set(machine_files(served.vault)) - {".obsidian/workspace.json"}  # Obsidian itself leaves that one out
    taken = re.compile(
        r".*\.(md|canvas|base|png|jpg|jpeg|gif|bmp|svg|webp|avif|mp3|wav|m4a|flac|ogg|webm|3gp|mp4|mov|mkv|ogv|pdf)"
    )
    sent = {path for path in files_of(served.vault) if taken.fullmatch(path) and not path.startswith(".")}
    assert sent == {"wiki/coffee.md", "wiki/tea.md", "diary/2026-07-21.md"}
    assert not own & sent


def test_with_derived_files_in_the_state_only_notes_and_edges_are_in_the_vault(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.write("wikimem.toml", '[vault]\nderived = "state"\n')
        served.write("wiki/tea.md", NOTE)
        served.start()
        an_agents_day(served)
        assert set(files_of(served.vault)) == {
            *("wikimem.toml", "relations.jsonl", "wiki/coffee.md", "wiki/tea.md", "diary/2026-07-21.md"),
        }
        with served.client() as client:
            assert client.journal(tail=1)["entries"], "the journal is kept elsewhere, not lost"


def test_a_note_that_obsidian_sync_is_writing_is_answered_from_its_last_whole_text(served: Served) -> None:
    assert finds(served, "gyokuro") == ["tea:green"]
    with (served.vault / "wiki/tea.md").open("w", encoding="utf-8") as file:
        assert [item["content"] for item in served.client().retrieve("gyokuro")["items"]] == ["Gyokuro, shaded."]
        file.write(NOTE.replace("Gyokuro", "Sencha"))
    os.utime(served.vault / "wiki/tea.md", LONG_AGO)
    wait_until(lambda: finds(served, "sencha") == ["tea:green"], "the whole text is served")
