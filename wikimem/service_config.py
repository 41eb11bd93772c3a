"""`[vaults.NAME]` in the user's `config.toml`: added and taken out as bytes, every other byte kept."""

import re
import tomllib

from wikimem.errors import ConfigError

_MARK = "# added by `wikimem service install`, taken out by `uninstall`"


def with_vault(data: bytes, name: str, path: str) -> bytes:
    """Return the file with a table for the vault at its end; the first vault of an empty file is its `default`.

    Raises `ConfigError` when the file cannot take it: `vaults` is written in one line, or is no table. The caller
    has seen that there is no such vault yet.
    """
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    first = not data.strip(b"\r\n\t \xef\xbb\xbf")
    block = _block(name, path).encode().replace(b"\n", newline)
    if first:
        added = data + _default(name).encode().replace(b"\n", newline) + newline + block
    else:
        added = data + (b"" if data.endswith(b"\n") else newline) + newline + block
    expected = _tables(data)
    vaults = expected.get("vaults", {})
    if first:
        expected["default"] = name
    expected["vaults"] = {**vaults, name: {"path": path}} if isinstance(vaults, dict) else None
    try:
        found = _tables(added)
    except tomllib.TOMLDecodeError:
        found = {}
    if found != expected:
        hint = f"add it by hand, as\n{_block(name, path).rstrip()}"
        raise ConfigError(f"the vault {name} cannot be added to the configuration as it is written", hint=hint)
    return added


def without_vault(data: bytes, name: str, path: str) -> bytes | None:
    """Return the file without what `with_vault` added; None when a person has built on it, so it stays.

    `b""` means that the file held nothing else.
    """
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    block = _block(name, path).encode().replace(b"\n", newline)
    default = _default(name).encode().replace(b"\n", newline)
    # What was written into an empty file: with the table goes the default that came with it.
    first = default + newline + block
    if data.startswith(first) and _names_no(name, rest := data[len(first) :].removeprefix(newline)):
        return rest
    start = data.find(block)
    if start < 0:
        return None
    before, after = data[:start], data[start + len(block) :]
    rest = before.removesuffix(newline) + after
    return rest if _names_no(name, rest) else None


def _names_no(name: str, data: bytes) -> bool:
    """Whether the file does well without the vault: it is no default, and has no tables below that need its `path`."""
    try:
        tables = _tables(data)
    except tomllib.TOMLDecodeError:
        return False
    vaults = tables.get("vaults", {})
    return tables.get("default") != name and not (isinstance(vaults, dict) and name in vaults)


def _tables(data: bytes) -> dict[str, object]:
    return tomllib.loads(data.decode("utf-8-sig"))


def _default(name: str) -> str:
    return f"default = {_text(name)}\n"


def _block(name: str, path: str) -> str:
    key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)
    return f"{_MARK}\n[vaults.{key}]\npath = {_text(path)}\n"


def _text(value: str) -> str:
    """Return a TOML basic string. Control characters were refused before."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
