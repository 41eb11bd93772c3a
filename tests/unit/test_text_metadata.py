"""The provenance comment, read and written."""

import pytest

from wikimem.text.metadata import Metadata, normalise_ts, parse_metadata, render_metadata

FULL = "<!-- wikimem: owner=user:xnne | source=conv_20260710 | ts=2026-07-10T03:00:00+00:00 -->"


def test_the_seeds_comment_reads_and_writes_back() -> None:
    found = parse_metadata(FULL)
    assert found == Metadata("user:xnne", "conv_20260710", "2026-07-10T03:00:00+00:00")
    assert render_metadata(found) == FULL


@pytest.mark.parametrize(
    "line",
    [
        "",
        "text",
        f"x {FULL}",
        f"{FULL} x",
        FULL[:-1],
        "<!-- wikimem owner=x -->",
        "<!-- wikimem: owner -->",
        "<!-- wikimem: owner=x | -->",
        "<!-- wikimem: =x -->",
        "<!-- wikimem: owner=x --> <!-- wikimem: owner=y -->",
        "<!-- WIKIMEM: owner=x -->",
    ],
)
def test_what_is_malformed_is_content(line: str) -> None:
    assert parse_metadata(line) is None


def test_unknown_keys_are_kept_in_order() -> None:
    line = "<!-- wikimem: mood=fine | owner=x | weight=a=b -->"
    found = parse_metadata(line)
    assert found == Metadata("x", extra=(("mood", "fine"), ("weight", "a=b")))
    assert render_metadata(found) == "<!-- wikimem: owner=x | mood=fine | weight=a=b -->"


def test_blanks_around_the_parts_do_not_matter() -> None:
    assert parse_metadata("  <!--wikimem:owner = x|ts=2026-07-10T03:00:00Z-->  ") == Metadata(
        "x", ts="2026-07-10T03:00:00+00:00"
    )


def test_a_comment_without_fields_is_none_of_the_content() -> None:
    assert parse_metadata("<!-- wikimem: -->") == Metadata()
    assert render_metadata(Metadata()) is None


def test_a_value_cannot_start_a_field_or_close_the_comment() -> None:
    line = render_metadata(Metadata("a | owner=b", "x --> y\nz"))
    assert line == "<!-- wikimem: owner=a / owner=b | source=x --/ y z -->"
    assert parse_metadata(line) == Metadata("a / owner=b", "x --/ y z")


def test_a_value_of_half_a_character_can_be_written() -> None:
    line = render_metadata(Metadata("a\ud800\x00"))
    assert line is not None
    assert line.encode()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-07-10T11:00:00+08:00", "2026-07-10T03:00:00+00:00"),
        ("2026-07-10T03:00:00.9Z", "2026-07-10T03:00:00+00:00"),
        ("2026-07-10 03:00", "2026-07-10T03:00:00+00:00"),
        ("2026-07-10", "2026-07-10T00:00:00+00:00"),
        ("soon", None),
        ("2026-13-10", None),
        ("0001-01-01T00:00:00+14:00", None),
    ],
)
def test_times_are_utc_with_seconds(value: str, expected: str | None) -> None:
    assert normalise_ts(value) == expected


def test_a_time_that_is_none_stays_among_the_unknown_keys() -> None:
    assert parse_metadata("<!-- wikimem: ts=soon -->") == Metadata(extra=(("ts", "soon"),))
