"""Links in generated texts: spans, rendering, rewriting, styles, and the seed's own parser."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from wikimem.text.link_forms import target_span
from wikimem.text.links import (
    Link,
    LinkSyntax,
    WikiLink,
    find_links,
    find_links_with_problems,
    parse_wiki_links,
    render_link,
    rewrite_targets,
    to_style,
)

PIECES = st.sampled_from(
    [
        *(
            "[[",
            "]]",
            "[",
            "]",
            "(",
            ")",
            "|",
            "\\|",
            "#",
            "^",
            ":",
            "`",
            "``",
            "```\n",
            "~~~\n",
            "$$",
            "%%",
            "!",
            "\\",
        ),
        *(
            "\n",
            "\r\n",
            "\n\n",
            " ",
            "; w=2.5",
            "; w=x",
            "<knowledge>",
            "</knowledge>",
            '<knowledge weight="3">',
            "<!--",
        ),
        *(
            "-->",
            "a",
            "b.md",
            "Ä",
            "海",
            "%20",
            "<",
            ">",
            "- ",
            "> ",
            "1. ",
            "[[a:b]]",
            "[[c#d|e]]",
            "[t](n.md)",
            "## ",
            '"',
        ),
    ]
)
TEXTS = st.lists(PIECES, max_size=25).map("".join)
WORDS = st.text("ab éß海-_.'", min_size=1, max_size=8).map(str.strip).filter(bool)
SEED = re.compile(r"\[\[([^\[\]\n:]+):([^\[\]\n:]+)\]\]")


@settings(max_examples=500, deadline=None)
@given(TEXTS)
def test_spans_rise_lie_on_one_line_and_read_again_as_the_same_link(text: str) -> None:
    links, problems = find_links_with_problems(text)
    assert [link.start for link in links] == sorted(link.start for link in links)
    for link in links:
        written = text[link.start : link.end]
        assert "\n" not in written
        assert "\r" not in written
        assert link.weight > 0
        first, last = target_span(text, link)
        assert link.start <= first <= last <= link.end
        assert link.target
        again = find_links(written)[0]
        assert (again.target, again.weight, again.syntax) == (link.target, link.weight, link.syntax)
    assert all(1 <= problem.line <= text.count("\n") + text.count("\r") + 1 for problem in problems)


@settings(max_examples=500, deadline=None)
@given(TEXTS)
def test_a_style_applied_twice_is_applied_once_and_moves_no_other_character(text: str) -> None:
    assert to_style(text, "keep") == text
    for style in ("obsidian", "native"):
        once = to_style(text, style, category="own")
        assert to_style(once, style, category="own") == once
        assert len(find_links(once)) == len(find_links(text))
    assert re.sub("[:#]", "", to_style(text, "obsidian")).replace(" ", "") == re.sub("[:#]", "", text).replace(" ", "")


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_rewriting_replaces_the_targets_and_keeps_everything_between(text: str) -> None:
    links = [link for link in find_links(text) if link.syntax is not LinkSyntax.MARKDOWN]
    changed = rewrite_targets(text, lambda link: "NEW" if link.syntax is not LinkSyntax.MARKDOWN else None)
    rebuilt, done = [], 0
    for link in links:
        first, last = target_span(text, link)
        rebuilt += [text[done:first], "NEW"]
        done = last
    assert changed == "".join([*rebuilt, text[done:]])


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(
        st.tuples(st.just(LinkSyntax.NATIVE), st.tuples(WORDS, WORDS).map(":".join)),
        st.tuples(st.just(LinkSyntax.HEADING), st.tuples(WORDS, WORDS).map("#".join)),
        st.tuples(st.just(LinkSyntax.PLAIN), WORDS),
        st.tuples(st.just(LinkSyntax.HTML), WORDS),
        st.tuples(st.just(LinkSyntax.MARKDOWN), st.tuples(WORDS, WORDS).map("#".join)),
    ),
    st.sampled_from([1.0, 2.5, 1e-9, 1e300]),
    st.one_of(st.none(), WORDS),
    st.booleans(),
)
def test_a_link_that_is_written_reads_back_as_itself(
    form: tuple[LinkSyntax, str], weight: float, alias: str | None, embed: bool
) -> None:
    syntax, target = form
    plain = syntax is LinkSyntax.HTML
    weight = 1.0 if syntax is LinkSyntax.MARKDOWN else weight
    link = Link(target, weight, 0, 0, syntax, None if plain else alias, embed and not plain)
    written = render_link(link)
    (read,) = find_links(written)
    assert read == Link(target, weight, 0, len(written), syntax, link.alias, link.embed)


@settings(max_examples=500, deadline=None)
@given(st.text("[]:ab \n", max_size=40))
def test_native_links_are_those_that_the_seeds_pattern_finds(text: str) -> None:
    pairs = ((category.strip(), name.strip()) for category, name in SEED.findall(text))
    assert parse_wiki_links(text) == [WikiLink(category, name) for category, name in pairs if category and name]
