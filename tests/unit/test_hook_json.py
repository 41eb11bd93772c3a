"""An entry is added to a settings file; every other byte stays."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikimem.hook_json import insert

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
