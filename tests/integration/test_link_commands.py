"""`wikimem links`, `graph`, `related`, `relate`, `unrelate`, `pin`, `unpin` in the command's own process."""

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from wikimem.cli.graph import graph
from wikimem.cli.links import links
from wikimem.cli.related import pin, relate, related, unpin, unrelate
from wikimem.config import load
from wikimem.errors import InvalidInput, NotFound, UsageError
from wikimem.pages.changes import Change
from wikimem.store.changes import SCHEMA, ChangeTable, FeedRow
from wikimem.store.state import State
from wikimem.store.upkeep import STATE_FILE

Run = Callable[..., Result]
A = "# a\n\n## sea\n\n[[b:trip; w=2.5]] [[b#plan]] [[b:gone]] [[same]]\n\n<b>bold</b> </script>\n"
B = "# b\n\n## trip\n\n[[#plan]]\n\n## plan\n\nthe plan\n\n## same\n\nx\n"


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("WIKIMEM_VAULT", raising=False)
    monkeypatch.delenv("WIKIMEM_SOCKET", raising=False)
    root = tmp_path / "vault"
    (root / "wiki").mkdir(parents=True)
    (root / "diary").mkdir()
    (root / "wiki/a.md").write_text(A, encoding="utf-8")
    (root / "wiki/b.md").write_text(B, encoding="utf-8")
    (root / "wiki/c.md").write_text("## same\n\ny\n", encoding="utf-8")
    (root / "diary/2026-07-21.md").write_text("## 14:30\n\nsaw [[a:sea]]\n", encoding="utf-8")
    return root


@pytest.fixture
def run(vault: Path) -> Run:
    def call(command: click.Command, *words: str) -> Result:
        result = CliRunner().invoke(command, [*words, "--vault", str(vault)], catch_exceptions=True)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


def tell_rename(vault: Path, old: str, new: str) -> None:
    settings = load(str(vault), env=None, cwd=None)
    settings.state_dir.mkdir(parents=True, exist_ok=True)
    with State(settings.state_dir / STATE_FILE, SCHEMA) as state:
        change = Change("id", "rename", new, old, None, "2026-07-21T06:30:00+00:00", "disk")
        ChangeTable(state).append([FeedRow(1, change)])


def test_links_names_what_is_broken_with_file_and_line(run: Run) -> None:
    lines = run(links).output.splitlines()
    assert lines == ["wiki/a.md:5  b:gone  unresolved", "wiki/a.md:5  same    ambiguous: b:same or c:same"]
    assert len(json.loads(run(links, "--state", "all", "--json").output)["links"]) == 6


def test_a_renamed_target_is_named_and_repaired_on_request_only(vault: Path, run: Run) -> None:
    tell_rename(vault, "b:gone", "b:plan")
    listed = run(links)
    assert "b:gone  renamed to b:plan" in listed.output
    assert "`wikimem links --repair`" in listed.stderr
    shown = run(links, "--repair")
    assert "-[[b:trip; w=2.5]] [[b#plan]] [[b:gone]] [[same]]" in shown.output
    assert "+[[b:trip; w=2.5]] [[b#plan]] [[b:plan]] [[same]]" in shown.output
    assert "nothing was changed" in shown.stderr
    assert (vault / "wiki/a.md").read_text(encoding="utf-8") == A
    done = run(links, "--repair", "--yes")
    assert "rewrote 1 links in 1 files" in done.output
    assert (vault / "wiki/a.md").read_text(encoding="utf-8") == A.replace("b:gone", "b:plan")
    assert "no link is to be rewritten" in run(links, "--repair").output
    assert "rewrote" not in run(links, "--repair", "--yes").output


def test_a_relation_whose_end_was_renamed_says_which_and_what_it_is_called_now(vault: Path, run: Run) -> None:
    lines = ['{"source": "a:sea", "target": "b:gone"}', '{"source": "b:gone", "target": "c:same"}']
    (vault / "relations.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert "relations.jsonl:2  b:gone → c:same  unresolved" in run(links).output
    tell_rename(vault, "b:gone", "b:plan")
    listed = run(links).output
    assert "relations.jsonl:1  a:sea → b:gone   renamed to b:plan" in listed
    assert "relations.jsonl:2  b:gone → c:same  b:gone was renamed to b:plan" in listed
    shown = [one for one in json.loads(run(links, "--json").output)["links"] if one["origin"] == "manual"]
    assert [(one["renamed"], one["renamed_source"]) for one in shown] == [("b:plan", None), (None, "b:plan")]


def test_a_vault_is_converted_and_back_with_a_dry_run_first(vault: Path, run: Run) -> None:
    assert "nothing was changed" in run(links, "--to", "obsidian").stderr
    run(links, "--to", "obsidian", "--yes")
    text = (vault / "wiki/a.md").read_text(encoding="utf-8")
    assert text == A.replace("b:trip", "b#trip")
    body = json.loads(run(links, "--to", "native", "--yes", "--json").output)
    assert body["applied"] is True
    assert {fix["new"] for fix in body["fixes"]} == {"b:trip", "b:plan", "a:sea"}
    assert (vault / "wiki/a.md").read_text(encoding="utf-8") == A.replace("b#plan", "b:plan")


def test_repair_and_style_do_not_go_together(run: Run) -> None:
    with pytest.raises(UsageError):
        run(links, "--repair", "--to", "native")
    with pytest.raises(UsageError):
        run(links, "--yes")


def test_related_prints_weight_address_and_path(run: Run) -> None:
    lines = run(related, "a:sea", "--depth", "2").output.splitlines()
    assert lines[0].split()[:2] == ["3.5", "b:plan"]
    assert lines[1:3] == ["       via b:trip", "       the plan"]
    found = json.loads(run(related, "b:trip", "--direction", "both", "--depth", "5", "--json").output)
    assert {item["address"] for item in found["items"]} == {"a:sea", "b:plan", "2026-07-21:14:30"}
    assert "nothing is linked" in run(related, "c:same").output
    with pytest.raises(InvalidInput):
        run(related, "a:sea", "--depth", "6")
    with pytest.raises(NotFound):
        run(related, "a:none")


def test_a_relation_is_added_listed_and_removed(vault: Path, run: Run) -> None:
    assert run(relate, "c:same", "b:plan", "--weight", "2").output == "c:same → b:plan, weight 2\n"
    assert "(unresolved)" in run(relate, "c:same", "later").output
    assert [item["address"] for item in json.loads(run(related, "c:same", "--json").output)["items"]] == ["b:plan"]
    manual = [
        one for one in json.loads(run(links, "--state", "all", "--json").output)["links"] if one["origin"] == "manual"
    ]
    assert [(one["target"], one["file"], one["line"]) for one in manual] == [
        ("b:plan", "relations.jsonl", 1),
        ("later", "relations.jsonl", 2),
    ]
    with pytest.raises(InvalidInput, match="the weight is nan"):
        run(relate, "c:same", "later", "--weight", "nan")
    assert run(unrelate, "c:same", "b:plan").output == "removed c:same → b:plan\n"
    with pytest.raises(NotFound):
        run(unrelate, "c:same", "b:plan")
    assert (vault / "relations.jsonl").read_text(encoding="utf-8").count("\n") == 1


def test_a_pin_is_kept_between_calls(run: Run) -> None:
    assert run(pin, "b:plan").output.startswith("pinned b:plan")
    nodes = {node["address"]: node for node in json.loads(run(graph).output)["nodes"]}
    assert [address for address, node in nodes.items() if node["pinned"]] == ["b:plan"]
    assert run(unpin, "b:plan").output.startswith("unpinned b:plan")


def test_the_graph_as_data_has_items_files_and_pending_targets(run: Run) -> None:
    data = json.loads(run(graph).output)
    kinds = {node["address"]: node["kind"] for node in data["nodes"]}
    assert kinds == {
        "a:sea": "item",
        "b:trip": "item",
        "b:plan": "item",
        "b:same": "item",
        "c:same": "item",
        "2026-07-21:14:30": "diary",
        "b:gone": "pending",
    }
    edges = {(edge["source"], edge["target"]): (edge["weight"], edge["state"]) for edge in data["edges"]}
    assert edges["a:sea", "b:trip"] == (2.5, "resolved")
    assert edges["a:sea", "b:gone"] == (1.0, "unresolved")
    assert edges["a:sea", "c:same"] == (1.0, "ambiguous")


def test_the_page_is_one_file_without_network_and_notes_are_data_in_it(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "graph.html"
    assert run(graph, "-o", str(file)).output == f"wrote {file}: 7 nodes, 7 edges\n"
    text = file.read_text(encoding="utf-8")
    assert text.count("<script") == text.count("</script>") == 2
    assert "<b>bold" not in text
    assert "\\u003cb>bold" in text
    assert "http:" not in text
    assert "https:" not in text
    assert "default-src 'none'" in text
    assert "the plan" not in run(graph, "--format", "html", "--no-content").output
    assert '"a:sea" -> "b:trip" [label="2.5"];' in run(graph, "--format", "dot").output
