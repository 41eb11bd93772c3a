"""What a path is, and where things lie, from the spelling alone."""

import json
from datetime import date

import pytest

from wikimem.errors import InvalidAddress, InvalidCategory
from wikimem.pages.day_format import parse_day_format
from wikimem.pages.layout import Layout, fold_alike, layout_from_obsidian, obsidian_problems


@pytest.mark.parametrize(
    ("path", "kind", "category"),
    [
        ("wiki/a.md", "wiki", "a"),
        ("wiki/x/y z.md", "wiki", "x/y z"),
        ("wiki/a.b.md", "wiki", "a.b"),
        ("wiki/2026-07-21.md", "wiki", "%32026-07-21"),
        ("diary/2026-07-21.md", "diary", "2026-07-21"),
        ("diary/2026-02-30.md", "other", ""),
        ("diary/notes.md", "other", ""),
        ("a.md", "other", ""),
        ("wiki/a.png", "other", ""),
        ("wiki/a.sync-conflict-20260101-120000-ABCDEFG.md", "conflict-copy", ""),
        ("a.sync-conflict-20260101-120000-ABCDEFG.md", "other", ""),
        ("wiki/.a.md", "ignored", ""),
        ("wiki/.x/a.md", "ignored", ""),
        ("wiki/templates/a.md", "ignored", ""),
        ("wiki/x/templates/a.md", "wiki", "x/templates/a"),
        ("wiki/templates.md", "wiki", "templates"),
        ("wiki/n (1).md", "wiki", "n (1)"),
        ("wiki", "other", ""),
        ("wikipedia/a.md", "other", ""),
    ],
)
def test_a_path_has_one_place(path: str, kind: str, category: str) -> None:
    place = Layout().classify(path)
    assert (place.kind, place.category) == (kind, category)


def test_a_vault_may_be_all_wiki() -> None:
    layout = Layout(wiki_dir=".", diary_dir="./Journal/")
    assert layout.classify("a.md").category == "a"
    assert layout.classify("Journal/2026-07-21.md").kind == "diary"
    assert layout.classify("Journal/Index.md").category == "Journal/Index"
    assert layout.classify("2026-07-21.md").category == "%32026-07-21"
    assert layout.classify("templates/a.md").kind == "ignored"
    assert layout.wiki_path("%32026-07-21") == "2026-07-21.md"
    assert layout.diary_path("2026-07-21") == "Journal/2026-07-21.md"


def test_days_may_lie_in_the_root() -> None:
    layout = Layout(wiki_dir=".", diary_dir=".")
    assert layout.classify("2026-07-21.md").kind == "diary"
    assert layout.classify("a.md").kind == "wiki"
    assert layout.diary_path("2026-07-21") == "2026-07-21.md"


def test_places_and_paths_are_each_others_way_back() -> None:
    layout = Layout(diary_format="YYYY/MM/DD")
    assert layout.wiki_path("x/a%3Ab") == "wiki/x/a:b.md"
    assert layout.classify(layout.diary_path("2026-07-21")).category == "2026-07-21"
    assert layout.classify("diary/2026-07-21.md").kind == "other"


def test_what_cannot_be_a_path_is_refused() -> None:
    with pytest.raises(InvalidCategory):
        Layout().wiki_path("a:b")
    with pytest.raises(InvalidAddress):
        Layout().diary_path("2026-02-30")


@pytest.mark.parametrize(
    ("glob", "path", "ignored"),
    [
        ("a.md", "wiki/a.md", True),
        ("a.md", "wiki/ba.md", False),
        ("/a.md", "wiki/a.md", False),
        ("wiki/a.md", "wiki/a.md", True),
        ("wiki/*", "wiki/x/a.md", True),
        ("wiki/*.md", "wiki/x/a.md", False),
        ("wiki/**/a.md", "wiki/a.md", True),
        ("wiki/**/a.md", "wiki/x/y/a.md", True),
        ("**", "wiki/a.md", True),
        ("x/", "wiki/x/a.md", True),
        ("a.md/", "wiki/a.md", False),
        ("dr?ft-[0-9].md", "wiki/draft-1.md", True),
        ("dr?ft-[!0-9].md", "wiki/draft-1.md", False),
        ("a[z-a].md", "wiki/a[z-a].md", True),
        ("a[.md", "wiki/a[.md", True),
        ("A.md", "wiki/a.md", False),
        ("a/a/**", "a/b.md", False),
        ("a/**/**/b.md", "a/b.md", True),
        ("[*].md", "wiki/*.md", True),
        ("[*].md", "wiki/a.md", False),
        ("a*b*c.md", "wiki/axbxbxc.md", True),
        ("a**c.md", "wiki/abc.md", True),
        ("*a*a*a*a*a*a*a*a*b", "wiki/" + "a" * 60 + ".md", False),
        ("", "wiki/a.md", False),
        ("/", "wiki/a.md", False),
    ],
)
def test_ignore_globs(glob: str, path: str, *, ignored: bool) -> None:
    assert (Layout(ignore=(glob,)).classify(path).kind == "ignored") is ignored


def settings(**values: object) -> bytes:
    return json.dumps(values).encode()


def test_obsidians_daily_notes_say_where_days_lie() -> None:
    layout = layout_from_obsidian(settings(folder="Journal", format="YYYY/MM-MMMM/Do"), Layout())
    assert layout.diary_path("2026-07-21") == "Journal/2026/07-July/21st.md"
    assert layout.classify("Journal/2026/07-July/21st.md").category == "2026-07-21"
    assert layout.classify("Journal/2026/08-July/21st.md").kind == "other"


@pytest.mark.parametrize(
    "data", [None, b"", b"[]", b"{", b'{"folder": 3, "format": null}', settings(folder="", format="")]
)
def test_what_obsidian_does_not_say_stays(data: bytes | None) -> None:
    assert layout_from_obsidian(data, Layout()) == Layout()


@pytest.mark.parametrize("folder", ["../x", ".hidden", "a/../../b"])
def test_a_folder_outside_the_vault_is_not_followed(folder: str) -> None:
    assert layout_from_obsidian(settings(folder=folder), Layout()).diary_dir == "diary"


def test_what_the_vault_says_itself_wins_over_obsidian() -> None:
    own = Layout(diary_dir="log", diary_format="YYYYMMDD")
    assert layout_from_obsidian(settings(folder="Journal", format="YYYY-MM-DD"), own) == own


def test_the_root_is_a_folder_for_days_too() -> None:
    assert layout_from_obsidian(settings(folder="/"), Layout()).diary_dir == "."


def test_the_template_of_days_is_no_note() -> None:
    layout = layout_from_obsidian(settings(template="wiki/meta/[day]"), Layout())
    assert layout.classify("wiki/meta/[day].md").kind == "ignored"
    assert layout.classify("wiki/meta/d.md").kind == "wiki"
    assert layout_from_obsidian(settings(template="templates/day"), Layout()) == Layout()


@pytest.mark.parametrize(
    "text",
    [
        "YYYY-MM",
        "MM-DD",
        "YYYY-MM-DD HH:mm",
        "DMY",
        "YYYY-M1D",
        "gggg-ww-e",
        "X",
        "dddd",
        "DDDD",
        "/YYYY-MM-DD",
        "../YYYY-MM-DD",
    ],
)
def test_a_format_that_names_no_day_leaves_the_default_and_is_reported(text: str) -> None:
    data = settings(format=text)
    assert layout_from_obsidian(data, Layout()) == Layout()
    assert [problem.kind for problem in obsidian_problems(data)] == ["daily-note-format"]
    assert Layout(diary_format=text).diary_path("2026-07-21") == "diary/2026-07-21.md"


@pytest.mark.parametrize("folder", ["../elsewhere", ".hidden", "a/../b"])
def test_a_daily_note_folder_that_cannot_be_followed_is_named(folder: str) -> None:
    data = json.dumps({"folder": folder}).encode()
    assert [problem.kind for problem in obsidian_problems(data)] == ["daily-note-folder"]
    assert layout_from_obsidian(data, Layout()).diary_dir == "diary"


def test_settings_that_cannot_be_read_are_reported() -> None:
    assert [problem.kind for problem in obsidian_problems(b"{")] == ["daily-note-settings"]
    assert obsidian_problems(settings(format="YYYYMMDD")) == ()
    assert obsidian_problems(None) == ()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("YYYY-MM-DD", "2026-07-01"),
        ("YY-M-D", "26-7-1"),
        ("dddd, MMMM Do YYYY", "Wednesday, July 1st 2026"),
        ("ddd D MMM YYYY", "Wed 1 Jul 2026"),
        ("[The day] DDDD [of] YYYY", "The day 182 of 2026"),
        ("YYYY-DDD", "2026-182"),
        ("YYYY/[W]WW/YYYY-MM-DD", "2026/W27/2026-07-01"),
        ("GGGG Q E YYYYMMDD", "2026 3 3 20260701"),
        ("YYYY年M月D日", "2026年7月1日"),
        ("GGGG-[W]WW-E", "2026-W27-3"),
        ("GG/W dddd", "26/27 Wednesday"),
        ("GGGG [week] WW, ddd", "2026 week 27, Wed"),
        ("GGGG-WW-d", "2026-27-3"),
    ],
)
def test_moment_formats_show_a_day(text: str, path: str) -> None:
    form = parse_day_format(text)
    assert form is not None
    assert form.path(date(2026, 7, 1)) == path
    assert form.day(path) == date(2026, 7, 1)


@pytest.mark.parametrize(
    ("day", "shown"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (13, "13th"), (22, "22nd")]
)
def test_ordinals_are_english(day: int, shown: str) -> None:
    form = parse_day_format("YYYY MM Do")
    assert form is not None
    assert form.path(date(2026, 7, day)) == f"2026 07 {shown}"


def test_a_week_names_its_days_over_the_turn_of_the_year() -> None:
    form = parse_day_format("GGGG-[W]WW-E")
    assert form is not None
    assert form.path(date(2027, 1, 3)) == "2026-W53-7"
    assert form.day("2026-W53-7") == date(2027, 1, 3)
    assert form.day("2025-W53-1") is None  # 2025 has 52 weeks
    assert parse_day_format("GGGG-[W]WW") is None


def test_two_digit_years_are_moments() -> None:
    form = parse_day_format("YY-MM-DD")
    assert form is not None
    assert form.day("68-01-01") == date(2068, 1, 1)
    assert form.day("69-01-01") == date(1969, 1, 1)


@pytest.mark.parametrize("path", ["2026-07-01x", "2026-7-01", "2026-02-30", "2026-07-01\n", "٢٠٢٦-٠٧-٠١"])
def test_only_the_exact_path_of_a_day_counts(path: str) -> None:
    form = parse_day_format("YYYY-MM-DD")
    assert form is not None
    assert form.day(path) is None


def test_files_whose_names_fold_alike_are_each_reported_with_the_other() -> None:
    paths = ["wiki/Cafe\u0301.md", "wiki/Caf\u00e9.md", "wiki/a.md"]
    found = fold_alike({path: Layout().classify(path).category for path in paths})
    assert [(path, problem.kind) for path, problem in found] == [(paths[0], "names-alike"), (paths[1], "names-alike")]
    assert paths[1] in found[0][1].message
