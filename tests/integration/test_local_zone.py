"""The host's time zone, with its daylight saving."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from wikimem.store.localzone import local_zone

SUMMER = datetime(2026, 7, 21, 12, tzinfo=UTC)
WINTER = datetime(2026, 1, 21, 12, tzinfo=UTC)
DATABASE = Path("/usr/share/zoneinfo")


@pytest.mark.parametrize("name", ["Europe/Berlin", ":Europe/Berlin"])
def test_a_named_zone_knows_summer_and_winter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", name)
    zone = local_zone()
    assert SUMMER.astimezone(zone).utcoffset() == timedelta(hours=2)
    assert WINTER.astimezone(zone).utcoffset() == timedelta(hours=1)


@pytest.mark.skipif(not (DATABASE / "Asia/Shanghai").exists(), reason="this system has no zone files")
def test_a_zone_may_be_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", f":{DATABASE}/Asia/Shanghai")
    assert SUMMER.astimezone(local_zone()).utcoffset() == timedelta(hours=8)


@pytest.mark.parametrize("rule", ["NOWHERE/City", "../../etc/passwd", "/no/such/file"])
def test_what_is_no_zone_falls_back_to_todays_offset(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", rule)
    assert SUMMER.astimezone(local_zone()).utcoffset() is not None
