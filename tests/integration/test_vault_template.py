"""The template: what Obsidian finds in it, and what the samples show."""

import json
from pathlib import Path

import pytest
import yaml

from wikimem.config import vault_layout
from wikimem.pages.reading import read_page
from wikimem.shipped import shipped

TEMPLATE = shipped("vault_template")
SETTINGS = sorted((TEMPLATE / ".obsidian").glob("*.json"))
NOTES = sorted([*(TEMPLATE / "wiki").glob("*.md"), *(TEMPLATE / "diary").glob("*.md")])


def settings(name: str) -> dict[str, object]:
    read: dict[str, object] = json.loads((TEMPLATE / ".obsidian" / name).read_text("utf-8"))
    return read


@pytest.mark.parametrize("file", SETTINGS, ids=lambda file: file.name)
def test_obsidians_settings_are_json_objects(file: Path) -> None:
    assert isinstance(json.loads(file.read_text("utf-8")), dict)


def test_nothing_is_shipped_that_opens_with_a_prompt_or_changes_on_every_click() -> None:
    names = {file.name for file in TEMPLATE.rglob("*")}
    assert not {"community-plugins.json", "plugins", "workspace.json", "workspace-mobile.json"} & names


def test_daily_notes_go_where_the_diary_is() -> None:
    assert settings("daily-notes.json")["folder"] == vault_layout(TEMPLATE).diary_dir
    assert settings("daily-notes.json")["format"] == vault_layout(TEMPLATE).diary_format
    assert (TEMPLATE / f"{settings('daily-notes.json')['template']}.md").is_file()


def test_new_notes_go_into_the_wiki_and_links_are_kept_up_to_date() -> None:
    app = settings("app.json")
    assert (app["newFileLocation"], app["newFileFolderPath"]) == ("folder", vault_layout(TEMPLATE).wiki_dir)
    assert app["alwaysUpdateLinks"] is True
    assert app["useMarkdownLinks"] is False


def test_the_snippet_that_is_switched_on_is_there() -> None:
    for name in json.loads((TEMPLATE / ".obsidian/appearance.json").read_text("utf-8"))["enabledCssSnippets"]:
        assert (TEMPLATE / f".obsidian/snippets/{name}.css").is_file()


def test_every_bookmark_leads_somewhere() -> None:
    def paths(items: list[dict[str, object]]) -> list[tuple[str, str]]:
        found = []
        for item in items:
            found += paths(item["items"]) if item["type"] == "group" else []  # type: ignore[arg-type]
            if "path" in item:
                found.append((str(item["path"]), str(item.get("subpath", "")).removeprefix("#")))
        return found

    for path, heading in paths(json.loads((TEMPLATE / ".obsidian/bookmarks.json").read_text("utf-8"))["items"]):
        assert (TEMPLATE / path).exists(), path
        if heading:
            assert f"\n## {heading}\n" in (TEMPLATE / path).read_text("utf-8")


def test_the_base_is_yaml_with_its_views() -> None:
    base = yaml.safe_load((TEMPLATE / "wiki.base").read_text("utf-8"))
    assert [view["name"] for view in base["views"]] == ["Categories", "Changed this week"]


def test_the_templates_of_notes_are_no_notes() -> None:
    layout = vault_layout(TEMPLATE)
    for file in (TEMPLATE / "templates").iterdir():
        assert layout.classify(f"templates/{file.name}").kind == "ignored"


@pytest.mark.parametrize("file", NOTES, ids=lambda file: file.stem)
def test_the_samples_are_read_without_a_problem(file: Path) -> None:
    layout = vault_layout(TEMPLATE)
    page = read_page(file.relative_to(TEMPLATE).as_posix(), file.read_bytes(), layout)
    assert page.problems == ()
    assert page.items or file.stem == "index"


def test_the_samples_are_linked_and_in_two_languages() -> None:
    text = "".join(file.read_text("utf-8") for file in NOTES)
    assert text.count("[[") >= 10
    assert sum("\u4e00" <= char <= "\u9fff" for char in text) > 200
    assert sum(char.isascii() and char.isalpha() for char in text) > 1_000


def test_links_are_stored_in_the_form_that_a_person_can_follow() -> None:
    assert vault_layout(TEMPLATE).link_style == "obsidian"
