"""A command whose daemon ends before it has answered goes on in its own process, as if none had run."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from wikimem.api.client import Client
from wikimem.api.requests import Prepared
from wikimem.errors import NotRunning

if TYPE_CHECKING:
    from wikimem.api.local import LocalClient

Answer = TypeVar("Answer")


class DaemonElseHere(Client):
    """The daemon's client, and `here`, which opens the other one.

    A write that the daemon did and could not answer any more is not done again: both note it under the same key.
    """

    def __init__(self, socket_path: Path, here: Callable[[], "LocalClient"]) -> None:
        super().__init__(socket_path)
        self._here = here

    def perform(self, prepared: Prepared[Answer]) -> Answer:
        """Perform one call."""
        try:
            return super().perform(prepared)
        except NotRunning:
            return self._here().perform(prepared)
