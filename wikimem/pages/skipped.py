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

    `*` and `?` stay within one part of the path, `**` crosses parts, `[…]` is a set of characters. A glob without
    `/` (one at the end aside) matches at any depth. A folder that matches takes all that is in it along.
    """
    text = glob.strip("/") or glob
    anchored = "/" in text or glob.startswith("/")
    folder_only = glob.endswith("/")
    result = "" if anchored else "(?:.*/)?"
    position = 0
    while position < len(text):
        if text.startswith("**/", position):
            result, position = result + "(?:.*/)?", position + 3
        elif text.startswith("**", position):
            result, position = result + ".*", position + 2
        else:
            piece, position = _one(text, position)
            result += piece
    return result + ("/" if folder_only else r"(?:/|\Z)")


def _one(text: str, position: int) -> tuple[str, int]:
    mark = text[position]
    if mark == "*":
        return "[^/]*", position + 1
    if mark == "?":
        return "[^/]", position + 1
    if mark == "[" and (end := text.find("]", position + 2)) > 0:
        inner = text[position + 1 : end]
        negated = inner.startswith("!")
        body = _set(inner[1:] if negated else inner)
        if body:
            return f"(?!/)[{'^' if negated else ''}{body}]", end + 1
    return re.escape(mark), position + 1


def _set(inner: str) -> str:
    """Return the inside of a character set, "" for a range the wrong way round: its bracket is a plain character."""
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
    return body
