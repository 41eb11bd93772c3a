"""The main job, end to end through the installed commands, on real notes."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.transcript.session import Session

ROOT = Path(__file__).parents[2]
HELP_VAULT = ROOT.parent / "shared/data/vaults/obsidian-help-en"


def retrieve(session: Session, query: str, vault: str = "memory") -> dict[str, Any]:
    done = session.run(f"wikimem retrieve --json --vault {vault} '{query}'")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.skipif(not HELP_VAULT.is_dir(), reason="the notes of the help vault are not beside the repository")
def test_the_help_notes_are_served_and_found(tmp_path: Path) -> None:
    shutil.copytree(HELP_VAULT, tmp_path / "memory/wiki")
    with Session(tmp_path) as session:
        session.start_daemon("memory")
        status = json.loads(session.run("wikimem status --json --vault memory").stdout)
        assert (status["state"], status["files"]) == ("ok", 172)
        for query, expected in {
            "nested tags": "Editing and formatting/Tags:Nested tags",
            "exclude a folder from sync": "Selective syncing",
            "use variables in templates date time title": "Template variables",
            "import from Notion API integration token": "Import from your Notion account",
        }.items():
            answer = retrieve(session, query)
            assert answer["fresh"]
            assert answer["items"][0]["address"].endswith(expected), query


def test_a_daemon_that_was_killed_starts_again_in_one_try_and_has_everything(tmp_path: Path) -> None:
    with Session(tmp_path) as session:
        session.run("wikimem init memory")
        for _ in range(2):
            daemon = session.start_daemon("memory")
            session.run("wikimem add music first-concert 'Bach, in the old hall.' --vault memory")
            daemon.send_signal(signal.SIGKILL)
            daemon.wait()
            (tmp_path / "memory/wiki/offline.md").write_text("# offline\n\n## comet\n\nSeen while nobody watched.\n")
        session.start_daemon("memory")
        assert retrieve(session, "comet nobody watched")["items"][0]["address"] == "offline:comet"
        assert retrieve(session, "Bach old hall")["items"][0]["address"] == "music:first-concert"


def test_a_note_that_is_not_utf_8_disturbs_no_other(tmp_path: Path) -> None:
    with Session(tmp_path) as session:
        session.run("wikimem init memory")
        latin = "# latin\n\n## menu\n\nUn café crème.\n".encode("latin-1")
        (tmp_path / "memory/wiki/latin.md").write_bytes(latin)
        (tmp_path / "memory/wiki/binary.md").write_bytes(bytes(range(256)))
        session.start_daemon("memory")
        assert retrieve(session, "slip gripper vibration")["items"][0]["address"] == "knowledge:slip-detection"
        assert (tmp_path / "memory/wiki/latin.md").read_bytes() == latin
        problems = json.loads(session.run("wikimem status --json --vault memory").stdout)["problems"]
        assert {"wiki/latin.md", "wiki/binary.md"} <= {problem["path"] for problem in problems}


def test_the_template_shows_what_a_hit_links_to(tmp_path: Path) -> None:
    with Session(tmp_path) as session:
        session.run("wikimem init memory")
        answer = retrieve(session, "what do I like?")
        assert answer["items"][0]["address"].startswith("preferences:")
        found = {item["address"]: item for item in retrieve(session, "喜欢海边")["items"]}
        assert found["daily_life:beach-trip-plan"]["source"] in {"hit", "link"}
        assert answer["unresolved_links"] == []
        links = session.run("wikimem links --json --vault memory")
        if links.returncode == 0:
            states = {link["state"] for link in json.loads(links.stdout)["links"]}
            assert not states & {"unresolved", "ambiguous"}
