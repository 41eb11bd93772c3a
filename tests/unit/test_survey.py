from functools import partial
from pathlib import Path

from wikimem.pages.layout import Layout
from wikimem_daemon.disk import Disk, Kind
from wikimem_daemon.placing import Placing
from wikimem_daemon.survey import SurveyedDisk, Surveyor


def vault(tmp_path: Path) -> Path:
    (tmp_path / "wiki" / "sub").mkdir(parents=True)
    (tmp_path / "wiki" / "a.md").write_text("first")
    (tmp_path / "wiki" / "sub" / "b.md").write_text("second")
    (tmp_path / ".obsidian").mkdir()
    return tmp_path


def surveyor(root: Path) -> Surveyor:
    return Surveyor(Disk(root, max_bytes=1000), Placing(Layout()), {})


def test_a_survey_answers_what_a_comparison_asks_without_the_disk(tmp_path: Path) -> None:
    root = vault(tmp_path)
    view = SurveyedDisk(Disk(root, max_bytes=1000))
    view.begin()
    view.fill(surveyor(root).walk())
    (root / "wiki" / "a.md").write_text("later")
    (root / "wiki" / "c.md").write_text("later")
    assert [entry.name for entry in view.list_folder("wiki").entries] == ["a.md", "sub"]
    assert view.look("wiki/a.md").data == b"first"
    assert view.identity("diary") is None
    view.clear()
    assert view.look("wiki/a.md").data == b"later"
    assert [entry.name for entry in view.list_folder("wiki").entries] == ["a.md", "c.md", "sub"]


def test_what_was_written_while_a_survey_was_made_is_asked_of_the_disk(tmp_path: Path) -> None:
    root = vault(tmp_path)
    view = SurveyedDisk(Disk(root, max_bytes=1000))
    view.begin()
    found = surveyor(root).walk()
    (root / "wiki" / "a.md").write_text("ours")
    view.forget("wiki/a.md")
    view.fill(found)
    assert view.look("wiki/a.md").data == b"ours"
    assert view.stamp("wiki/a.md") == Disk(root, max_bytes=1000).stamp("wiki/a.md")


def test_dot_folders_are_not_walked(tmp_path: Path) -> None:
    survey = surveyor(vault(tmp_path)).walk()
    assert set(survey.listings) == {"", "wiki", "wiki/sub"}


def test_a_look_at_what_is_no_file_says_what_it_is(tmp_path: Path) -> None:
    root = vault(tmp_path)
    (root / "wiki" / "link.md").symlink_to("a.md")
    (root / "wiki" / "big.md").write_text("x" * 1001)
    disk = Disk(root, max_bytes=1000)
    kinds = {name: disk.look(f"wiki/{name}").kind for name in ("a.md", "sub", "link.md", "big.md", "none.md")}
    assert kinds == {
        "a.md": Kind.TEXT,
        "sub": Kind.FOLDER,
        "link.md": Kind.LINK,
        "big.md": Kind.TOO_LARGE,
        "none.md": Kind.MISSING,
    }


def test_a_stamp_is_racy_while_it_is_young_or_of_the_future(tmp_path: Path) -> None:
    root = vault(tmp_path)
    born = (root / "wiki" / "a.md").stat().st_ctime_ns
    for age_s, racy in ((0, True), (1.9, True), (2.1, False), (-3600, True)):
        now = born + int(age_s * 1e9)
        disk = Disk(root, max_bytes=1000, wall_ns=partial(int, now))
        assert disk.look("wiki/a.md").racy is racy, age_s


def test_where_links_lead(tmp_path: Path) -> None:
    root = vault(tmp_path / "v")
    (tmp_path / "out").mkdir()
    wiki = root / "wiki"
    targets = {"in": "sub", "out": str(tmp_path / "out"), "up": "..", "me": "me", "gone": "nowhere"}
    for name, target in targets.items():
        (wiki / name).symlink_to(target)
    disk = Disk(root, max_bytes=1000)
    found = {name: disk.target(f"wiki/{name}") for name in ("in", "out", "up", "me", "gone")}
    assert (found["in"].kind, found["in"].inside, found["in"].loop) == (Kind.FOLDER, "wiki/sub", False)
    assert (found["out"].inside, found["out"].loop) == (None, False)
    assert found["up"].loop
    assert found["me"].loop
    assert (found["gone"].kind, found["gone"].shown) == (Kind.MISSING, "nowhere")
