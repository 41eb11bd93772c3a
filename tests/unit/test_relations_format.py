"""`relations.jsonl`: read tolerantly, edited line by line."""

from hypothesis import given
from hypothesis import strategies as st

from wikimem.pages.relations import Relation, drop_relation, put_relation, read_relations, render_relation

LINE = '{"source": "a:x", "target": "b:y", "weight": 2.5, "ts": "2026-07-21T06:30:00+00:00"}\n'


def test_a_relation_is_one_line_that_a_person_can_read() -> None:
    relation = Relation("生活:海边", "b:y", 2.5, "2026-07-21T06:30:00+00:00")
    assert render_relation(relation).decode() == LINE.replace("a:x", "生活:海边")


def test_lines_are_read_with_their_numbers_and_what_is_no_relation_is_a_problem() -> None:
    bad = ["{", "[]", "3", '{"source": "a:x"}', '{"source": "a", "target": "b", "weight": "2"}']
    bad += [f'{{"source": "a", "target": "b", "weight": {w}}}' for w in ("-1", "0", "NaN", "Infinity", "1e999", "true")]
    bad += [f'{{"source": "a", "target": "b", "weight": 1{"0" * 400}}}', '{"source": " ", "target": "b"}']
    relations, problems = read_relations((LINE + "\n" + "\n".join(bad) + '\n{"source":"c","target":"d"}').encode())
    assert relations == [
        Relation("a:x", "b:y", 2.5, "2026-07-21T06:30:00+00:00", 1),
        Relation("c", "d", 1.0, None, len(bad) + 3),
    ]
    assert [problem.line for problem in problems] == list(range(3, len(bad) + 3))
    assert {problem.kind for problem in problems} == {"invalid-relation"}


def test_of_two_lines_for_a_pair_the_last_counts() -> None:
    data = (
        b'{"source":"a","target":"b","weight":1}\n{"source":"c","target":"d"}\n{"source":"a","target":"b","weight":3}\n'
    )
    assert [(one.source, one.weight, one.line) for one in read_relations(data)[0]] == [("c", 1.0, 2), ("a", 3.0, 3)]


def test_crlf_a_bom_and_bytes_that_are_not_utf8_are_read() -> None:
    data = b'\xef\xbb\xbf{"source":"a","target":"b"}\r\n{"source":"caf\xe9","target":"d"}\r\n'
    relations, problems = read_relations(data)
    assert [one.source for one in relations] == ["a", "caf\N{REPLACEMENT CHARACTER}"]
    assert problems == []


def test_a_torn_last_line_is_closed_and_never_joined() -> None:
    torn = LINE.encode() + b'{"source": "c", "tar'
    data = put_relation(torn, Relation("e", "f"))
    assert data.startswith(torn + b"\n")
    relations, problems = read_relations(data)
    assert [one.source for one in relations] == ["a:x", "e"]
    assert [problem.line for problem in problems] == [2]


def test_a_pair_that_is_written_again_stays_in_its_place() -> None:
    data = b'# mine\n{"source":"a","target":"b","note":"kept?"}\r\n{"source":"c","target":"d"}'
    changed = put_relation(data, Relation("a", "b", 2.0))
    assert changed == b'# mine\n{"source": "a", "target": "b", "weight": 2.0}\n{"source":"c","target":"d"}'


def test_removing_a_pair_takes_its_lines_and_no_other_byte() -> None:
    data = b'# mine\n{"source":"a","target":"b"}\n{"source":"c","target":"d"}\n{"source":"a","target":"b","weight":2}\n'
    assert drop_relation(data, "a", "b") == b'# mine\n{"source":"c","target":"d"}\n'
    assert drop_relation(data, "a", "c") == data


WORDS = st.text('ab:\n"\\é海\u2028 ', min_size=1, max_size=5).filter(str.strip).map(str.strip)
PAIRS = st.tuples(WORDS, WORDS, st.floats(0.001, 1e6))


@given(st.lists(st.tuples(st.booleans(), PAIRS), max_size=12), st.binary(max_size=30))
def test_any_sequence_of_edits_reads_back_as_it_was_asked_for(
    edits: list[tuple[bool, tuple[str, str, float]]], head: bytes
) -> None:
    data = head
    wanted = {(one.source, one.target): one.weight for one in read_relations(head)[0]}
    for put, (source, target, weight) in edits:
        if put:
            data = put_relation(data, Relation(source, target, weight))
            wanted[source, target] = weight
        else:
            data = drop_relation(data, source, target)
            wanted.pop((source, target), None)
    assert {(one.source, one.target): one.weight for one in read_relations(data)[0]} == wanted
