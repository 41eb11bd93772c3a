"""Text to terms, one way for all languages, and the size of a text in tokens."""

import re

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
_ESTIMATE = re.compile(f"[{_CJK}]|[^\\s{_CJK}]+")
_WORDS = re.compile(f"[{_CJK}]|[^\\W{_CJK}]+")


def estimate_tokens(text: str) -> int:
    """Return the size of `text`: one for each word (a run without white space) and each CJK character."""
    return len(_ESTIMATE.findall(text))


def terms(text: str) -> list[str]:
    """Return the terms of a text."""
    return _WORDS.findall(text.lower())
