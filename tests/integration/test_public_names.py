"""`from wikimem import ...`: exactly the listed names, each where the samples of the format's description expect it."""

import subprocess
import sys
from pathlib import Path

import pytest

import wikimem


def test_every_listed_name_can_be_imported() -> None:
    assert [name for name in wikimem.__all__ if getattr(wikimem, name, None) is None] == []
    assert sorted(wikimem.__all__) == list(wikimem.__all__)
    assert set(wikimem.__all__) <= set(dir(wikimem))


def test_a_name_that_is_not_listed_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Memory'"):
        _ = wikimem.Memory


def test_the_runtime_table_and_the_types_name_the_same() -> None:
    named = {name for names in wikimem._HOME.values() for name in names}
    assert named | {"__version__"} == set(wikimem.__all__)
    source = Path(wikimem.__file__).read_text(encoding="utf-8")
    typed = source.partition("if TYPE_CHECKING:")[2].partition("__version__")[0]
    for name in named:
        assert name in typed


def test_every_error_is_exported_and_has_a_code_of_its_own() -> None:
    def below(kind: type[wikimem.WikimemError]) -> list[type[wikimem.WikimemError]]:
        return [kind, *(one for child in kind.__subclasses__() for one in below(child))]

    kinds = [kind for kind in below(wikimem.WikimemError) if kind.__module__ == "wikimem.errors"]
    assert {kind.__name__ for kind in kinds} <= set(wikimem.__all__)
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert {kind.exit_status for kind in kinds} == {1, 2, 3, 69, 75, 78}


def test_the_samples_of_the_formats_description_run(tmp_path: Path) -> None:
    """The description's own code: links, names, a store with its index, an update by name, a rebuild."""
    script = """
from wikimem import MemoryIndex, MemoryStore, WikiLink, parse_wiki_links, sanitize_item_name

links = parse_wiki_links("… [[daily_life:beach-trip-plan]] and [[broken link …")
assert links == [WikiLink(category="daily_life", name="beach-trip-plan")], links
assert sanitize_item_name("likes  the sea") == "likes the sea"
try:
    sanitize_item_name("a|b")
except ValueError:
    pass
else:
    raise AssertionError("a reserved character was taken")

store = MemoryStore("memory")
store.add("preferences", "likes-the-sea", "喜欢海边，提到过想去海边玩。[[daily_life:beach-trip-plan]]", owner="me")
store.add("daily_life", "beach-trip-plan", "计划夏天去海边旅行，看日出。")
index = MemoryIndex(store)
result = index.retrieve("喜欢海边", limit=1, budget_tokens=800)
lines = [f"- [{r.item.category}:{r.item.name}] {r.item.content}" for r in result.items]
assert [r.item.name for r in result.items] == ["likes-the-sea", "beach-trip-plan"], lines
assert result.items[1].source == "link" and result.items[1].via == "preferences:likes-the-sea"
assert result.budget_used <= 800 and not result.unresolved_links

store.add("daily_life", "beach-trip-plan", "不去了。")
assert store.categories() == store.files() == ["daily_life", "preferences"]
assert store.get("daily_life", "beach-trip-plan").content == "不去了。"
store.remove("daily_life", "beach-trip-plan")
assert list(index.retrieve("喜欢海边", limit=1).unresolved_links) == ["daily_life:beach-trip-plan"]

from pathlib import Path
Path("memory/wiki/daily_life.md").write_text("# daily_life\\n\\n## beach-trip-plan\\n\\n又去了。\\n", encoding="utf-8")
index.rebuild()
assert [r.item.name for r in index.retrieve("喜欢海边", limit=1).items] == ["likes-the-sea", "beach-trip-plan"]
for bad in ("Bad", "a/b", ""):
    try:
        store.add(bad, "x", "y")
    except ValueError:
        continue
    raise AssertionError(bad)
"""
    (tmp_path / "memory").mkdir()
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
