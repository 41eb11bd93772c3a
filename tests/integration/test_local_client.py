"""The verbs in this process answer as the daemon does, and say which of them need one."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving import ROOT, Served, serving
from wikimem.api import requests
from wikimem.api.client import Client
from wikimem.api.local import NEEDS_DAEMON, LocalClient
from wikimem.api.requests import Prepared
from wikimem.cli.connection import connect
from wikimem.config import load
from wikimem.errors import AppendOnly, InvalidInput, NotFound, NotRunning, VaultError, WikimemError

Anyone = Client | LocalClient
STAMP = {"fresh", "partial", "degraded", "cursor", "took_ms", "temperature", "ts", "score", "bm25_score", "signals"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as one:
        one.write("wiki/preferences.md", "## likes-the-sea\n\nThe sea. [[daily_life:beach]] [[gone:x]]\n")
        one.write("wiki/daily_life.md", "## beach\n\nA trip. #summer\n\n## walk\n\nA walk by the sea.\n")
        one.write("diary/2026-07-21.md", "## 14:30\n\nMet Ann.\n\n## 14:30\n\nAnd Bob.\n")
        yield one


def local(served: Served) -> LocalClient:
    return LocalClient(load(str(served.vault), env=served.env, cwd=served.base))


def bare(value: Any) -> Any:
    """Leave out what differs by when and where it was asked."""
    if isinstance(value, dict):
        return {name: bare(each) for name, each in value.items() if name not in STAMP}
    return [bare(each) for each in value] if isinstance(value, list) else value


def outcome(call: Callable[[Anyone], Any], client: Anyone) -> Any:
    try:
        return bare(call(client))
    except WikimemError as error:
        return type(error), error.message


READS: dict[str, Callable[[Anyone], Any]] = {
    "retrieve": lambda one: one.retrieve("sea"),
    "retrieve with a window": lambda one: one.retrieve("", time_range=("2026-07-21", "2026-07-21")),
    "retrieve with filters": lambda one: one.retrieve("sea", 1, 5, expand_links=False, tag="summer", explain=True),
    "item": lambda one: one.item("daily_life:beach"),
    "a diary entry": lambda one: one.item("2026-07-21:14:30#2"),
    "no item": lambda one: one.item("daily_life:beech"),
    "no address": lambda one: one.item("beech"),
    "items": lambda one: one.items(),
    "items by page": lambda one: one.items("daily_life", limit=1),
    "categories": lambda one: one.categories(),
    "diary": lambda one: one.diary("2026-07-01", "2026-07-31"),
    "links": lambda one: one.links("unresolved"),
    "graph": lambda one: one.graph(),
    "related": lambda one: one.related("preferences:likes-the-sea", depth=2),
    "related to nothing": lambda one: one.related("nothing at all"),
    "history": lambda one: one.history("daily_life:beach"),
    "journal": lambda one: one.journal(),
    "a wrong depth": lambda one: one.related("daily_life:beach", depth=9),
}
WRITES: dict[str, Callable[[Anyone], Any]] = {
    "put_item": lambda one: one.put_item("work", "job", "Robots.", owner="u", ts="2026-07-21T06:30:00+00:00"),
    "put_item again": lambda one: one.put_item("work", "job", "Boats."),
    "put_item on another text": lambda one: one.put_item("work", "job", "No.", expected_hash="0" * 64),
    "a diary entry is not put": lambda one: one.put_item("2026-07-21", "14:30", "No."),
    "a diary entry is not removed": lambda one: one.remove_item("2026-07-21:14:30"),
    "diary_append": lambda one: one.diary_append("Rain.", date="2026-07-22", time="08:00"),
    "relate": lambda one: one.relate("work:job", "daily_life:beach", 2.0),
    "relate to what comes later": lambda one: one.relate("work:job", "later"),
    "unrelate": lambda one: one.unrelate("work:job", "later"),
    "unrelate what is not": lambda one: one.unrelate("work:job", "never"),
    "history after": lambda one: [version["content"] for version in one.history("work:job")["versions"]],
    "restore": lambda one: one.restore("work:job", one.history("work:job")["versions"][-1]["id"]),
    "restore what is not": lambda one: one.restore("work:job", 99_999),
    "pin": lambda one: one.pin("work:job"),
    "pinned": lambda one: one.item("work:job")["pinned"],
    "unpin": lambda one: one.unpin("work:job"),
    "remove_item": lambda one: one.remove_item("work:job"),
    "removed": lambda one: one.item("work:job"),
    "a forged comment": lambda one: one.put_item("a", "b", "c\n\n<!-- wikimem: owner=x -->"),
}


def test_the_same_calls_have_the_same_outcomes_here_and_over_the_socket(tmp_path: Path) -> None:
    """One vault each, made alike: the verbs exist once, behind both."""
    outcomes: list[dict[str, Any]] = []
    for kind in ("local", "socket"):
        with serving(tmp_path / kind) as one:
            one.write("wiki/preferences.md", "## likes-the-sea\n\nThe sea. [[daily_life:beach]] [[gone:x]]\n")
            one.write("wiki/daily_life.md", "## beach\n\nA trip. #summer\n\n## walk\n\nA walk by the sea.\n")
            one.write("diary/2026-07-21.md", "## 14:30\n\nMet Ann.\n\n## 14:30\n\nAnd Bob.\n")
            client: Anyone = local(one) if kind == "local" else one.start().client()
            with client:
                calls = {**READS, **WRITES}
                outcomes.append({name: outcome(call, client) for name, call in calls.items()})
    for name, here in outcomes[0].items():
        assert here == outcomes[1][name], name
    assert outcomes[0]["no item"][0] is NotFound
    assert outcomes[0]["a diary entry is not put"][0] is AppendOnly
    assert outcomes[0]["a wrong depth"][0] is InvalidInput


def test_what_needs_a_process_that_stays_says_how_to_start_one(served: Served) -> None:
    with local(served) as client:
        verbs: dict[str, Callable[[], object]] = {
            "changes": client.changes,
            "events": client.events,
            "status": client.status,
            "health": client.health,
            "rebuild": client.rebuild,
            "reload": client.reload,
            "embed": client.embed,
        }
        assert set(verbs) == {call.verb for call in NEEDS_DAEMON}
        for verb in verbs.values():
            with pytest.raises(NotRunning) as caught:
                verb()
            assert "wikimem serve" in caught.value.hint


def test_a_change_by_hand_is_in_the_next_answer(served: Served) -> None:
    with local(served) as client:
        assert client.retrieve("sea")["items"]
        served.write("wiki/daily_life.md", "## beach\n\nNow about mountains.\n")
        served.write("wiki/new.md", "## one\n\nmountains too\n")
        (served.vault / "wiki/preferences.md").unlink()
        found = client.retrieve("mountains")
        assert {item["address"] for item in found["items"]} == {"daily_life:beach", "new:one"}
        assert found["fresh"] is True
        assert client.retrieve("sea")["items"] == []


def test_a_same_size_rewrite_within_one_tick_is_seen(served: Served) -> None:
    with local(served) as client:
        for word in ("aaaa", "bbbb", "cccc", "dddd"):
            served.write("wiki/new.md", f"## one\n\n{word}\n")
            assert [item["content"] for item in client.retrieve(word)["items"]] == [word]


def test_a_read_makes_no_state(served: Served) -> None:
    with local(served) as client:
        client.retrieve("sea")
        client.items()
        client.related("preferences:likes-the-sea")
    assert list((served.base / "state").rglob("*.sqlite3*")) == []


def test_what_cannot_be_read_keeps_its_last_answers_and_is_named(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def scandir(place: str) -> Any:
        if str(place).endswith("/wiki"):
            raise PermissionError(13, "Permission denied")
        return real(place)

    with local(served) as client:
        assert client.retrieve("beach")["items"]
        monkeypatch.setattr(os, "scandir", scandir)
        found = client.retrieve("trip")
        assert found["fresh"] is False
        assert "wiki cannot be read" in found["degraded"][0]["detail"]
        assert found["items"]
        monkeypatch.undo()
        assert client.retrieve("trip")["fresh"] is True


def test_a_vault_that_is_gone_is_an_error_and_no_empty_answer(served: Served) -> None:
    with local(served) as client:
        assert client.retrieve("sea")["items"]
        served.vault.rename(served.base / "away")
        with pytest.raises(VaultError):
            client.retrieve("sea")
        (served.base / "away").rename(served.vault)
        assert client.retrieve("sea")["items"]


def test_a_write_waits_for_no_daemon_but_takes_its_lock(served: Served) -> None:
    """A daemon that runs sees what was written beside it."""
    served.start()
    with local(served) as client:
        client.put_item("beside", "x", "written in another process")
    assert served.client().retrieve("another process")["items"][0]["address"] == "beside:x"


HEAVY = ("numpy", "bm25s", "httpx", "watchfiles", "uvicorn", "starlette", "asyncio", "http.client", "email", "sqlite3")


def test_the_blocking_client_imports_nothing_heavy() -> None:
    program = f"import sys, wikimem.api.client; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"


def test_the_verbs_keep_their_names_and_documentation() -> None:
    assert Client.retrieve.__doc__ == LocalClient.retrieve.__doc__
    assert "ranked hits" in (Client.retrieve.__doc__ or "")


def test_a_note_over_the_size_limit_is_served_by_neither(served: Served) -> None:
    too_large = "## big\n\n" + "x" * 5_000_000
    client = local(served)
    served.write("wiki/big.md", too_large)
    served.write("wiki/daily_life.md", too_large)
    expected = ["preferences:likes-the-sea"]
    assert [one["address"] for one in client.items()["items"]] == expected
    assert bare(client.categories()) == bare(served.start().client().categories())
    served.write("wiki/daily_life.md", "## beach\n\nBack.\n")
    assert [one["address"] for one in client.items()["items"]] == ["daily_life:beach", *expected]


def test_the_users_own_file_says_where_the_journal_goes(tmp_path: Path) -> None:
    with serving(tmp_path) as one:
        folder = tmp_path / "config" / "wikimem"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(
            f'[vaults.notes]\npath = "{one.vault}"\n\n[vaults.notes.vault]\nderived = "state"\n'
        )
        local(one).put_item("work", "job", "text")
        assert not list(one.vault.rglob("journal*.jsonl"))
        one.start().client().put_item("work", "job", "text of the daemon's")
        assert not list(one.vault.rglob("journal*.jsonl"))
        assert len(local(one).journal(10, merged=False)["entries"]) == 2


def test_a_command_whose_daemon_ends_goes_on_in_its_own_process(served: Served) -> None:
    served.start()
    client = connect(load(str(served.vault), env=served.env, cwd=served.base))
    assert isinstance(client, Client)
    served.stop()
    assert client.put_item("work", "job", "text")["address"] == "work:job"
    assert "text" in (served.vault / "wiki/work.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "prepared",
    [
        requests.put_item("daily_life", "beach", "New."),
        requests.remove_item("daily_life:beach"),
        requests.diary_append("Rain.", date="2026-07-22", time="08:00"),
        requests.relate("daily_life:beach", "daily_life:walk", 2.0),
    ],
    ids=lambda one: one.call.verb,
)
def test_a_write_that_a_daemon_did_is_not_done_again_here(prepared: Prepared[Any], served: Served) -> None:
    answer = served.start().client().perform(prepared)
    served.stop()
    before = {path: path.read_bytes() for path in served.vault.rglob("*.*")}
    again = local(served).perform(prepared)
    assert {path: path.read_bytes() for path in served.vault.rglob("*.*")} == before
    left_out = {"line", "tags"}  # of an item that is gone
    assert {name: value for name, value in bare(again).items() if name not in left_out} == {
        name: value for name, value in bare(answer).items() if name not in left_out
    }
