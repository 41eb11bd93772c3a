"""The short forms of `bench/freshness.py` and `bench/soak.py`: the real daemon, and nothing stale called fresh."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.freshness import asking, burst, cold, fill, save_to_hit, staleness
from bench.soak import soak
from tests.serving import Served, serving, wait_until
from wikimem.cli.changes import changes
from wikimem.errors import NotRunning

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path / "world") as made:
        (made.vault / "diary").mkdir()
        yield made


def test_no_fresh_answer_is_stale_while_clients_ask(served: Served) -> None:
    served.start()
    with asking(served, clients=4) as asked:
        found = staleness(served, steps=60, seed=11)
    assert (found.stale, dict(found.not_fresh)) == ([], {})
    assert asked.calls > 0
    assert dict(asked.errors) == {}


@needs_root
def test_no_fresh_answer_is_stale_on_coarse_stamps(tmp_path: Path) -> None:
    place = tmp_path / "ram"
    place.mkdir()
    subprocess.run(["mount", "-t", "ramfs", "none", place], check=True, timeout=20)
    try:
        with serving(place / "world") as served:
            (served.vault / "diary").mkdir()
            served.start()
            found = staleness(served, steps=60, seed=12)
            served.stop()
        assert (found.stale, dict(found.not_fresh)) == ([], {})
    finally:
        subprocess.run(["umount", "-l", place], check=False, timeout=20)


def test_a_save_in_every_style_is_found_with_and_without_asking_for_freshness(served: Served) -> None:
    served.start()
    assert len(save_to_hit(served, 9, fresh=True)) == 9
    assert len(save_to_hit(served, 9, fresh=False)) == 9


def test_a_burst_is_searchable_and_nobody_gets_an_error(served: Served) -> None:
    fill(served, 50, 10)
    served.start()
    _, asked = burst(served, files=300, clients=4)
    assert dict(asked.errors) == {}
    assert served.client().status()["items"] == 350


def test_a_start_answers_status_before_it_has_read_everything(served: Served) -> None:
    fill(served, 400, 200)
    answered, complete = cold(served)
    assert answered <= complete
    assert served.client().status()["items"] == 400


def test_a_root_that_is_away_is_degraded_and_everything_still_answers(served: Served, tmp_path: Path) -> None:
    served.write("wiki/a.md", "## sea\n\nWe drove to the sea.\n")
    served.start()
    with served.client() as client:
        served.vault.rename(tmp_path / "away")
        wait_until(lambda: client.status()["state"] == "degraded", "the daemon says that the root is gone")
        answer = client.retrieve("sea")
        assert [item["address"] for item in answer["items"]] == ["a:sea"]
        assert not answer["fresh"]
        assert str(served.vault) in answer["degraded"][0]["detail"]
        (tmp_path / "away").rename(served.vault)
        served.write("wiki/a.md", "## sea\n\nWe flew to the sea.\n")
        wait_until(lambda: client.status()["state"] == "ok", "all is right again")
        assert client.retrieve("flew")["items"][0]["address"] == "a:sea"


def test_a_soak_leaves_memory_descriptors_and_log_flat(served: Served) -> None:
    fill(served, 100, 20)
    served.start()
    found = soak(served, seconds=2.0, clients=4, seed=3)
    assert found.steps > 0
    assert (found.stale, dict(found.errors)) == ([], {})
    assert found.descriptors[-1] <= found.descriptors[0] + 2
    assert found.log_lines[-1] - found.log_lines[0] < 20


def run_changes(served: Served, *arguments: str) -> Result:
    return CliRunner().invoke(changes, ["--vault", str(served.vault), *arguments], env=served.env)


def test_the_command_lists_changes_since_a_cursor(served: Served) -> None:
    served.write("wiki/a.md", "## sea\n\nWe drove to the sea, all of us.\n")
    served.start()
    first = json.loads(run_changes(served, "--json").stdout)
    assert (first["changes"], first["fresh_instance"]) == ([], False)
    served.write("wiki/a.md", "## lake\n\nWe drove to the sea, all of us.\n")
    served.write("wiki/b.md", "## hill\n\nAnd over the hill.\n")
    listed = run_changes(served, "--since", first["cursor"])
    assert listed.exit_code == 0
    assert "rename  disk  a:sea -> a:lake" in listed.stdout
    assert "add     disk  b:hill" in listed.stdout
    cursor = listed.stdout.split()[-1]
    assert run_changes(served, "--since", cursor).stdout == f"cursor  {cursor}\n"


def test_the_command_says_when_a_cursor_is_of_another_life(served: Served) -> None:
    served.start()
    cursor = json.loads(run_changes(served, "--json").stdout)["cursor"]
    served.stop()
    shutil.rmtree(served.base / "state")
    served.start()
    listed = run_changes(served, "--since", cursor)
    assert listed.exit_code == 0
    assert "another life" in listed.stderr


def test_the_command_needs_a_daemon(served: Served) -> None:
    assert isinstance(run_changes(served).exception, NotRunning)


def test_the_command_follows_changes_as_they_happen(served: Served) -> None:
    served.start()
    command = [sys.executable, "-c", "from wikimem.cli.changes import changes; changes()", "--vault", str(served.vault)]
    cursor = json.loads(run_changes(served, "--json").stdout)["cursor"]
    arguments = [*command, "--follow", "--since", cursor]
    with subprocess.Popen(arguments, env=served.env, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        for name in ("a", "b"):
            served.write(f"wiki/{name}.md", "## sea\n\nWe drove to the sea.\n")
            assert following.stdout.readline().rstrip().endswith(f"add  disk  {name}:sea")
        following.kill()
