"""A client's methods show what they take and give: in a REPL, and to a framework that makes tools of them."""

import inspect
import typing
from pathlib import Path

import pytest

from wikimem.api import protocol, requests
from wikimem.api.async_client import AsyncClient
from wikimem.api.calls import CALLS
from wikimem.api.client import Client
from wikimem.api.local import LocalClient
from wikimem.api.verbs import Verbs


@pytest.mark.parametrize("kind", [Client, AsyncClient, LocalClient])
@pytest.mark.parametrize("verb", [call.verb for call in CALLS])
def test_every_call_is_a_documented_method_of_every_client(kind: type[Verbs], verb: str) -> None:
    prepare = getattr(requests, verb)
    method = getattr(kind, verb)
    assert method.__doc__ == prepare.__doc__
    assert list(inspect.signature(method).parameters)[1:] == list(inspect.signature(prepare).parameters)


def test_a_method_gives_the_answer_and_not_the_request() -> None:
    one = Client(Path("nowhere.sock"))
    assert inspect.signature(one.pin) == inspect.Signature(
        [inspect.Parameter("address", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=str)],
        return_annotation=protocol.PinAnswer,
    )
    assert typing.get_type_hints(one.pin)["return"] is protocol.PinAnswer


def test_only_the_methods_of_the_async_client_are_coroutine_functions() -> None:
    for name in ("retrieve", "put_item"):
        assert inspect.iscoroutinefunction(getattr(AsyncClient, name))
        assert inspect.iscoroutinefunction(getattr(AsyncClient(Path("nowhere.sock")), name))
        assert not inspect.iscoroutinefunction(getattr(Client(Path("nowhere.sock")), name))
