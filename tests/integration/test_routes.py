"""Every route over the real socket of a real daemon. What it refuses: `test_refused_requests.py`."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from tests.serving import Served, http, raw, serving, wait_until
from wikimem import __version__
from wikimem.api.openapi import openapi

PREFERENCES = "# preferences\n\n## likes-the-sea\n\n喜欢海边。[[daily_life:beach]] [[nowhere:at-all]]\n"
DAILY = "## beach\n\nA trip to the beach, to see the sun rise.\n"
DIARY = "# 2026-07-21\n\n## 14:30\n\nShe changed jobs.\n\n## 14:30\n\nAnd again.\n\n## 22:10\n\nWorried.\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("routes")) as one:
        one.write("wiki/preferences.md", PREFERENCES)
        one.write("wiki/daily_life.md", DAILY)
        one.write("diary/2026-07-21.md", DIARY)
        yield one.start()


def test_retrieve_answers_with_every_field_of_the_contract(served: Served) -> None:
    reply = served.http("POST", "/v1/retrieve", {"query": "海边", "explain": True})
    assert reply.status == 200
    body = reply.json()
    assert body.keys() == {
        *("items", "budget_tokens", "budget_used", "embedding_used", "dropped", "unresolved_links", "time_range"),
        *("time_range_source", "time_range_widened", "fresh", "partial", "cursor", "took_ms", "degraded"),
    }
    hit, linked = body["items"]
    assert hit["address"] == "preferences:likes-the-sea"
    assert hit["source"] == "hit"
    assert hit["tokens_est"] > 0
    assert linked["address"] == "daily_life:beach"
    assert (linked["source"], linked["via"]) == ("link", "preferences:likes-the-sea")
    assert body["unresolved_links"] == ["nowhere:at-all"]
    assert body["fresh"] is True


def test_retrieve_over_a_window_brings_diary_entries_with_the_day_as_category(served: Served) -> None:
    body = served.http("POST", "/v1/retrieve", {"query": "", "time_range": ["2026-07-22", "2026-07-21"]}).json()
    assert body["time_range"] == ["2026-07-21", "2026-07-22"]  # a reversed pair is swapped
    assert [(one["category"], one["name"]) for one in body["items"]] == [
        ("2026-07-21", "22:10"),
        ("2026-07-21", "14:30"),
        ("2026-07-21", "14:30"),
    ]


def test_an_item_is_read_with_its_hash(served: Served) -> None:
    reply = served.http("GET", "/v1/item?address=daily_life%3Abeach")
    assert reply.status == 200
    body = reply.json()
    assert body["content"] == "A trip to the beach, to see the sun rise."
    assert len(body["hash"]) == 64
    assert body["fresh"] is True


def test_the_second_entry_of_a_minute_has_an_address_of_its_own(served: Served) -> None:
    assert served.http("GET", "/v1/item?address=2026-07-21:14:30").json()["content"] == "She changed jobs."
    assert served.http("GET", "/v1/item?address=2026-07-21:14:30%232").json()["content"] == "And again."


def test_an_unknown_item_is_404_and_the_hint_names_the_nearest(served: Served) -> None:
    reply = served.http("GET", "/v1/item?address=daily_life:beech")
    assert reply.status == 404
    assert reply.headers["content-type"] == "application/problem+json"
    body = reply.json()
    assert body["code"] == "not_found"
    assert "daily_life:beach" in body["hint"]


def test_an_item_is_added_replaced_and_removed(served: Served) -> None:
    added = served.http("PUT", "/v1/item", {"category": "work", "name": "job", "content": "Robots.", "owner": "u"})
    assert added.status == 200
    first = added.json()
    assert (first["address"], first["content"], first["owner"]) == ("work:job", "Robots.", "u")
    assert served.http("POST", "/v1/retrieve", {"query": "robots"}).json()["items"][0]["address"] == "work:job"
    replaced = served.http(
        "PUT", "/v1/item", {"category": "work", "name": "job", "content": "Boats.", "expected_hash": first["hash"]}
    )
    assert replaced.status == 200
    removed = served.http("DELETE", "/v1/item?address=work:job")
    assert removed.status == 200
    assert removed.json()["content"] == "Boats."
    assert served.http("GET", "/v1/item?address=work:job").status == 404
    assert not (served.vault / "wiki/work.md").exists()


def test_a_write_based_on_another_text_is_a_conflict_that_carries_both(served: Served) -> None:
    now = served.http("PUT", "/v1/item", {"category": "work", "name": "place", "content": "Lisbon."}).json()
    reply = served.http(
        "PUT", "/v1/item", {"category": "work", "name": "place", "content": "Porto.", "expected_hash": "0" * 64}
    )
    assert reply.status == 409
    body = reply.json()
    assert body["code"] == "conflict"
    assert (body["theirs"], body["yours"], body["current_hash"]) == ("Lisbon.", "Porto.", now["hash"])


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_diary_address_is_append_only(served: Served, method: str) -> None:
    if method == "PUT":
        reply = served.http("PUT", "/v1/item", {"category": "2026-07-21", "name": "14:30", "content": "No."})
    else:
        reply = served.http("DELETE", "/v1/item?address=2026-07-21:14:30")
    assert reply.status == 409
    assert reply.json()["code"] == "append_only"


def test_lists_are_paged(served: Served) -> None:
    for number in range(5):
        served.http("PUT", "/v1/item", {"category": "paged", "name": f"n{number}", "content": "x"})
    names, after = [], ""
    while True:
        body = served.http("GET", f"/v1/items?category=paged&limit=2{after}").json()
        names += [item["name"] for item in body["items"]]
        if body["next"] is None:
            break
        after = f"&after={body['next']}"
    assert names == ["n0", "n1", "n2", "n3", "n4"]
    first = served.http("GET", "/v1/categories?limit=1").json()
    second = served.http("GET", f"/v1/categories?limit=100&after={first['next']}").json()
    assert [one["name"] for one in first["categories"] + second["categories"]] == sorted(
        one["name"] for one in served.http("GET", "/v1/categories").json()["categories"]
    )


def test_the_diary_is_appended_to_and_read_by_window(served: Served) -> None:
    written = served.http("POST", "/v1/diary", {"content": "Rain.", "date": "2026-07-22", "time": "08:00"})
    assert written.status == 200
    assert written.json()["address"] == "2026-07-22:08:00"
    body = served.http("GET", "/v1/diary?start=2026-07-21&end=2026-07-22").json()
    assert [one["address"] for one in body["items"]] == [
        *("2026-07-21:14:30", "2026-07-21:14:30#2", "2026-07-21:22:10", "2026-07-22:08:00"),
    ]
    assert body["items"][-1]["date"] == "2026-07-22"


def test_a_relation_is_written_walked_and_removed(served: Served) -> None:
    made = served.http(
        "POST", "/v1/relations", {"source": "daily_life:beach", "target": "preferences:likes-the-sea", "weight": 2.5}
    )
    assert made.status == 201
    related = served.http("GET", "/v1/related?anchor=daily_life:beach").json()
    assert related["anchor"] == "daily_life:beach"
    assert [(one["address"], one["weight"], one["hops"]) for one in related["items"]] == [
        ("preferences:likes-the-sea", 2.5, 1)
    ]
    links = served.http("GET", "/v1/links?state=resolved").json()["links"]
    assert "manual" in {one["origin"] for one in links}
    gone = served.http("DELETE", "/v1/relations?source=daily_life:beach&target=preferences:likes-the-sea")
    assert gone.status == 200
    assert served.http("GET", "/v1/related?anchor=daily_life:beach").json()["items"] == []


def test_links_are_listed_by_state_with_their_place(served: Served) -> None:
    body = served.http("GET", "/v1/links?state=unresolved").json()
    assert body["links"] == [
        {
            "source": "preferences:likes-the-sea",
            "target": "nowhere:at-all",
            "state": "unresolved",
            "candidates": [],
            "weight": 1.0,
            "origin": "parsed",
            "file": "wiki/preferences.md",
            "line": 5,
        }
    ]


def test_the_graph_has_nodes_and_resolved_edges(served: Served) -> None:
    body = served.http("GET", "/v1/graph").json()
    assert {"preferences:likes-the-sea", "daily_life:beach"} <= {node["address"] for node in body["nodes"]}
    assert {
        "source": "preferences:likes-the-sea",
        "target": "daily_life:beach",
        "weight": 1.0,
        "origin": "parsed",
    } in body["edges"]


def test_changes_after_a_cursor_tell_what_was_done(served: Served) -> None:
    cursor = served.http("GET", "/v1/changes").json()["cursor"]
    served.http("PUT", "/v1/item", {"category": "feed", "name": "a", "content": "1"})
    served.write("wiki/by_hand.md", "## b\n\n2\n")
    body = served.http("GET", f"/v1/changes?since={cursor}").json()
    assert [(one["action"], one["address"], one["cause"]) for one in body["changes"]] == [
        ("add", "feed:a", "api"),
        ("add", "by_hand:b", "disk"),
    ]
    assert body["fresh_instance"] is False
    assert served.http("GET", "/v1/changes?since=0123456789ab-1").json()["fresh_instance"] is True
    assert served.http("GET", "/v1/changes?since=nonsense").json()["code"] == "invalid_cursor"


def test_a_prior_text_is_listed_and_restored(served: Served) -> None:
    for content in ("one", "two"):
        served.http("PUT", "/v1/item", {"category": "old", "name": "text", "content": content})
    body = served.http("GET", "/v1/history?address=old:text").json()
    assert [version["content"] for version in body["versions"]] == ["one"]
    restored = served.http("POST", "/v1/restore", {"address": "old:text", "id": body["versions"][0]["id"]})
    assert restored.status == 200
    assert served.http("GET", "/v1/item?address=old:text").json()["content"] == "one"
    wrong = served.http("POST", "/v1/restore", {"address": "old:other", "id": body["versions"][0]["id"]})
    assert wrong.status == 404


def test_the_journal_is_as_on_disk(served: Served) -> None:
    served.http("PUT", "/v1/item", {"category": "logged", "name": "x", "content": "1", "owner": "user:x"})
    entry = served.http("GET", "/v1/journal?tail=1").json()["entries"][0]
    line = (served.vault / "journal.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    assert entry == json.loads(line)


def test_an_item_is_pinned_and_unpinned(served: Served) -> None:
    pinned = served.http("POST", "/v1/pin", {"address": "daily_life:beach"})
    assert pinned.status == 200
    assert pinned.json()["pinned"] is True
    assert served.http("GET", "/v1/item?address=daily_life:beach").json()["pinned"] is True
    assert served.http("POST", "/v1/unpin", {"address": "daily_life:beach"}).json()["pinned"] is False
    assert served.http("POST", "/v1/pin", {"address": "daily_life:nothing"}).status == 404


def test_status_tells_of_names_alike_and_of_a_daily_note_format_without_a_day(served: Served) -> None:
    for name in ("Cafe\u0301", "Caf\u00e9"):
        served.write(f"wiki/{name}.md", "## a\n\ntext\n")
    served.write(".obsidian/daily-notes.json", '{"format": "HH-mm"}')
    found = {(one["path"], one["kind"]) for one in served.http("GET", "/v1/status").json()["problems"]}
    assert found >= {
        ("wiki/Cafe\u0301.md", "names-alike"),
        ("wiki/Caf\u00e9.md", "names-alike"),
        (".obsidian/daily-notes.json", "daily-note-format"),
    }


def test_status_has_every_field_of_the_contract(served: Served) -> None:
    body = served.http("GET", "/v1/status").json()
    assert body["state"] == "ok"
    assert body["partial"] is False
    for name in ("items", "files", "problems", "cursor", "uptime_s", "rss_bytes", "write_mode", "report"):
        assert name in body
    assert (body["version"], body["protocol"]) == (__version__, 1)
    assert {"mode", "compared_at"} <= body["watch"].keys()
    assert {"count", "pending", "model", "dim", "state"} == body["vectors"].keys()
    assert {"unresolved", "ambiguous"} == body["links"].keys()
    assert {"count", "embedding_used"} == body["retrieves"].keys()
    assert body["rss_bytes"] > 1_000_000


def test_verify_compares_now(served: Served) -> None:
    assert served.http("GET", "/v1/status?verify=1").json()["watch"]["compared_by"] == "verify"


def test_a_rebuild_is_accepted_and_shown(served: Served) -> None:
    reply = served.http("POST", "/v1/rebuild", {})
    assert reply.status == 202
    assert reply.json()["accepted"] is True
    wait_until(
        lambda: served.http("GET", "/v1/status").json()["rebuild"]["state"] == "done", "the rebuild is shown as done"
    )


def test_a_call_without_parameters_needs_no_body(served: Served) -> None:
    assert served.http("POST", "/v1/reload").status == 200


def test_health_is_cheap_and_short(served: Served) -> None:
    assert served.http("GET", "/v1/health").json() == {"state": "ok", "version": __version__, "protocol": 1}


def test_the_openapi_document_is_served(served: Served) -> None:
    assert served.http("GET", "/openapi.json").json() == openapi()


def test_what_was_written_can_be_read_and_removed_by_its_address(served: Served) -> None:
    name = "海" * 1_000
    assert served.http("PUT", "/v1/item", {"category": "long", "name": name, "content": "c"}).status == 200
    target = f"/v1/item?address={quote(f'long:{name}')}"
    assert served.http("GET", target).status == 200
    edge = {"source": f"long:{name}", "target": f"long:{name[:-1]}"}
    assert served.http("POST", "/v1/relations", edge).status == 201
    assert served.http("DELETE", f"/v1/relations?{urlencode(edge)}").status == 200
    assert served.http("DELETE", target).status == 200
    reply = served.http("PUT", "/v1/item", {"category": "long", "name": name + "x", "content": "c"})
    assert reply.json()["code"] == "invalid_name"
    assert served.http("POST", "/v1/relations", {**edge, "target": "x" * 2_001}).status == 400


def test_a_repeated_write_with_its_key_is_done_once(served: Served) -> None:
    sent = {"content": "Only once.", "date": "2026-08-01", "time": "09:00"}
    first = served.http("POST", "/v1/diary", sent, {"Idempotency-Key": "k-1"})
    again = served.http("POST", "/v1/diary", sent, {"Idempotency-Key": "k-1"})
    assert again.status == first.status == 200
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert again.json() == first.json()
    assert len(served.http("GET", "/v1/diary?start=2026-08-01").json()["items"]) == 1
    other = served.http("POST", "/v1/diary", {**sent, "content": "Another."}, {"Idempotency-Key": "k-1"})
    assert other.status == 400


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("PUT", "/v1/item", {"category": "keyed", "name": "a", "content": "b"}),
        ("POST", "/v1/relations", {"source": "daily_life:beach", "target": "preferences:likes-the-sea"}),
        ("DELETE", "/v1/relations?source=daily_life:beach&target=preferences:likes-the-sea", None),
        ("POST", "/v1/pin", {"address": "daily_life:beach"}),
        ("DELETE", "/v1/item?address=keyed:a", None),
    ],
)
def test_every_write_is_answered_twice_with_the_same_words_under_one_key(
    served: Served, method: str, target: str, body: object
) -> None:
    key = {"Idempotency-Key": f"words-{method}-{target}"}
    first, again = (served.http(method, target, body, key) for _ in range(2))
    assert first.status < 300, first.json()
    assert (again.status, again.json()) == (first.status, first.json())
    assert again.headers["idempotency-replayed"] == "true"


def test_an_answer_that_does_not_ask_for_freshness_does_not_claim_it(served: Served) -> None:
    assert served.http("GET", "/v1/item?address=daily_life:beach&fresh=false").json()["fresh"] is False


def test_a_client_that_sends_its_body_in_pieces_is_understood(served: Served) -> None:
    body = b'{"query":"beach"}'
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    reply = raw(
        served.socket,
        b"POST /v1/retrieve HTTP/1.1\r\nHost: wikimem\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n",
    )
    assert reply.status == 200


def test_the_socket_and_its_folder_are_private(served: Served) -> None:
    assert served.socket.stat().st_mode & 0o777 == 0o600
    assert served.socket.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in served.socket.parent.iterdir()] == ["v.sock"]


def test_a_note_with_bytes_that_are_no_text_does_not_break_an_answer(served: Served) -> None:
    (served.vault / "wiki" / b"caf\xe9.md".decode("utf-8", "surrogateescape")).write_bytes(b"## latin\n\ncaf\xe9\n")
    listed = served.http("GET", "/v1/items?category=caf%25E9")
    assert listed.status == 200
    assert [item["content"] for item in listed.json()["items"]] == ["caf\ufffd"]
    assert http(served.socket, "GET", "/v1/status").status == 200
    Path(served.vault / "wiki" / b"caf\xe9.md".decode("utf-8", "surrogateescape")).unlink()
