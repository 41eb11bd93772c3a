"""Logs for three readers: the journal (structured), a pipe to the journal (`<N>` prefixes), a terminal or file.

Any module logs with the standard library. What a record may carry in `extra=`:

- `event`: a dotted slug such as `vault.root_lost`; in the journal `WIKIMEM_EVENT`, so that
  `journalctl --user WIKIMEM_EVENT=vault.root_lost` is a query
- `fields`: a mapping; each becomes `WIKIMEM_<NAME>`
- `problem`: a key; such a record is written once a day, later ones are counted (see `OncePerDay`)
"""

import logging
import os
import re
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TextIO

JOURNAL_SOCKET = "/run/systemd/journal/socket"

LEVELS = ("debug", "info", "notice", "warning", "error", "critical")

NOTICE = 25
"""Between info and warning, as in syslog: normal but worth a look. `journalctl -p notice` finds it."""

_MAX_DATAGRAM = 120_000
"""Below the kernel's default send buffer (212,992 bytes with its overhead); a longer message is cut, and says so."""

_MAX_PROBLEMS = 4096

_log = logging.getLogger("wikimem")


def setup(
    level: str = "info", *, vault: str = "", stream: TextIO | None = None, environ: Mapping[str, str] | None = None
) -> None:
    """Send every logger of the process to one place: the journal if standard error leads there, else the stream.

    `level` is one of `LEVELS`. Raises ValueError for another word. Calling it again replaces what it set up before.
    """
    if level.lower() not in LEVELS:
        raise ValueError(f"log level {level!r}: one of {', '.join(LEVELS)}")
    logging.addLevelName(NOTICE, "NOTICE")
    handler = _handler(stream or sys.stderr, os.environ if environ is None else environ, vault)
    handler.addFilter(OncePerDay())
    root = logging.getLogger()
    for old in [h for h in root.handlers if isinstance(h, JournalHandler | LineHandler)]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(level.upper())
    # Other people's chatter at info (one line per HTTP request, per connection) is nobody's news.
    for noisy in ("httpx", "httpcore", "watchfiles", "uvicorn.access", "asyncio"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))


def problem(key: str, message: str, *, level: int = logging.WARNING, event: str = "", **fields: object) -> None:
    """Log something that is wrong, once a day per `key`; the rest of the day is counted.

    `key` names the trouble, not the attempt: `f"unreadable:{path}"`, never a message with a time in it.
    """
    _log.log(level, "%s", message, extra={"problem": key, "event": event or key.partition(":")[0], "fields": fields})


def _handler(stream: TextIO, environ: Mapping[str, str], vault: str) -> logging.Handler:
    if not leads_to_journal(stream, environ):
        return LineHandler(stream, prefixed=False)
    lines = LineHandler(stream, prefixed=True)
    try:
        return JournalHandler(JOURNAL_SOCKET, fallback=lines, vault=vault)
    except OSError:
        return lines


def leads_to_journal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether systemd connected this stream: JOURNAL_STREAM alone is inherited by shells and their redirections."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environ.get("JOURNAL_STREAM", "") == f"{found.st_dev}:{found.st_ino}"


# --- what a record says -------------------------------------------------------------------------------------------

_SECRETS: set[str] = set()

_PATTERNS = (
    # Authorization: Bearer abc / "authorization": "abc"
    re.compile(r"(?i)(authorization['\"]?\s*[:=]\s*['\"]?(?:bearer\s+|basic\s+)?)[^\s'\",;}]+"),
    re.compile(r"(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"(?i)((?:api[_-]?key|access[_-]?token|secret|password|passwd)['\"]?\s*[:=]\s*['\"]?)[^\s'\",;&}]+"),
    re.compile(r"(://[^\s/@:]*:)[^\s/@]+(?=@)"),
    re.compile(r"(\b(?:sk|pk|hf|xai|gsk)[-_])[A-Za-z0-9_-]{12,}"),
)

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def keep_secret(value: str) -> None:
    """Never write this string to a log again (a key that was read from a file or the environment)."""
    # A short string would blank out ordinary words.
    if len(value) >= 6:
        _SECRETS.add(value)


def redact(text: str) -> str:
    """Blank out known secrets and what looks like one."""
    for secret in _SECRETS:
        text = text.replace(secret, "[redacted]")
    for pattern in _PATTERNS:
        text = pattern.sub(r"\g<1>[redacted]", text)
    return text


def printable(text: str) -> str:
    """One line that any reader can show: a file name may hold a newline, an escape sequence, or no UTF-8 at all."""
    return _UNPRINTABLE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    # os.fsdecode turned byte 0xE9 into U+DCE9; show the byte.
    return f"\\x{code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code:02x}"


def message_of(record: logging.LogRecord) -> str:
    """Give the record's own line, then its traceback if it has one; redacted."""
    lines = [printable(record.getMessage())]
    if record.exc_info:
        text = logging.Formatter().formatException(record.exc_info)
        lines += [printable(line) for line in text.split("\n")]
    return redact("\n".join(lines))


def priority_of(level: int) -> int:
    """Translate a logging level to a syslog priority (7 is debug, 2 critical)."""
    for least, priority in ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (NOTICE, 5)):
        if level >= least:
            return priority
    return 6 if level >= logging.INFO else 7


# --- where a record goes ------------------------------------------------------------------------------------------


class LineHandler(logging.Handler):
    """Lines on a stream: `<N>message` for the journal (which has its own clock), else with the time in UTC."""

    def __init__(self, stream: TextIO, *, prefixed: bool) -> None:
        super().__init__()
        self._stream = stream
        self._prefixed = prefixed

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, or drop it if the stream is gone."""
        try:
            text = message_of(record)
            if self._prefixed:
                mark = f"<{priority_of(record.levelno)}>"
                lines = "".join(f"{mark}{line}\n" for line in text.split("\n"))
            else:
                when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds")
                lines = f"{when} {record.levelname.lower()} {text}\n"
            self._stream.write(lines)
            self._stream.flush()
        except (OSError, ValueError):
            # The terminal is gone or the disk is full: the daemon goes on without this line.
            return


class JournalHandler(logging.Handler):
    """Native datagrams to journald: priority, place in the code, and the event's own fields."""

    def __init__(self, address: str, *, fallback: logging.Handler, vault: str = "") -> None:
        super().__init__()
        self._fallback = fallback
        self._vault = vault
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._socket.connect(address)
        except OSError:
            self._socket.close()
            raise
        # A stalled journald must not stall the loop: the line goes to standard error instead.
        self._socket.settimeout(0.2)

    def emit(self, record: logging.LogRecord) -> None:
        """Send the record, or hand it to the fallback."""
        try:
            self._socket.send(datagram(record, vault=self._vault))
        except (OSError, ValueError):
            self._fallback.emit(record)

    def close(self) -> None:
        """Let go of the socket."""
        self._socket.close()
        super().close()


def datagram(record: logging.LogRecord, *, vault: str = "") -> bytes:
    """Encode the record in the journal's native form (systemd.io/JOURNAL_NATIVE_PROTOCOL)."""
    fields: dict[str, object] = {
        "MESSAGE": message_of(record),
        "PRIORITY": priority_of(record.levelno),
        "SYSLOG_IDENTIFIER": "wikimem",
        "LOGGER": record.name,
        "CODE_FILE": record.pathname,
        "CODE_LINE": record.lineno,
        "CODE_FUNC": record.funcName,
    }
    extra = {"vault": vault, "event": getattr(record, "event", ""), **(getattr(record, "fields", None) or {})}
    for name, value in extra.items():
        key = "WIKIMEM_" + re.sub(r"[^A-Z0-9_]", "_", str(name).upper())
        if value not in ("", None):
            fields[key[:64]] = redact(printable(str(value)))
    return b"".join(_export(name, str(value)) for name, value in fields.items())


def _export(name: str, value: str) -> bytes:
    data = value.encode("utf-8", "backslashreplace")
    if len(data) > _MAX_DATAGRAM:
        data = data[:_MAX_DATAGRAM].decode("utf-8", "ignore").encode() + " … (cut)".encode()
    if b"\n" not in data:
        return name.encode() + b"=" + data + b"\n"
    return name.encode() + b"\n" + len(data).to_bytes(8, "little") + data + b"\n"


# --- how often ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Seen:
    day: date
    since: datetime
    more: int = 0


class OncePerDay(logging.Filter):
    """Let a `problem` through once a (UTC) day; when it is let through again, say how often it was held back."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__()
        self._now = now
        self._seen: dict[str, _Seen] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether the record is written now; one without `problem` always is."""
        key = getattr(record, "problem", None)
        if key is None:
            return True
        now = self._now()
        seen = self._seen.pop(key, None)
        if seen is not None and seen.day == now.date():
            seen.more += 1
            self._seen[key] = seen
            return False
        if seen is not None and seen.more:
            when = seen.since.isoformat(timespec="minutes")
            record.msg = f"{record.getMessage()} (and {seen.more} times more since {when})"
            record.args = ()
        # Oldest first out: a vault of a million broken notes must not grow this for ever.
        while len(self._seen) >= _MAX_PROBLEMS:
            del self._seen[next(iter(self._seen))]
        self._seen[key] = _Seen(now.date(), now)
        return True
