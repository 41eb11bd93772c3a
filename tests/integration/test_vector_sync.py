"""Vectors that follow a vault: against a real endpoint, with real files and a clock that the test moves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.embedding import Endpoint, Reply, running
from tests.searching import diary, wiki
from wikimem.cache.files import KEYS_FILE, VectorFiles
from wikimem.cache.http_embedder import HttpEmbedder
from wikimem.cache.sync import VectorSync
from wikimem.pages.page import Page

A = {"swim": "We swim every beach.", "eat": "Strong coffee."}
B = {"job": "A robot at work.", "rest": "Nothing."}


@dataclass
class World:
    """A vault's pages, the endpoint, and a clock."""

    folder: Path
    endpoint: Endpoint
    now: float = 0.0
    whole: bool = True
    pages: dict[str, Page] = field(default_factory=dict)
    clients: list[HttpEmbedder] = field(default_factory=list)

    def put(self, category: str, items: Mapping[str, str]) -> None:
        page = wiki(category, dict(items))
        self.pages[page.path] = page

    def sync(self, model: str = "m1") -> VectorSync:
        client = HttpEmbedder(self.endpoint.url, model, timeout_s=20)
        self.clients.append(client)
        files = VectorFiles(self.folder), VectorFiles(self.folder / "diary-vectors")
        made = VectorSync(client, *files, clock=lambda: self.now, whole=lambda: self.whole)
        made.load()
        self.follow(made)
        return made

    def follow(self, sync: VectorSync) -> None:
        sync.follow(self.pages.values())

    def settle(self, sync: VectorSync, steps: int = 400) -> VectorSync:
        """Step until there is nothing more to do, moving the clock instead of waiting."""
        for _ in range(steps):
            wait = sync.step()
            if wait is None:
                return sync
            self.now += wait
        raise AssertionError(f"not settled: {sync.progress}")

    def keys(self) -> list[str]:
        return (self.folder / KEYS_FILE).read_text("utf-8").splitlines()

    def check(self, sync: VectorSync) -> None:
        """Every item that is embedded has the vector of its own text, in memory and on disk, in document order."""
        stored = VectorFiles(self.folder).load()
        assert stored is not None
        items = [item for path in sorted(self.pages) for item in self.pages[path].items]
        items = [
            item for item in items if self.pages[f"wiki/{item.category}.md"].kind == "wiki" and item.hash in sync.space
        ]
        assert list(stored.hashes) == [item.hash for item in items]
        for row, item in zip(stored.matrix, items, strict=True):
            wanted = self.endpoint.vector(f"{item.name}\n{item.content}")
            assert np.array_equal(row, wanted)
            found = sync.space.cosines(wanted)[sync.space.rows([item.hash])[0]]
            assert found == pytest.approx(1, abs=1e-5)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with running(Endpoint()) as endpoint:
        made = World(tmp_path / "vault", endpoint)
        made.put("a", A)
        made.put("b", B)
        yield made
        for client in made.clients:
            client.close()


def many(world: World, count: int = 100) -> None:
    world.put("many", {f"n{number}": f"text number {number}" for number in range(count)})


def test_everything_is_embedded_once_and_a_restart_costs_nothing(world: World) -> None:
    sync = world.settle(world.sync())
    assert (sync.progress.state, sync.progress.count, sync.progress.pending) == ("ready", 4, 0)
    assert (sync.progress.sent, sync.progress.tokens, sync.progress.uncommitted) == (4, 28, 0)
    world.check(sync)
    again = world.settle(world.sync())
    assert again.progress.count == 4
    assert sum(world.endpoint.paid.values()) == 4
    assert again.progress.commits == 0


def test_what_moves_costs_nothing_and_what_is_renamed_or_edited_costs_one(world: World) -> None:
    sync = world.settle(world.sync())
    world.put("a", dict(reversed(A.items())))
    world.put("c", B)
    del world.pages["wiki/b.md"]
    world.follow(sync)
    world.settle(sync)
    assert sum(world.endpoint.paid.values()) == 4
    world.check(sync)
    assert '"file": "c"' in world.keys()[-1]
    world.put("a", {"swimming": A["swim"], "eat": A["eat"]})
    world.follow(sync)
    world.settle(sync)
    assert sum(world.endpoint.paid.values()) == 5
    world.check(sync)
    world.put("a", A)
    world.follow(sync)
    world.settle(sync)
    assert sum(world.endpoint.paid.values()) == 5, "an undo is free"
    world.check(sync)


def test_without_the_keys_all_is_paid_again(world: World) -> None:
    world.settle(world.sync())
    (world.folder / KEYS_FILE).unlink()
    world.settle(world.sync())
    assert world.endpoint.paid.most_common(1)[0][1] == 2
    assert len(list(world.folder.glob("vectors-*.npy"))) == 1


def test_commits_wait_for_quiet_but_not_for_ever(world: World) -> None:
    sync = world.settle(world.sync())
    commits = sync.progress.commits
    moments: list[float] = []
    for number in range(80):
        world.put("a", {**A, **{f"n{one}": f"edit {one}" for one in range(number + 1)}})
        world.follow(sync)
        sync.step()
        if sync.progress.commits > commits:
            commits, moments = sync.progress.commits, [*moments, world.now]
        world.now += 1.0
    gaps = [late - early for early, late in pairwise(moments)]
    assert len(moments) == 2
    assert all(30 <= gap <= 32 for gap in gaps)
    assert sync.progress.uncommitted > 0
    world.now += 2.0
    sync.step()
    assert sync.progress.uncommitted == 0
    assert sync.progress.commits == commits + 1


def test_a_vault_that_is_partly_unreadable_loses_no_vector(world: World) -> None:
    sync = world.settle(world.sync())
    del world.pages["wiki/b.md"]
    world.whole = False
    again = world.sync()
    world.put("a", {**A, "new": "Bread."})
    world.follow(again)
    world.settle(again)
    world.whole = True
    world.put("b", B)
    third = world.settle(world.sync())
    assert world.endpoint.paid.most_common(1)[0][1] == 1
    world.check(third)
    assert sync.progress.state == "ready"


def test_the_header_of_old_is_stamped_on_the_next_write(world: World) -> None:
    world.settle(world.sync())
    _, *rest = world.keys()
    name = next(world.folder.glob("vectors-*.npy")).name
    (world.folder / KEYS_FILE).write_text("\n".join([f'{{"vectors_file": "{name}"}}', *rest, ""]), "utf-8")
    sync = world.settle(world.sync())
    assert sum(world.endpoint.paid.values()) == 4
    assert '"model"' not in world.keys()[0]
    world.put("a", {**A, "new": "Bread."})
    world.follow(sync)
    world.settle(sync)
    assert '"model": "m1", "dim": 3' in world.keys()[0]
    assert sum(world.endpoint.paid.values()) == 5


def test_models_are_never_mixed_and_going_back_costs_nothing(world: World) -> None:
    endpoint = world.endpoint
    world.settle(world.sync("m1"))
    before = world.keys()
    for dim, salt in ((3, "m2"), (4, "m2")):
        endpoint.dim, endpoint.salt = dim, salt
        sync = world.settle(world.sync("m2"))
        assert sync.progress.state == "mismatch"
        assert (sync.progress.count, sync.progress.cost_of_reset, len(sync.space)) == (0, 4, 0)
        assert "wikimem embed --reset" in sync.progress.hint
        assert "4 texts" in sync.progress.hint
    assert world.keys() == before
    endpoint.dim, endpoint.salt = 3, ""
    sync = world.settle(world.sync("m1"))
    assert (sync.progress.state, sync.progress.count) == ("ready", 4)
    assert sum(endpoint.paid.values()) == 4


def test_a_reset_pays_for_every_text_once_and_takes_the_new_model(world: World) -> None:
    world.settle(world.sync("m1"))
    world.endpoint.dim, world.endpoint.salt = 4, "m2"
    sync = world.settle(world.sync("m2"))
    sync.reset()
    assert "m1" in world.keys()[0], "the old vectors stay until there are new ones"
    world.settle(sync)
    assert (sync.progress.state, sync.progress.count, sync.progress.dim) == ("ready", 4, 4)
    assert set(world.endpoint.paid.values()) == {2}
    assert '"model": "m2", "dim": 4' in world.keys()[0]
    world.check(sync)


def test_an_endpoint_whose_width_changes_under_one_name_is_a_mismatch(world: World) -> None:
    sync = world.settle(world.sync())
    world.endpoint.dim = 4
    world.put("a", {**A, "new": "Bread."})
    world.follow(sync)
    world.settle(sync)
    assert sync.progress.state == "mismatch"
    assert len(sync.space) == 4
    sync.reset()
    world.settle(sync)
    assert (sync.progress.state, sync.progress.count, sync.space.dim) == ("ready", 5, 4)
    assert world.endpoint.paid["new\nBread."] == 1, "what showed the change was paid for already"


def test_an_endpoint_whose_old_width_is_back_goes_on_without_paying_again(world: World) -> None:
    sync = world.settle(world.sync())
    world.endpoint.dim = 4
    world.put("new", {"one": "more text"})
    world.follow(sync)
    world.settle(sync)
    assert sync.progress.state == "mismatch"
    assert "3 wide" in sync.progress.detail
    assert "4 wide" in sync.progress.detail
    world.endpoint.dim = 3
    sync.retry()
    world.settle(sync)
    assert (sync.progress.state, sync.progress.count) == ("ready", 5)
    assert world.endpoint.paid.total() == 6, "one text told of the width, and is paid for again"
    world.check(sync)


def test_it_says_since_when_it_fails_and_when_it_is_tried_again(world: World) -> None:
    world.endpoint.trouble = lambda *_: (429, {}, {"retry-after": "1000000000"})
    sync = world.sync()
    world.now = 50.0
    sync.step()
    assert (sync.progress.failing_at, sync.progress.retry_at) == (50.0, 50.0 + 3600)
    world.now = 80.0
    sync.retry()
    sync.step()
    assert (sync.progress.failing_at, sync.progress.retry_at) == (50.0, 80.0 + 3600), "it never worked since"
    world.endpoint.trouble = None
    sync.retry()
    world.settle(sync)
    assert (sync.progress.failing_at, sync.progress.retry_at) == (None, None)


def test_the_diary_is_embedded_by_the_windows_that_are_asked_for(world: World) -> None:
    for day in ("2026-07-20", "2026-07-21", "2026-07-22"):
        page = diary(day, [("10:00", f"A robot on {day}."), ("10:00", "Twice."), ("11:00", "Twice.")])
        world.pages[page.path] = page
    sync = world.settle(world.sync())
    assert sum(world.endpoint.paid.values()) == 4
    assert not (world.folder / "diary-vectors").exists()
    sync.reach("2026-07-21", "2026-07-22")
    assert sync.progress.diary_pending == 4
    world.settle(sync)
    assert world.endpoint.paid["10:00\nA robot on 2026-07-21."] == 1
    assert world.endpoint.paid["10:00\nA robot on 2026-07-20."] == 0
    stored = VectorFiles(world.folder / "diary-vectors").load()
    assert stored is not None
    assert stored.files == ["2026-07-21"] * 3 + ["2026-07-22"] * 3
    paid = sum(world.endpoint.paid.values())
    again = world.settle(world.sync())
    again.reach("2026-07-21", "2026-07-22")
    world.settle(again)
    assert sum(world.endpoint.paid.values()) == paid, "once ever"
    assert again.progress.commits == 0


# --------------------------------------------------------- an endpoint that is not ideal


def settled(world: World) -> VectorSync:
    sync = world.settle(world.sync())
    assert max(world.endpoint.paid.values()) == 1, "a text was paid for twice"
    return sync


def test_a_cap_of_the_endpoint_is_found(world: World) -> None:
    many(world)
    world.endpoint.cap = 7
    sync = settled(world)
    assert (sync.progress.state, sync.progress.count) == ("ready", 104)
    assert max(len(request.texts) for request in world.endpoint.requests[8:]) <= 4


def test_rate_limits_are_kept_to(world: World) -> None:
    many(world)
    asked: list[float] = []

    def limited(_: Endpoint, __: list[str]) -> Reply | None:
        asked.append(world.now)
        return (429, {"error": "slow down"}, {"retry-after": "7"}) if len(asked) % 2 else None

    world.endpoint.trouble = limited
    sync = world.sync()
    sync.step()
    assert (sync.progress.state, sync.progress.code) == ("failing", "embeddings-rate-limited")
    world.settle(sync)
    assert sync.progress.count == 104
    assert all(late - early >= 7 for early, late in zip(asked[::2], asked[1::2], strict=False))
    assert max(world.endpoint.paid.values()) == 1


def failing_on(word: str, reply: "Reply | bytes") -> object:
    return lambda _, texts: reply if any(word in text for text in texts) else None


@pytest.mark.parametrize(
    "reply",
    [
        (400, {"error": "cannot embed this"}, {}),
        (500, {"error": "internal"}, {}),
        (422, {"error": "input is too long"}, {}),
        (413, b"", {}),
        (200, {"data": []}, {}),
        (200, b"<html>", {}),
    ],
    ids=["400", "500", "422", "413", "count", "html"],
)
def test_one_text_that_fails_costs_only_itself(world: World, reply: Reply) -> None:
    many(world)
    world.endpoint.trouble = failing_on("number 42", reply)  # type: ignore[assignment]
    sync = settled(world)
    assert (sync.progress.state, sync.progress.count, sync.progress.pending) == ("incomplete", 103, 0)
    assert [(one.file, one.name) for one in sync.progress.failed] == [("many", "n42")]
    world.check(sync)
    requests = len(world.endpoint.requests)
    world.follow(sync)
    world.settle(sync)
    assert len(world.endpoint.requests) == requests, "it is not asked for again by itself"
    world.endpoint.trouble = None
    sync.retry()
    world.settle(sync)
    assert (sync.progress.state, sync.progress.count) == ("ready", 104)
    assert max(world.endpoint.paid.values()) == 1


@pytest.mark.parametrize(
    "bad", [[float("nan"), 1.0, 1.0], [0.0, 0.0, 0.0], [1.0], None], ids=["nan", "zero", "narrow", "none"]
)
def test_a_vector_that_is_none_costs_only_itself(world: World, bad: object) -> None:
    many(world)

    def spoiled(endpoint: Endpoint, texts: list[str]) -> Reply:
        status, document, headers = endpoint.good(texts)
        for entry, text in zip(document["data"], texts, strict=True):
            if "number 42" in text:
                entry["embedding"] = bad
        document["data"].reverse()
        return status, document, headers

    world.endpoint.trouble = spoiled
    sync = settled(world)
    assert sync.progress.count == 103
    assert [one.name for one in sync.progress.failed] == ["n42"]
    world.check(sync)
    world.put("many", {**{f"n{number}": f"text number {number}" for number in range(100)}, "n42": "another text"})
    world.follow(sync)
    world.settle(sync)
    assert (sync.progress.state, sync.progress.count) == ("ready", 104), "a new text is a new try"


@pytest.mark.parametrize(
    "reply", [(500, {}, {}), (400, {}, {}), (401, {}, {}), (404, {}, {}), b"", (200, {"data": []}, {})]
)
def test_an_endpoint_that_is_down_gives_nothing_up_and_goes_on_when_it_is_back(
    world: World, reply: "Reply | bytes"
) -> None:
    many(world, 40)
    down = [True]
    world.endpoint.trouble = lambda *_: reply if down[0] else None
    sync = world.sync()
    for _ in range(7):
        world.now += sync.step() or 0.0
    if not (isinstance(reply, tuple) and reply[0] == 200):
        assert sync.progress.failed == ()
        assert sync.progress.state == "failing"
    assert len(world.endpoint.requests) < 200
    down[0] = False
    sync.retry()
    world.settle(sync)
    assert (sync.progress.state, sync.progress.count) == ("ready", 44)
    assert max(world.endpoint.paid.values()) == 1


def test_what_was_paid_for_is_kept_when_the_rest_fails(world: World) -> None:
    many(world)
    world.endpoint.trouble = lambda endpoint, _: (503, {}, {}) if len(endpoint.requests) > 2 else None
    sync = world.sync()
    for _ in range(6):
        sync.step()
    assert sync.progress.count == 64
    sync.commit()
    world.endpoint.trouble = None
    world.settle(world.sync())
    assert max(world.endpoint.paid.values()) == 1


def test_a_disk_that_is_full_is_told_and_tried_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.folder.parent.mkdir(exist_ok=True)
    world.folder.write_text("a file where the folder should be")
    sync = world.sync()
    for _ in range(3):
        world.now += sync.step() or 0.0
    assert (sync.progress.state, sync.progress.code) == ("failing", "vectors-unwritten")
    assert sync.progress.uncommitted == 4
    world.folder.unlink()
    world.settle(sync)
    assert (sync.progress.state, sync.progress.uncommitted) == ("ready", 0)
    world.check(sync)
