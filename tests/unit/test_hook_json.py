"""An entry is added to a settings file; every other byte stays."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikimem.hook_json import insert, remove

PATH = ("hooks", "Stop")


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{\n}\n",
        '{"a": 1}',
        '{\n    "a": [1,2,  3],\n    "b": {"hooks": 1}\n}\n',
        '{\n\t"hooks": {},\n\t"x": 1.0e5\n}',
        '{\r\n  "hooks": {\r\n    "Start": []\r\n  }\r\n}\r\n',
        '{"hooks": {"Stop": []}}',
        '{\n  "hooks": {\n    "Stop": [\n      {"a": "b\\u00e9 ]}"}\n    ]\n  },\n  "z": null\n}\n',
        '{"hooks": {"Stop": [1, 2]}, "hooksx": "{"}',
    ],
)
def test_the_entry_is_added_and_the_rest_is_kept(text: str) -> None:
    after = insert(text, PATH, {"command": "run"})
    value: dict[str, Any] = json.loads(text)
    value.setdefault("hooks", {}).setdefault("Stop", []).append({"command": "run"})
    assert json.loads(after) == value
    assert list(json.loads(after)) == list(value)
    assert is_kept(without_blanks(text), without_blanks(after))
    assert ("\r\n" in text) == ("\r\n" in after)
    assert "\n" not in after.replace("\r\n", "") or "\r\n" not in text
    assert after.endswith("\n") == text.endswith("\n")


def without_blanks(text: str) -> str:
    return "".join(text.split())


def is_kept(shorter: str, longer: str) -> bool:
    """Tell whether `longer` is `shorter` with one stretch put in."""
    added = len(longer) - len(shorter)
    return any(longer[:cut] + longer[cut + added :] == shorter for cut in range(len(shorter) + 1))


def test_lines_before_and_after_the_entry_stay_byte_for_byte() -> None:
    text = '{\n   "m": "x", \n   "hooks": {\n      "Stop": [\n         {"a":1 , "b":2}\n      ]\n   },\n   "l": [ ]\n}'
    lines = insert(text, PATH, {"c": 3}).split("\n")
    before = text.split("\n")
    assert lines[:4] == before[:4]
    assert lines[4:8] == ['         {"a":1 , "b":2},', "         {", '            "c": 3', "         }"]
    assert lines[8:] == before[5:]


def test_a_second_entry_is_indented_as_the_first_one() -> None:
    """The first entry is what gives a file of one line its indentation: one level of it, not the deepest."""
    one_line = '{"hooks":{"Stop":[{"a":1}]}}'
    after = insert(insert(one_line, PATH, {"b": {"c": 1}}), ("hooks", "Start"), {"d": 2})
    assert '\n    "Start": [\n      {\n        "d": 2\n      }\n    ]\n  }' in after


@pytest.mark.parametrize(
    ("text", "path", "after"),
    [
        ('{\n  "m": [1, 2,\n 3]\n}', ("m", 1), '{\n  "m": [1,\n 3]\n}'),
        ('{"m": [ 1, 2 ]}', ("m", 0), '{"m": [ 2 ]}'),
        ('{"a" : 1 ,"m": [{"x": [ 7 ]}], "b":2}', ("m", 0, "x", 0), '{"a" : 1, "b":2}'),
        ('{"m": [1]}', ("m", 0), "{}"),
        ('{"m": 1, "m": [1], "n": 0}', ("m", 0), '{"m": 1, "n": 0}'),
    ],
)
def test_a_member_is_taken_out_with_what_only_held_it(text: str, path: tuple[str | int, ...], after: str) -> None:
    assert remove(text, path) == after


def test_what_is_not_there_cannot_be_taken_out() -> None:
    with pytest.raises(LookupError):
        remove('{"m": []}', ("m", 0))


@pytest.mark.parametrize("text", ["[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"hooks": {"Stop": "x"}}', "3"])
def test_what_is_laid_out_otherwise_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        insert(text, PATH, {})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=4), json_values, max_size=3),
    st.sampled_from([None, 1, 4, "\t"]),
    st.booleans(),
    st.booleans(),
)
def test_any_object_gains_exactly_the_entry(
    value: dict[str, Any], indent: int | str | None, ascii_only: bool, with_hooks: bool
) -> None:
    if with_hooks:
        value = {**value, "hooks": {"Other": value, "Stop": [value]}}
    elif "hooks" in value:
        return
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    after = json.loads(insert(text, PATH, {"n": [1]}))
    value.setdefault("hooks", {}).setdefault("Stop", [])
    value["hooks"]["Stop"] = [*value["hooks"]["Stop"], {"n": [1]}]
    assert after == value


@given(
    st.dictionaries(st.text(max_size=4), json_values, max_size=3), st.sampled_from([None, 1, 4, "\t"]), st.booleans()
)
def test_what_was_added_is_taken_out_to_the_byte(value: dict[str, Any], indent: int | str | None, beside: bool) -> None:
    hooks = {"Stop": [1]} if beside else {"Other": [1]}
    text = json.dumps({"a": value, "hooks": hooks}, indent=indent)
    added = insert(text, PATH, {"n": [1]})
    back = remove(added, (*PATH, 1 if beside else 0))
    # Only where the closing bracket stood on the entry's line it now stands on one of its own.
    assert back == text if indent is not None else json.loads(back) == json.loads(text)
