"""Text that cannot leave the place in a prompt that it is put into: no tag of the frame around it begins there. Pure.

A model reads tags as people do. So a text is first folded to what is seen of it, each character with its place: case,
white space, invisible characters, accents, wide forms, slashes and hyphens make no difference then, and a letter of
another script may stand for any. One pass and one regular expression: a text of nothing but `<` costs no more.
"""

import functools
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from wikimem.text.decoding import REPLACEMENT

MEMORY_TAG: Final = "wikimem-memory"
"""The element that encloses injected memory where the text around it is not ours (`host_prompt.memory_block`)."""

# What coding agents put around a hook's text, and the tags of a transcript. They count with whatever follows.
_FRAMES: Final = (
    *(MEMORY_TAG, "system-reminder", "user-prompt", "session-start", "additional-context", "hook-context"),
    *("session-context", "environment-context", "user-instructions", "function-calls", "tool-call", "tool-result"),
)
# These are words of code too: they count only with their `>` (`Map<UserId>` is code), and only with a letter of their
# own (`<\u0444\u0430\u0439\u043b>` is a placeholder that people write).
_WORDS: Final = ("system", "user", "human", "assistant", "instructions", "memory", "memories", "notes", "context")

_ALIKE: Final = {
    # Single guillemet, angle brackets of mathematics, CJK and ornaments; wide and small forms fold by themselves.
    **dict.fromkeys("\u2039\u2329\u27e8\u3008\u300a\u276e\u2770\u29fc\u1438\u02c2\xab", "<"),
    **dict.fromkeys("\u203a\u232a\u27e9\u3009\u300b\u276f\u2771\u29fd\u1433\u02c3\xbb", ">"),
    **dict.fromkeys("\\\u2215\u2044\u29f8\u2571", "/"),
    **dict.fromkeys("_\u2212\u2043\u02d7", "-"),
    # Fillers that are letters by their category and nothing to see.
    **dict.fromkeys("\u115f\u1160\u2800", ""),
}
_UNSEEN: Final = frozenset({"Cf", "Cc", "Zs", "Zl", "Zp", "Mn", "Me"})
_OPENS: Final = re.compile(f"[<\uff1c\ufe64{''.join(char for char, plain in _ALIKE.items() if plain == '<')}]")
# `<|im_end|>`, and `<\uff5cUser\uff5c>` in wide forms: what models are trained to take for the end of a turn.
_SPECIAL_TOKEN: Final = re.compile("[<\uff1c][|\uff5c][^|\uff5c<>\\s]{1,48}[|\uff5c][>\uff1e]")
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f]")


def _letters(word: str) -> str:
    return "".join(char if char == "-" else rf"(?:{char}|(?![a-z])[^\W\d_])" for char in word)


@functools.cache
def _tag() -> re.Pattern[str]:
    # Compiled when a text holds a `<`: that takes longer than all else that a hook does with a few notes.
    frames, words = ("|".join(map(_letters, names)) for names in (_FRAMES, _WORDS))
    return re.compile(rf"</*(?:{frames}|(?=[^\x00-\x7f]*[a-z])(?:{words})>)")


def disarmed(text: str) -> str:
    """Return text in which no guarded tag begins and no control character can steer the terminal that shows it."""
    plain = _CONTROLS.sub(REPLACEMENT, text)
    if not _OPENS.search(plain):
        return plain
    folded = list(_folded(plain))
    seen = "".join(char for char, _ in folded)
    tags = {folded[found.start()][1] for found in _tag().finditer(seen)}
    tags.update(found.start() for found in _SPECIAL_TOKEN.finditer(plain))
    return "".join("&lt;" if at in tags else char for at, char in enumerate(plain)) if tags else plain


def _folded(text: str) -> Iterator[tuple[str, int]]:
    """Yield what is seen of each character, and where the character stands."""
    for at, char in enumerate(text):
        for part in char if char.isascii() else unicodedata.normalize("NFKD", char):
            for shown in _ALIKE.get(part, part).casefold():
                category = unicodedata.category(shown)
                if category not in _UNSEEN:
                    yield ("-" if category == "Pd" else shown), at
