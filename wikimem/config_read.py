"""Read one TOML file against the schema: every complaint names the file, the key and what to write instead."""

import errno
import os
import stat
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from wikimem.config_tables import TABLES, Key, Value
from wikimem.errors import ConfigError

VAULT_FILE = "wikimem.toml"
_MOST_BYTES = 1_000_000

Flat = dict[str, Value]


def read_plain(file: Path) -> bytes:
    """Return the bytes of a small file that comes with a vault.

    Raises `OSError` for what is no file: a pipe in its place would hold up every command and the start of the daemon.
    """
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", str(file))
        data = opened.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise OSError(errno.EFBIG, "it is larger than a megabyte", str(file))
    return data


def read_toml(file: Path) -> dict[str, object]:
    """Return the file's tables, `{}` when there is no such file.

    Raises `ConfigError` when it cannot be read or is not TOML.
    """
    try:
        data = read_plain(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        closed = isinstance(error, PermissionError)
        hint = f"make it readable for you: `chmod u+r {file}`" if closed else f"see what it is: `ls -l {file}`"
        raise ConfigError(f"{file} cannot be read: {error.strerror}", hint=hint) from error
    try:
        # A BOM is what Windows editors put first; TOML has no place for it.
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        hint = "save it as UTF-8"
        raise ConfigError(f"{file} is not UTF-8 (byte {error.start})", hint=hint) from error
    except tomllib.TOMLDecodeError as error:
        hint = 'a value that is text stands in quotes: `style = "obsidian"`'
        raise ConfigError(f"{file} is not valid TOML: {error}", hint=hint) from error


def read_vault_tables(file: Path, user_file: Path | None = None) -> Flat:
    """Return the settings of a vault's own `wikimem.toml`, as `table.key: value`."""
    tables = read_toml(file)
    travelling = {name: keys for name, keys in TABLES.items() if any(key.travels for key in keys)}
    where = str(user_file) if user_file else "your own configuration"
    for name in tables:
        if name in TABLES and name not in travelling:
            raise _refused(file, name, where)
        if name not in TABLES:
            raise unknown(file, name, travelling)
    flat = read_tables(file, tables, "")
    for dotted in flat:
        table, _, name = dotted.partition(".")
        if not _key(table, name).travels:
            raise _refused(file, dotted, where)
    return flat


def read_tables(file: Path, tables: Mapping[str, object], prefix: str) -> Flat:
    """Check the tables below `prefix` (`vaults.notes.`, or nothing) and return them flat."""
    flat: Flat = {}
    for name, content in tables.items():
        if not isinstance(content, dict):
            hint = f"write it as a table: `[{prefix}{name}]`"
            raise ConfigError(f"{file}: {prefix}{name} is no table", hint=hint)
        known = {key.name: key for key in TABLES[name]}
        for given, value in content.items():
            if given not in known:
                raise unknown(file, f"{prefix}{name}.{given}", known)
            flat[f"{name}.{given}"] = _checked(file, f"{prefix}{name}.{given}", known[given], value)
    return flat


def unknown(file: Path, dotted: str, known: Iterable[str]) -> ConfigError:
    """Return the error for a key that no row of the schema has, with the nearest one that exists."""
    names = list(known)
    near = nearest(dotted.rpartition(".")[2], names)
    hint = f"did you mean `{near}`?" if near else f"known here: {', '.join(sorted(names))}"
    return ConfigError(f"{file}: unknown key `{dotted}`", hint=hint)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `word` was probably meant to be."""
    import difflib  # noqa: PLC0415 - only a mistake pays for it

    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)), None)


def _refused(file: Path, dotted: str, where: str) -> ConfigError:
    table, _, name = dotted.partition(".")
    target = f"[vaults.NAME.{table}]" + (f" {name}" if name else "")
    return ConfigError(
        f"{file}: `{dotted}` cannot be set by a file that travels with the vault",
        hint=f"set it as `{target}` in {where}",
    )


def _key(table: str, name: str) -> Key:
    return next(key for key in TABLES[table] if key.name == name)


def _checked(file: Path, dotted: str, key: Key, value: object) -> Value:
    checked = _typed(key, value)
    if checked is None:
        raise ConfigError(f"{file}: `{dotted}` is {_shown(value)}", hint=f"it must be {_wanted(key)}")
    if key.choices and checked not in key.choices:
        near = nearest(str(checked), key.choices)
        better = f"did you mean `{near}`? " if near else ""
        hint = f"{better}it is one of {', '.join(key.choices)}"
        raise ConfigError(f'{file}: `{dotted}` is "{checked}"', hint=hint)
    if isinstance(checked, (int, float)) and not isinstance(checked, bool):
        low, high = key.minimum, key.maximum
        if (low is not None and checked < low) or (high is not None and checked > high):
            raise ConfigError(f"{file}: `{dotted}` is {checked}", hint=f"it must be {_wanted(key)}")
    return checked


def _typed(key: Key, value: object) -> Value:
    """Return the value in the key's type, None when it has another."""
    if key.kind in ("text", "path"):
        return value if isinstance(value, str) and value.strip() else None
    if key.kind == "flag":
        return value if isinstance(value, bool) else None
    if key.kind == "texts":
        return tuple(value) if isinstance(value, list) and all(isinstance(one, str) for one in value) else None
    if isinstance(value, bool):  # in Python a bool is an int; in the file it is a mistake
        return None
    if key.kind == "count":
        return value if isinstance(value, int) else None
    return float(value) if isinstance(value, (int, float)) and value == value else None  # noqa: PLR0124 - not NaN


def _wanted(key: Key) -> str:
    kinds = {
        "text": "a text in quotes",
        "path": "a path in quotes",
        "flag": "true or false",
        "texts": 'a list of texts, as ["drafts/*"]',
        "count": "a whole number",
        "number": "a number",
    }
    low, high = key.minimum, key.maximum
    if low is not None and high is not None:
        return f"{kinds[key.kind]} from {low:g} to {high:g}"
    return kinds[key.kind] + (f", {low:g} or more" if low is not None else "")


def _shown(value: object) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", list: "a list"}
    if isinstance(value, str) and not value.strip():
        return "empty"
    return names.get(type(value), f"a {type(value).__name__}")
