"""`wikimem embed`, with a daemon and without one."""

import importlib
import itertools
import json
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.embedding import KEY, Endpoint, configure, embedding, running
from tests.serving import WIKIMEM, Served, wait_until
from wikimem.cache.files import VectorFiles
from wikimem.cli.embed_view import View, bar_line
from wikimem.errors import WikimemError


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running(Endpoint()) as found:
        yield found


@pytest.fixture
def served(tmp_path: Path, endpoint: Endpoint) -> Iterator[Served]:
    with embedding(tmp_path, endpoint) as found:
        yield found


def command(served: Served, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*WIKIMEM, *arguments, "--vault", "v"],
        env=served.env,
        cwd=served.base,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(served: Served, *arguments: str) -> tuple[int, str, str]:
    process = command(served, *arguments)
    out, err = process.communicate(timeout=50)
    return process.returncode, out, err


def test_without_a_daemon_it_embeds_here_and_again_costs_nothing(served: Served, endpoint: Endpoint) -> None:
    status, out, err = run(served, "embed")
    assert (status, err) == (0, "")
    assert out == "2 items have vectors of m1; 2 sent, 14 tokens\n"
    assert run(served, "embed")[1] == "2 items have vectors of m1\n"
    assert sum(endpoint.paid.values()) == 2
    stored = VectorFiles(served.vault).load()
    assert stored is not None
    assert stored.files == ["a", "a"]
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_query_without_a_daemon_uses_the_vectors_that_are_there(served: Served, endpoint: Endpoint) -> None:
    answer = json.loads(run(served, "retrieve", "ocean", "--json")[1])
    assert (answer["embedding_used"], answer["degraded"][0]["code"]) == (False, "embeddings-waiting")
    run(served, "embed")
    answer = json.loads(run(served, "retrieve", "ocean", "--json")[1])
    assert (answer["embedding_used"], answer["items"][0]["address"]) == (True, "a:swim")
    configure(served, endpoint, "m2")
    answer = json.loads(run(served, "retrieve", "coffee", "--json")[1])
    assert (answer["embedding_used"], answer["degraded"][0]["code"]) == (False, "vectors-mismatch")
    assert answer["items"][0]["address"] == "a:eat"


def test_a_key_that_is_missing_costs_a_command_its_vectors_only(served: Served, endpoint: Endpoint) -> None:
    run(served, "embed")
    (served.base / "config" / "wikimem" / "key").unlink()
    assert run(served, "ls")[0] == 0
    assert run(served, "add", "a", "new", "A text.")[0] == 0
    answer = json.loads(run(served, "retrieve", "coffee", "--json")[1])
    assert (answer["items"][0]["address"], answer["embedding_used"]) == ("a:eat", False)
    assert "key" in answer["degraded"][0]["detail"]
    status, _, err = run(served, "embed")
    assert (status, "key" in err) == (78, True)


def test_a_reset_says_what_it_costs_and_is_not_done_unasked(served: Served, endpoint: Endpoint) -> None:
    run(served, "embed")
    configure(served, endpoint, "m2")
    status, _, err = run(served, "embed")
    assert status == 1
    assert "the vectors are of m1" in err
    assert "`wikimem embed --reset` embeds all 2 texts anew" in err
    status, _, err = run(served, "embed", "--reset")
    assert status == 2
    assert "sends all 2 texts to http://127.0.0.1" in err
    assert "pass --yes" in err
    assert sum(endpoint.paid.values()) == 2
    status, out, _ = run(served, "embed", "--reset", "--yes", "--json")
    assert status == 0
    assert (json.loads(out)["count"], json.loads(out)["model"]) == (2, "m2")
    assert sum(endpoint.paid.values()) == 4


def test_with_a_daemon_it_asks_the_daemon(served: Served, endpoint: Endpoint) -> None:
    served.start()
    assert run(served, "embed")[:2] == (0, "2 items have vectors of m1; 2 sent, 14 tokens\n")
    status, out, err = run(served, "embed", "--reset", "--yes")
    assert (status, out) == (0, "2 items have vectors of m1; 4 sent, 28 tokens\n")
    assert "sends all 2 texts" in err
    assert set(endpoint.paid.values()) == {2}


def test_nothing_is_paid_to_a_model_that_only_the_daemon_still_has(served: Served, endpoint: Endpoint) -> None:
    served.start()
    run(served, "embed")
    configure(served, endpoint, "m2")
    status, _, err = run(served, "embed", "--reset", "--yes")
    assert (status, "the daemon works with m1, the configuration says m2" in err) == (1, True)
    assert "restart it" in err
    assert set(endpoint.paid.values()) == {1}


def held(endpoint: Endpoint) -> None:
    endpoint.release.wait(30)


@pytest.mark.parametrize("daemon", [True, False])
def test_ctrl_c_ends_the_command_and_the_work_goes_on_where_it_was(
    served: Served, endpoint: Endpoint, *, daemon: bool
) -> None:
    items = "".join(f"## n{number}\n\ntext {number}\n\n" for number in range(100))
    served.write("wiki/many.md", f"# many\n\n{items}")
    # It holds rather than refuses: a daemon that says "failing" ends the command before the signal comes.
    endpoint.trouble = lambda found, _: held(found) if sum(found.paid.values()) >= 64 else None
    if daemon:
        served.start()
    process = command(served, "embed")
    wait_until(lambda: len(endpoint.requests) > 2, "the first texts are embedded")
    if daemon:
        wait_until(lambda: served.client().status()["embed"]["state"] == "running", "the command is at work")
    process.send_signal(signal.SIGINT)
    if not daemon:
        assert process.stderr is not None
        while "stopping" not in process.stderr.readline():
            pass
        endpoint.release.set()
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert ("the daemon goes on" if daemon else "run it again") in err
    endpoint.release.set()
    assert run(served, "embed")[1].startswith("102 items have vectors of m1")
    assert max(endpoint.paid.values()) == 1


def test_what_was_sent_when_ctrl_c_came_is_kept_and_not_paid_again(served: Served, endpoint: Endpoint) -> None:
    endpoint.delay_s = 30.0
    process = command(served, "embed")
    wait_until(lambda: endpoint.requests, "the texts are sent")
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "stopping" not in process.stderr.readline():
        pass
    endpoint.release.set()
    _, err = process.communicate(timeout=20)
    assert (process.returncode, "run it again" in err) == (130, True)
    assert run(served, "embed")[1] == "2 items have vectors of m1\n"
    assert set(endpoint.paid.values()) == {1}


def test_one_process_at_a_time_makes_vectors_and_a_daemon_waits_for_its_turn(
    served: Served, endpoint: Endpoint
) -> None:
    endpoint.delay_s = 30.0
    first = command(served, "embed")
    wait_until(lambda: endpoint.requests, "the texts are sent")
    status, _, err = run(served, "embed")
    assert (status, f"process {first.pid} makes the vectors of this vault" in err) == (75, True)
    served.start()
    wait_until(lambda: served.client().status()["vectors"]["state"] == "locked", "the daemon waits")
    answer = served.client().retrieve("coffee")
    assert (answer["items"][0]["address"], answer["embedding_used"]) == ("a:eat", False)
    assert f"process {first.pid} makes" in answer["degraded"][0]["detail"]
    endpoint.release.set()
    assert first.communicate(timeout=20)[0].startswith("2 items have vectors")
    wait_until(lambda: served.client().status()["vectors"]["state"] == "ready", "the daemon goes on with them")
    assert served.client().retrieve("coffee")["embedding_used"]
    assert {text: count for text, count in endpoint.paid.items() if "\n" in text and count > 1} == {}


def test_status_says_how_far_it_is_what_it_cost_and_what_it_waits_for(served: Served, endpoint: Endpoint) -> None:
    items = "".join(f"## n{number}\n\ntext {number}\n\n" for number in range(40))
    served.write("wiki/many.md", f"# many\n\n{items}")
    endpoint.trouble = lambda found, _: (503, {}, {}) if found.paid else None
    served.start()
    wait_until(lambda: served.client().status()["vectors"]["state"] == "failing", "it fails")
    told = run(served, "status")[1]
    assert "vectors    failing: 32 of m1, 10 pending; " in told
    assert "32 sent, 224 tokens since the start" in told
    assert "; failing since 20" in told
    assert ", tried again in " in told
    endpoint.trouble = None
    run(served, "embed")
    assert "vectors    ready: 42 of m1; 42 sent, 294 tokens since the start" in run(served, "status")[1]


def test_it_says_which_texts_are_not_taken(served: Served, endpoint: Endpoint) -> None:
    endpoint.trouble = lambda _, texts: (400, {"error": "no coffee"}, {}) if "coffee" in "".join(texts) else None
    status, out, _ = run(served, "embed")
    assert status == 0
    assert out.startswith("1 items have vectors of m1; 1 sent, 7 tokens\nnot taken by the endpoint: a: eat: ")


def test_it_needs_embeddings_to_be_configured(served: Served) -> None:
    (served.base / "config" / "wikimem" / "config.toml").write_text(f'[vaults.v]\npath = "{served.vault}"\n')
    status, _, err = run(served, "embed")
    assert status == 78
    assert "no embeddings are configured" in err


def test_the_bar_says_how_far_how_fast_what_it_cost_and_how_long() -> None:
    view = View("pending", 500, 1500, 480, 12_000, 51.7, 29.0, "m", "", "", 0)
    assert bar_line(view) == "[######..................] 500/2,000  51.7/s  29 s left  480 sent  12,000 tokens"
    later = View("failing", 0, 90_000, 0, 0, 0.0, 4000.0, "m", "", "", 0)
    assert bar_line(later) == f"[{'.' * 24}] 0/90,000  1 h 06 min left  0 sent  waiting for the endpoint"


def test_it_waits_for_an_endpoint_that_asks_to_be_left_alone_and_not_for_one_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embed_module = importlib.import_module("wikimem.cli.embed")  # the package shows the command by that name
    clock = itertools.count(0, 10)
    monkeypatch.setattr(embed_module.time, "monotonic", lambda: next(clock))
    done = View("ready", 2, 0, 2, 0, 0.0, None, "m", "", "", 2)
    limited = replace(done, state="failing", count=1, pending=1, retry_in_s=40.0, rate_limited=True)
    views = iter([*[limited] * 10, done])
    assert embed_module._watch(lambda: next(views), lambda _: None, lambda: None) == done
    for given_up in (replace(limited, rate_limited=False), replace(limited, retry_in_s=3_600.0)):
        with pytest.raises(WikimemError, match="1 texts have no vector"):
            embed_module._watch(itertools.repeat(given_up).__next__, lambda _: None, lambda: None)
    assert bar_line(limited).endswith("waiting for the endpoint, 40 s")
