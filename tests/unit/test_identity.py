from wikimem.pages.items import RecallItem
from wikimem_daemon.identity import Held, New, Pool, diff_file

LONG = "We drove to the sea on Saturday, ate noodles on the pier and came home late in the rain."


def item(name: str, content: str = "", *, category: str = "a", ordinal: int = 1) -> RecallItem:
    return RecallItem(category, name, content, ordinal=ordinal)


def held(item_id: str, name: str, content: str = "", *, path: str = "wiki/a.md", position: int = 0) -> Held:
    return Held(item_id, path, item(name, content), position, b"old", (1, 7))


def new(name: str, content: str = "", *, path: str = "wiki/a.md", position: int = 0, file_hash: bytes = b"new") -> New:
    return New(path, item(name, content), position, file_hash, (1, 8))


def pairs_of(old: list[Held], come: list[New]) -> list[tuple[str, str]]:
    pool = Pool()
    for one in old:
        pool.add(one)
    pairs, rest = pool.pair(come)
    assert len(pairs) + len(rest) == len(come)
    assert len(pool) + len(pairs) == len(old)
    return [(one.id, what.item.name) for one, what in pairs]


def test_an_edited_item_keeps_its_id_by_its_name() -> None:
    diff = diff_file("wiki/a.md", [held("1", "sea", "old")], [item("sea", "new")])
    assert [(one.id, now.content) for one, now in diff.kept] == [("1", "new")]
    assert (diff.removed, diff.added) == ((), ())


def test_a_diary_entry_is_kept_by_its_text_when_the_one_before_it_goes() -> None:
    day = "2026-07-21"
    first = Held("1", "d", item("14:30", "first", category=day))
    second = Held("2", "d", item("14:30", "second", category=day, ordinal=2))
    diff = diff_file("d", [first, second], [item("14:30", "second", category=day)])
    assert [(one.id, now.ordinal) for one, now in diff.kept] == [("2", 1)]
    assert [one.id for one in diff.removed] == ["1"]


def test_a_renamed_heading_is_found_by_its_body() -> None:
    assert pairs_of([held("1", "a", LONG)], [new("b", LONG)]) == [("1", "b")]


def test_two_equal_bodies_are_not_paired() -> None:
    assert (
        pairs_of([held("1", "a", "same"), held("2", "b", "same", position=1)], [new("c", "same", path="wiki/z.md")])
        == []
    )
    assert (
        pairs_of([held("1", "a", "same")], [new("c", "same", path="z"), new("d", "same", path="z", position=1)]) == []
    )


def test_an_item_that_moved_to_another_file_is_found_by_name_and_body() -> None:
    other = [new("sea", "same", path="wiki/b.md"), new("hill", "same", path="wiki/b.md", position=1)]
    assert pairs_of([held("1", "sea", "same")], other) == [("1", "sea")]


def test_empty_bodies_say_nothing_across_files() -> None:
    assert pairs_of([held("1", "a")], [new("b", path="wiki/b.md")]) == []
    assert pairs_of([held("1", "a")], [new("b")]) == [("1", "b")]


def test_a_moved_file_is_recognised_by_its_bytes_even_where_its_items_look_like_others() -> None:
    old = [
        Held("1", "wiki/x/todo.md", item("todo", "same"), 0, b"x", (1, 7)),
        Held("2", "wiki/y/todo.md", item("todo", "same"), 0, b"y", (1, 8)),
    ]
    come = [
        New("wiki/z/x.md", item("todo", "same"), 0, b"x", (1, 7)),
        New("wiki/z/y.md", item("todo", "same"), 0, b"y", (1, 8)),
    ]
    pool = Pool()
    for one in old:
        pool.add(one)
    pairs, rest = pool.pair(come)
    assert [(one.id, what.path) for one, what in pairs] == [("1", "wiki/z/x.md"), ("2", "wiki/z/y.md")]
    assert not rest


def test_files_of_equal_bytes_are_told_apart_by_their_inodes() -> None:
    pool = Pool()
    for number in (1, 2):
        pool.add(Held(str(number), f"wiki/x/{number}.md", item("todo", "same"), 0, b"h", (1, number)))
    pairs, _ = pool.pair([New(f"wiki/z/{n}.md", item("todo", "same"), 0, b"h", (1, n)) for n in (2, 1)])
    assert [(one.id, what.path) for one, what in pairs] == [("2", "wiki/z/2.md"), ("1", "wiki/z/1.md")]


def test_a_new_file_in_the_inode_of_a_removed_one_is_another_file() -> None:
    pool = Pool()
    pool.add(Held("1", "wiki/x.md", item("x", "old text"), 0, b"old", (1, 7)))
    pairs, rest = pool.pair([New("wiki/y.md", item("y", "other words"), 0, b"new", (1, 7))])
    assert not pairs
    assert len(rest) == 1


def test_an_item_that_comes_back_in_place_is_itself_whatever_its_text() -> None:
    assert pairs_of([held("1", "sea", "old")], [new("sea", "entirely different")]) == [("1", "sea")]


def test_half_typed_headings_are_one_item() -> None:
    assert pairs_of([held("1", "be")], [new("beach-tr", "We")]) == [("1", "beach-tr")]
    assert pairs_of([held("1", "beach-tr", "We")], [new("beach-trip-plan", "We drove")]) == [("1", "beach-trip-plan")]


def test_a_heading_and_a_body_that_both_changed_a_little_are_one_item() -> None:
    edited = LONG.replace("noodles", "dumplings")
    assert pairs_of([held("1", "sea", LONG)], [new("at the sea", edited)]) == [("1", "at the sea")]


def test_another_text_under_another_name_is_another_item() -> None:
    assert pairs_of([held("1", "sea", LONG)], [new("taxes", "The form is due in May, and the office is closed.")]) == []


def test_of_two_that_are_equally_like_it_none_is_chosen() -> None:
    come = [new("x", LONG + " One.", position=1), new("y", LONG + " Two.", position=2)]
    assert pairs_of([held("1", "sea", LONG, position=0)], come) == []


def test_a_text_without_spaces_is_compared_by_pairs_of_characters() -> None:
    text = "今天和朋友去海边散步，晚上一起吃了火锅，很开心，回家的时候下雨了。"
    assert pairs_of([held("1", "sea", text)], [new("at-sea", text.replace("火锅", "烤肉"))]) == [("1", "at-sea")]
    assert pairs_of([held("1", "sea", text)], [new("at-sea", "明年五月要交税，办公室今天关门。", position=3)]) == []


def test_a_file_that_was_rewritten_is_compared_within_limits() -> None:
    old = [held(str(n), f"old {n}", f"{LONG} {n}" * 40, position=n) for n in range(40)]
    come = [new(f"new {n}", f"{n} is quite another text " * 200, position=n) for n in range(40)]
    assert pairs_of(old, come) == []
