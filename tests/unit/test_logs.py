"""What a log line says, how often, and what it never says."""

import io
import logging
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType

import pytest

from wikimem_daemon import logs


def record(message: str, *args: object, level: int = logging.WARNING, **extra: object) -> logging.LogRecord:
    made = logging.getLogger("wikimem.watch").makeRecord(
        "wikimem.watch", level, "reconcile.py", 17, message, args, None, func="plan", extra=extra
    )
    made.created = 1_767_323_045.0
    return made


def failing(message: str, cause: str) -> logging.LogRecord:
    made = record(message, level=logging.ERROR)
    error = RuntimeError(cause)
    made.exc_info = (type(error), error, _traceback())
    return made


def _traceback() -> TracebackType | None:
    try:
        int("no number")
    except ValueError:
        return sys.exc_info()[2]
    return None


def fields_of(data: bytes) -> dict[str, str]:
    """Read the journal's native form back, as systemd.io/JOURNAL_NATIVE_PROTOCOL describes it."""
    found = {}
    while data:
        line, _, rest = data.partition(b"\n")
        if b"=" in line:
            name, _, value = line.partition(b"=")
        else:
            name, size = line, int.from_bytes(rest[:8], "little")
            value, rest = rest[8 : 8 + size], rest[8 + size + 1 :]
        found[name.decode()] = value.decode()
        data = rest
    return found


# --- lines --------------------------------------------------------------------------------------------------------


def test_a_line_on_a_terminal_carries_the_time_and_the_level() -> None:
    stream = io.StringIO()
    logs.LineHandler(stream, prefixed=False).emit(record("cannot read %s", "wiki/a.md"))
    assert stream.getvalue() == "2026-01-02T03:04:05+00:00 warning cannot read wiki/a.md\n"


def test_a_line_for_the_journal_carries_its_priority_and_no_time() -> None:
    stream = io.StringIO()
    handler = logs.LineHandler(stream, prefixed=True)
    for level in (logging.DEBUG, logging.INFO, logs.NOTICE, logging.WARNING, logging.ERROR, logging.CRITICAL):
        handler.emit(record("x", level=level))
    assert stream.getvalue() == "<7>x\n<6>x\n<5>x\n<4>x\n<3>x\n<2>x\n"


def test_every_line_of_a_traceback_has_the_priority() -> None:
    stream = io.StringIO()
    made = failing("failed", "disk")
    logs.LineHandler(stream, prefixed=True).emit(made)
    lines = stream.getvalue().splitlines()
    assert len(lines) > 3
    assert all(line.startswith("<3>") for line in lines)


def test_a_file_name_cannot_start_a_line_or_move_the_cursor() -> None:
    name = os.fsdecode(b"a\n<0>forged\x1b[2J caf\xe9.md")
    assert logs.message_of(record("cannot read %s", name)) == "cannot read a\\x0a<0>forged\\x1b[2J caf\\xe9.md"


def test_a_closed_stream_does_not_stop_the_daemon() -> None:
    stream = io.StringIO()
    stream.close()
    logs.LineHandler(stream, prefixed=False).emit(record("x"))


# --- the journal's own form ---------------------------------------------------------------------------------------


def test_an_event_and_its_fields_can_be_asked_for() -> None:
    told = fields_of(logs.datagram(record("2 texts", event="sync.conflict", fields={"path": "wiki/a.md"}), vault="n"))
    assert told == {
        "MESSAGE": "2 texts",
        "PRIORITY": "4",
        "SYSLOG_IDENTIFIER": "wikimem",
        "LOGGER": "wikimem.watch",
        "CODE_FILE": "reconcile.py",
        "CODE_LINE": "17",
        "CODE_FUNC": "plan",
        "WIKIMEM_VAULT": "n",
        "WIKIMEM_EVENT": "sync.conflict",
        "WIKIMEM_PATH": "wiki/a.md",
    }


def test_a_traceback_survives_as_one_message() -> None:
    made = failing("failed", "disk → full")
    message = fields_of(logs.datagram(made))["MESSAGE"]
    assert message.startswith("failed\nTraceback (most recent call last):\n")
    assert message.endswith("RuntimeError: disk → full")


def test_a_field_with_an_odd_name_does_not_spoil_the_datagram() -> None:
    told = fields_of(logs.datagram(record("x", fields={"took-ms é=1\n": 5, "empty": "", "none": None})))
    assert told["WIKIMEM_TOOK_MS___1_"] == "5"
    assert "WIKIMEM_EMPTY" not in told
    assert "WIKIMEM_NONE" not in told


def test_a_huge_message_is_cut_where_the_socket_would_refuse_it() -> None:
    data = logs.datagram(record("%s", "語" * 200_000))
    assert len(data) < 130_000
    assert fields_of(data)["MESSAGE"].endswith("… (cut)")


def test_only_the_stream_that_systemd_connected_leads_to_the_journal(tmp_path: Path) -> None:
    with (tmp_path / "err").open("w") as stream:
        found = os.fstat(stream.fileno())
        assert logs.leads_to_journal(stream, {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"})
        # A shell inside a unit inherits the variable and redirects the stream.
        assert not logs.leads_to_journal(stream, {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino + 1}"})
        assert not logs.leads_to_journal(stream, {})
    assert not logs.leads_to_journal(io.StringIO(), {"JOURNAL_STREAM": "1:2"})


# --- secrets ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer [redacted]"),
        ("headers {'authorization': 'Basic dTpw'}", "headers {'authorization': 'Basic [redacted]'}"),
        ("sent bearer abcdefgh12345", "sent bearer [redacted]"),
        ("api_key=hunter2, model=bge", "api_key=[redacted], model=bge"),
        ('{"api-key": "hunter2"}', '{"api-key": "[redacted]"}'),
        ("GET https://me:pa55@host/v1", "GET https://me:[redacted]@host/v1"),
        ("GET http://h/v1?access_token=abc&x=1", "GET http://h/v1?access_token=[redacted]&x=1"),
        ("key sk-abcdefghijklmnop refused", "key sk-[redacted] refused"),
    ],
)
def test_what_looks_like_a_secret_is_blanked_out(said: str, written: str) -> None:
    assert logs.redact(said) == written


@pytest.mark.parametrize("said", ["wiki/risk-assessment-of-2026.md", "the secret of tea", "at 10:30 @home", "a b"])
def test_ordinary_words_stay(said: str) -> None:
    assert logs.redact(said) == said


def test_a_known_key_is_blanked_out_wherever_it_turns_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_SECRETS", set())
    logs.keep_secret("Zx81-plain-words")
    logs.keep_secret("")
    made = record("endpoint said: Zx81-plain-words is invalid", fields={"body": "Zx81-plain-words"})
    assert b"Zx81" not in logs.datagram(made)


# --- how often ----------------------------------------------------------------------------------------------------


class Day:
    """A filter over a clock that the test moves, and what came through it."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 8, 0, tzinfo=UTC)
        self.filter = logs.OncePerDay(lambda: self.now)

    def says(self, key: str) -> str | None:
        made = record("cannot read %s", key, problem=f"unreadable:{key}")
        return made.getMessage() if self.filter.filter(made) else None


def test_a_problem_is_written_once_a_day_and_counted_after() -> None:
    day = Day()
    assert day.says("a.md") == "cannot read a.md"
    assert [day.says("a.md") for _ in range(41)] == [None] * 41
    assert day.says("b.md") == "cannot read b.md"
    day.now += timedelta(days=1)
    assert day.says("a.md") == "cannot read a.md (and 41 times more since 2026-01-02T08:00+00:00)"
    assert day.says("b.md") == "cannot read b.md"


def test_what_is_no_problem_is_always_written() -> None:
    day = Day()
    assert all(day.filter.filter(record("started")) for _ in range(3))


def test_endless_different_problems_do_not_fill_the_memory() -> None:
    day = Day()
    for number in range(6000):
        day.says(f"{number}.md")
    assert len(day.filter._seen) <= 4096


def test_a_library_that_does_not_know_the_daemon_can_name_a_problem() -> None:
    stream = io.StringIO()
    kept = logging.getLogger().level
    try:
        logs.setup("info", stream=stream, environ={})
        for _ in range(3):
            logging.getLogger("wikimem.search").warning("no stems for %s", "xx", extra={"problem": "stems:xx"})
            logs.problem("endpoint", "the endpoint answers 500", url="http://127.0.0.1")
    finally:
        logging.getLogger().handlers[:] = [
            kept_one for kept_one in logging.getLogger().handlers if not isinstance(kept_one, logs.LineHandler)
        ]
        logging.getLogger().setLevel(kept)
    assert [line.split(" ", 1)[1] for line in stream.getvalue().splitlines()] == [
        "warning no stems for xx",
        "warning the endpoint answers 500",
    ]


def test_an_unknown_level_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'loud': one of debug, info, notice"):
        logs.setup("loud")
