"""How items warm and cool, on a clock that the test turns."""

import math

import pytest

from wikimem.search.temperature import FIRST, Temperature, Temperatures, bumped, decayed

HOUR = 3600.0
NOW = 1_800_000_000.0


def test_an_item_starts_at_one_half_and_cools_by_five_percent_an_hour() -> None:
    warmth = Temperatures(NOW)
    assert warmth.value("a:b", NOW) == FIRST == 0.5
    assert warmth.value("a:b", NOW + HOUR) == pytest.approx(0.5 * math.exp(-0.05))
    assert warmth.value("a:b", NOW + 10 * HOUR) == pytest.approx(0.5 * math.exp(-0.5))


def test_surfacing_adds_fifteen_hundredths_up_to_one() -> None:
    warmth = Temperatures(NOW)
    warmth.surface(["a:b"], NOW)
    assert warmth.value("a:b", NOW) == pytest.approx(0.65)
    for _ in range(5):
        warmth.surface(["a:b"], NOW)
    assert warmth.value("a:b", NOW) == 1.0
    assert bumped(0.95) == 1.0


def test_surfacing_warms_what_the_item_has_cooled_down_to() -> None:
    warmth = Temperatures(NOW)
    warmth.surface(["a:b"], NOW + 10 * HOUR)
    assert warmth.value("a:b", NOW + 10 * HOUR) == pytest.approx(0.5 * math.exp(-0.5) + 0.15)


def test_a_pinned_item_does_not_cool_and_an_unpinned_one_cools_from_where_it_was() -> None:
    warmth = Temperatures(NOW)
    warmth.pin("a:b", NOW)
    assert warmth.value("a:b", NOW + 1000 * HOUR) == 0.5
    warmth.surface(["a:b"], NOW + 1000 * HOUR)
    assert warmth.value("a:b", NOW + 2000 * HOUR) == pytest.approx(0.65)
    assert warmth.pinned() == ["a:b"]
    warmth.unpin("a:b", NOW + 2000 * HOUR)
    assert warmth.value("a:b", NOW + 2001 * HOUR) == pytest.approx(0.65 * math.exp(-0.05))
    assert not warmth.is_pinned("a:b")


def test_an_item_that_is_new_is_warmer_than_one_that_lay_there_for_a_day() -> None:
    warmth = Temperatures(NOW)
    warmth.meet(["a:new"], NOW + 24 * HOUR)
    assert warmth.value("a:new", NOW + 24 * HOUR) == 0.5
    assert warmth.value("a:old", NOW + 24 * HOUR) < 0.2


def test_meeting_an_item_again_changes_nothing() -> None:
    warmth = Temperatures(NOW, [("a:b", Temperature(0.9, NOW))])
    warmth.meet(["a:b"], NOW + HOUR)
    assert warmth.value("a:b", NOW) == 0.9


def test_reading_leaves_nothing_to_save() -> None:
    warmth = Temperatures(NOW, [("a:b", Temperature(0.9, NOW))])
    warmth.value("a:b", NOW + HOUR)
    warmth.value("a:c", NOW + HOUR)
    assert warmth.take_unsaved() == []


def test_what_changed_is_handed_out_once_and_again_when_saving_failed() -> None:
    warmth = Temperatures(NOW)
    warmth.surface(["a:b"], NOW)
    warmth.pin("a:c", NOW)
    warmth.forget("a:b")
    changed = warmth.take_unsaved()
    assert changed == [("a:b", None), ("a:c", Temperature(0.5, NOW, pinned=True))]
    assert warmth.take_unsaved() == []
    warmth.not_saved(changed)
    assert warmth.take_unsaved() == changed


def test_a_renamed_item_keeps_its_temperature_and_its_pin() -> None:
    warmth = Temperatures(NOW)
    warmth.pin("a:b", NOW)
    warmth.rename("a:b", "c:d")
    assert warmth.is_pinned("c:d")
    assert not warmth.is_pinned("a:b")
    assert warmth.take_unsaved() == [("a:b", None), ("c:d", Temperature(0.5, NOW, pinned=True))]


def test_a_clock_that_was_set_back_warms_nothing() -> None:
    assert decayed(0.5, -1000) == 0.5
