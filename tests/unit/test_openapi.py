"""The OpenAPI document and the protocol page are what the types say."""

import json
from pathlib import Path
from typing import get_type_hints

from bench.protocol_page import GOLDEN, PAGE, golden, page
from wikimem.api.calls import CALLS
from wikimem.api.openapi import openapi


def references(value: object) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(references(each) for each in value.values()))
    if isinstance(value, list):
        return set().union(*(references(each) for each in value))
    return set()


def test_the_document_is_the_golden_one() -> None:
    assert golden() == GOLDEN.read_text(encoding="utf-8"), "run python bench/protocol_page.py and look at the diff"


def test_the_protocol_page_is_what_the_types_say() -> None:
    assert page() == PAGE.read_text(encoding="utf-8"), "run python bench/protocol_page.py"


def test_every_call_of_the_table_is_in_the_document() -> None:
    paths = openapi()["paths"]
    assert {(call.method.lower(), call.path) for call in CALLS} == {
        (method, path) for path, methods in paths.items() for method in methods
    }


def test_every_reference_leads_somewhere() -> None:
    document = openapi()
    for reference in references(document):
        here = document
        for part in reference.removeprefix("#/").split("/"):
            here = here[part]


def test_every_parameter_and_answer_field_is_in_the_document() -> None:
    document = openapi()
    for call in CALLS:
        operation = document["paths"][call.path][call.method.lower()]
        hints = set(get_type_hints(call.params))
        if call.in_query:
            assert hints <= {one["name"] for one in operation["parameters"]}
        elif hints:
            assert hints == set(document["components"]["schemas"][call.params.__name__]["properties"])
        assert set(get_type_hints(call.answer)) == set(
            document["components"]["schemas"][call.answer.__name__]["properties"]
        )


def test_the_document_is_plain_json() -> None:
    assert json.loads(json.dumps(openapi())) == openapi()


def test_nothing_of_this_machine_is_in_the_document() -> None:
    assert str(Path.home()) not in golden()
