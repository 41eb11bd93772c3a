"""The arguments of a retrieve, checked: a bad one raises `InvalidInput` that says what would be taken."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from wikimem.errors import InvalidInput
from wikimem.search.rows import Filters

Moment = str | date | datetime
TimeRange = Sequence[Moment]

LONGEST_QUERY = 200_000
# No path is longer; a pattern of 100,000 characters would hold everybody up for 100 ms.
LONGEST_FILTER = 4_096


@dataclass(frozen=True, slots=True)
class Request:
    """A query with its limits. `window` is an explicit one, ordered; `zone` None is the host's own."""

    query: str
    limit: int
    budget_tokens: int | None
    expand_links: bool
    explain: bool
    window: tuple[date, date] | None
    zone: tzinfo | None
    filters: Filters


def check(
    query: str,
    limit: int,
    budget_tokens: int | None,
    time_range: TimeRange | None,
    tz: str | None,
    *,
    expand_links: bool,
    explain: bool,
    category: str | None,
    owner: str | None,
    tag: str | None,
    since: Moment | None,
    until: Moment | None,
) -> Request:
    """Return the arguments as values. Raises `InvalidInput`."""
    _check_query(query)
    for name, value in (("category", category), ("owner", owner), ("tag", tag)):
        _check_filter(name, value)
    zone = _zone(tz)
    return Request(
        query,
        _count("limit", limit, least=0),
        None if budget_tokens is None else _count("budget_tokens", budget_tokens, least=0),
        expand_links,
        explain,
        None if time_range is None else _window(time_range, zone),
        zone,
        Filters(
            category,
            owner,
            tag,
            None if since is None else _seconds("since", since, zone, end=False),
            None if until is None else _seconds("until", until, zone, end=True),
        ),
    )


def _check_query(query: str) -> None:
    if not isinstance(query, str):
        raise InvalidInput("The query is no text.", hint="Pass the question as a string.")
    if len(query) > LONGEST_QUERY:
        raise InvalidInput(
            f"The query has {len(query):,} characters.", hint=f"Ask with at most {LONGEST_QUERY:,}; a note is enough."
        )


def _check_filter(name: str, value: str | None) -> None:
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"`{name}` is {value!r}.", hint="Pass it as a string.")
    if value is not None and len(value) > LONGEST_FILTER:
        raise InvalidInput(f"`{name}` has {len(value):,} characters.", hint=f"Use at most {LONGEST_FILTER:,}.")


def _count(name: str, value: int, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(f"`{name}` is {value!r}.", hint=f"Use a whole number of at least {least}.")
    return value


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError):
        # A path or a NUL is a ValueError, a folder of the database an OSError.
        raise InvalidInput(f"The time zone {name!r} is not known.", hint="Use a name such as Asia/Tokyo.") from None


def _window(pair: TimeRange, zone: tzinfo | None) -> tuple[date, date]:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise InvalidInput("`time_range` is a pair of days.", hint='As ["2026-07-01", "2026-07-31"].')
    start, end = (_day(moment, zone) for moment in pair)
    return (start, end) if start <= end else (end, start)


def _day(moment: Moment, zone: tzinfo | None) -> date:
    read = _read("time_range", moment)
    if isinstance(read, datetime):
        return (read.astimezone(zone) if read.tzinfo is not None else read).date()
    return read


def _seconds(name: str, moment: Moment, zone: tzinfo | None, *, end: bool) -> int:
    read = _read(name, moment)
    try:
        if not isinstance(read, datetime):
            # The last second of a day, not 24 hours after its first: a day can have 23 or 25.
            day = datetime.combine(read + timedelta(days=1) if end else read, time())
            return int(_aware(day, zone).timestamp()) - (1 if end else 0)
        return int(_aware(read, zone).timestamp())
    except (OverflowError, OSError, ValueError):
        raise InvalidInput(f"`{name}` is out of range: {moment}.", hint="Use a year from 1 to 9998.") from None


def _aware(moment: datetime, zone: tzinfo | None) -> datetime:
    if moment.tzinfo is not None:
        return moment
    # Without a zone `astimezone` reads the wall clock of the host, daylight saving of that day included.
    return moment.replace(tzinfo=zone) if zone is not None else moment.astimezone(UTC)


def _read(name: str, moment: Moment) -> date | datetime:
    if isinstance(moment, date):
        return moment
    try:
        return date.fromisoformat(moment) if len(moment) == 10 else datetime.fromisoformat(moment)
    except (ValueError, TypeError):
        raise InvalidInput(
            f"`{name}` holds {moment!r}, which is no date.", hint="Write it as 2026-07-21 or 2026-07-21T06:30:00+00:00."
        ) from None
