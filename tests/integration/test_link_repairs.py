"""Repairs on a real vault: what is written, what is kept, what is refused."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from wikimem.api.link_repairs import follow_renames_now
from wikimem.pages.changes import Change
from wikimem.pages.layout import Layout
from wikimem.pages.relations import RELATIONS_FILE
from wikimem.search.repairs import Source, plan_repairs
from wikimem.store.changes import SCHEMA, ChangeTable, FeedRow
from wikimem.store.relations import RelationsFile
from wikimem.store.renames import follow_renames, saved_changes
from wikimem.store.repairs import Repaired, apply_plan
from wikimem.store.state import State
from wikimem.store.vault import MemoryStore

NOW = datetime(2026, 7, 21, 6, 30, tzinfo=UTC)
A = (
    '---\nup: "[[b:old]]"\n---\n# a\n\n## one\n\n[[b:old]] and [[b#old]]\n\n'
    "## two\n\nx [[old]]\n\n<!-- wikimem: owner=user:ann -->\n"
)
DAY = "# 2026-07-21\n\n## 14:30\n\n[[b:old]]\n"


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    root = tmp_path / "vault"
    (root / "wiki").mkdir(parents=True)
    (root / "diary").mkdir()
    (root / "wiki/a.md").write_bytes(A.encode().replace(b"\n", b"\r\n"))
    (root / "wiki/b.md").write_text("## new\n\ny\n", encoding="utf-8")
    (root / "diary/2026-07-21.md").write_text(DAY, encoding="utf-8")
    (root / RELATIONS_FILE).write_text('{"source": "b:old", "target": "a:one"}\n# mine\n', encoding="utf-8")
    return MemoryStore(root, layout=Layout(), state_dir=tmp_path / "state/v", clock=lambda: NOW)


def sources(store: MemoryStore) -> list[Source]:
    reads = [(path, store.disk.read(path).data) for path in store.page_paths()]
    return [Source(page, data) for path, data in reads if (page := store.read_page(path)) is not None]


def repair(store: MemoryStore, *, meanwhile: str | None = None) -> Repaired:
    relations = RelationsFile(store).read()
    plan = plan_repairs(sources(store), {"b:old": "b:new"}, relations, path_of=store.layout.wiki_path)
    if meanwhile is not None:
        path = store.root / meanwhile
        path.write_bytes(path.read_bytes() + b"\n")
    return apply_plan(store, plan)


def test_a_repair_changes_the_bytes_of_the_links_and_no_others(store: MemoryStore) -> None:
    done = repair(store)
    assert (done.links, done.relations, done.refused) == (5, 1, ())
    assert done.paths == ("diary/2026-07-21.md", "wiki/a.md")
    assert (store.root / "wiki/a.md").read_bytes() == A.replace("old", "new").encode().replace(b"\n", b"\r\n")
    assert (store.root / "diary/2026-07-21.md").read_text(encoding="utf-8") == DAY.replace("old", "new")
    text = (store.root / RELATIONS_FILE).read_text(encoding="utf-8")
    assert text == '# mine\n{"source": "b:new", "target": "a:one", "weight": 1.0}\n'
    assert repair(store) == Repaired(0, 0, (), ())


def test_a_repair_is_journalled_item_by_item_and_the_texts_before_are_kept(store: MemoryStore) -> None:
    repair(store)
    lines = [(e.action, e.file or e.date, e.item or e.time, e.detail) for e in store.journal_tail(10)]
    assert lines == [
        ("update", "2026-07-21", "14:30", "links rewritten"),
        ("update", "a", "two", "links rewritten"),
        ("update", "a", "one", "links rewritten"),
    ]
    assert [one.content for one in store.versions("a:one").versions] == ["[[b:old]] and [[b#old]]"]
    assert [one.owner for one in store.versions("a:two").versions] == ["user:ann"]
    kept = store.get("a", "two")
    assert kept is not None
    assert kept.owner == "user:ann"


def test_a_file_that_was_saved_meanwhile_is_refused_and_the_rest_is_done(store: MemoryStore) -> None:
    done = repair(store, meanwhile="wiki/a.md")
    assert done.paths == ("diary/2026-07-21.md",)
    assert [path for path, _ in done.refused] == ["wiki/a.md"]
    assert b"old" in (store.root / "wiki/a.md").read_bytes()
    assert repair(store).paths == ("wiki/a.md",)


def test_what_the_daemon_does_by_itself_is_the_same_in_one_go(store: MemoryStore) -> None:
    done = follow_renames_now(store, {"b:old": "b:new"})
    assert (done.links, done.relations, done.refused) == (5, 1, ())
    assert [entry.detail for entry in store.journal_tail(10)] == ["links follow a rename"] * 3
    assert follow_renames_now(store, {"b:old": "b:new"}) == Repaired(0, 0, (), ())


def change(action: str, address: str, old: str | None = None) -> Change:
    return Change("id", action, address, old, None, "2026-07-21T06:30:00+00:00", "disk")  # type: ignore[arg-type]


def test_chains_of_renames_lead_to_the_newest_address_and_a_new_item_ends_them() -> None:
    assert follow_renames([change("rename", "a:y", "a:x"), change("rename", "b:z", "a:y")]) == {
        "a:x": "b:z",
        "a:y": "b:z",
    }
    assert follow_renames([change("rename", "a:y", "a:x"), change("add", "a:x")]) == {}
    assert follow_renames([change("rename", "a:y", "a:x"), change("rename", "a:x", "a:y")]) == {"a:y": "a:x"}
    assert follow_renames([change("remove", "a:x"), change("update", "a:y")]) == {}


def test_changes_are_read_from_the_state_and_a_missing_state_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite3"
    assert saved_changes(path) == ([], None)
    assert not path.exists()
    rows = [change("add", "a:x"), change("rename", "a:y", "a:x")]
    with State(path, SCHEMA) as state:
        assert saved_changes(path) == ([], f"{state.vault_id[:12]}-0")
        ChangeTable(state).append([FeedRow(number, one) for number, one in enumerate(rows, start=9)])
        assert saved_changes(path) == (rows, f"{state.vault_id[:12]}-a")
    assert follow_renames(rows) == {"a:x": "a:y"}
