"""Properties: found as Obsidian finds them, read tolerantly."""

import pytest

from wikimem.text.frontmatter import read_frontmatter


@pytest.mark.parametrize(
    "data",
    [
        b"---\ntags: [a, B]\n---\n",
        b"---\r\ntags: [a, B]\r\n---\r\nx",
        b"---\rtags: [a, B]\r---\rx",
        b"\xef\xbb\xbf---\ntags: [a, B]\n---",
        b"--- \t\ntags:\n- a\n- B\n---  \nx",
        b"---\nTags: ['#a', ' B ', a]\n---\n",
        b"---\ntags: [a, B, 'c d', '']\n---\n",
        b'---\n{"tags": ["a", "B"]}\n---\n',
    ],
)
def test_tags_are_found_in_every_shape_that_obsidian_takes(data: bytes) -> None:
    assert read_frontmatter(data).tags == ("a", "b")


@pytest.mark.parametrize("data", [b"---\ntags: one\naliases: One\n---\n", b"---\ntags: [one]\naliases: [One]\n---\n"])
def test_one_string_is_a_list_of_one(data: bytes) -> None:
    found = read_frontmatter(data)
    assert found.tags == ("one",)
    assert found.aliases == ("One",)


@pytest.mark.parametrize(
    "data", [b"", b"x", b"\n---\ntags: a\n---\n", b" ---\ntags: a\n---\n", b"----\ntags: a\n----\n"]
)
def test_it_counts_only_from_the_first_line(data: bytes) -> None:
    found = read_frontmatter(data)
    assert found.span is None
    assert not found.problems


@pytest.mark.parametrize(
    "block",
    [b"a: [", b"title: Fwd: x: y", b"created: {{date}}", b"\tx: 1", b"- x", b"plain", b"x: " + b"[" * 9000],
)
def test_invalid_yaml_is_one_problem_and_no_properties(block: bytes) -> None:
    found = read_frontmatter(b"---\n" + block + b"\n---\n")
    assert [problem.kind for problem in found.problems] == ["invalid-yaml"]
    assert not found.properties
    assert found.span is not None


def test_the_problem_names_the_line() -> None:
    assert read_frontmatter(b"---\na: 1\nb: [\n---\n").problems[0].line >= 3


@pytest.mark.parametrize("data", [b"---\na: 1\n\n## x\n", b"---", b"---\n"])
def test_a_block_that_is_never_closed_is_none(data: bytes) -> None:
    found = read_frontmatter(data)
    assert found.span is None
    assert [problem.kind for problem in found.problems] == ["unclosed-frontmatter"]


@pytest.mark.parametrize("data", [b"---\n---\n", b"---\n\n# comment\n---\n", b"---\ntags:\naliases: null\n---\n"])
def test_nothing_said_is_nothing_wrong(data: bytes) -> None:
    found = read_frontmatter(data)
    assert found.span is not None
    assert (found.tags, found.aliases, found.problems) == ((), (), ())


def test_dates_and_numbers_stay_text() -> None:
    found = read_frontmatter(b"---\nwhen: 2026-13-45\nn: 010\nyes: no\n---\n")
    assert dict(found.properties) == {"when": "2026-13-45", "n": "010", "yes": "no"}


def test_aliases_of_yaml_cannot_grow_without_bound() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 20)}]" for n in range(1, 25)]
    found = read_frontmatter(("---\n" + "\n".join(lines) + "\n---\n").encode())
    assert not found.problems
