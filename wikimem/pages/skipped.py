"""Which files are no memory: temporary files of editors and sync tools, conflict copies, what a person ignores."""

import re
from functools import lru_cache

# What editors and sync tools leave beside a note for a moment (obsidian.md, 4.1); all but the last two end otherwise
# than `.md`, yet a filter of ours must not depend on that.
_TEMPORARY = re.compile(
    r"\..*|.*~|.*\.sw.|4913|.*\.tmp|.*\.crdownload|.*\.part|.*\.icloud|#.*#|.*\.orig|sed[A-Za-z0-9]{6}|~\$.*"
    r"|~syncthing~.*|conflict-files-obsidian-git\.md",
    re.DOTALL,
)
_CONFLICT_COPY = re.compile(
    r"\.sync-conflict-"  # Syncthing
    r"|\([^()]*conflicted copy[^()]*\)"  # Dropbox, Nextcloud, Obsidian Sync
    r"|\((?:case|unicode encoding|white ?space|selective sync) conflict[^()]*\)"  # Dropbox
    r"|\[conflict(?:ed)?\]"  # pCloud
    r"|_conflict-[0-9]{8}-[0-9]{6}",  # ownCloud
    re.IGNORECASE,
)


def is_temporary(name: str) -> bool:
    """Tell whether one part of a path is a dot-file or a temporary file."""
    return _TEMPORARY.fullmatch(name) is not None


def is_conflict_copy(path: str) -> bool:
    """Tell whether a path, or a folder in it, is the copy that a sync tool made of a conflicting version."""
    return _CONFLICT_COPY.search(path) is not None


def is_ignored(path: str, globs: tuple[str, ...]) -> bool:
    """Tell whether one of the vault's `ignore` globs matches the path or a folder that holds it."""
    return bool(globs) and _compiled(globs).match(path) is not None


@lru_cache(maxsize=32)
def _compiled(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{_translate(glob)})" for glob in globs), re.DOTALL)


def _translate(glob: str) -> str:
    """Return the regular expression of a glob, matched from the start of a vault-relative path.

    `*` and `?` stay within one part of the path, a part `**` stands for any number of parts, `[…]` is a set of
    characters. A glob without `/` (one at the end aside) matches at any depth. A folder that matches takes all that
    is in it along.
    """
    parts = glob.strip("/").split("/")
    result = "" if len(parts) > 1 or glob.startswith("/") else "(?:.*/)?"
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part != "**":
            result += _part(part) + ("" if last else "/")
        elif last:
            result += ".+"
        elif parts[index + 1] != "**":  # two in a row say no more than one, and cost much more
            result += "(?:.*/)?"
    return result + ("/" if glob.endswith("/") else r"(?:/|\Z)")


def _part(part: str) -> str:
    """Return the expression of one part.

    What stands between two stars is taken where it first fits, and for good (an atomic group): a later place could
    match nothing more, and trying them all would take exponential time.
    """
    chunks = [""]
    position = 0
    while position < len(part):
        mark = part[position]
        end = part.find("]", position + 2) if mark == "[" else -1
        inner = _set(part[position + 1 : end]) if end > 0 else ""
        if mark == "*":
            chunks += [""] if chunks[-1] or len(chunks) == 1 else []
        else:
            chunks[-1] += inner or ("[^/]" if mark == "?" else re.escape(mark))
        position = end + 1 if inner else position + 1
    if len(chunks) == 1:
        return chunks[0]
    between = "".join(f"(?>[^/]*?{chunk})" for chunk in chunks[1:-1])
    return f"{chunks[0]}{between}[^/]*{chunks[-1]}"


def _set(inner: str) -> str:
    """Return a set of characters, "" for a range the wrong way round: its bracket is a plain character."""
    negated = inner.startswith("!")
    inner = inner[1:] if negated else inner
    body = ""
    position = 0
    while position < len(inner):
        low, high = inner[position], inner[position + 2 : position + 3]
        if inner[position + 1 : position + 2] == "-" and high:
            if low > high:
                return ""
            body += f"{re.escape(low)}-{re.escape(high)}"
            position += 3
        else:
            body += re.escape(low)
            position += 1
    return f"(?!/)[{'^' if negated else ''}{body}]" if body else ""
