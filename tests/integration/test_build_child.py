"""The build in a child process makes the same index, and its failures cost a warning."""

import logging
import sys

import numpy as np
import pytest

from tests.searching import addresses, diary, index_of, wiki
from wikimem.search.build import Builder, ChildBuilder, InlineBuilder
from wikimem.search.corpus import Corpus

TEXTS = ["sea 海边 snake_case", "", "café ทะเล", "sea " * 300, "half \ud800 a pair", "nul \x00 and line\nend"] * 50
CHILDREN = {
    "dies": [sys.executable, "-c", "import sys; sys.stdin.buffer.read(9); sys.exit(3)"],
    "says nothing": [sys.executable, "-c", "import sys; sys.stdin.buffer.read()"],
    "talks nonsense": [sys.executable, "-c", "import sys; sys.stdin.buffer.read(); print('hello')"],
    "is another version": [
        sys.executable,
        "-c",
        'import sys; sys.stdin.buffer.read(); print(\'{"version": "0/0"}\')',
    ],
    "does not exist": ["/nonexistent/python"],
}


def built(builder: Builder, texts: list[str]) -> Corpus:
    corpus = Corpus()
    slots = corpus.reserve(len(texts))
    job = corpus.begin_build(slots, texts)
    corpus.finish_build(job, builder.build(job))
    return corpus


@pytest.mark.parametrize("texts", [[], TEXTS[:1], TEXTS], ids=["none", "one", "many"])
def test_the_child_makes_the_same_arrays_and_the_same_vocabulary(
    texts: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    here, there = built(InlineBuilder(), texts), built(ChildBuilder(least_rows=0), texts)
    assert caplog.records == []
    assert here.vocabulary.names == there.vocabulary.names
    for one, other in zip(
        (*here.base.postings[1:], here.base.scores), (*there.base.postings[1:], there.base.scores), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert (here.documents, here.total_length) == (there.documents, there.total_length)
    np.testing.assert_array_equal(here.lengths, there.lengths)


@pytest.mark.parametrize("kind", CHILDREN)
def test_a_child_that_fails_is_replaced_by_this_process(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    corpus = built(ChildBuilder(CHILDREN[kind], least_rows=0), TEXTS)
    assert corpus.vocabulary.names == built(InlineBuilder(), TEXTS).vocabulary.names
    assert [record.name for record in caplog.records] == ["wikimem.search.build"]


def test_a_child_that_hangs_is_ended(caplog: pytest.LogCaptureFixture) -> None:
    hanging = [sys.executable, "-c", "import time; time.sleep(60)"]
    corpus = built(ChildBuilder(hanging, least_rows=0, timeout_s=0.5), TEXTS)
    assert (len(corpus.vocabulary.names) > 0, len(caplog.records)) == (True, 1)


def test_a_small_build_is_not_worth_a_process(caplog: pytest.LogCaptureFixture) -> None:
    built(ChildBuilder(["/nonexistent/python"]), TEXTS)
    assert caplog.records == []


def test_an_index_is_rebuilt_and_merged_beside_its_use() -> None:
    index = index_of(wiki("a", {"x": "sea", "y": "hill"}), diary("2026-07-21", [("10:00", "sea")]), inline_merges=False)
    index.replace_page(wiki("a", {"x": "lake", "z": "sea [[a:x]]"}))
    builder = ChildBuilder(least_rows=0)
    index.rebuild_arrays(builder)
    assert addresses(index.retrieve("sea")) == ["a:z", "a:x"]
    index.replace_page(wiki("b", {"new": "sea"}))
    assert index.merge(builder, settled=True)
    assert not index.merge(builder, settled=True)
    assert set(addresses(index.retrieve("sea", time_range=("2026-07-21", "2026-07-21")))) == {
        "a:z",
        "a:x",
        "b:new",
        "2026-07-21:10:00",
    }
