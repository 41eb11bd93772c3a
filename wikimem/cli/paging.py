"""The pages of a list, one after the other."""

from collections.abc import Callable, Iterator
from typing import TypedDict, TypeVar


class Page(TypedDict):
    """What every answer has that is a page: the token of the next one, None on the last."""

    next: str | None


AnyPage = TypeVar("AnyPage", bound=Page)


def each_page(ask: Callable[[str | None], AnyPage]) -> Iterator[AnyPage]:
    """Yield every page, at least one. `ask` gets the page behind a token, the first one for None."""
    page = ask(None)
    yield page
    while page["next"] is not None:
        page = ask(page["next"])
        yield page
