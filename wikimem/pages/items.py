"""The item: the unit that is stored, ranked, linked and budgeted."""

import hashlib
from dataclasses import dataclass, field


def content_hash(name: str, content: str) -> str:
    r"""Return the sha256 (hex) of `name\ncontent`, the key of the vector cache and of `expected_hash`.

    Content never holds surrogates when it was read from a file (undecodable bytes show as U+FFFD); a lone surrogate
    in a caller's argument is hashed as CESU does, so that hashing never raises.
    """
    return hashlib.sha256(f"{name}\n{content}".encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class RecallItem:
    """One `##` section of a wiki RecallFile, or one diary entry (day as category, `HH:MM` as name).

    `ts` is ISO-8601 UTC as written in the metadata comment. `tags` are without `#`, lower case, the page's and the
    item's own. `line` is the 1-based line of its heading. `ordinal` counts diary entries of one minute from 1.
    """

    category: str
    name: str
    content: str
    owner: str | None = None
    source_conv: str | None = None
    ts: str | None = None
    tags: tuple[str, ...] = field(default=(), compare=False)
    line: int = field(default=0, compare=False)
    ordinal: int = field(default=1, compare=False)

    @property
    def file(self) -> str:
        """The category, by the name upstream wikimem gives it."""
        return self.category

    @property
    def address(self) -> str:
        """`category:name`; the second and third diary entry of one minute end in `#2`, `#3`."""
        suffix = f"#{self.ordinal}" if self.ordinal > 1 else ""
        return f"{self.category}:{self.name}{suffix}"

    @property
    def hash(self) -> str:
        r"""The sha256 of `name\ncontent`."""
        return content_hash(self.name, self.content)


@dataclass(frozen=True, slots=True)
class DiaryItem:
    """One `## HH:MM` entry of a day file. `date` is `YYYY-MM-DD`, `time` is `HH:MM`, local wall clock."""

    date: str
    time: str
    content: str
    owner: str | None = None
    source_conv: str | None = None
    ts: str | None = None
    ordinal: int = field(default=1, compare=False)

    @property
    def address(self) -> str:
        """`YYYY-MM-DD:HH:MM`, with `#2`, `#3` for the second, third at that minute."""
        suffix = f"#{self.ordinal}" if self.ordinal > 1 else ""
        return f"{self.date}:{self.time}{suffix}"
