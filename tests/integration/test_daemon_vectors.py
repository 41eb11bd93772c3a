"""A real daemon, a real endpoint: vectors follow the notes, and what the endpoint does costs no query its answer."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.embedding import KEY, Endpoint, configure, embedding, running
from tests.serving import Served, wait_until


def vectors(served: Served) -> Any:
    return served.client().status()["vectors"]


def wait_ready(served: Served, count: int) -> Any:
    def ready() -> bool:
        found = vectors(served)
        return bool(found["state"] == "ready" and found["pending"] == 0 and found["count"] == count)

    wait_until(ready, f"{count} items have vectors")
    return vectors(served)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running(Endpoint()) as found:
        yield found


@pytest.fixture
def served(tmp_path: Path, endpoint: Endpoint) -> Iterator[Served]:
    with embedding(tmp_path, endpoint) as found:
        yield found


def test_notes_are_embedded_and_found_by_what_they_mean(served: Served, endpoint: Endpoint) -> None:
    served.start()
    found = wait_ready(served, 2)
    assert (found["model"], found["dim"], found["sent"], found["tokens"]) == ("m1", 3, 2, 14)
    answer = served.client().retrieve("ocean")
    assert (answer["embedding_used"], answer["degraded"]) == (True, [])
    assert answer["items"][0]["address"] == "a:swim"
    assert answer["items"][0]["cos_score"] == pytest.approx(1, abs=0.1)
    assert served.client().status()["retrieves"] == {"count": 1, "embedding_used": 1}
    served.write("wiki/b.md", "# b\n\n## job\n\nA robot at work.\n")
    wait_ready(served, 3)
    assert served.client().retrieve("job")["items"][0]["address"] == "b:job"
    served.client().retrieve("job")
    assert served.stop() == 0
    assert max(endpoint.paid.values()) == 1, "the same question twice is paid for once"
    assert (served.vault / "vectors.keys.jsonl").exists(), "a stop writes what is not written yet"
    served.start()
    wait_ready(served, 3)
    assert max(endpoint.paid.values()) == 1, "a restart costs nothing"
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in served.log()
    assert KEY not in json.dumps(served.client().status())


def test_an_endpoint_that_hangs_costs_a_query_its_deadline_and_then_nothing(served: Served, endpoint: Endpoint) -> None:
    configure(served, endpoint, query_timeout_ms=150)
    served.start()
    wait_ready(served, 2)
    endpoint.delay_s = 60.0
    took = []
    for number in range(4):
        started = time.monotonic()
        answer = served.client().retrieve(f"coffee {number}")
        took.append(time.monotonic() - started)
        assert answer["embedding_used"] is False
        assert answer["items"][0]["address"] == "a:eat"
        assert [(part["code"], bool(part["hint"])) for part in answer["degraded"]] == [("embeddings-timeout", True)]
    assert len(endpoint.requests) <= 4, "after two failures it is left alone for a while"
    assert max(took) < 5
    endpoint.release.set()


def test_an_endpoint_that_is_away_is_said_to_be_and_found_again(served: Served, endpoint: Endpoint) -> None:
    endpoint.trouble = lambda *_: (503, {"error": "loading the model"}, {})
    served.start()
    wait_until(lambda: vectors(served)["state"] == "failing", "the endpoint is said to fail")
    answer = served.client().retrieve("coffee")
    assert answer["items"][0]["address"] == "a:eat"
    assert "loading the model" in answer["degraded"][0]["detail"]
    status = served.client().status()
    assert status["state"] == "degraded"
    assert "loading the model" in status["degraded"][0]["detail"]
    assert "it is tried again in" in status["degraded"][0]["hint"]
    assert str(status["vectors"].get("failing_since")).startswith("20")
    assert 0 <= (status["vectors"].get("retry_in_s") or 0.0) <= 300
    endpoint.trouble = None
    assert served.client().embed()["accepted"] is True
    wait_ready(served, 2)
    wait_until(lambda: served.client().status()["embed"]["state"] == "done", "the task is done")
    assert served.client().status()["state"] == "ok"
    assert served.log().count("loading the model") == 1, "one warning"


def test_another_model_answers_by_words_until_somebody_pays(served: Served, endpoint: Endpoint) -> None:
    served.start()
    wait_ready(served, 2)
    served.stop()
    endpoint.dim, endpoint.salt = 4, "m2"
    configure(served, endpoint, "m2")
    served.start()
    wait_until(lambda: vectors(served)["state"] == "mismatch", "the mismatch is seen")
    status = served.client().status()
    assert [part["code"] for part in status["degraded"]] == ["vectors-mismatch"]
    assert "wikimem embed --reset" in status["degraded"][0]["hint"]
    assert status["vectors"]["reset_cost"] == 2
    answer = served.client().retrieve("coffee")
    assert (answer["embedding_used"], answer["items"][0]["address"]) == (False, "a:eat")
    assert answer["degraded"][0]["code"] == "vectors-mismatch"
    assert sum(endpoint.paid.values()) == 2
    served.client().embed(reset=True)
    assert wait_ready(served, 2)["dim"] == 4
    assert served.client().retrieve("ocean")["embedding_used"] is True


def test_the_diary_gets_vectors_where_a_question_has_reached(served: Served, endpoint: Endpoint) -> None:
    served.write("diary/2026-07-21.md", "# 2026-07-21\n\n## 14:30\n\nA robot.\n")
    served.write("diary/2026-07-22.md", "# 2026-07-22\n\n## 14:30\n\nBread.\n")
    served.start()
    wait_ready(served, 2)
    window = ["2026-07-21", "2026-07-21"]
    served.client().retrieve("job", time_range=window)
    wait_until(lambda: endpoint.paid["14:30\nA robot."] == 1, "the day is embedded")
    wait_until(lambda: not vectors(served)["diary_pending"], "the vectors are there")
    answer = served.client().retrieve("job", time_range=window)
    entry = next(item for item in answer["items"] if item["category"] == "2026-07-21")
    assert entry["cos_score"] is not None
    assert endpoint.paid["14:30\nBread."] == 0
    served.stop()
    assert (served.vault / "diary-vectors" / "vectors.keys.jsonl").exists()


def test_derived_files_go_to_the_state_where_the_vault_says_so(served: Served, endpoint: Endpoint) -> None:
    served.write("wikimem.toml", '[vault]\nderived = "state"\n')
    served.start()
    wait_ready(served, 2)
    served.stop()
    assert list(served.vault.glob("vectors*")) == []
    assert len(list((served.base / "state").rglob("vectors.keys.jsonl"))) == 1


def test_a_text_that_the_endpoint_does_not_take_is_listed_once(served: Served, endpoint: Endpoint) -> None:
    endpoint.trouble = lambda _, texts: (400, {"error": "no coffee"}, {}) if "coffee" in "".join(texts) else None
    served.start()
    wait_until(lambda: vectors(served)["state"] == "incomplete", "all else is embedded")
    status = served.client().status()
    assert (status["vectors"]["count"], status["vectors"]["pending"], status["vectors"]["failed"]) == (1, 0, 1)
    assert [(one["path"], one["kind"]) for one in status["problems"]] == [("wiki/a.md", "not-embedded")]
    assert status["state"] == "ok"


def test_a_provider_that_is_not_there_is_a_fatal_setting(served: Served, endpoint: Endpoint) -> None:
    configure(served, endpoint)
    config = served.base / "config" / "wikimem" / "config.toml"
    config.write_text(config.read_text().replace('"http"', '"local"'))
    served.process = served.spawn("--log-level", "info")
    assert served.process.wait(20) == 78
    assert "not available" in served.log()
