"""The embedding endpoint as the configuration names it: its address, and where its key is."""

import ipaddress
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from wikimem import places
from wikimem.config_tables import CREDENTIAL, EmbeddingsSettings
from wikimem.errors import ConfigError

_LONGEST_KEY: Final = 8_192
"""Bytes; servers take about as much of one header."""


def check_embeddings(embeddings: EmbeddingsSettings, file: Path) -> None:
    """Raise `ConfigError` for settings of an endpoint that cannot be meant; `file` is where they come from."""
    if embeddings.provider != "http":
        return
    for key in ("base_url", "model"):
        if getattr(embeddings, key) is None:
            hint = 'as `base_url = "http://127.0.0.1:11434/v1"` and `model = "bge-m3"`'
            raise ConfigError(f'{file}: `embeddings.provider = "http"` needs `{key}`', hint=hint)
    url = embeddings.base_url or ""
    parts = _split(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or _has_blanks(url):
        hint = "it starts with http:// or https://, then host and port, as http://127.0.0.1:11434/v1"
        raise ConfigError(f"{file}: `embeddings.base_url` is no web address: {shown_address(url)}", hint=hint)
    if parts.query or parts.fragment:
        hint = "`/embeddings` is put behind it, so it ends with a path such as /v1"
        raise ConfigError(f"{file}: `embeddings.base_url` has a `?` or `#`: {shown_address(url)}", hint=hint)


def shown_address(url: str) -> str:
    """Return an address as people and logs may see it: without the user, password and query that it may hold."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "", url
    # The last @: a password may hold a slash, and a question mark.
    place, mark, _ = rest.rpartition("@")[2].partition("?")
    return scheme + separator + place + (mark and "?…")


def is_loopback(url: str) -> bool:
    """Whether an address is this machine's own, in any of the ways that the resolver reads one (`127.1`, `0.0.0.0`)."""
    parts = _split(url)
    host = (parts.hostname or "").rstrip(".") if parts else ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            address = ipaddress.IPv4Address(socket.inet_aton(host))
        except (OSError, ValueError):
            return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_loopback or address.is_unspecified


def embeddings_key(settings: EmbeddingsSettings, *, env: Mapping[str, str], base: Path) -> str | None:
    """Return the endpoint's key: systemd's credential, else `api_key_file`, else `api_key_env`, else None.

    `base` is the folder of the user's file: what is relative in it starts there. A blank credential is none: it stands
    for a key file that was missing when systemd started the service.

    Raises `ConfigError` when the place that the configuration names holds no key; the key is in no message.
    """
    credentials = env.get("CREDENTIALS_DIRECTORY", "")
    if credentials:
        credential = Path(credentials) / CREDENTIAL
        if credential.is_file() and credential.read_bytes().strip():
            return _key_in(credential)
    if settings.api_key_file:
        return _key_in(places.expand(settings.api_key_file, env=env, base=base))
    if settings.api_key_env:
        key = env.get(settings.api_key_env, "").strip()
        if not key:
            hint = "export it, or name a file with `api_key_file`"
            raise ConfigError(f"`api_key_env` names {settings.api_key_env}, which is not set", hint=hint)
        return _checked_key(key, f"the variable {settings.api_key_env}")
    return None


def key_of_next_start(settings: EmbeddingsSettings, *, env: Mapping[str, str], base: Path) -> str | None:
    """Return the key that `api_key_file` holds now, None when no file is named or it cannot be read from here.

    systemd copied the file when it started the service: what is in it now is used from the next start on.
    """
    if not settings.api_key_file:
        return None
    try:
        return _key_in(places.expand(settings.api_key_file, env=env, base=base))
    except ConfigError:
        return None


def _key_in(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            # Windows editors put a BOM first.
            key = opened.read(_LONGEST_KEY + 1).decode("utf-8-sig").strip()
    except OSError as error:
        hint = f"write the key into it, for you alone: `chmod 600 {file}`"
        raise ConfigError(f"the key file {file} cannot be read: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError:
        raise _no_key(f"the key file {file}") from None
    if not key:
        raise ConfigError(f"the key file {file} is empty", hint="write the key into it, on one line")
    return _checked_key(key, f"the key file {file}")


def _checked_key(key: str, where: str) -> str:
    # An HTTP header takes no line end and no other script; the error of the HTTP library would show the key.
    if len(key) > _LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise _no_key(where)
    return key


def _no_key(where: str) -> ConfigError:
    hint = "the key alone, on one line: printable ASCII without blanks"
    return ConfigError(f"{where} holds something else than a key", hint=hint)


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for one that is none
    except ValueError:
        return None
    return parts


def _has_blanks(url: str) -> bool:
    return any(character.isspace() or not character.isprintable() for character in url)
