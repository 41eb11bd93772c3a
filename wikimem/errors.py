"""Every error that wikimem raises on purpose.

    WikimemError                 code, message, hint (what to do next), exit status, HTTP status
    ├── InvalidInput             also a ValueError: the caller's argument cannot be taken
    │   ├── InvalidCategory      a new category is no slug
    │   ├── InvalidName          a new item name holds a reserved character
    │   ├── InvalidAddress       an address that cannot be read
    │   ├── InvalidContent       content that would forge provenance or break out of its item
    │   └── InvalidCursor        a cursor that this program never handed out
    ├── UsageError               the command line does not fit together
    ├── NotFound                 also a LookupError: no such item, version, file
    ├── Conflict                 the same item changed meanwhile: carries both texts
    ├── AppendOnly               a diary entry is never replaced or removed
    ├── ConfigError              a setting is wrong
    │   └── VaultError           the vault's path does not exist, is no folder, cannot be read
    ├── NotRunning               no daemon answers, and this command needs one
    ├── Unreachable              a daemon is there and does not answer as it should
    │   └── ProtocolMismatch     client and daemon speak different protocol versions
    ├── TryAgain                 somebody else holds what this call needs
    │   ├── Busy                 the daemon has as many connections or requests as it takes
    │   └── Locked               another daemon or writer holds this vault
    ├── StorageError             a write failed: names the file and the step; old bytes are intact
    │   └── HistoryUnavailable   prior texts cannot be kept, so nothing is overwritten
    └── DeniedError              the peer, host or origin is not allowed here

The exit statuses are those of DESIGN: 0 ok, 1 error, 2 usage, 3 not running, 69 unreachable,
75 try again, 78 configuration.
"""

from typing import ClassVar


class WikimemError(Exception):
    """The root: `str(error)` is what happened, `error.hint` what to do next."""

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            # In a script that catches nothing the traceback ends with what to do.
            self.add_note(hint)


class InvalidInput(WikimemError, ValueError):
    """An argument that cannot be taken; nothing was changed."""

    code = "invalid_input"
    http_status = 400


class InvalidCategory(InvalidInput):
    """A new category must match `[a-z0-9_][a-z0-9_-]*`."""

    code = "invalid_category"


class InvalidName(InvalidInput):
    """A new item name must not hold `[[`, `]]`, `:`, `|` or `#`."""

    code = "invalid_name"


class InvalidAddress(InvalidInput):
    """An address is `category:name` or `YYYY-MM-DD:HH:MM`."""

    code = "invalid_address"


class InvalidContent(InvalidInput):
    """Content that would forge provenance or could not be read back as it was given."""

    code = "invalid_content"


class InvalidCursor(InvalidInput):
    """A cursor is an opaque token that an earlier answer carried."""

    code = "invalid_cursor"


class UsageError(WikimemError):
    """The command line does not fit together."""

    code = "usage"
    exit_status = 2
    http_status = 400


class NotFound(WikimemError, LookupError):
    """No such item, version, category or file."""

    code = "not_found"
    http_status = 404


class Conflict(WikimemError):
    """The item changed after the caller read it; both texts are carried, neither is lost.

    `theirs` is what is on disk now (None: the item is gone), `yours` what the caller wanted to write,
    `current_hash` the sha256 to base the next attempt on.
    """

    code = "conflict"
    http_status = 409

    def __init__(
        self, message: str, *, theirs: str | None, yours: str | None, current_hash: str | None = None, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.theirs = theirs
        self.yours = yours
        self.current_hash = current_hash


class AppendOnly(WikimemError):
    """The API only ever adds to the diary; a person may edit the file."""

    code = "append_only"
    http_status = 409


class ConfigError(WikimemError):
    """A setting is wrong; the message names the file and the key."""

    code = "config"
    exit_status = 78
    # No fault of the request and no crash either: the service is not available as it is configured.
    http_status = 503


class VaultError(ConfigError):
    """The vault's path does not exist, is not a folder, or cannot be read."""

    code = "vault"


class NotRunning(WikimemError):
    """No daemon answers on the vault's socket."""

    code = "not_running"
    exit_status = 3
    http_status = 503


class Unreachable(WikimemError):
    """Something listens on the socket but does not answer as the daemon does."""

    code = "unreachable"
    exit_status = 69
    http_status = 502


class ProtocolMismatch(Unreachable):
    """Client and daemon speak different protocol versions; the hint says which side to update."""

    code = "protocol_mismatch"
    http_status = 426


class TryAgain(WikimemError):
    """What this call needs is held by somebody else for the moment."""

    code = "try_again"
    exit_status = 75
    http_status = 503


class Busy(TryAgain):
    """The daemon takes no more connections or requests right now."""

    code = "busy"


class Locked(TryAgain):
    """Another daemon or writer holds this vault."""

    code = "locked"


class StorageError(WikimemError):
    """A write failed at a named step; the bytes that were there before are intact."""

    code = "storage"
    http_status = 507

    def __init__(self, message: str, *, path: str = "", step: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path
        self.step = step


class HistoryUnavailable(StorageError):
    """The prior text could not be kept, so the write was refused."""

    code = "history_unavailable"


class DeniedError(WikimemError):
    """The peer's uid, the Host, or a browser's Origin is not allowed on this socket."""

    code = "denied"
    http_status = 403
